"""Snapshots: model files that also hold the number of rows learned and the metrics.

Two of them stay: if the newer one is damaged, the older one and the log give the same model.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

from budgetron._util.errors import ModelFileError
from budgetron.evaluate.progressive import Estimator
from budgetron.model.files import model_files
from budgetron.serve.comparison import Comparison
from budgetron.serve.settings import Settings, settings_of
from budgetron.serve.tally import Tally
from budgetron.serve.team import Member, Team

_NAME = re.compile(r"snapshot-(\d{20})\.safetensors")


class Snapshot(NamedTuple):
    """A model after ``version`` rows, the state of its metrics, and its challengers."""

    version: int
    estimator: Estimator
    tally: dict[str, Any]
    chain: bytes  # the running digest of the log up to there
    challengers: dict[str, Member]
    comparison: Mapping[str, Any] | None

    def team(self, settings: Settings) -> Team:
        """The models; ``settings`` are those of the first."""
        own = Member(settings, self.estimator, _tally(self.estimator, self.tally))
        compared = None if self.comparison is None else Comparison.of(self.comparison)
        return Team(own, dict(self.challengers), compared)


def write(folder: Path, version: int, team: Team, chain: bytes) -> int:
    """Save a snapshot, on disk when this returns, and remove old ones.

    Returns the version of the oldest that stays, as `oldest` does.
    """
    path = path_of(folder, version)
    extra: dict[str, Any] = {"version": version, "tally": team.own.tally.state(), "chain": chain.hex()}
    if team.comparison is not None:
        extra["challengers"] = [_described(name, each) for name, each in team.challengers.items()]
        extra["comparison"] = team.comparison.state()
    team.own.estimator.save(path, extra={"serve": extra})
    for each in list(versions(folder))[:-2]:
        path_of(folder, each).unlink(missing_ok=True)
    return oldest(folder)


def _described(name: str, member: Member) -> dict[str, Any]:
    """A challenger as data of a model file."""
    known: dict[str, Any] = {
        "name": name,
        "settings": asdict(member.settings),
        "born": member.born,
        "tally": member.tally.state(),
    }
    if member.estimator.__sklearn_is_fitted__():
        description, arrays = model_files.content(member.estimator)
        known |= {"model": json.dumps(description), "arrays": arrays}
    return known


def _revived(path: Path, known: Mapping[str, Any]) -> tuple[str, Member]:
    """The name of a challenger, and the challenger."""
    settings = settings_of(known["settings"])
    estimator = settings.estimator()
    if "model" in known:
        file = model_files.ModelFile(str(path), "", json.loads(known["model"]), known["arrays"])
        estimator = file.estimator()
    return known["name"], Member(settings, estimator, _tally(estimator, known["tally"]), known["born"])


def _tally(estimator: Estimator, state: Mapping[str, Any]) -> Tally:
    tally = Tally(estimator)
    tally.restore(state)
    return tally


def oldest(folder: Path) -> int:
    """The version from which the log must go on: that of the older snapshot; 0 if there is only one."""
    return [0, 0, *versions(folder)][-2]


def path_of(folder: Path, version: int) -> Path:
    """The file of the snapshot of a version."""
    return folder / f"snapshot-{version:020d}.safetensors"


def versions(folder: Path) -> Iterator[int]:
    """The versions of the snapshots, oldest first."""
    names = (_NAME.fullmatch(path.name) for path in folder.iterdir())
    yield from sorted(int(name[1]) for name in names if name)


def read(folder: Path, version: int) -> Snapshot:
    """The snapshot of that version; ModelFileError if it is damaged."""
    path = path_of(folder, version)
    file = model_files.read(path)
    extra: Any = file.extra.get("serve")
    try:
        if extra["version"] != version:
            raise ValueError
        tally, chain = extra["tally"], bytes.fromhex(extra["chain"])
        challengers = dict(_revived(path, each) for each in extra.get("challengers", []))
    except (KeyError, TypeError, ValueError):
        raise ModelFileError(f"{path}: is no snapshot of {version} rows.") from None
    return Snapshot(version, file.estimator(), tally, chain, challengers, extra.get("comparison"))


def newest(*folders: Path) -> tuple[Snapshot | None, list[str]]:
    """The newest snapshot of some folders that can be read, and why newer ones cannot."""
    known = {version: folder for folder in folders if folder.is_dir() for version in versions(folder)}
    damaged: list[str] = []
    for version in sorted(known, reverse=True):
        try:
            return read(known[version], version), damaged
        except ModelFileError as error:
            damaged.append(str(error))
    return None, damaged
