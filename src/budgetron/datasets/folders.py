"""The data folder and the files in it."""

import os
import re
from os import PathLike
from pathlib import Path

NAME = re.compile(r"(?P<name>.+?)(\.(?P<part>train|test))?\.svm(\.(xz|gz|bz2|zst))?")

Folder = str | PathLike[str] | None
"""A folder, or None for the default: ``BUDGETRON_DATA``, else the user's cache."""


def data_folder(given: Folder = None) -> Path:
    """The given folder, else ``BUDGETRON_DATA``, else ``budgetron`` in the user's cache."""
    if folder := given or os.environ.get("BUDGETRON_DATA"):
        return Path(folder)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "budgetron"


def local_files(given: Folder = None) -> dict[str, dict[str, Path]]:
    """The files in the data folder, as ``{name: {part: path}}``. A file without a part is "whole"."""
    folder = data_folder(given)
    sets: dict[str, dict[str, Path]] = {}
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if (match := NAME.fullmatch(path.name)) and not path.name.startswith("."):
            sets.setdefault(match["name"], {}).setdefault(match["part"] or "whole", path)
    return sets
