"""Download data sets into the data folder."""

import os
import urllib.request
from http.client import HTTPException
from pathlib import Path, PurePosixPath

from budgetron._util.progress import Progress
from budgetron.datasets.catalogue import LIBSVM, DataSet, describe
from budgetron.datasets.folders import Folder, data_folder, local_files
from budgetron.datasets.loading import digest, how_to_get, read
from budgetron.streams import DataError

PIECE = 1 << 16


def fetch(
    name: str,
    part: str | None = None,
    *,
    page: str = LIBSVM,
    verify: bool = True,
    folder: Folder = None,
) -> list[Path]:
    """Download the missing files of a data set, check their rows, and return the paths of all its files.

    The files are named so that `load` finds them. A failed download leaves no file. The rows are compared
    with the SHA-256 in the catalogue, or only counted if it has none. These SHA-256 were computed from
    copies that are said to equal the public files, not from the public files themselves.

    Parameters
    ----------
    name : str
        A data set of the papers.
    part : str, optional
        "train", "test" or "whole"; by default all parts.
    page : str
        The address of the LIBSVM data page or of a mirror.
    verify : bool
        Whether to refuse a file with unexpected rows.
    folder : path, optional
        The data folder; by default ``BUDGETRON_DATA`` or the user's cache.

    Examples
    --------
    >>> from budgetron import datasets
    >>> paths = datasets.fetch("a9a")  # doctest: +SKIP
    """
    entry = describe(name, folder=folder)
    parts = (part,) if part else tuple(entry.files) or entry.parts
    local, target = local_files(folder).get(entry.name, {}), data_folder(folder)
    return [local.get(each) or _fetched(entry, each, page, verify, target) for each in parts]


def _fetched(entry: DataSet, part: str, page: str, verify: bool, folder: Path) -> Path:
    if entry.source != "LIBSVM" or part not in entry.files:
        how = how_to_get(entry, part, f"to {folder}")
        raise DataError(f"fetch: {entry.name} ({part}) cannot be downloaded as svmlight text: {how}.")
    remote = PurePosixPath(entry.files[part])
    packed = remote.suffix if remote.suffix in (".bz2", ".xz", ".gz") else ""
    middle = "" if part == "whole" else f".{part}"
    target = folder / f"{entry.name}{middle}.svm{packed}"
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        _download(page.rstrip("/") + f"/{remote}", partial)
        if verify:
            _verify(entry, part, partial)
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)
    return target


def _download(url: str, path: Path) -> None:
    try:
        with urllib.request.urlopen(url, timeout=60) as answer, path.open("wb") as file:
            size = int(answer.headers.get("Content-Length") or 0)
            with Progress(size or None, f"downloading {url.rpartition('/')[2]}") as progress:
                while piece := answer.read(PIECE):
                    file.write(piece)
                    progress.advance(len(piece))
        if size and progress.done != size:
            raise OSError(f"only {progress.done} of {size} bytes arrived")
    except (OSError, HTTPException) as error:
        raise DataError(f"fetch: cannot download {url} ({error}).") from error


def _verify(entry: DataSet, part: str, path: Path) -> None:
    """Refuse rows that differ from those in the catalogue."""
    X, y = read([path], entry.columns)
    what = f"fetch: {entry.name} ({part})"
    instead = "verify=False accepts them"
    if X.shape[0] != entry.rows[part]:
        raise DataError(f"{what} has {X.shape[0]} rows, expected {entry.rows[part]}; {instead}.")
    known = entry.digests.get(part)
    if known and (got := digest(X, y, entry.task)) != known:
        raise DataError(f"{what} has unexpected rows: expected SHA-256 {known}, got {got}; {instead}.")
