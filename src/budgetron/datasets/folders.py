"""Where the files of data sets lie."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

NAME = re.compile(r"(?P<name>.+?)(\.(?P<part>train|test))?\.svm(\.(xz|gz|bz2|zst))?")


def cache() -> Path:
    """Where downloads go: the folder that ``BUDGETRON_DATA`` names, else one in the user's cache."""
    if given := os.environ.get("BUDGETRON_DATA"):
        return Path(given)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "budgetron"


def folders() -> Iterator[Path]:
    """Where files are looked for, in this order."""
    if not os.environ.get("BUDGETRON_DATA"):
        here = Path.cwd()
        for folder in (here, *here.parents):
            if (folder / "src" / "budgetron").is_dir():  # a checkout
                yield folder.parent / "shared" / "data"
    yield cache()


def found() -> dict[str, dict[str, Path]]:
    """All files there are: name to part ("whole" for a file of no part) to path."""
    sets: dict[str, dict[str, Path]] = {}
    for folder in folders():
        for path in sorted(folder.iterdir()) if folder.is_dir() else ():
            if (match := NAME.fullmatch(path.name)) and not path.name.startswith("."):
                sets.setdefault(match["name"], {}).setdefault(match["part"] or "whole", path)
    return sets
