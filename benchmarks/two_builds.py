"""How many times faster this version is than another: ``python -m benchmarks.two_builds OTHER/bin/python``.

OTHER/bin/python has the other version installed. Every learner runs in both, in two processes that take
turns, and in several such pairs: where memory happens to lie can decide the time of a whole process. Words
after it choose the cases that have one of them in their name; all take about half an hour. The last column
marks a loss of more than 3 %. It needs the data sets of the folder that BUDGETRON_DATA names.
"""

from __future__ import annotations

import argparse
import lzma
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.datasets import load_svmlight_file

import budgetron as bt
from budgetron import Gaussian, OnlineClassifier, OnlineRegressor

LOSS = 0.03
KERNEL = Gaussian(1 / 32)
PARTS = ("data", "indices", "indptr")  # of CSR rows
Rows = tuple[Any, np.ndarray]


@dataclass(frozen=True)
class Case:
    """A learner and the name of its rows; the first ``fill`` are learned before the clock starts."""

    learner: Callable[[], Any]
    rows: str
    fill: int
    timed: int

    def run(self, X: Any, y: np.ndarray) -> float:
        """Microseconds a row."""
        head, tail = slice(self.fill), slice(self.fill, self.fill + self.timed)
        learner = self.learner()
        if y.dtype == np.float64:
            model = OnlineRegressor(learner, random_state=0).partial_fit(X[head], y[head])
        else:
            model = OnlineClassifier(learner, random_state=0)
            model.partial_fit(X[head], y[head], classes=np.unique(y))
        X, y = X[tail], y[tail]
        began = process_time()
        model.progressive_predict(X, y)
        return 1e6 * (process_time() - began) / len(y)


@lru_cache(maxsize=1)  # most cases have the rows of the case before
def rows(name: str) -> Rows:
    """Rows by name: a data set or noise, then how, as ``noise 22 columns`` or ``covtype 7 classes``."""
    source, *words = name.split()
    number = next((int(word) for word in words if word.isdigit()), 0)
    if source == "noise":
        X, y = noise(number, CSR="CSR" in words)
    else:
        X, y = data_set(source, CSR="CSR" in words, classes=number or 2)
    if "float32" in words:
        X = X.astype(np.float32)
    return X, y.astype(np.float64) if "targets" in words else y


def data_set(name: str, CSR: bool, classes: int) -> Rows:
    """A data set in random order, standardised if dense; two classes are the largest and all others."""
    folder = Path(os.environ.get("BUDGETRON_DATA", "."))
    paths = [folder / f"{name}.train.svm.xz", folder / f"{name}.svm.xz"]
    if not any(path.exists() for path in paths):
        raise SystemExit(
            f"There is no {name} in {folder}: BUDGETRON_DATA names the folder of the data sets."
        )
    with lzma.open(next(path for path in paths if path.exists())) as file:
        X, y = load_svmlight_file(file)
    order = np.random.default_rng(0).permutation(X.shape[0])[:60_000]
    X, y = X[order], np.unique(y[order], return_inverse=True)[1]
    if classes == 2 and y.max() > 1:
        y = (y == np.bincount(y).argmax()).astype(np.int64)
    if CSR:
        return X, y
    X = X.toarray()
    return np.ascontiguousarray((X - X.mean(0)) / np.maximum(X.std(0), 1e-9)), y


def noise(d: int, CSR: bool, n: int = 40_000) -> Rows:
    """Random rows with random labels: most rows update. CSR has 15 nonzeros a row."""
    r = np.random.default_rng(0)
    n = n // 2 if CSR else min(n, 4_000_000 // d)
    y = r.integers(2, size=n)
    if not CSR:
        return r.standard_normal((n, d)), y
    columns = np.sort(np.argpartition(r.random((n, d)), 15, axis=1)[:, :15], axis=1).ravel()
    starts = np.arange(0, 15 * n + 1, 15)
    return sparse.csr_matrix((r.standard_normal(15 * n), columns, starts), (n, d)), y


def named(name: str, **settings: Any) -> Callable[[], Any]:
    """A named algorithm with a Gaussian kernel."""
    return lambda: getattr(bt, name)(KERNEL, **settings)


def mapped(features: Any, rule: Any) -> Callable[[], Any]:
    """A rule on explicit features."""
    return lambda: bt.Mapped(features, rule)


def asked() -> Iterator[tuple[str, Case]]:
    """What was far from its limit."""
    inputs, fourier = bt.Identity(constant=False), bt.RandomFourier(KERNEL, 111)
    yield "AROW, 222 features", Case(mapped(fourier, bt.AROW(0.1)), "ijcnn1", 2000, 10_000)
    yield "AROW, 222 features", Case(mapped(inputs, bt.AROW()), "noise 222 columns", 2000, 10_000)
    yield "AROW, 1000 features", Case(mapped(inputs, bt.AROW()), "noise 1000 columns", 500, 1500)
    for where, fill, timed in (("ijcnn1", 8000, 20_000), ("noise 22 columns", 2000, 15_000)):
        yield "bpa_p, 200", Case(named("bpa_p", budget=200), where, fill, timed // 3)
        yield "bpa_nn, 200", Case(named("bpa_nn", budget=200), where, fill, timed)
        for way in (bt.Merge, bt.ProjectSmallest):
            sgd = named("bsgd", budget=200, lam=1e-4, maintenance=way)
            yield (
                f"bsgd {way.__name__}, 200",
                Case(sgd, where, fill, timed if way is bt.Merge else timed // 3),
            )
    for where in ("covtype", "covtype 7 classes"):
        yield "nogd, 1000", Case(named("nogd", budget=1000, rank=200), where, 8000, 10_000)
    for where in ("a9a", "noise 123 columns"):
        yield "fogd, 4000", Case(named("fogd", components=4000), where, 1000, 5000)
    for where in ("ijcnn1", "covtype", "noise 123 columns", "a9a CSR", "ijcnn1 float32"):
        yield "fogd, 400", Case(named("fogd", components=400), where, 2000, 20_000)
    yield (
        "budget_perceptron, 1000",
        Case(named("budget_perceptron", budget=1000), "covtype 7 classes", 5000, 400),
    )
    exact = lambda: bt.DoubleUpdating(KERNEL, maintenance=bt.DualProjection(100))  # noqa: E731
    yield "bduol DualProjection, 100", Case(exact, "ijcnn1", 800, 200)
    yield "projectron_pp, 1000", Case(named("projectron_pp", budget=1000), "covtype", 10_000, 8000)
    yield "rbp, 5000", Case(named("rbp", budget=5000), "noise 22 columns", 15_000, 5000)
    yield "rbp, 100", Case(named("rbp", budget=100), "noise 300 columns float32", 2000, 30_000)
    for columns in (500, 1000, 2000):
        yield "rbp, 1000", Case(named("rbp", budget=1000), f"noise {columns} columns CSR", 4000, 15_000)


def others() -> Iterator[tuple[str, Case]]:
    """What must not become slower."""
    for budget in (100, 1000):
        for name in ("rbp", "bogd", "bpa_s", "forgetron"):
            for where in ("w8a CSR", "a9a CSR", "ijcnn1", "covtype"):
                yield f"{name}, {budget}", Case(named(name, budget=budget), where, 10_000, 20_000)
    for name in (
        "stoptron",
        "projectron",
        "projectron_pp",
        "bogd_pp",
        "bpa_nn",
        "bpa_p",
        "budget_perceptron",
    ):
        yield f"{name}, 100", Case(named(name, budget=100), "ijcnn1", 5000, 20_000)
    for where in ("ijcnn1", "ijcnn1 targets"):
        yield "nogd, 100", Case(named("nogd", budget=100, rank=20), where, 4000, 30_000)
    for way in (bt.RemoveSmallest, bt.RemoveRandom, bt.ProjectSmallest, bt.Merge):
        sgd = named("bsgd", budget=100, maintenance=way)
        yield f"bsgd {way.__name__}, 100", Case(sgd, "ijcnn1", 3000, 15_000)
    for way in (bt.DualNearest, bt.DualRemoval, bt.DualProjectionClipped, bt.DualRemovalThenProjection):
        dual = named("bduol", budget=100, maintenance=way)
        yield f"bduol {way.__name__}, 100", Case(dual, "ijcnn1", 3000, 1000)
    for name in ("perceptron", "pa", "ogd", "sgd"):
        yield name, Case(named(name), "ijcnn1", 1000, 15_000)
    yield "norma", Case(named("norma"), "ijcnn1 targets", 1000, 8000)
    yield "duol", Case(named("duol"), "ijcnn1", 500, 4000)
    yield "nbsgd", Case(named("nbsgd", budget=100, beta=100.0), "ijcnn1", 1000, 10_000)
    for kind in (bt.OrthogonalFourier, bt.HadamardFourier, bt.SobolFourier):
        yield f"{kind.__name__}, 400", Case(mapped(kind(KERNEL, 400), bt.OGD(0.1)), "ijcnn1", 2000, 20_000)
    yield "Nystrom, 100", Case(mapped(bt.Nystrom(KERNEL, 100), bt.OGD(0.1)), "ijcnn1", 2000, 20_000)
    yield "Identity", Case(mapped(bt.Identity(), bt.OGD(0.1)), "covtype", 2000, 30_000)
    fourier = bt.RandomFourier(KERNEL, 111)
    diagonal = mapped(fourier, bt.AROW(covariance="diagonal"))
    yield "AROW diagonal, 222 features", Case(diagonal, "ijcnn1", 2000, 10_000)
    for rule in (bt.OnlineNewton(), bt.AdaGrad(), bt.CoinBetting(), bt.PA()):
        yield f"{type(rule).__name__}, 222 features", Case(mapped(fourier, rule), "ijcnn1", 2000, 10_000)
    for kernel in (bt.Laplacian(0.1), bt.Polynomial(2)):
        other = lambda kernel=kernel: bt.rbp(kernel, budget=100)  # noqa: E731
        yield f"{type(kernel).__name__} rbp, 100", Case(other, "ijcnn1", 5000, 20_000)
    yield "rbp, 100", Case(named("rbp", budget=100), "covtype 7 classes", 5000, 20_000)
    yield "rbp, 1000", Case(named("rbp", budget=1000), "ijcnn1 float32", 8000, 20_000)
    yield "Averaged rbp, 100", Case(lambda: bt.Averaged(bt.rbp(KERNEL, budget=100)), "ijcnn1", 5000, 20_000)


def cases() -> dict[str, Case]:
    """All cases by name."""
    return {f"{name}: {case.rows}": case for part in (asked(), others()) for name, case in part}


def work(path: str) -> None:
    """In a process with one of the versions: answers every name of a case with its microseconds a row."""
    known, saved = cases(), np.load(path)
    if "X" in saved:
        X = saved["X"]
    else:
        X = sparse.csr_matrix(tuple(saved[part] for part in PARTS), tuple(saved["shape"]))
    for line in sys.stdin:
        print(known[line.strip()].run(X, saved["y"]), flush=True)


class Worker:
    """A process of a script with one of the versions."""

    def __init__(self, python: str, script: str, *args: str):
        command = [python, str(Path(script).resolve()), "--work", *args]
        env = os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=env)

    def time(self, name: str) -> float:
        """Microseconds a row of one run."""
        assert self.process.stdin
        self.process.stdin.write(name + "\n")
        self.process.stdin.flush()
        return float(self.answer(name))

    def answer(self, name: str = "") -> str:
        """The next line that it prints."""
        assert self.process.stdout
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"{self.process.args[0]} did not finish {name!r}.")  # type: ignore[index]
        return str(line)

    def close(self) -> None:
        """End it."""
        self.process.communicate()


def keep(X: Any, y: np.ndarray, path: Path) -> None:
    """Write the rows where the workers read them."""
    if sparse.issparse(X):
        np.savez(path, shape=X.shape, y=y, **{part: getattr(X, part) for part in PARTS})
    else:
        np.savez(path, X=X, y=y)


def compare(
    name: str, pythons: tuple[str, str], path: Path, pairs: int, turns: int
) -> list[tuple[float, ...]]:
    """The least microseconds a row of both versions, for every pair of processes."""
    found = []
    for _ in range(pairs):
        workers = [Worker(python, __file__, str(path)) for python in pythons]
        try:
            times = [[worker.time(name) for worker in workers] for _ in range(turns)]
        finally:
            for worker in workers:
                worker.close()
        found.append(tuple(min(column) for column in zip(*times, strict=True)))
    return found


def main() -> None:
    """Compare the versions."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("other", help="a Python with the other version")
    parser.add_argument("words", nargs="*", help="only cases with one of these in their name")
    parser.add_argument("--pairs", type=int, default=4, help="pairs of processes (default 4)")
    parser.add_argument("--turns", type=int, default=4, help="turns of each pair (default 4)")
    given = parser.parse_args()
    print(f"{'microseconds a row':<48}{'other':>9}{'this':>9}{'times':>7}   in each pair of processes")
    for name, case in cases().items():
        if given.words and not any(word in name for word in given.words):
            continue
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "rows.npz"
            keep(*rows(case.rows), path)
            found = compare(name, (given.other, sys.executable), path, given.pairs, given.turns)
        ratios = [other / this for other, this in found]
        other, this = (min(times) for times in zip(*found, strict=True))
        each = " ".join(f"{ratio:.2f}" for ratio in ratios)
        lost = "   lost" if median(ratios) < 1 - LOSS else ""
        print(f"{name:<48}{other:>9.2f}{this:>9.2f}{median(ratios):>7.2f}   {each}{lost}", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--work"]:
        work(sys.argv[2])
    else:
        main()
