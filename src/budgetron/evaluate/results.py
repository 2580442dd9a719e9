"""The results of a comparison of learners."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy.stats import ttest_rel

from budgetron._util.text import aligned
from budgetron.evaluate.record import Record

LEVEL = 0.05
Records = tuple[Record, ...]
"""Those of one run over the rows."""


@dataclass(frozen=True)
class Row:
    """The results of one learner: means over the permutations.

    Attributes
    ----------
    name : str
        The name of the learner.
    mean, sd : float
        The mean and the standard deviation (with n - 1; None for one permutation) of the error over the
        permutations. The error is mistakes per row, or in regression the mean squared error.
    p_value : float or None
        The p-value of a paired t-test against the best learner; None for the best learner itself and for
        one permutation.
    best : bool
        Whether the mean is the lowest.
    significant : bool
        Whether the learner is worse than the best with p < 0.05.
    support_vectors, seconds : float
        The number of support vectors at the end, and the processor time of the pass.
    metrics : dict
        The metrics of all rows by name; None if one is undefined on a permutation.

    Examples
    --------
    >>> from budgetron import Gaussian, datasets, evaluate, rbp, stoptron
    >>> learners = {f.__name__: f(Gaussian(1.0), budget=20) for f in (rbp, stoptron)}
    >>> result = evaluate.compare(learners, datasets.synthetic(300, seed=0), permutations=2)
    >>> [row.name for row in result.rows if row.best]
    ['rbp']
    """

    name: str
    mean: float
    sd: float | None
    p_value: float | None
    best: bool
    significant: bool
    support_vectors: float
    seconds: float
    metrics: Mapping[str, float | None] = field(default_factory=dict, hash=False)


@dataclass(frozen=True)
class Comparison:
    """The results of several learners over the same random orders of the same rows.

    ``rows`` has the means; ``table()`` and ``markdown()`` format them. ``records[name][i]`` has the records
    of a learner's run over permutation i. ``as_dict()`` can be written as JSON, and ``from_dict`` reads it
    back.

    Attributes
    ----------
    task : str
        "classification" or "regression".
    learners : dict
        The repr of each learner, by name.
    records : dict
        The runs of each learner, by name; one run per permutation.
    seed : int
        Permutation i comes from ``numpy.random.default_rng(seed + i)``.

    Examples
    --------
    >>> from budgetron import Gaussian, datasets, evaluate, rbp, stoptron
    >>> learners = {f.__name__: f(Gaussian(1.0), budget=20) for f in (rbp, stoptron)}
    >>> result = evaluate.compare(learners, datasets.synthetic(300, seed=0), permutations=2)
    >>> sorted(result.records), len(result.records["rbp"])
    (['rbp', 'stoptron'], 2)
    >>> evaluate.Comparison.from_dict(result.as_dict()).rows == result.rows
    True
    """

    task: str
    learners: Mapping[str, str]
    records: Mapping[str, tuple[Records, ...]]
    seed: int = 0

    @property
    def permutations(self) -> int:
        """The number of orders of the rows."""
        return len(next(iter(self.records.values())))

    @property
    def rows(self) -> list[Row]:
        """One `Row` per learner, in the given order."""
        means = {name: float(np.mean(_last(runs, "rate"))) for name, runs in self.records.items()}
        best = min(means, key=lambda name: means[name])
        return [self._row(name, means[name], best) for name in self.records]

    def table(self, metrics: Sequence[str] = ()) -> str:
        """The rows as a text table, with a column for each of the named metrics."""
        head, *lines = aligned(self._cells(metrics, plain=True))
        rule = "-" * len(head)
        return "\n".join([head, rule, *lines, rule, self._key()])

    def markdown(self, metrics: Sequence[str] = ()) -> str:
        """The rows as a Markdown table. Bold: the best, and those not significantly worse."""
        head, *lines = self._cells(metrics, plain=False)
        rule = ["---", *["---:"] * (len(head) - 1)]
        return "\n".join("| " + " | ".join(line) + " |" for line in [head, rule, *lines])

    def as_dict(self) -> dict[str, Any]:
        """Everything as plain data for JSON. ``rows`` is for the reader; `from_dict` ignores it."""
        return {
            "task": self.task,
            "seed": self.seed,
            "learners": dict(self.learners),
            "rows": [asdict(row) for row in self.rows],
            "records": {name: list(map(columns_of, runs)) for name, runs in self.records.items()},
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """The comparison whose `as_dict` this is."""
        runs = {name: tuple(map(records_of, runs)) for name, runs in data["records"].items()}
        return cls(data["task"], dict(data["learners"]), runs, data["seed"])

    def _row(self, name: str, mean: float, best: str) -> Row:
        runs, several = self.records[name], self.permutations > 1
        error, lowest = _last(runs, "error"), _last(self.records[best], "error")
        p = p_value(error, lowest) if several and name != best else None
        return Row(
            name=name,
            mean=mean,
            sd=float(np.std(_last(runs, "rate"), ddof=1)) if several else None,
            p_value=p,
            best=name == best,
            significant=p is not None and p < LEVEL,
            support_vectors=float(np.mean(_last(runs, "support_vectors"))),
            seconds=float(np.mean(_last(runs, "seconds"))),
            metrics=_mean_metrics(runs),
        )

    def _cells(self, metrics: Sequence[str], plain: bool) -> list[list[str]]:
        measure = "mistakes %" if self.task == "classification" else "squared error"
        rows = self.rows
        for name in metrics:
            if name not in rows[0].metrics:
                known = ", ".join(rows[0].metrics) or "none"
                raise ValueError(f"Comparison: the records have no metric {name!r}: they have {known}.")
        head = ["learner", measure, "p", *metrics, "support vectors", "seconds"]
        return [head, *(self._line(row, metrics, plain) for row in rows)]

    def _line(self, row: Row, metrics: Sequence[str], plain: bool) -> list[str]:
        scale, digits = (100, 2) if self.task == "classification" else (1, 5)
        value = f"{scale * row.mean:.{digits}f}"
        if row.sd is not None:
            value += f" ± {scale * row.sd:.{digits}f}"
        if plain:
            value += "  " if row.significant else " *"
        elif not row.significant:
            value = f"**{value}**"
        p = "" if row.p_value is None else "<1e-4" if row.p_value < 1e-4 else f"{row.p_value:.4f}"
        more = [in_words(row.metrics[name]) for name in metrics]
        return [row.name, value, p, *more, f"{row.support_vectors:.1f}", f"{row.seconds:.4f}"]

    def _key(self) -> str:
        if self.permutations == 1:
            return "One order of the rows: no standard deviation and no test of significance."
        return (
            f"Mean and standard deviation over {self.permutations} permutations; seconds of one pass.\n"
            f"* the best, and those not significantly worse (paired t-test, p >= {LEVEL})."
        )


def p_value(a: npt.NDArray[Any], b: npt.NDArray[Any]) -> float:
    """The p-value of a paired t-test; 1 if a == b, and 0 if a - b is the same nonzero number everywhere."""
    difference = a - b
    if np.ptp(difference) <= 1e-12 * np.abs(a).max():
        return 1.0 if np.abs(difference).max() <= 1e-12 * np.abs(a).max() else 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # SciPy warns if the differences are nearly equal
        return float(ttest_rel(a, b).pvalue)


def _last(runs: Sequence[Records], what: str) -> npt.NDArray[np.float64]:
    """An attribute of the last record of each run."""
    return np.array([getattr(run[-1], what) for run in runs], dtype=np.float64)


def in_words(value: float | None) -> str:
    """A metric in a table; "-" if it is undefined."""
    return "-" if value is None else f"{value:.4f}" if abs(value) < 1000 else f"{value:.6g}"


def _mean_metrics(runs: Sequence[Records]) -> dict[str, float | None]:
    """The mean of each metric over the runs."""
    last = [run[-1].metrics.get("running", {}) for run in runs]
    values: dict[str, Any] = {name: [metrics.get(name) for metrics in last] for name in last[0]}
    return {name: None if None in column else float(np.mean(column)) for name, column in values.items()}


def columns_of(run: Records) -> dict[str, list[Any]]:
    """The records of a run as columns of plain data."""
    return {name: [getattr(record, name) for record in run] for name in Record.__dataclass_fields__}


def records_of(columns: Mapping[str, list[Any]]) -> Records:
    """The records of such columns."""
    rows = zip(*columns.values(), strict=True)
    return tuple(Record(**dict(zip(columns, row, strict=True))) for row in rows)
