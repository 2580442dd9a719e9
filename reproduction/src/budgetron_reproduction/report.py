"""The report of all tables and figures: ``REPORT.md`` and its pictures."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

from budgetron.streams import DataError
from budgetron_reproduction import costs, figures, markdown, results
from budgetron_reproduction.files import write as write_file
from budgetron_reproduction.printed import KEYS, numbers
from budgetron_reproduction.reproduction import Reproduction

CLAIMS = """\
What the texts say of their tables and figures is checked too. The figures themselves are lost, and so are
the numbers of zhao2012b. A claim about a table is also checked on the printed numbers, of all data sets."""

Drawn = dict[str, list[figures.Drawn]]
"""The figures by paper."""

NOTHING: Mapping[str, Sequence[str]] = {}
FIGURES = "figures"
"""The folder of the pictures, next to the report."""

HEAD = """\
# The papers' tables, reproduced

`make report` writes this page. All our numbers are computed by it and kept in `results/`. How to read the
tables:

* **difference, sd**: ours minus the paper's value, in *printed* standard deviations.
* **bold**: worse than the paper by more than two printed deviations. The number in brackets is the reason,
  below the table. If no deviation is printed, **far** is worse by more than two of our own deviations.
  *Far worse* in the summary counts these cells, of all whose value is printed.
* **seconds**: ours are processor time of one pass in one thread. Those of the papers are as printed, on
  machines of 2008 to 2016, in MATLAB or C++. "Times faster" is what a user gains; it does not compare
  algorithms.
* **reading**: some tables were printed with programs that differ from the definitions in the papers. Where
  budgetron offers that reading by name, it is run, and the table says so.
"""


def write(
    done: Sequence[Reproduction],
    folder: Path,
    n_jobs: int = 1,
    *,
    afresh: bool = False,
    whole: bool = True,
) -> None:
    """Add some reproductions to the report in a folder.

    The report has all results that the folder has, those of earlier calls too. With ``whole`` (the
    reproductions are whole papers) their figures are drawn; a figure that was drawn before from the same
    settings is taken from the folder, unless ``afresh``.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for each in done:
        results.keep(each, folder)
    everything = _kept(done, folder)
    new = {each.table.key for each in done} if whole else set()
    drawn = _drawn(everything, folder / FIGURES, n_jobs, new, afresh)
    write_file(folder / "REPORT.md", text(everything, drawn, {"lu2016": costs.sections(folder)}).encode())


def _kept(done: Sequence[Reproduction], folder: Path) -> list[Reproduction]:
    """The tables of which the folder has results, and those that were asked for."""
    asked = {each.table.title for each in done}
    kept = (results.kept(key, number, folder) for key in KEYS for number in numbers(key))
    return [each for each in kept if each.results or each.table.title in asked]


def text(done: Sequence[Reproduction], drawn: Drawn, more: Mapping[str, Sequence[str]] = NOTHING) -> str:
    """The report. ``more`` are further sections, by paper."""
    parts = [
        HEAD,
        "## Summary",
        markdown.summary(done),
        *_open(done),
        *_claims(done, drawn),
        "## How much faster",
        "The printed seconds of a pass divided by ours: least, median and most over the algorithms.",
        markdown.speed(done),
        "## The tables and figures",
        *_papers(done, drawn, more),
    ]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _papers(done: Sequence[Reproduction], drawn: Drawn, more: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """The tables of each paper, then its figures, then more."""
    for key in dict.fromkeys(each.table.key for each in done):
        yield from (markdown.table(each, done) for each in done if each.table.key == key)
        yield from (markdown.figure(each, f"{FIGURES}/{each.path.name}") for each in drawn.get(key, ()))
        yield from more.get(key, ())


def _open(done: Sequence[Reproduction]) -> Iterator[str]:
    """A paragraph about results that are far from print and have no remark, if there are any."""
    unexplained = [each for table in done for each in markdown.unexplained(table)]
    cells = [f"{each.table.title}: {each.cell.dataset}, {each.cell.name}" for each in unexplained]
    if cells:
        yield "**Far from print, not yet explained**: " + "; ".join(cells) + "."


def _claims(done: Sequence[Reproduction], drawn: Drawn) -> Iterator[str]:
    """How many claims of the texts hold; empty for tables of which there are no results."""
    everything = [each for those in drawn.values() for each in those]
    if everything or any(each.results for each in done):
        yield CLAIMS
        yield markdown.claims(done, everything)


def _drawn(
    done: Sequence[Reproduction], folder: Path, n_jobs: int, new: Collection[str], afresh: bool
) -> Drawn:
    """The figures of the papers: those in the folder, and of ``new`` papers all whose data is there."""
    drawn: Drawn = {}
    for key in dict.fromkeys(each.table.key for each in done):
        for number in figures.numbers(key):
            known = None if afresh and key in new else figures.kept(key, number, folder)
            if known is None and key in new:
                known = _drawn_now(key, number, folder, n_jobs)
            if known is not None:
                drawn.setdefault(key, []).append(known)
    return drawn


def _drawn_now(key: str, number: int, folder: Path, n_jobs: int) -> figures.Drawn | None:
    try:
        return figures.draw(key, number, folder, n_jobs)
    except DataError:
        return None
