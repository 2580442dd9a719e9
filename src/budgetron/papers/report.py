"""The report of all tables and figures: ``REPORT.md`` and its pictures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from budgetron._durable import write as write_file
from budgetron.papers import markdown
from budgetron.papers.reproduction import Reproduction

HEAD = """\
# The papers' tables, reproduced

Made by `budgetron reproduce all --quick --report papers` (`make report`). Every number of ours was
computed, none copied. Differences are in *printed* standard deviations; above 0 ours is larger. **Bold** is
worse than print by more than two, with the number of the reason below the table. Our seconds are wall time
of one pass in one thread of a shared machine; theirs are as printed, on machines of 2008 to 2016 and mostly
in MATLAB: the factor is what a user gains, not a comparison of algorithms.
"""


def write(done: Sequence[Reproduction], folder: Path, threads: int = 1) -> None:
    """The report of what was reproduced, into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    write_file(str(folder / "REPORT.md"), [text(done).encode()])


def text(done: Sequence[Reproduction]) -> str:
    """The report."""
    parts = [
        HEAD,
        "## Summary",
        markdown.summary(done),
        "## How much faster",
        "The printed seconds of a pass over ours: least, median and most over the algorithms.",
        markdown.speed(done),
        "## The tables",
        *map(markdown.table, done),
    ]
    return "\n\n".join(part.strip() for part in parts) + "\n"
