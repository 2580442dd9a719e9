"""Where the files of data sets lie."""

from __future__ import annotations

import os
import re
from os import PathLike
from pathlib import Path

NAME = re.compile(r"(?P<name>.+?)(\.(?P<part>train|test))?\.svm(\.(xz|gz|bz2|zst))?")

Folder = str | PathLike[str] | None
"""A folder that a caller gives; None is the one that ``BUDGETRON_DATA`` names, else the user's cache."""


def data_folder(given: Folder = None) -> Path:
    """The folder given, else the one that ``BUDGETRON_DATA`` names, else one in the user's cache."""
    if named := given or os.environ.get("BUDGETRON_DATA"):
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "budgetron"


def found(given: Folder = None) -> dict[str, dict[str, Path]]:
    """All files in the data folder: name to part ("whole" for a file of no part) to path."""
    folder = data_folder(given)
    sets: dict[str, dict[str, Path]] = {}
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if (match := NAME.fullmatch(path.name)) and not path.name.startswith("."):
            sets.setdefault(match["name"], {}).setdefault(match["part"] or "whole", path)
    return sets
