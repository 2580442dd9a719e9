"""The report of all tables and figures: ``REPORT.md`` and its pictures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from budgetron.streams import DataError
from budgetron_reproduction import figures, markdown
from budgetron_reproduction.files import write as write_file
from budgetron_reproduction.reproduction import Reproduction

Drawn = dict[str, list[figures.Drawn]]
"""The figures by paper."""

FIGURES = "figures"
"""The folder of the pictures, beside the report."""

HEAD = """\
# The papers' tables, reproduced

`make report` makes this page. Every number of ours was computed, none copied. Differences are in *printed*
standard deviations; above 0 ours is larger. **Bold** is worse than print by more than two, with the number
of the reason below the table; where no deviation is printed, **far** is worse by more than two of ours.
Our seconds are wall time of one pass in one thread, two runs at a time on two cores. Theirs are as printed,
on machines of 2008 to 2016, in MATLAB or C++ as each table says: the factor is what a user gains, not a
comparison of algorithms.
"""


def write(
    done: Sequence[Reproduction],
    folder: Path,
    n_jobs: int = 1,
    *,
    afresh: bool = False,
    whole: bool = True,
) -> None:
    """The report of what was reproduced, into a folder. Where that is ``whole`` papers, their figures are
    in it: drawn where they are not there yet, were made from other settings, or ``afresh``.
    """
    folder.mkdir(parents=True, exist_ok=True)
    drawn = _drawn(done, folder / FIGURES, n_jobs, afresh) if whole else {}
    write_file(folder / "REPORT.md", text(done, drawn).encode())


def text(done: Sequence[Reproduction], drawn: Drawn) -> str:
    """The report."""
    parts = [
        HEAD,
        "## Summary",
        markdown.summary(done),
        *_open(done),
        *_claims(drawn),
        "## How much faster",
        "The printed seconds of a pass over ours: least, median and most over the algorithms.",
        markdown.speed(done),
        "## The tables and figures",
        *_papers(done, drawn),
    ]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _papers(done: Sequence[Reproduction], drawn: Drawn) -> Iterator[str]:
    """The tables of each paper, then its figures."""
    for key in dict.fromkeys(each.table.key for each in done):
        yield from (markdown.table(each) for each in done if each.table.key == key)
        yield from (markdown.figure(each, f"{FIGURES}/{each.path.name}") for each in drawn.get(key, ()))


def _open(done: Sequence[Reproduction]) -> Iterator[str]:
    """Results that are far from print and have no remark yet."""
    unexplained = [each for table in done for each in markdown.unexplained(table)]
    cells = [f"{each.table.title}: {each.cell.dataset}, {each.cell.name}" for each in unexplained]
    if cells:
        yield "**Far from print, without a reason so far**: " + "; ".join(cells) + "."


def _claims(drawn: Drawn) -> Iterator[str]:
    everything = [each for those in drawn.values() for each in those]
    if everything:
        yield "What the texts say of their figures (the pictures are lost), and how much of it holds here:"
        yield markdown.claims(everything)


def _drawn(done: Sequence[Reproduction], folder: Path, n_jobs: int, afresh: bool) -> Drawn:
    """The figures of the papers; those without any of their data sets are left out."""
    drawn: Drawn = {}
    for key in dict.fromkeys(each.table.key for each in done):
        for number in figures.numbers(key):
            known = None if afresh else figures.kept(key, number, folder)
            try:
                drawn.setdefault(key, []).append(known or figures.draw(key, number, folder, n_jobs))
            except DataError:
                continue
    return drawn
