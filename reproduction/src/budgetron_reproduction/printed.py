"""The printed tables of the papers as data: ``papers/<key>/table<n>.toml``."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

KEYS = ("orabona2008", "zhao2012", "zhao2012b", "lu2016", "le2016")
"""The papers, in the order of their years."""

LABELS = ("dataset", "algorithm", "loss", "maintenance", "variant", "budget")
"""What tells the cells of a table apart."""


class UnknownTable(ValueError):
    """No such paper, table or data set in a table; the message says which there are."""


@dataclass(frozen=True)
class Cell:
    """A printed result.

    Attributes
    ----------
    dataset, algorithm, loss, maintenance, variant, budget
        What it is the result of; those that its table does not have are None.
    value, sd : float
        As printed; ``sd`` is None where none is printed or it is lost.
    seconds, test_seconds, support : float or None
        The printed time of a pass, of testing, and the number of support vectors.
    note : str
        What is doubtful about the print.
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
        """The cell without its data set, as a row of a table is called."""
        words = [self.algorithm, self.variant, self.maintenance, self.loss]
        return ", ".join(word for word in words if word)

    @property
    def labels(self) -> dict[str, Any]:
        """What tells it from the other cells of its table."""
        return {name: value for name in LABELS if (value := getattr(self, name)) is not None}


@dataclass(frozen=True)
class Source:
    """The rows of a table's data set: what it is called here, and what is done to it.

    Attributes
    ----------
    name : str
        What the paper calls it.
    here : str
        What `budgetron.datasets` calls it.
    rows, features : int or None
        As printed.
    part : str or None
        The part that is read; by default what the online tables run over.
    prepare : str
        One of `preparation.PREPARATIONS`.
    train, test : int or None
        For batch tables: how many rows are drawn for training and testing where there are no fixed parts.
    first : int or None
        Only so many of the first rows of the training part.
    budget : int or None
        Where the table has one for each data set.
    decimals : int or None
        Of the printed values, where they are not those of the table.
    part_of : int or None
        How many rows the paper runs over, where ours are a part of them: printed times are compared by the
        row.
    half : bool
        Whether one half of the rows is kept for the search of settings and the other is the stream.
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
    """Something said about some cells of a table: of all, where it names none."""

    why: str
    datasets: tuple[str, ...] = ()
    algorithms: tuple[str, ...] = ()

    def concerns(self, cell: Cell) -> bool:
        """Whether the cell is one of them."""
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
        The paper in full; what the table shows, in our words.
    protocol : str
        "online" (mistakes, or squared error, of each row before it is learnt) or "batch" (one pass over
        training rows, then test rows).
    task : str
        "binary", "multiclass" or "regression".
    measure : str
        What ``value`` is; ``more_is_better`` says which direction is good.
    permutations : int
        Random orders of the rows.
    implementation : str
        What the printed times were measured in.
    settings : dict
        Parameters by algorithm that are not searched for; "all" is for every one.
    grid : dict
        What is searched, by algorithm.
    same : dict
        Algorithms that take over what the search found for another one.
    search : dict
        ``rows`` are the most that the search runs over ("libsvm rows": for that algorithm); ``orders``
        (online) or ``folds`` (batch) how often.
    fewer : dict
        Permutations by "data set, algorithm" where a pass is long.
    sources, cells
        The data sets and the printed results.
    departs, differs : tuple of Remark
        Where we do something else than the paper, and why; why results differ where they do.
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
        """As it is called in reports."""
        return f"{self.key}, Table {self.number}"

    def budget(self, cell: Cell) -> int | None:
        """Of a cell: its own, or that of its data set."""
        return cell.budget if cell.budget is not None else self.sources[cell.dataset].budget

    def digits(self, cell: Cell) -> int:
        """How many decimals the value of a cell is printed with."""
        own = self.sources[cell.dataset].decimals
        return self.decimals if own is None else own

    def orders(self, cell: Cell, most: int | None = None) -> int:
        """How many permutations a cell is run over; not more than asked for."""
        few = self.fewer.get(f"{cell.dataset}, {cell.algorithm}", self.permutations)
        return min(few, most or few)

    def of(self, dataset: str | None) -> tuple[Cell, ...]:
        """The cells of a data set, by the paper's name or ours; all where None is asked for."""
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
    """The tables of a paper that can be reproduced."""
    if key not in KEYS:
        raise UnknownTable(f"there is no paper {key!r}; there are: {', '.join(KEYS)}.")
    stems = (entry.name.removesuffix(".toml") for entry in _folder(key).iterdir())
    return tuple(sorted(int(stem[len("table") :]) for stem in stems if stem.startswith("table")))


@cache
def found(key: str) -> dict[str, Any]:
    """The settings that a search found before: table to data set to cell name to budget to parameters."""
    path = _folder(key) / "settings.toml"
    return tomllib.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def _remarks(entries: Sequence[Mapping[str, Any]]) -> Iterator[Remark]:
    for entry in entries:
        names = {kind: tuple(entry.get(kind, ())) for kind in ("datasets", "algorithms")}
        yield Remark(entry["why"], **names)


def _folder(key: str) -> Traversable:
    return files("budgetron_reproduction") / "tables" / key
