"""The report of all tables and figures: ``REPORT.md`` and its pictures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from budgetron._durable import write as write_file
from budgetron.papers import figures, markdown
from budgetron.papers.reproduction import Reproduction
from budgetron.streams import DataError

Drawn = dict[str, list[figures.Drawn]]
"""The figures by paper."""

FIGURES = "figures"
"""The folder of the pictures, beside the report."""

HEAD = """\
# The papers' tables, reproduced

Made by `budgetron reproduce all --quick --report papers` (`make report`). Every number of ours was
computed, none copied. Differences are in *printed* standard deviations; above 0 ours is larger. **Bold** is
worse than print by more than two, with the number of the reason below the table. Our seconds are wall time
of one pass in one thread of a shared machine; theirs are as printed, on machines of 2008 to 2016 and mostly
in MATLAB: the factor is what a user gains, not a comparison of algorithms.
"""


def write(
    done: Sequence[Reproduction],
    folder: Path,
    threads: int = 1,
    *,
    afresh: bool = False,
    whole: bool = True,
) -> None:
    """The report of what was reproduced, into a folder. Where that is ``whole`` papers, their figures are
    in it: drawn where they are not there yet, were made from other settings, or ``afresh``.
    """
    folder.mkdir(parents=True, exist_ok=True)
    drawn = _drawn(done, folder / FIGURES, threads, afresh) if whole else {}
    write_file(str(folder / "REPORT.md"), [text(done, drawn).encode()])


def text(done: Sequence[Reproduction], drawn: Drawn) -> str:
    """The report."""
    parts = [
        HEAD,
        "## Summary",
        markdown.summary(done),
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


def _claims(drawn: Drawn) -> Iterator[str]:
    everything = [each for those in drawn.values() for each in those]
    if everything:
        yield "What the texts say of their figures (the pictures are lost), and how much of it holds here:"
        yield markdown.claims(everything)


def _drawn(done: Sequence[Reproduction], folder: Path, threads: int, afresh: bool) -> Drawn:
    """The figures of the papers; those without any of their data sets are left out."""
    drawn: Drawn = {}
    for key in dict.fromkeys(each.table.key for each in done):
        for number in figures.numbers(key):
            known = None if afresh else figures.kept(key, number, folder)
            try:
                drawn.setdefault(key, []).append(known or figures.draw(key, number, folder, threads))
            except DataError:
                continue
    return drawn
