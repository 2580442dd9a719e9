"""What is known of the data sets of the papers."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

from budgetron.datasets.folders import Folder, found
from budgetron.streams import DataError

LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/"
UCI = "https://archive.ics.uci.edu/"


@dataclass(frozen=True)
class DataSet:
    """A data set: where it comes from, what it is, how the papers prepare it and which use it.

    Attributes
    ----------
    name : str
        What it is called here; ``also`` are names that papers use.
    task : str or None
        "binary", "multiclass" or "regression"; None where nothing is known but the file.
    columns, classes : int or None
        The number of features, to be given when a part is read, and of labels.
    parts : tuple of str
        The parts that the online tables of the papers run over; "whole" is a file of no part.
    rows : dict
        Part to its number of rows.
    source, page : str
        Whose page it is on, and what it is called there.
    files : dict
        Part to the name of its file there.
    digests : dict
        Part to the SHA-256 of its rows; parts without one are unverified.
    preparation : str
        What the papers do to the rows.
    papers : tuple of str
        The papers, by key, and their tables.
    note : str
        What else to know.
    """

    name: str
    task: str | None = None
    columns: int | None = None
    classes: int | None = None
    parts: tuple[str, ...] = ()
    rows: Mapping[str, int] = field(default_factory=dict)
    source: str = "a file in the data folder"
    page: str = ""
    files: Mapping[str, str] = field(default_factory=dict)
    digests: Mapping[str, str] = field(default_factory=dict)
    preparation: str = ""
    papers: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    note: str = ""

    @property
    def size(self) -> int | None:
        """The rows of all its ``parts``; None if that is not known."""
        known = all(part in self.rows for part in self.parts) and self.parts
        return sum(self.rows[part] for part in self.parts) if known else None

    @property
    def address(self) -> str:
        """The page to start from, where it is one of the two large collections."""
        return {"LIBSVM": LIBSVM, "UCI": UCI}.get(self.source, "")

    def __str__(self) -> str:
        lines = {
            "used in": "; ".join(self.papers),
            "source": " ".join(filter(None, [self.source, self.page and f'"{self.page}"', self.address])),
            "parts": ", ".join(f"{part} {rows:,}" for part, rows in self.rows.items()),
            "tables run over": " + ".join(self.parts),
            "preparation": self.preparation,
            "here": ", ".join(str(path.name) for path in found().get(self.name, {}).values()) or "no file",
            "note": self.note,
        }
        return "\n".join([self._headline(), *(f"  {key}: {text}" for key, text in lines.items() if text)])

    def _headline(self) -> str:
        counts = {"rows": self.size, "columns": self.columns, "classes": self.classes}
        known = [f"{count:,} {what}" for what, count in counts.items() if count is not None]
        return f"{self.name}: " + ", ".join([self.task or "nothing known but its file", *known])


def names(*, folder: Folder = None) -> list[str]:
    """All data sets: those of the papers, and those with a file in the data folder."""
    return sorted({*_catalogue(), *found(folder)})


def describe(name: str, *, folder: Folder = None) -> DataSet:
    """What is known of a data set; ``print`` shows it in lines.

    >>> from budgetron import datasets
    >>> datasets.describe("a9a").columns, datasets.describe("adult9").name
    (123, 'a9a')
    """
    known = _catalogue()
    for entry in known.values():
        if name == entry.name or name in entry.also:
            return entry
    if name in found(folder):
        return DataSet(str(name))
    raise DataError(f"datasets: {name!r} is unknown and has no file; names() lists what there is.")


@cache
def _catalogue() -> dict[str, DataSet]:
    text = files("budgetron.datasets").joinpath("catalogue.toml").read_text(encoding="utf-8")
    return {name: DataSet(name, **_frozen(entry)) for name, entry in tomllib.loads(text).items()}


def _frozen(entry: dict[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in entry.items()}
