"""The results that a claim compares: those of a data set at one budget, or with one loss."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from budgetron_reproduction.printed import Cell, Table, table
from budgetron_reproduction.reproduction import Reproduction, Result

JOINED = {("zhao2012", 3): 2, ("orabona2008", 1): 1, ("orabona2008", 3): 3}
"""The tables whose claims also speak of learners without a budget, and the table with their results."""


@dataclass(frozen=True)
class Group:
    """Results by the names of their rows.

    Attributes
    ----------
    name : str
        The data set, with the budget or the loss.
    place : str
        "largest" or "smallest" if the budget is that among those of the data set, else "".
    error, seconds, support, sd : dict
        Less error is better: an accuracy is turned into errors in percent.
    runs : dict
        How many runs the means are over.
    percent : bool
        Whether errors are in percent.
    """

    name: str
    place: str
    error: Mapping[str, float]
    seconds: Mapping[str, float]
    support: Mapping[str, float]
    sd: Mapping[str, float] = field(default_factory=dict)
    runs: Mapping[str, int] = field(default_factory=dict)
    percent: bool = True

    @property
    def dataset(self) -> str:
        """The name of the data set."""
        return self.name.split(" ")[0].rstrip(",")


@dataclass(frozen=True)
class Entry:
    """A cell with numbers: ours, or the printed ones."""

    cell: Cell
    value: float
    sd: float | None
    seconds: float | None
    support: float | None
    runs: int


def ours(done: Reproduction, others: Sequence[Reproduction] = ()) -> Iterator[Group]:
    """The groups of a table's results."""
    number = JOINED.get((done.table.key, done.table.number))
    of_paper = (each for each in [done, *others] if each.table.key == done.table.key)
    joined = next((each.results for each in of_paper if each.table.number == number), ())
    return _groups(done.table, map(_of_result, done.results), map(_of_result, joined))


def printed(what: Table) -> Iterator[Group]:
    """The groups of a table's printed numbers, also of data sets that are not run."""
    number = JOINED.get((what.key, what.number))
    joined = table(what.key, number).cells if number else ()
    return _groups(what, _of_print(what, what.cells), _of_print(what, joined))


def place(budget: int | None, budgets: Sequence[int]) -> str:
    """Which of the budgets it is: "largest", "smallest", or "" for neither."""
    if budget is None:
        return ""
    return "largest" if budget == max(budgets) else "smallest" if budget == min(budgets) else ""


def _groups(what: Table, entries: Iterable[Entry], joined: Iterable[Entry]) -> Iterator[Group]:
    found: dict[tuple[str, int | str | None], list[Entry]] = {}
    for each in entries:
        found.setdefault((each.cell.dataset, _by(what, each.cell)), []).append(each)
    without = [each for each in joined if each.cell.budget is None]
    for (dataset, by), members in found.items():
        budgets = [b for name, b in found if name == dataset and isinstance(b, int)]
        more = [each for each in without if each.cell.dataset == dataset and isinstance(by, int)]
        where = place(by, budgets) if isinstance(by, int) else ""
        yield _group(what, dataset + _said(by), where, [*members, *more])


def _by(what: Table, cell: Cell) -> int | str | None:
    """What divides the results of a data set: the losses of Le et al., else the budgets."""
    return cell.loss if what.key == "le2016" else cell.budget


def _said(by: int | str | None) -> str:
    return f" at B = {by}" if isinstance(by, int) else f", {by}" if by else ""


def _group(what: Table, name: str, where: str, members: Sequence[Entry]) -> Group:
    named = {_name(each.cell): each for each in members}
    return Group(
        name,
        where,
        {key: 100 - each.value if what.more_is_better else each.value for key, each in named.items()},
        {key: each.seconds for key, each in named.items() if each.seconds is not None},
        {key: each.support for key, each in named.items() if each.support is not None},
        {key: each.sd for key, each in named.items() if each.sd is not None},
        {key: each.runs for key, each in named.items()},
        percent=what.task != "regression",
    )


def _name(cell: Cell) -> str:
    words = [cell.algorithm, cell.variant, cell.maintenance]
    return ", ".join(word for word in words if word)


def _of_result(each: Result) -> Entry:
    return Entry(each.cell, each.value, each.sd, each.seconds, each.support, each.permutations)


def _of_print(what: Table, cells: Iterable[Cell]) -> Iterator[Entry]:
    for each in cells:
        if each.value is not None:
            runs = what.permutations
            yield Entry(each, each.value, each.sd, each.seconds, each.support, runs)
