"""The table of docs/concepts/which_algorithm.md: error, speed and memory on three data sets.

All learners get the same rows, the same kernel and the same budget. Each data set is shuffled once. Its
first 10,000 rows are for tuning:

* they set the scaling of the features;
* each learner takes the step from a small grid with the lowest error on them;
* the width of the kernel is the one with the lowest mean error of all learners.

The results come from up to 100,000 other rows, in three orders. Times are processor times.

Run ``python -m benchmarks.algorithm_table``; it takes some minutes. With names of data sets (``cod-rna w8a
letter``) it prints their results and does not change the page.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from scipy.spatial.distance import pdist
from sklearn.base import BaseEstimator
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from threadpoolctl import threadpool_limits

from budgetron import AROW, Gaussian, Identity, Mapped, Merge, RandomFourier, Stack, algorithms, datasets
from budgetron.evaluate import Comparison, compare
from budgetron.learners.learner import Learner

PAGE = Path(__file__).parents[1] / "docs" / "concepts" / "which_algorithm.md"
BEGIN, END = "<!-- make algorithm-table writes from here -->", "<!-- to here -->"
BUDGET, FOURIER, CHOOSING, MEASURED, ORDERS = 200, 100, 10_000, 100_000, 3
WIDTHS = (0.25, 0.5, 1.0)
"""The widths of the kernel to try, as multiples of the median distance between rows."""

Data = tuple[Any, np.ndarray]


@dataclass(frozen=True)
class Study:
    """A data set, the scaling of its features, and a description of it."""

    name: str
    scaler: BaseEstimator
    kind: str


STUDIES = (
    Study("ijcnn1", StandardScaler(), "22 features of an engine, 2 classes"),
    Study("a9a", FunctionTransformer(), "123 indicators of a census, sparse, 2 classes"),
    Study("covtype", StandardScaler(), "54 features of a map, 7 classes"),
)
"""The data sets of the table."""
MORE = (
    Study("cod-rna", StandardScaler(), "8 features of a genome, 2 classes"),
    Study("w8a", FunctionTransformer(), "300 indicators of words, sparse, 2 classes"),
    Study("letter", StandardScaler(), "16 features of printed letters, 26 classes"),
)
"""Other data sets, to check the page's advice."""


@dataclass(frozen=True)
class Contestant:
    """An algorithm: a function from kernel and step to learner, the name of the step, and its values."""

    name: str
    make: Callable[..., Learner]
    step: str = ""
    grid: tuple[float, ...] = ()

    def learners(self, kernel: Gaussian) -> dict[float | None, Learner]:
        """The learners to choose from, by step."""
        steps = self.grid or (None,)
        return {
            step: self.make(kernel) if step is None else self.make(kernel, **{self.step: step})
            for step in steps
        }


def untouched(kernel: Gaussian) -> Learner:  # noqa: ARG001
    """The default learner of an estimator."""
    return algorithms.auto()


def linear(kernel: Gaussian, r: float) -> Learner:  # noqa: ARG001
    """AROW on the inputs, without a kernel."""
    return Mapped(Identity(), AROW(r))


def fourier(kernel: Gaussian, r: float) -> Learner:
    """AROW on random Fourier features."""
    return Mapped(RandomFourier(kernel, FOURIER), AROW(r))


def stacked(kernel: Gaussian, r: float) -> Learner:
    """AROW on the inputs and random Fourier features together."""
    return Mapped(Stack(RandomFourier(kernel, FOURIER), Identity()), AROW(r))


def contestants() -> list[Contestant]:
    """The algorithms of the table. The Perceptrons have no step to choose."""
    steps, r = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0), (0.01, 0.1, 1.0, 10.0, 100.0)
    budgeted: dict[str, Any] = {
        name: partial(getattr(algorithms, name), budget=BUDGET)
        for name in (
            "rbp",
            "forgetron",
            "projectron",
            "bogd_pp",
            "bsgd",
            "bpa_s",
            "bpa_nn",
            "bpa_p",
            "nogd",
        )
    }
    merging = partial(budgeted["bsgd"], maintenance=Merge)
    return [
        Contestant("`OnlineClassifier()`, untuned", untouched),
        Contestant("linear: `Mapped(Identity, AROW)`", linear, "r", r),
        *(Contestant(f"`{name}`", budgeted[name]) for name in ("rbp", "forgetron", "projectron")),
        Contestant("`bogd_pp`", budgeted["bogd_pp"], "eta", steps),
        Contestant("`bsgd`, merging", merging, "lam", (1e-6, 1e-5, 1e-4, 1e-3, 1e-2)),
        *(Contestant(f"`{name}`", budgeted[name], "C", steps) for name in ("bpa_s", "bpa_nn", "bpa_p")),
        Contestant("`nogd`", budgeted["nogd"], "eta", steps),
        Contestant("`fogd`", algorithms.fogd, "eta", steps),
        Contestant("`Mapped(RandomFourier, AROW)`", fourier, "r", r),
        Contestant("`Mapped(Stack(RandomFourier, Identity), AROW)`", stacked, "r", r),
    ]


def split(study: Study) -> tuple[Data, Data]:
    """The rows for tuning and the rows for the results, both scaled with statistics of the former."""
    X, y = datasets.load(study.name)
    order = np.random.default_rng(0).permutation(len(y))
    head, tail = order[:CHOOSING], order[CHOOSING : CHOOSING + MEASURED]
    dense = not isinstance(study.scaler, FunctionTransformer)
    first, rest = (X[rows].toarray() if dense else X[rows] for rows in (head, tail))
    scaler = study.scaler.fit(first)
    return (scaler.transform(first), y[head]), (scaler.transform(rest), y[tail])


@dataclass(frozen=True)
class Choice:
    """A kernel, and for each algorithm its best step, its learner and its error on the tuning rows."""

    share: float
    kernel: Gaussian
    steps: dict[str, str]
    learners: dict[str, Learner]
    errors: dict[str, float]

    def __str__(self) -> str:
        steps = "; ".join(f"{name} {step}" for name, step in self.steps.items())
        return f"γ = {self.kernel.gamma:.3g} (width {self.share:g} × the median distance). {steps}"


def choose(data: Data, all_contestants: list[Contestant], widths: Iterable[float] = WIDTHS) -> Choice:
    """The width with the lowest mean error of all algorithms, each with its best step."""
    X = data[0]
    median = float(np.median(pdist(X[:500].toarray() if sparse.issparse(X) else X[:500])))
    choices = (_best_steps(data, all_contestants, share, share * median) for share in widths)
    return min(choices, key=lambda choice: np.mean(list(choice.errors.values())))


def _best_steps(data: Data, all_contestants: list[Contestant], share: float, width: float) -> Choice:
    choice = Choice(share, Gaussian.of_width(width), {}, {}, {})
    for contestant in all_contestants:
        options = contestant.learners(choice.kernel)
        result = compare(
            {str(step): o for step, o in options.items()}, data, permutations=1, every=len(data[1])
        )
        errors = dict(zip(options, (row.mean for row in result.rows), strict=True))
        best = min(errors, key=lambda step: errors[step])
        if best is not None:
            choice.steps[contestant.name] = f"{contestant.step} = {best:g}"
        choice.errors[contestant.name] = errors[best]
        choice.learners[contestant.name] = options[best]
    return choice


def cells(result: Comparison) -> dict[str, list[str]]:
    """For each algorithm: error in percent (lowest in bold), least microseconds per row, and KiB."""
    least = f"{100 * min(row.mean for row in result.rows):.1f}"
    found = {}
    for row in result.rows:
        last = [run[-1] for run in result.records[row.name]]
        error = f"{100 * row.mean:.1f}"
        us = 1e6 * min(record.seconds / record.rows for record in last)
        memory = max(record.memory_bytes for record in last) / 1024
        found[row.name] = [
            f"**{error}**" if error == least else error,
            f"{us:.0f}" if us >= 10 else f"{us:.1f}",
            f"{memory:,.0f}",
        ]
    return found


def table(columns: dict[str, dict[str, list[str]]]) -> str:
    """The table in Markdown: a line per algorithm, three numbers per data set."""
    heads = [each for name in columns for each in (f"{name}: error %", "µs a row", "KiB")]
    lines = [["algorithm", *heads], ["---", *["---:"] * len(heads)]]
    for name in next(iter(columns.values())):
        lines += [[name, *(cell for column in columns.values() for cell in column[name])]]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def written(text: str, block: str) -> str:
    """The text with the block inserted between the two marks."""
    before, rest = text.split(BEGIN)
    return f"{before}{BEGIN}\n\n{block}\n\n{END}{rest.split(END)[1]}"


def measured(study: Study, all_contestants: list[Contestant]) -> tuple[str, dict[str, list[str]]]:
    """The parameters chosen on a data set, and the cells of its columns."""
    choosing, rows = split(study)
    choice = choose(choosing, all_contestants)
    scaled = "as it is" if isinstance(study.scaler, FunctionTransformer) else "standardised"
    chosen = f"* {study.name} ({study.kind}; {len(rows[1]):,} rows, {scaled}): {choice}."
    result = compare(choice.learners, rows, permutations=ORDERS, every=len(rows[1]))
    print(f"{chosen}\n{result.table()}", file=sys.stderr, flush=True)
    return chosen, cells(result)


def main(names: list[str]) -> None:
    """Tune, measure and print. Without names, write the table into the page."""
    columns, settings = {}, []
    for study in [each for each in (*STUDIES, *MORE) if each.name in names] if names else STUDIES:
        chosen, columns[study.name] = measured(study, contestants())
        settings.append(chosen)
    print(table(columns))
    if not names:
        details = "\n".join(
            ["<details><summary>What was chosen</summary>", "", *settings, "", "</details>"]
        )
        text = written(PAGE.read_text(encoding="utf-8"), f"{table(columns)}\n\n{details}")
        PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    with threadpool_limits(1):  # the threads of LAPACK in nogd would add waiting time
        main(sys.argv[1:])
