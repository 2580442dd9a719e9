"""The cost of a step on rows designed to be slow, for every budget and learner.

No rows may make a step cost more than a small constant times the baseline. Run ``make adversarial``.

The baseline is a stream of ordinary rows with random labels, dense or sparse like the stream under test.
Each model first fills its budget with rows of the stream. Two costs are measured, in processor time:

* microseconds per row;
* microseconds per update, a row that changes the model: the time of learning a block of rows minus that of
  scoring them, divided by the number of updates, plus the time of scoring one row. It is not used if fewer
  than one row in ten is an update.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from time import process_time
from typing import Any

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

import budgetron as bt
from budgetron import Gaussian, Kernel, Linear, OneByOne, algorithms
from budgetron.learners.learner import Learner

D = 16  # features, or nonzeros of sparse rows
WIDE = 4096  # columns of sparse rows
LIMIT = 5.0  # worst / ordinary
PATIENCE = 120.0  # seconds to wait for a full budget
GAMMA = 1 / (2 * D)


@dataclass(frozen=True)
class Stream:
    """Rows and labels, and the kernel to use with them."""

    X: Any
    y: np.ndarray
    kernel: Kernel


ORDINARY = ("ordinary", "ordinary, sparse")  # the baselines of dense and sparse rows
Maker = Callable[[int, np.random.Generator], Stream]
MAKERS: dict[str, Maker] = {}


def maker(name: str) -> Callable[[Maker], Maker]:
    """Register a function that makes n rows."""

    def enter(make: Maker) -> Maker:
        MAKERS[name] = make
        return make

    return enter


def coins(n: int, r: np.random.Generator) -> np.ndarray:
    """Random labels."""
    return r.choice([-1.0, 1.0], n)


def dense(X: np.ndarray, y: np.ndarray) -> Stream:
    """Dense rows for the Gaussian kernel."""
    return Stream(np.ascontiguousarray(X), y, Gaussian(GAMMA))


def one_hot(values: np.ndarray) -> sparse.csr_matrix:
    """Orthogonal rows: row i has one nonzero, in column i."""
    n = len(values)
    return sparse.csr_matrix((values, np.arange(n), np.arange(n + 1)), (n, max(n, WIDE)))


@maker("ordinary")
def _ordinary(n, r):
    return dense(r.standard_normal((n, D)), coins(n, r))


@maker("all kernels 0")
def _zeros(n, r):
    return dense(1e3 * r.standard_normal((n, D)), coins(n, r))


@maker("kernels denormal")
def _denormal(n, r):
    return Stream(one_hot(np.full(n, np.sqrt(720 / 2 / GAMMA))), coins(n, r), Gaussian(GAMMA))


@maker("duplicates")
def _duplicates(n, r):
    return dense(r.standard_normal((20, D))[r.integers(20, size=n)], coins(n, r))


@maker("some duplicates")
def _some_duplicates(n, r):
    X = r.standard_normal((n, D))
    again = 1 + np.flatnonzero(r.random(n - 1) < 0.05)
    X[again] = X[again - 1]
    return dense(X, coins(n, r))


@maker("near duplicates")
def _near(n, r):
    return dense(r.standard_normal(D) + 1e-7 * r.standard_normal((n, D)), coins(n, r))


@maker("nearly near")
def _nearly(n, r):
    return dense(r.standard_normal(D) + 1e-3 * r.standard_normal((n, D)), coins(n, r))


@maker("constant")
def _constant(n, _):
    return dense(np.ones((n, D)), np.where(np.arange(n) % 2, 1.0, -1.0))


@maker("sorted")
def _sorted(n, r):
    X = r.standard_normal((n, D))
    return dense(X[np.argsort(X[:, 0])], coins(n, r))


@maker("one feature, sorted")
def _line(n, r):
    X = np.zeros((n, D))
    X[:, 0] = np.sort(r.standard_normal(n))
    return dense(X, coins(n, r))


@maker("alternating labels")
def _alternating(n, r):
    return dense(r.standard_normal((n, D)), np.where(np.arange(n) % 2, 1.0, -1.0))


@maker("same label")
def _same(n, r):
    return dense(r.standard_normal((n, D)), np.ones(n))


@maker("same label, kernels 0")
def _same_far(n, r):
    return dense(1e3 * r.standard_normal((n, D)), np.ones(n))


@maker("ties everywhere")
def _ties(n, r):
    return dense(r.integers(2, size=(n, D)).astype(float), coins(n, r))


@maker("clusters")
def _clusters(n, r):
    return dense(
        3 * r.standard_normal((10, D))[r.integers(10, size=n)] + 1e-2 * r.standard_normal((n, D)),
        coins(n, r),
    )


@maker("scale 1e100")
def _huge(n, r):
    return dense(1e100 * r.standard_normal((n, D)), coins(n, r))


@maker("scale 1e-160")
def _tiny(n, r):
    return dense(1e-160 * r.standard_normal((n, D)), coins(n, r))


@maker("scale 1e-310")
def _tiniest(n, r):
    return dense(1e-310 * r.standard_normal((n, D)), coins(n, r))


def wide(columns: np.ndarray, r: np.random.Generator) -> Stream:
    """Sparse rows whose nonzeros are in these columns (rows x D)."""
    n = len(columns)
    X = sparse.csr_matrix(
        (r.standard_normal(n * D), columns.ravel(), np.arange(0, n * D + 1, D)), (n, WIDE)
    )
    return Stream(X, coins(n, r), Gaussian(GAMMA))


@maker("ordinary, sparse")  # like words in texts: column j is used with probability proportional to 1/j
def _texts(n, r):
    heat = np.log(1 - r.random((n, WIDE), dtype=np.float32)) * np.arange(1, WIDE + 1, dtype=np.float32)
    return wide(np.sort(np.argpartition(-heat, D, axis=1)[:, :D], axis=1), r)


@maker("few shared columns")
def _sparse(n, r):
    return wide(np.sort(r.integers(WIDE // D, size=(n, D)) + np.arange(D) * (WIDE // D), axis=1), r)


@maker("same columns")
def _columns(n, r):
    return wide(np.tile(np.arange(D) * 200, (n, 1)), r)


@maker(
    "growing hubs"
)  # the shortest of orthogonal rows is the nearest to all others and the cheapest to remove
def _hubs(n, r):
    return Stream(one_hot(np.sqrt(np.linspace(0.1, 0.9, n))), coins(n, r), Linear())


@maker("shrinking hubs")
def _shrinking(n, r):
    return Stream(one_hot(np.sqrt(np.linspace(0.9, 0.1, n))), coins(n, r), Linear())


Make = Callable[[Kernel, int], Learner]


def learners() -> dict[str, tuple[Make, float]]:
    """Every learner with a budget, and the margin below which a row changes it."""
    table: dict[str, tuple[Make, float]] = {}
    for name in ("stoptron", "rbp", "forgetron", "budget_perceptron", "projectron"):
        table[name] = (partial(_named, name), 0.0)
    table["RemoveOldest"] = (lambda k, B: bt.Kernelized(k, bt.Perceptron(), bt.RemoveOldest(B)), 0.0)
    for name in ("projectron_pp", "bpa_s", "bpa_nn", "bpa_p", "nogd"):
        table[name] = (partial(_named, name), 1.0)
    for name in ("bogd", "bogd_pp"):
        table[name] = (partial(_named, name, lam=0.01), 1.0)
        table[f"{name}, shrink 1/2"] = (partial(_named, name, eta=0.5, lam=1.0), 1.0)
    kinds = {
        "RemoveSmallest": bt.RemoveSmallest,
        "ProjectSmallest": bt.ProjectSmallest,
        "3 neighbours": partial(bt.ProjectSmallest, neighbours=3),
        "Merge": bt.Merge,
    }
    for name, kind in kinds.items():
        table[f"bsgd, {name}"] = (partial(_named, "bsgd", lam=1e-3, maintenance=kind), 1.0)
    table["nbsgd"] = (partial(_named, "nbsgd", beta=1e9), 1.0)
    for dual in (
        bt.DualRemoval,
        bt.DualNearest,
        bt.DualProjectionClipped,
        bt.DualRemovalThenProjection,
        bt.DualProjection,
    ):
        table[f"bduol, {dual.__name__}"] = (partial(_named, "bduol", maintenance=dual), 1.0)
    return table


def mapped() -> dict[str, tuple[Make, float]]:
    """Learners on explicit features, with ``budget`` components or landmarks."""
    fourier = lambda k, B: bt.RandomFourier(k, B // 2)  # noqa: E731
    return {
        "fogd": (lambda k, B: algorithms.fogd(k, components=B // 2), 1.0),
        "AdaGrad": (lambda k, B: bt.Mapped(fourier(k, B), bt.AdaGrad()), 1.0),
        "CoinBetting": (lambda k, B: bt.Mapped(fourier(k, B), bt.CoinBetting()), 1.0),
        "AROW": (lambda k, B: bt.Mapped(fourier(k, B), bt.AROW()), 1.0),
        "OnlineNewton": (lambda k, B: bt.Mapped(fourier(k, B), bt.OnlineNewton()), 1.0),
        "Nystrom": (lambda k, B: bt.Mapped(bt.Nystrom(k, B), bt.OGD()), 1.0),
    }


def _named(name: str, kernel: Kernel, budget: int, **settings: Any) -> Learner:
    return getattr(algorithms, name)(kernel, budget=budget, **settings)


@dataclass(frozen=True)
class Cost:
    """Microseconds per row and per update (NaN if updates are too rare), and the rate of updates."""

    row: float
    update: float
    updates: float


def filled(model: OneByOne, stream: Stream, budget: int, seconds: float, patience: float) -> int | None:
    """Fill the budget, and go on for twice as many rows if this is quick; the rows learned.

    None if the budget is not full after ``patience`` seconds.
    """
    fill = min(3 * budget, stream.X.shape[0] // 2)
    began = process_time()
    for first in range(0, fill, 10):
        model.learn(stream.X[first : first + 10], stream.y[first : first + 10])
        took = process_time() - began
        if took > 60 * seconds and model.size >= budget:
            return first + 10
        if took > patience:
            return None
    return fill


def measure(
    make: Make, margin: float, stream: Stream, budget: int, seconds: float, patience: float
) -> Cost | None:
    """The cost of a learner on a stream once its budget is full; None if a step takes too long."""
    model = OneByOne(make(stream.kernel, budget), stream.X.shape[1])
    began = process_time()
    fill = filled(model, stream, budget, seconds, patience)
    if fill is None:
        return None
    rows = np.arange(fill, stream.X.shape[0])
    learned = scored = 0.0
    done = updates = 0
    slow = process_time() - began > 60 * seconds
    block = 8 if slow else 128
    while done + block <= len(rows) and (learned < seconds or done < 2 * block):
        X, y = stream.X[rows[done : done + block]], stream.y[rows[done : done + block]]
        start = process_time()
        model.learn(X, y, np.zeros(block))
        middle = process_time()
        f = model.learn(X, y).ravel()
        learned += process_time() - middle
        scored += middle - start
        updates += int(np.sum((y * f < margin) | ((margin == 0) & (np.where(f >= 0, 1, -1) != y))))
        done += block
    update = (learned - scored) / updates + scored / done if 10 * updates >= done else np.nan
    return Cost(1e6 * learned / done, 1e6 * update, updates / done)


def least(
    make: Make, margin: float, stream: Stream, budget: int, seconds: float, patience: float
) -> Cost | None:
    """The least cost of up to five runs: a short one is easily disturbed by other work on the machine."""
    costs = []
    began = process_time()
    while len(costs) < 5 and (not costs or process_time() - began < seconds):
        cost = measure(make, margin, stream, budget, seconds, patience)
        if cost is None:
            return None
        costs.append(cost)
    return min(costs, key=lambda cost: cost.row)


def compare(
    make: Make, margin: float, budget: int, seconds: float, names: list[str], patience: float = PATIENCE
) -> Iterator[tuple[str, Cost, Cost, float]]:
    """For every stream that suits the learner: its name, the baseline cost, its cost, and their ratio."""
    costs: dict[str, Cost] = {}
    for what in names:
        r = np.random.default_rng(0)
        stream = MAKERS[what](6 * budget + 2048, r)
        try:
            cost = least(make, margin, stream, budget, seconds, patience)
        except ValueError:  # the kernel does not suit the learner, or the numbers are too large
            continue
        if cost is None:
            if what in ORDINARY:
                return
            cost = Cost(np.inf, np.inf, np.nan)
        costs[what] = cost
        usual = costs["ordinary, sparse" if sparse.issparse(stream.X) else "ordinary"]
        ratio = cost.update / usual.update if cost.update == cost.update else cost.row / usual.update
        yield what, usual, cost, ratio


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--budgets", type=int, nargs="+", default=[100, 500, 2000])
    parser.add_argument("--learners", nargs="+", help="only those whose names contain one of these")
    parser.add_argument("--streams", nargs="+", help="only these, and the ordinary one")
    parser.add_argument("--seconds", type=float, default=0.3, help="the least time of one measurement")
    parser.add_argument(
        "--patience", type=float, default=PATIENCE, help="seconds to wait for a full budget"
    )
    parser.add_argument("--all", action="store_true", help="a line for every stream, not only the worst")
    options = parser.parse_args()
    names = [*ORDINARY, *(s for s in MAKERS if s not in ORDINARY and s in (options.streams or MAKERS))]
    table = {**learners(), **mapped()}
    if options.learners:
        table = {n: row for n, row in table.items() if any(part in n for part in options.learners)}
    print(f"{'':<36}{'ordinary, us':>16}{'worst, us':>18}{'worst /':>10}")
    print(
        f"{'learner':<30}{'budget':>6}{'row':>8}{'update':>8}{'row':>9}{'update':>9}{'ordinary':>10}"
        "  worst stream"
    )
    over = 0
    for name, (make, margin) in table.items():
        for budget in options.budgets:
            with threadpool_limits(1):  # threads of LAPACK that wait for each other count as processor time
                results = list(compare(make, margin, budget, options.seconds, names, options.patience))
            if not results:
                print(f"{name:<30}{budget:>6}{'too slow on ordinary rows to compare':>40}", flush=True)
                break  # larger ones would be slower
            shown = results if options.all else [max(results, key=lambda result: result[3])]
            for what, usual, cost, ratio in shown:
                over += ratio > LIMIT
                print(
                    f"{name:<30}{budget:>6}{usual.row:>8.1f}{usual.update:>8.1f}"
                    f"{cost.row:>9.1f}{cost.update:>9.1f}"
                    f"{ratio:>10.2f}  {what}{'  <-- over' if ratio > LIMIT else ''}",
                    flush=True,
                )
    print(f"{over} over {LIMIT:g}")


if __name__ == "__main__":
    main()
