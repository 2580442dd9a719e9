"""Snapshots: model files that also hold the number of rows learned and the metrics.

Two of them stay: if the newer one is damaged, the older one and the log give the same model.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from budgetron._util.errors import ModelFileError
from budgetron.evaluate.progressive import Estimator
from budgetron.model.files import model_files

_NAME = re.compile(r"snapshot-(\d{20})\.safetensors")


class Snapshot(NamedTuple):
    """A model after ``version`` rows, and the state of its metrics."""

    version: int
    estimator: Estimator
    tally: dict[str, Any]
    chain: bytes  # the running digest of the log up to there


def write(folder: Path, version: int, estimator: Estimator, tally: dict[str, Any], chain: bytes) -> int:
    """Save a snapshot, on disk when this returns, and remove old ones.

    Returns the version of the oldest that stays, as `oldest` does.
    """
    path = path_of(folder, version)
    estimator.save(path, extra={"serve": {"version": version, "tally": tally, "chain": chain.hex()}})
    for each in list(versions(folder))[:-2]:
        path_of(folder, each).unlink(missing_ok=True)
    return oldest(folder)


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
    except (KeyError, TypeError, ValueError):
        raise ModelFileError(f"{path}: is no snapshot of {version} rows.") from None
    return Snapshot(version, file.estimator(), tally, chain)


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
