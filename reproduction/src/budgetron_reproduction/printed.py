"""The printed tables of the papers as data, read from ``tables/<key>/table<n>.toml``."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

KEYS = ("orabona2008", "zhao2012", "zhao2012b", "lu2016", "le2016")
"""The papers, by year."""

LABELS = ("dataset", "algorithm", "loss", "maintenance", "variant", "budget")
"""The fields that identify a cell within its table."""


class UnknownTable(ValueError):
    """There is no such paper, table or data set; the message lists those there are."""


@dataclass(frozen=True)
class Cell:
    """A printed result.

    Attributes
    ----------
    dataset, algorithm, loss, maintenance, variant, budget
        What identifies the cell. Fields that its table does not have are None.
    value, sd : float
        As printed. ``sd`` is None if it is not printed or lost.
    seconds, test_seconds, support : float or None
        As printed: the time of a pass, the time of testing, the number of support vectors.
    note : str
        What is doubtful in the printed value.
    """

    dataset: str
    algorithm: str
    value: float | None = None
    sd: float | None = None
    loss: str | None = None
    maintenance: str | None = None
    variant: str | None = None
    budget: int | None = None
    seconds: float | None = None
    test_seconds: float | None = None
    support: float | None = None
    note: str = ""

    @property
    def name(self) -> str:
        """The name of the cell's row: algorithm, variant, maintenance and loss."""
        words = [self.algorithm, self.variant, self.maintenance, self.loss]
        return ", ".join(word for word in words if word)

    @property
    def labels(self) -> dict[str, Any]:
        """The fields that identify the cell, without those that are None."""
        return {name: value for name in LABELS if (value := getattr(self, name)) is not None}


@dataclass(frozen=True)
class Source:
    """A data set of a table: its name in `budgetron.datasets`, and how its rows are prepared.

    Attributes
    ----------
    name : str
        Its name in the paper.
    here : str
        Its name in `budgetron.datasets`.
    rows, features : int or None
        As printed.
    part : str or None
        The part to read; by default the rows that the online tables run over.
    prepare : str
        One of `preparation.PREPARATIONS`.
    train, test : int or None
        For batch tables without fixed parts: the number of training and test rows to draw.
    first : int or None
        Use only this many rows from the start of the training part.
    budget : int or None
        The budget, in tables that have one for each data set.
    decimals : int or None
        Decimals of the printed values, if not those of the table.
    part_of : int or None
        The number of rows in the paper, if ours are a part of them. Times are then compared per row.
    half : bool
        Whether half of the rows is set aside for the search of settings; the other half is the stream.
    """

    name: str
    here: str
    rows: int | None = None
    features: int | None = None
    part: str | None = None
    prepare: str = "raw"
    train: int | None = None
    test: int | None = None
    first: int | None = None
    budget: int | None = None
    decimals: int | None = None
    part_of: int | None = None
    half: bool = False


@dataclass(frozen=True)
class Remark:
    """A remark about some cells of a table. No data sets means all of them; the same for algorithms."""

    why: str
    datasets: tuple[str, ...] = ()
    algorithms: tuple[str, ...] = ()

    def concerns(self, cell: Cell) -> bool:
        """Whether the remark is about this cell."""
        return (not self.datasets or cell.dataset in self.datasets) and (
            not self.algorithms or cell.algorithm in self.algorithms
        )


@dataclass(frozen=True)
class Table:
    """A printed table, and how it is reproduced.

    Attributes
    ----------
    key, number : str, int
        The paper and the table.
    paper, caption : str
        The full reference; what the table shows, in our words.
    protocol : str
        "online" (each row is predicted, then learned) or "batch" (one pass over the training rows, then
        the test rows are predicted).
    task : str
        "binary", "multiclass" or "regression".
    measure : str
        What ``value`` measures; ``more_is_better`` is its direction.
    permutations : int
        The number of random orders of the rows.
    draws : int
        The number of draws of the rows, for made-up data.
    implementation : str
        The language and machine of the printed times.
    settings : dict
        Fixed parameters by algorithm; those of "all" are for every algorithm.
    grid : dict
        The values to search, by algorithm.
    same : dict
        Algorithms that use the settings found for another algorithm.
    search : dict
        ``rows`` is the largest number of rows in the search ("libsvm rows": for that algorithm). ``orders``
        (online) or ``folds`` (batch) is the number of repetitions.
    fewer : dict
        The number of permutations by "data set, algorithm", where a pass takes long.
    sources, cells
        The data sets and the printed results.
    departs, differs : tuple of Remark
        ``departs``: where we do something different from the paper, and why. ``differs``: why our results
        differ from the printed ones.
    """

    key: str
    number: int
    paper: str
    caption: str
    protocol: str
    task: str
    measure: str
    permutations: int
    implementation: str = ""
    more_is_better: bool = False
    decimals: int = 1
    draws: int = 1
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    grid: Mapping[str, Mapping[str, Sequence[float]]] = field(default_factory=dict)
    same: Mapping[str, str] = field(default_factory=dict)
    search: Mapping[str, int] = field(default_factory=dict)
    fewer: Mapping[str, int] = field(default_factory=dict)
    sources: Mapping[str, Source] = field(default_factory=dict)
    cells: tuple[Cell, ...] = ()
    departs: tuple[Remark, ...] = ()
    differs: tuple[Remark, ...] = ()

    @property
    def title(self) -> str:
        """Its name in reports."""
        return f"{self.key}, Table {self.number}"

    def budget(self, cell: Cell) -> int | None:
        """The budget of a cell: its own, or that of its data set."""
        return cell.budget if cell.budget is not None else self.sources[cell.dataset].budget

    def digits(self, cell: Cell) -> int:
        """The number of decimals with which a cell is printed."""
        own = self.sources[cell.dataset].decimals
        return self.decimals if own is None else own

    def orders(self, cell: Cell, most: int | None = None) -> int:
        """The number of permutations to run for a cell, at most ``most``."""
        few = self.fewer.get(f"{cell.dataset}, {cell.algorithm}", self.permutations)
        return min(few, most or few)

    def of(self, dataset: str | None) -> tuple[Cell, ...]:
        """The cells of a data set, by the paper's name or ours. None means all cells."""
        if dataset is None:
            return self.cells
        names = {name for name, source in self.sources.items() if dataset in (name, source.here)}
        if not names:
            have = ", ".join(self.sources)
            raise UnknownTable(f"{self.title} has no data set {dataset!r}; it has: {have}.")
        return tuple(cell for cell in self.cells if cell.dataset in names)


@cache
def table(key: str, number: int) -> Table:
    """A table of a paper.

    >>> from budgetron_reproduction import table
    >>> german = table("lu2016", 5).of("german")
    >>> german[0].algorithm, german[0].value, german[0].sd
    ('perceptron', 35.2, 0.9)
    """
    have = numbers(key)
    if number not in have:
        raise UnknownTable(f"{key} has no Table {number} here; it has: {', '.join(map(str, have))}.")
    read = tomllib.loads((_folder(key) / f"table{number}.toml").read_text(encoding="utf-8"))
    sources = {name: Source(name, **entry) for name, entry in read.pop("datasets").items()}
    cells = tuple(Cell(**entry) for entry in read.pop("cells"))
    departs, differs = (tuple(_remarks(read.pop(kind, ()))) for kind in ("departs", "differs"))
    return Table(key, number, sources=sources, cells=cells, departs=departs, differs=differs, **read)


@cache
def numbers(key: str) -> tuple[int, ...]:
    """The numbers of the tables of a paper that can be reproduced."""
    if key not in KEYS:
        raise UnknownTable(f"there is no paper {key!r}; there are: {', '.join(KEYS)}.")
    stems = (entry.name.removesuffix(".toml") for entry in _folder(key).iterdir())
    return tuple(sorted(int(stem[len("table") :]) for stem in stems if stem.startswith("table")))


@cache
def found(key: str) -> dict[str, Any]:
    """The settings that earlier searches found: table to data set to cell to parameters."""
    path = _folder(key) / "settings.toml"
    return tomllib.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def _remarks(entries: Sequence[Mapping[str, Any]]) -> Iterator[Remark]:
    for entry in entries:
        names = {kind: tuple(entry.get(kind, ())) for kind in ("datasets", "algorithms")}
        yield Remark(entry["why"], **names)


def _folder(key: str) -> Traversable:
    return files("budgetron_reproduction") / "tables" / key
