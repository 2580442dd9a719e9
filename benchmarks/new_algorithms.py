"""The tables on the pages of newer algorithms: error and time beside their neighbours, on six data sets.

``python -m benchmarks.new_algorithms NAME ...`` writes the table of docs/mathematics/NAME.md; without
names, all of them. Add ``--print`` to print and change no page. A page is an entry of `PAGES`.

All learners get the same rows. A data set is shuffled once. Its first rows, up to 2,000, are for choosing:
they set the scaling of columns and targets, and each learner takes the width of the kernel and the step
with the lowest error on them. The results are of up to 10,000 other rows, in three orders: the error
while learning, or on a third that is held back. Times are processor times.
"""

from __future__ import annotations

import argparse
import math
import textwrap
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from itertools import product
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from scipy.spatial.distance import pdist
from sklearn.datasets import load_diabetes
from threadpoolctl import threadpool_limits

from budgetron import (
    Averaged,
    DivergedError,
    DualMaintenance,
    DualNearest,
    DualRemoval,
    DualRemovalThenNearest,
    Gaussian,
    Merge,
    OnlineClassifier,
    OnlineRegressor,
    RandomIterate,
    ahpatron,
    avm,
    bduol,
    bogd,
    bogd_pp,
    bpa_nn,
    bpa_s,
    bsgd,
    datasets,
    dualsgd,
    duol,
    fogd,
    forgetron,
    klms,
    krls,
    nbsgd,
    nogd,
    norma,
    pa,
    polk,
    projectron,
    projectron_pp,
    qklms,
    rrf,
    silk,
)
from budgetron.learners.learner import Learner

PAGES_OF_ALGORITHMS = Path(__file__).parents[1] / "docs" / "mathematics"
BEGIN, END = "<!-- python -m benchmarks.new_algorithms {} writes from here -->", "<!-- to here -->"
CHOOSING, MEASURED, ORDERS, BUDGET = 2_000, 10_000, 3, 100
WIDTHS = (0.25, 0.5, 1.0)
"""The widths of the kernel to try, as multiples of the median distance between rows."""
STEPS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
LARGEST = (0.1, 0.3, 1.0, 3.0, 10.0)
"""The largest weights of double updating to try."""
LAMBDAS = (1e-5, 1e-4, 1e-3, 1e-2)

TWO_CLASSES = ("german", "svmguide3", "mushrooms", "a9a", "ijcnn1", "cod-rna")
CLASSES = ("dna", "letter", "shuttle", "mnist", "poker", "covtype")
TARGETS = ("diabetes", "housing", "abalone", "parkinsons", "cadata", "casp")
MIXED = ("german", "a9a", "ijcnn1", "letter", "abalone", "cadata")
PARTS = {"mnist": "test", "poker": "train", "letter": "train", "a9a": "train", "ijcnn1": "train"}
"""Which part of a data set is read, where one is enough."""


@dataclass(frozen=True)
class Contestant:
    """A column of a table: a function from a kernel to a learner, and the values of its parameters to try.

    ``tasks`` says what it is defined for: "labels", "classes" (more than two) and "targets".
    """

    name: str
    make: Callable[..., Learner]
    grid: Mapping[str, Iterable[Any]] = field(default_factory=dict)
    tasks: tuple[str, ...] = ("labels", "classes", "targets")

    def learners(self, kernels: Iterable[Gaussian]) -> list[Learner]:
        """The learners to choose from."""
        steps = [dict(zip(self.grid, values, strict=True)) for values in product(*self.grid.values())]
        return [self.make(kernel, **step) for kernel in kernels for step in steps]


@dataclass(frozen=True)
class Page:
    """The table of a page. ``held_back`` tells whether the error is that of rows that are not learned."""

    data: tuple[str, ...]
    contestants: tuple[Contestant, ...]
    held_back: bool = False


def quantised(kernel: Gaussian, eta: float, widths: float) -> Learner:
    """QKLMS with a quantum of so many widths of the kernel."""
    return qklms(kernel, delta=widths / math.sqrt(2 * float(kernel.gamma)), eta=eta)


def growing(kernel: Gaussian, lam: float) -> Learner:
    """NBSGD whose rate of maintenance falls slowly."""
    return nbsgd(kernel, budget=BUDGET, beta=600.0, lam=lam)


def average(kernel: Gaussian, lam: float) -> Learner:
    """NBSGD's average over at least the last half of the rounds."""
    return Averaged(growing(kernel, lam), 0.5)


def late_iterate(kernel: Gaussian, lam: float) -> Learner:
    """NBSGD's f of a round of at least the last half."""
    return RandomIterate(growing(kernel, lam), 0.5)


def iterate(kernel: Gaussian, lam: float) -> Learner:
    """NBSGD's f of any round."""
    return RandomIterate(growing(kernel, lam))


def doubly(maintenance: type[DualMaintenance]) -> Callable[..., Learner]:
    """BDUOL with this maintenance."""
    return partial(bduol, budget=BUDGET, maintenance=maintenance)


def by_distance(kernel: Gaussian, *, widths: float, lam: float) -> Learner:
    """Support vectors farther apart than so many widths of the kernel."""
    return avm(kernel, delta=widths / math.sqrt(2 * float(kernel.gamma)), lam=lam)


def too_wide(kernel: Gaussian, *, make: Callable[..., Learner], **settings: float) -> Learner:
    """The learner that begins with five times the width."""
    return make(Gaussian(float(kernel.gamma) / 25), components=BUDGET, **settings)


REMOVING = partial(bsgd, budget=BUDGET)
MERGING = partial(bsgd, budget=BUDGET, maintenance=Merge)
SAMPLING = {"budget": BUDGET, "lam": 1e-4, "cap": 4.0}
WIDTH_RATES = (1e-3, 1e-2, 1e-1)

PAGES: dict[str, Page] = {
    "bduol": Page(
        CLASSES,
        (
            Contestant("`DualNearest`", doubly(DualNearest), {"C": LARGEST}),
            Contestant("`DualRemovalThenNearest`", doubly(DualRemovalThenNearest), {"C": LARGEST}),
            Contestant("`DualRemoval`", doubly(DualRemoval), {"C": LARGEST}),
            Contestant("`bpa_nn`", partial(bpa_nn, budget=BUDGET), {"C": LARGEST}),
            Contestant("`bsgd`, merging", MERGING, {"lam": LAMBDAS}),
            Contestant("`duol`", duol, {"C": LARGEST}),
            Contestant("`pa`", pa, {"C": LARGEST}),
        ),
    ),
    "silk": Page(
        MIXED,
        (
            Contestant("`silk`", partial(silk, budget=BUDGET), {"eta": STEPS, "lam": (0.0, 1e-3, 1e-2)}),
            Contestant("`bsgd`, removal", partial(bsgd, budget=BUDGET), {"lam": LAMBDAS}),
            Contestant("`bogd_pp`", partial(bogd_pp, budget=BUDGET), {"eta": STEPS}),
            Contestant("`bpa_s`", partial(bpa_s, budget=BUDGET), {"C": STEPS}),
            Contestant("`bpa_nn`", partial(bpa_nn, budget=BUDGET), {"C": STEPS}),
        ),
    ),
    "nbsgd": Page(
        MIXED,
        (
            Contestant("`nbsgd`", growing, {"lam": LAMBDAS}),
            Contestant("`Averaged`, half", average, {"lam": LAMBDAS}),
            Contestant("`RandomIterate`, half", late_iterate, {"lam": LAMBDAS}),
            Contestant("`RandomIterate`, all", iterate, {"lam": LAMBDAS}),
        ),
        held_back=True,
    ),
    "polk": Page(
        MIXED,
        (
            Contestant("`polk`", partial(polk, budget=BUDGET), {"eta": STEPS, "error": (0.001, 0.01, 0.1)}),
            Contestant("`bsgd`, merging", MERGING, {"lam": LAMBDAS}),
            Contestant("`avm`", by_distance, {"lam": LAMBDAS, "widths": (1.0, 2.0)}),
            Contestant("`projectron`", partial(projectron, budget=BUDGET)),
            Contestant("`bogd`", partial(bogd, **SAMPLING), {"eta": STEPS}),
            Contestant("`bpa_nn`", partial(bpa_nn, budget=BUDGET), {"C": STEPS}),
        ),
    ),
    "krls": Page(
        TARGETS,
        (
            Contestant(
                "`krls`",
                partial(krls, budget=BUDGET),
                {"nu": (0.001, 0.01, 0.1), "lam": (0.01, 0.1, 1.0)},
                ("targets",),
            ),
            Contestant("`norma`", norma, {"eta": STEPS}),
            Contestant("`nogd`", partial(nogd, budget=BUDGET, epsilon=0.0), {"eta": STEPS}),
            Contestant("`fogd`", partial(fogd, components=BUDGET, epsilon=0.0), {"eta": STEPS}),
            Contestant("`bpa_nn`", partial(bpa_nn, budget=BUDGET), {"C": STEPS}),
        ),
    ),
    "ahpatron": Page(
        TWO_CLASSES,
        (
            Contestant(
                "`ahpatron`",
                partial(ahpatron, budget=BUDGET),
                {"U": (1.0, 2.0, 5.0, 10.0), "eta": (0.05, 0.25, 1.0)},
            ),
            Contestant("`projectron_pp`", partial(projectron_pp, budget=BUDGET)),
            Contestant("`forgetron`", partial(forgetron, budget=BUDGET)),
            Contestant("`bogd_pp`", partial(bogd_pp, **SAMPLING), {"eta": STEPS}),
            Contestant("`bpa_nn`", partial(bpa_nn, budget=BUDGET), {"C": STEPS}),
        ),
    ),
    "dualsgd": Page(
        MIXED,
        (
            Contestant("`dualsgd`", partial(dualsgd, budget=BUDGET), {"lam": LAMBDAS}),
            Contestant("`bsgd`, removal", REMOVING, {"lam": LAMBDAS}),
            Contestant("`bsgd`, merging", MERGING, {"lam": LAMBDAS}),
            Contestant("`nbsgd`", partial(nbsgd, budget=BUDGET, beta=1000.0), {"lam": LAMBDAS}),
            Contestant("`fogd`", partial(fogd, components=BUDGET), {"eta": STEPS}),
        ),
    ),
    "rrf": Page(
        MIXED,
        (
            Contestant("`rrf`", partial(rrf, components=BUDGET), {"eta": STEPS, "rate": WIDTH_RATES}),
            Contestant("`fogd`", partial(fogd, components=BUDGET), {"eta": STEPS}),
            Contestant(
                "`rrf`, 5 x width", partial(too_wide, make=rrf), {"eta": STEPS, "rate": WIDTH_RATES}
            ),
            Contestant("`fogd`, 5 x width", partial(too_wide, make=fogd), {"eta": STEPS}),
            Contestant("`nogd`", partial(nogd, budget=BUDGET), {"eta": STEPS}),
        ),
    ),
    "qklms": Page(
        TARGETS,
        (
            Contestant("`qklms`", quantised, {"eta": STEPS, "widths": (0.5, 1.0)}),
            Contestant("`klms`", klms, {"eta": STEPS}),
            Contestant("`norma`", norma, {"eta": STEPS}),
            Contestant("`nogd`", partial(nogd, budget=BUDGET, epsilon=0.0), {"eta": STEPS}),
            Contestant("`bpa_nn`", partial(bpa_nn, budget=BUDGET), {"C": STEPS}),
        ),
    ),
}
"""The pages that have a table, by the name of the algorithm."""


@dataclass(frozen=True)
class Rows:
    """Rows with labels or standardised targets."""

    X: np.ndarray
    y: np.ndarray
    task: str

    def of(self, places: np.ndarray) -> Rows:
        """The rows at these places, in this order."""
        return Rows(self.X[places], self.y[places], self.task)


@dataclass(frozen=True)
class Result:
    """What one run gives: the error, microseconds per row, and the number of support vectors."""

    error: float
    microseconds: float
    size: int


@cache
def split(name: str) -> tuple[Rows, Rows]:
    """The rows for choosing and those for the results, scaled by mean and deviation of the former."""
    if name == "diabetes":
        X, y = load_diabetes(return_X_y=True)
    else:
        X, y = datasets.load(name, PARTS.get(name))
        X = X.toarray() if X.shape[0] * X.shape[1] < 2e7 else X
    order = np.random.default_rng(0).permutation(len(y))
    first = min(CHOOSING, len(y) // 3)
    head, tail = order[:first], order[first : first + MEASURED]
    task = "targets" if name in TARGETS else "labels" if len(np.unique(y)) == 2 else "classes"
    dense = [each.toarray() if hasattr(each, "toarray") else each for each in (X[head], X[tail])]
    mean, deviation = dense[0].mean(axis=0), dense[0].std(axis=0)
    scaled = [(each - mean) / np.where(deviation > 0, deviation, 1) for each in dense]
    if task == "targets":
        y = (y - y[head].mean()) / y[head].std()
    return Rows(scaled[0], y[head], task), Rows(scaled[1], y[tail], task)


def run(learner: Learner, rows: Rows, held_back: bool, seed: int) -> Result:
    """One pass. The error is the share of mistakes, or the mean squared error."""
    kind: Any = OnlineRegressor if rows.task == "targets" else OnlineClassifier
    model = kind(learner, random_state=seed)
    learned = len(rows.y) * 2 // 3 if held_back else len(rows.y)
    began = process_time()
    predicted, y = model.progressive_predict(rows.X[:learned], rows.y[:learned]), rows.y[:learned]
    seconds = process_time() - began
    if held_back:
        predicted, y = model.predict(rows.X[learned:]), rows.y[learned:]
    errors = (predicted - y) ** 2 if rows.task == "targets" else predicted != y
    return Result(float(np.mean(errors)), 1e6 * seconds / learned, model.n_support_)


def chosen(contestant: Contestant, rows: Rows, held_back: bool) -> Learner:
    """The learner of a contestant with the lowest error. One that diverges has none."""

    def error(learner: Learner) -> float:
        try:
            return run(learner, rows, held_back, seed=0).error
        except DivergedError:
            return float("inf")

    median = float(np.median(pdist(rows.X[:500])))
    kernels = [Gaussian.of_width(share * median) for share in WIDTHS]
    return min(contestant.learners(kernels), key=error)


def results(contestant: Contestant, name: str, held_back: bool) -> list[Result]:
    """The results over the orders; none if it is not defined for the task."""
    choosing, measured = split(name)
    if measured.task not in contestant.tasks:
        return []
    learner = chosen(contestant, choosing, held_back)
    orders = (np.random.default_rng(seed).permutation(len(measured.y)) for seed in range(ORDERS))
    return [run(learner, measured.of(order), held_back, seed) for seed, order in enumerate(orders)]


def cell(found: list[Result], least: float, task: str) -> str:
    """Error and deviation, in percent for labels; the least time; the size. Bold: the lowest error."""
    if not found:
        return "-"
    errors = np.array([result.error for result in found]) * (1 if task == "targets" else 100)
    digits = 3 if task == "targets" else 2
    error = f"{errors.mean():.{digits}f} ± {errors.std(ddof=1):.{digits}f}"
    us = min(result.microseconds for result in found)
    bold = np.mean([result.error for result in found]) == least
    size = f"{np.mean([result.size for result in found]):,.0f}"
    return f"{f'**{error}**' if bold else error}; {us:.{0 if us >= 10 else 1}f}; {size}"


def table(page: Page) -> str:
    """The table in Markdown: a line per data set, a column per contestant."""
    lines = [["data", *(each.name for each in page.contestants)], ["---"] * (len(page.contestants) + 1)]
    for name in page.data:
        found = [results(each, name, page.held_back) for each in page.contestants]
        task = split(name)[1].task
        least = min(np.mean([result.error for result in each]) for each in found if each)
        lines.append([name, *(cell(each, float(least), task) for each in found)])
        print(" | ".join(lines[-1]), flush=True)
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def caption(page: Page) -> str:
    """What the numbers are."""
    error = "the error on a third that is held back" if page.held_back else "the error of one pass"
    tasks = {split(name)[1].task for name in page.data}
    units = ["in percent"] * bool(tasks - {"targets"})
    units += ["as a share of the variance of the targets"] * ("targets" in tasks)
    return textwrap.fill(
        f"Each cell is {error}, {' or '.join(units)}, with its deviation over {ORDERS} orders; the "
        "microseconds that a row took; and the number of support vectors at the end. Up to "
        f"{MEASURED:,} standardised rows, B = {BUDGET}. Each algorithm has the width and the step with the "
        f"lowest error on up to {CHOOSING:,} other rows.",
        width=138,
    )


def written(text: str, name: str, block: str) -> str:
    """The text of a page with the block inserted between its two marks."""
    begin = BEGIN.format(name)
    before, rest = text.split(begin)
    return f"{before}{begin}\n\n{block}\n\n{END}{rest.split(END, 1)[1]}"


def main() -> None:
    """Measure, and write the pages."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("names", nargs="*", choices=[*PAGES, []], help="algorithms; all if there are none")
    parser.add_argument("--print", action="store_true", help="change no page")
    options = parser.parse_args()
    for name in options.names or PAGES:
        block = f"{caption(PAGES[name])}\n\n{table(PAGES[name])}"
        print(block, flush=True)
        if not options.print:
            path = PAGES_OF_ALGORITHMS / f"{name}.md"
            path.write_text(written(path.read_text(encoding="utf-8"), name, block), encoding="utf-8")


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
