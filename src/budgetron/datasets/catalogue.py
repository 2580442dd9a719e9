"""The catalogue of the data sets of the papers."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files

from budgetron._util.text import nearest
from budgetron.datasets.folders import Folder, local_files
from budgetron.streams import DataError

LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/"
UCI = "https://archive.ics.uci.edu/"


@dataclass(frozen=True)
class DataSet:
    """A data set: its source, its size, how the papers prepare it, and which papers use it.

    Attributes
    ----------
    name : str
        Its name in this package; ``also`` are the other names that papers use.
    task : str or None
        "binary", "multiclass" or "regression"; None if it is not in the catalogue.
    columns, classes : int or None
        The number of features and the number of different labels.
    parts : tuple of str
        The parts used by the papers' online experiments: "train", "test", or "whole" for a single file.
    rows : dict
        The number of rows of each part.
    source, page : str
        The collection that has it, and its name there.
    files : dict
        The file name of each part there.
    digests : dict
        The SHA-256 of the rows of each part, if known.
    preparation : str
        How the papers prepare the rows.
    papers : tuple of str
        The keys of the papers that use it, with the numbers of their tables.
    package : str
        The Python package that contains it, if it is not read from files.
    note : str
        Further remarks.

    Examples
    --------
    >>> from budgetron import datasets
    >>> entry = datasets.describe("ijcnn1")
    >>> entry.task, entry.columns, entry.classes
    ('binary', 22, 2)
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
    package: str = ""
    note: str = ""

    @property
    def size(self) -> int | None:
        """The number of rows of all ``parts``; None if it is not known."""
        known = all(part in self.rows for part in self.parts) and self.parts
        return sum(self.rows[part] for part in self.parts) if known else None

    @property
    def is_read(self) -> bool:
        """Whether it is read from files in the data folder. Others are drawn, or in another package."""
        return self.source != "made here" and not self.package

    @property
    def address(self) -> str:
        """The web page of the collection, if it is LIBSVM or UCI; else empty."""
        return {"LIBSVM": LIBSVM, "UCI": UCI}.get(self.source, "")

    def __str__(self) -> str:
        files = local_files().get(self.name, {})
        lines = {
            "used in": "; ".join(self.papers),
            "source": " ".join(filter(None, [self.source, self.page and f'"{self.page}"', self.address])),
            "parts": ", ".join(f"{part} {rows:,}" for part, rows in self.rows.items()),
            "tables run over": " + ".join(self.parts),
            "preparation": self.preparation,
            "local files": (", ".join(path.name for path in files.values()) or "none") * self.is_read,
            "note": self.note,
        }
        counts = {"rows": self.size, "columns": self.columns, "classes": self.classes}
        known = [f"{count:,} {what}" for what, count in counts.items() if count is not None]
        head = f"{self.name}: " + ", ".join([self.task or "not in the catalogue", *known])
        return "\n".join([head, *(f"  {key}: {text}" for key, text in lines.items() if text)])


def names(*, folder: Folder = None) -> list[str]:
    """The names of all data sets: those of the papers, and those with a file in the data folder.

    Examples
    --------
    >>> from budgetron import datasets
    >>> "ijcnn1" in datasets.names()
    True
    """
    return sorted({*_catalogue(), *local_files(folder)})


def describe(name: str, *, folder: Folder = None) -> DataSet:
    """The catalogue entry of a data set, to be printed or read.

    >>> from budgetron import datasets
    >>> datasets.describe("a9a").columns, datasets.describe("adult9").name
    (123, 'a9a')
    """
    known = _catalogue()
    for entry in known.values():
        if name == entry.name or name in entry.also:
            return entry
    if name in local_files(folder):
        return DataSet(str(name))
    near = nearest(str(name), names(folder=folder), otherwise="see datasets.names().")
    raise DataError(f"datasets: {name!r} is not in the catalogue and has no file; {near}")


@cache
def _catalogue() -> dict[str, DataSet]:
    text = files("budgetron.datasets").joinpath("catalogue.toml").read_text(encoding="utf-8")
    known = {}
    for name, entry in tomllib.loads(text).items():
        lists = {key: tuple(value) for key, value in entry.items() if isinstance(value, list)}
        known[name] = DataSet(name, **(entry | lists))
    return known
