"""Snapshots that are kept: by a schedule, because someone asked for one, and before each change of a model.

They are further names of the files that restarts use, in a folder of their own, with an index of their
figures. The index can be lost: the files are what counts.
"""

import os
import shutil
import threading
import time
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from budgetron.model.files import durable
from budgetron.serve import snapshot
from budgetron.serve.limits import Limits

FOLDER = "archive"
INDEX = "index.json"
SCHEDULE, ASKED, CHANGE = "schedule", "asked", "before a change"
HOUR, DAY = 3600, 86_400
MONDAY = 3 * DAY  # the clock began on a Thursday


class Kept(Struct):
    """A snapshot that is kept, with its figures."""

    version: int
    at: float  # seconds since 1970
    why: str = SCHEDULE
    bytes: int = 0
    figures: dict[str, Any] = {}


class Archive:
    """The snapshots that are kept of a model. Its writer adds to them; others read."""

    def __init__(self, model: Path, limits: Limits) -> None:
        self._model, self._folder, self._limits = model, model / FOLDER, limits
        self._lock = threading.Lock()
        self._folder.mkdir(mode=0o700, exist_ok=True)
        self.kept = self._read()

    def _read(self) -> list[Kept]:
        """What the files and the index say, oldest first."""
        known = dict[int, Kept]()
        with suppress(FileNotFoundError, msgspec.DecodeError):
            index = (self._folder / INDEX).read_bytes()
            known = {each.version: each for each in msgspec.json.decode(index, type=list[Kept])}
        return [known.get(version) or self._of_file(version) for version in snapshot.versions(self._folder)]

    def _of_file(self, version: int) -> Kept:
        file = snapshot.path_of(self._folder, version).stat()
        return Kept(version, file.st_mtime, bytes=file.st_size)

    def find(self, version: int) -> Kept | None:
        """The snapshot of a version, if it is kept."""
        return next((each for each in self.kept if each.version == version), None)

    def oldest(self, otherwise: int) -> int:
        """The version of the oldest snapshot."""
        return self.kept[0].version if self.kept else otherwise

    def keep(self, version: int, why: str, figures: dict[str, Any], needed: Collection[int] = ()) -> None:
        """Keep the snapshot of a version if the schedule or ``why`` asks for it, and let others go.

        ``needed`` are versions that a restart may need, whatever the schedule says.
        """
        with self._lock:
            file, before = snapshot.path_of(self._model, version), self.find(version)
            new = Kept(version, time.time(), why, file.stat().st_size, figures)
            if before is not None:
                new = msgspec.structs.replace(before, why=before.why if why == SCHEDULE else why)
            all_of_them = sorted([*(k for k in self.kept if k is not before), new], key=lambda k: k.version)
            staying = self._chosen(all_of_them) | set(needed)
            kept = [each for each in all_of_them if each.version in staying]
            if kept == self.kept:
                return
            if before is None and version in staying:
                _link(file, snapshot.path_of(self._folder, version))
            durable.write(str(self._folder / INDEX), [msgspec.json.encode(kept)])
            self.kept = kept
            for each in all_of_them:
                if each.version not in staying:
                    snapshot.path_of(self._folder, each.version).unlink(missing_ok=True)

    def _chosen(self, kept: list[Kept]) -> set[int]:
        """The versions that stay: the first of the last hours, days and weeks; others by count."""
        limits = self._limits
        chosen = set(_firsts(kept, lambda at: at // HOUR, limits.keep_hourly))
        chosen |= set(_firsts(kept, lambda at: at // DAY, limits.keep_daily))
        chosen |= set(_firsts(kept, lambda at: (at + MONDAY) // (7 * DAY), limits.keep_weekly))
        for why in (ASKED, CHANGE):
            chosen |= set(_last((each.version for each in kept if each.why == why), limits.keep_asked))
        return chosen


def _firsts(kept: Iterable[Kept], period: Callable[[float], float], count: int) -> list[int]:
    """The first snapshot of each of the last periods that have one."""
    firsts = dict[float, int]()
    for each in kept:
        firsts.setdefault(period(each.at), each.version)
    return _last(firsts.values(), count)


def _last(versions: Iterable[int], count: int) -> list[int]:
    return list(versions)[-count:] if count else []


def _link(file: Path, name: Path) -> None:
    """Give a file one more name, or copy it where the disk has no such names."""
    name.unlink(missing_ok=True)
    try:
        os.link(file, name)
    except OSError:
        copy = name.with_suffix(".new")
        shutil.copyfile(file, copy)
        with copy.open("rb+") as written:
            os.fsync(written.fileno())
        copy.rename(name)
