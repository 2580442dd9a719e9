"""What a comparison of learners found, as records."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy.stats import ttest_rel

from budgetron.evaluate.records import Record

LEVEL = 0.05
Run = tuple[Record, ...]


@dataclass(frozen=True)
class Row:
    """A learner in a comparison: means over the permutations.

    Attributes
    ----------
    name : str
        The learner.
    mean, sd : float
        Mistakes per row, or in regression the mean squared error: their mean over the permutations, and
        their standard deviation (with n - 1; None for one permutation).
    p_value : float or None
        Of the paired t-test against the best learner; None for that one and for one permutation.
    best : bool
        Whether its mean is the least.
    significant : bool
        Whether it is worse than the best with p < 0.05.
    support_vectors, seconds : float
        At the end of the pass.
    """

    name: str
    mean: float
    sd: float | None
    p_value: float | None
    best: bool
    significant: bool
    support_vectors: float
    seconds: float


@dataclass(frozen=True)
class Comparison:
    """Learners over the same random orders of the same rows.

    ``rows`` has the means, ``table()`` and ``markdown()`` print them, and ``records[name][i]`` is the run
    of a learner over permutation i, as records. ``from_dict(comparison.as_dict())`` is the same comparison,
    also after JSON.

    Attributes
    ----------
    task : str
        "classification" or "regression".
    learners : dict
        The learners as code, by name.
    records : dict
        Name to runs, one for each permutation.
    seed : int
        Permutation i is that of ``numpy.random.default_rng(seed + i)``.
    """

    task: str
    learners: Mapping[str, str]
    records: Mapping[str, tuple[Run, ...]]
    seed: int = 0

    @property
    def permutations(self) -> int:
        """How many orders of the rows."""
        return len(next(iter(self.records.values())))

    @property
    def rows(self) -> list[Row]:
        """A row for each learner, in their order."""
        means = {name: float(np.mean(_last(runs, "rate"))) for name, runs in self.records.items()}
        best = min(means, key=lambda name: means[name])
        return [self._row(name, means[name], best) for name in self.records]

    def table(self) -> str:
        """The rows as aligned text."""
        head, *lines = self._cells(plain=True)
        widths = [max(map(len, column)) for column in zip(head, *lines, strict=True)]
        rule = "-" * (sum(widths) + 2 * len(widths) - 2)
        body = [_aligned(line, widths) for line in lines]
        return "\n".join([_aligned(head, widths), rule, *body, rule, self._key()])

    def markdown(self) -> str:
        """The rows as a table in Markdown; the best, and those not told from it, in bold."""
        head, *lines = self._cells(plain=False)
        rule = ["---", *["---:"] * (len(head) - 1)]
        return "\n".join("| " + " | ".join(line) + " |" for line in [head, rule, *lines])

    def as_dict(self) -> dict[str, Any]:
        """Everything, as JSON takes it; ``rows`` is there for readers and follows from the rest."""
        runs = {name: [_columns(run) for run in runs] for name, runs in self.records.items()}
        return {
            "task": self.task,
            "seed": self.seed,
            "learners": dict(self.learners),
            "rows": [asdict(row) for row in self.rows],
            "records": runs,
        }

    @classmethod
    def from_dict(cls, kept: Mapping[str, Any]) -> Self:
        """The comparison that `as_dict` was taken of."""
        runs = {name: tuple(map(_records, runs)) for name, runs in kept["records"].items()}
        return cls(kept["task"], dict(kept["learners"]), runs, kept["seed"])

    def _row(self, name: str, mean: float, best: str) -> Row:
        runs, several = self.records[name], self.permutations > 1
        p = None
        if several and name != best:
            p = p_value(_last(runs, "error"), _last(self.records[best], "error"))
        return Row(
            name=name,
            mean=mean,
            sd=float(np.std(_last(runs, "rate"), ddof=1)) if several else None,
            p_value=p,
            best=name == best,
            significant=p is not None and p < LEVEL,
            support_vectors=float(np.mean(_last(runs, "support_vectors"))),
            seconds=float(np.mean(_last(runs, "seconds"))),
        )

    def _cells(self, plain: bool) -> list[list[str]]:
        measure = "mistakes %" if self.task == "classification" else "squared error"
        head = ["learner", measure, "p", "support vectors", "seconds"]
        return [head, *(self._line(row, plain) for row in self.rows)]

    def _line(self, row: Row, plain: bool) -> list[str]:
        scale, digits = (100, 2) if self.task == "classification" else (1, 5)
        value = f"{scale * row.mean:.{digits}f}"
        if row.sd is not None:
            value += f" ± {scale * row.sd:.{digits}f}"
        if plain:
            value += "  " if row.significant else " *"
        elif not row.significant:
            value = f"**{value}**"
        p = "" if row.p_value is None else "<1e-4" if row.p_value < 1e-4 else f"{row.p_value:.4f}"
        return [row.name, value, p, f"{row.support_vectors:.1f}", f"{row.seconds:.4f}"]

    def _key(self) -> str:
        if self.permutations == 1:
            return "One order of the rows; nothing can be said about significance."
        return (
            f"Mean and standard deviation over {self.permutations} permutations; seconds of one pass.\n"
            f"* the best, and what a paired t-test does not tell from it (p >= {LEVEL})."
        )


def p_value(a: npt.NDArray[Any], b: npt.NDArray[Any]) -> float:
    """Of the paired t-test; 1 for equal results, 0 for results that differ by the same everywhere."""
    difference = a - b
    if np.ptp(difference) <= 1e-12 * np.abs(a).max():
        return 1.0 if np.abs(difference).max() <= 1e-12 * np.abs(a).max() else 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # differences that are nearly the same
        return float(ttest_rel(a, b).pvalue)


def _last(runs: Sequence[Run], what: str) -> npt.NDArray[np.float64]:
    """A number at the end of each run."""
    return np.array([getattr(run[-1], what) for run in runs], dtype=np.float64)


def _columns(run: Run) -> dict[str, list[Any]]:
    return {name: [getattr(record, name) for record in run] for name in Record.__dataclass_fields__}


def _records(columns: Mapping[str, list[Any]]) -> Run:
    rows = zip(*columns.values(), strict=True)
    return tuple(Record(**dict(zip(columns, row, strict=True))) for row in rows)


def _aligned(cells: list[str], widths: list[int]) -> str:
    first, *rest = (
        f"{cell:<{width}}" if i == 0 else f"{cell:>{width}}"
        for i, (cell, width) in enumerate(zip(cells, widths, strict=True))
    )
    return "  ".join([first, *rest]).rstrip()
