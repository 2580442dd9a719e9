"""How much faster this build is than another one: ``python -m benchmarks.two_builds OTHER/bin/python [WORD ...]``.

OTHER is a Python that has another version of the library. Each case runs in both, in processes that take turns,
and in several pairs of processes: where memory happens to lie can change the time of a whole process. A case is
chosen by a word of its name; without words, all run (about half an hour). The limit is what one loses: 3 %.
"""

from __future__ import annotations

import argparse
import lzma
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
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
Rows = tuple[Any, np.ndarray]


@dataclass(frozen=True)
class Case:
    """A learner and its rows, of which the first ``fill`` are learned before the clock starts."""

    learner: Callable[[], Any]
    rows: Callable[[], Rows]
    fill: int
    timed: int
    float32: bool = False

    def run(self, X: Any, y: np.ndarray) -> float:
        """Microseconds a row."""
        model = (OnlineRegressor if y.dtype == np.float64 else OnlineClassifier)(self.learner(), random_state=0)
        end = self.fill + self.timed
        head, tail = X[: self.fill], X[self.fill : end]
        if y.dtype == np.float64:
            model.partial_fit(head, y[: self.fill])
        else:
            model.partial_fit(head, y[: self.fill], classes=np.unique(y))
        began = process_time()
        model.progressive_predict(tail, y[self.fill : end])
        return 1e6 * (process_time() - began) / len(y[self.fill : end])


def data_set(name: str, dense: bool = True, classes: int = 2) -> Rows:
    """A data set of the folder that BUDGETRON_DATA names, shuffled and standardised if dense."""
    folder = Path(os.environ.get("BUDGETRON_DATA", "."))
    path = next(p for p in (folder / f"{name}.train.svm.xz", folder / f"{name}.svm.xz") if p.exists())
    with lzma.open(path) as file:
        X, y = load_svmlight_file(file)
    order = np.random.default_rng(0).permutation(X.shape[0])[:60_000]
    X, y = X[order], y[order].astype(np.int64)
    if classes == 2 and len(np.unique(y)) > 2:
        y = (y == np.bincount(y - y.min()).argmax() + y.min()).astype(np.int64)
    if dense:
        X = X.toarray()
        X = np.ascontiguousarray((X - X.mean(0)) / np.maximum(X.std(0), 1e-9))
    return X, y


def noise(d: int, n: int = 40_000, classes: int = 2) -> Rows:
    """Random rows with random labels: a budget is soon full, and most rows update."""
    r = np.random.default_rng(0)
    return r.standard_normal((n, d)), r.integers(classes, size=n)


def sparse_noise(d: int, nonzeros: int, n: int = 20_000) -> Rows:
    """The same with few nonzeros, as CSR."""
    r = np.random.default_rng(0)
    columns = np.sort(np.argpartition(r.random((n, d)), nonzeros, axis=1)[:, :nonzeros], axis=1).ravel()
    starts = np.arange(0, n * nonzeros + 1, nonzeros)
    return sparse.csr_matrix((r.standard_normal(n * nonzeros), columns, starts), (n, d)), r.integers(2, size=n)


def real(rows: Rows) -> Rows:
    """The labels as targets of a regression."""
    return rows[0], rows[1].astype(np.float64)


def cases() -> dict[str, Case]:
    """All cases by name."""
    ijcnn1 = lambda: data_set("ijcnn1")  # noqa: E731
    covtype = lambda: data_set("covtype")  # noqa: E731
    a9a = lambda: data_set("a9a", dense=False)  # noqa: E731
    w8a = lambda: data_set("w8a", dense=False)  # noqa: E731
    g = Gaussian(1 / 32)

    def named(name: str, **settings: Any) -> Callable[[], Any]:
        return lambda: getattr(bt, name)(g, **settings)

    def mapped(features: Any, rule: Any) -> Callable[[], Any]:
        return lambda: bt.Mapped(features, rule)

    fourier = bt.RandomFourier(g, 111)
    table = {
        "AROW 222 ijcnn1": Case(mapped(fourier, bt.AROW(0.1)), ijcnn1, 2000, 10_000),
        "AROW 222 noise": Case(mapped(bt.Identity(constant=False), bt.AROW()), lambda: noise(222), 2000, 10_000),
        "AROW 1000 noise": Case(mapped(bt.Identity(constant=False), bt.AROW()), lambda: noise(1000, 3000), 500, 1500),
        "bpa_p 200 ijcnn1": Case(named("bpa_p", budget=200), ijcnn1, 8000, 8000),
        "bpa_p 200 noise": Case(named("bpa_p", budget=200), lambda: noise(22), 2000, 5000),
        "bsgd project 200 noise": Case(
            named("bsgd", budget=200, lam=1e-4, maintenance=bt.ProjectSmallest), lambda: noise(22), 2000, 5000
        ),
        "nogd 1000 covtype": Case(named("nogd", budget=1000, rank=200, eta=0.1), covtype, 8000, 10_000),
        "nogd 1000 covtype 7 classes": Case(
            named("nogd", budget=1000, rank=200, eta=0.1), lambda: data_set("covtype", classes=7), 8000, 10_000
        ),
        "fogd 4000 a9a dense": Case(named("fogd", components=4000), lambda: data_set("a9a"), 1000, 5000),
        "fogd 4000 noise 123": Case(named("fogd", components=4000), lambda: noise(123), 1000, 5000),
        "fogd 400 ijcnn1": Case(named("fogd", components=400), ijcnn1, 2000, 30_000),
        "fogd 400 covtype": Case(named("fogd", components=400), covtype, 2000, 30_000),
        "fogd 400 noise 123": Case(named("fogd", components=400), lambda: noise(123), 1000, 20_000),
        "fogd 400 a9a CSR": Case(named("fogd", components=400), a9a, 1000, 20_000),
        "budget_perceptron 1000 7 classes": Case(
            named("budget_perceptron", budget=1000), lambda: data_set("covtype", classes=7), 5000, 400
        ),
        "bduol exact 100 ijcnn1": Case(
            lambda: bt.DoubleUpdating(Gaussian(1 / 32), maintenance=bt.DualProjection(100)), ijcnn1, 800, 200
        ),
        "merge 200 ijcnn1": Case(named("bsgd", budget=200, lam=1e-4, maintenance=bt.Merge), ijcnn1, 8000, 20_000),
        "merge 200 noise": Case(named("bsgd", budget=200, lam=1e-4, maintenance=bt.Merge), lambda: noise(22), 2000, 15_000),
        "bpa_nn 200 ijcnn1": Case(named("bpa_nn", budget=200), ijcnn1, 8000, 20_000),
        "bpa_nn 200 noise": Case(named("bpa_nn", budget=200), lambda: noise(22), 2000, 15_000),
        "projectron_pp 1000 covtype": Case(named("projectron_pp", budget=1000), covtype, 10_000, 8000),
        "rbp 5000 noise": Case(named("rbp", budget=5000), lambda: noise(22), 15_000, 5000),
        "rbp 100 d 300 float32": Case(named("rbp", budget=100), lambda: noise(300), 2000, 30_000, float32=True),
        "CSR 1000 columns rbp 1000": Case(named("rbp", budget=1000), lambda: sparse_noise(1000, 15), 4000, 16_000),
        "CSR 500 columns rbp 1000": Case(named("rbp", budget=1000), lambda: sparse_noise(500, 15), 4000, 16_000),
        "CSR 2000 columns rbp 1000": Case(named("rbp", budget=1000), lambda: sparse_noise(2000, 15), 4000, 16_000),
        "perceptron ijcnn1": Case(named("perceptron"), ijcnn1, 1000, 30_000),
        "pa ijcnn1": Case(named("pa"), ijcnn1, 1000, 15_000),
        "ogd ijcnn1": Case(named("ogd"), ijcnn1, 1000, 15_000),
        "sgd ijcnn1": Case(named("sgd"), ijcnn1, 1000, 10_000),
        "norma ijcnn1": Case(named("norma", eta=0.1), lambda: real(ijcnn1()), 1000, 8000),
        "duol ijcnn1": Case(named("duol"), ijcnn1, 500, 4000),
        "nbsgd ijcnn1": Case(named("nbsgd", budget=100, beta=100.0), ijcnn1, 1000, 10_000),
        "nogd 100 ijcnn1": Case(named("nogd", budget=100, rank=20), ijcnn1, 4000, 30_000),
        "nogd 100 regression": Case(named("nogd", budget=100, rank=20), lambda: real(ijcnn1()), 4000, 30_000),
        "projectron_pp 100 ijcnn1": Case(named("projectron_pp", budget=100), ijcnn1, 4000, 30_000),
    }
    for budget in (100, 1000):
        for name in ("rbp", "bogd", "bpa_s", "forgetron"):
            table[f"{name} {budget} w8a CSR"] = Case(named(name, budget=budget), w8a, 15_000, 30_000)
            table[f"{name} {budget} a9a CSR"] = Case(named(name, budget=budget), a9a, 8000, 20_000)
            table[f"{name} {budget} ijcnn1"] = Case(named(name, budget=budget), ijcnn1, 15_000, 30_000)
            table[f"{name} {budget} covtype"] = Case(named(name, budget=budget), covtype, 8000, 20_000)
    for name in ("stoptron", "projectron", "bogd_pp", "bpa_nn", "bpa_p", "budget_perceptron"):
        table[f"{name} 100 ijcnn1"] = Case(named(name, budget=100), ijcnn1, 5000, 20_000)
    for way in ("RemoveSmallest", "RemoveRandom", "ProjectSmallest", "Merge"):
        budget = getattr(bt, way)
        table[f"bsgd {way} 100 ijcnn1"] = Case(named("bsgd", budget=100, maintenance=budget), ijcnn1, 3000, 15_000)
    for way in ("DualNearest", "DualRemoval", "DualProjectionClipped", "DualRemovalThenProjection"):
        dual = getattr(bt, way)
        table[f"bduol {way} 100 ijcnn1"] = Case(named("bduol", budget=100, maintenance=dual), ijcnn1, 3000, 1000)
    for kind in ("OrthogonalFourier", "HadamardFourier", "SobolFourier"):
        table[f"{kind} 400 OGD ijcnn1"] = Case(mapped(getattr(bt, kind)(g, 400), bt.OGD(0.1)), ijcnn1, 2000, 20_000)
    table["Nystrom 100 OGD ijcnn1"] = Case(mapped(bt.Nystrom(g, 100), bt.OGD(0.1)), ijcnn1, 2000, 20_000)
    for rule in (bt.AROW(covariance="diagonal"), bt.OnlineNewton(), bt.AdaGrad(), bt.CoinBetting(), bt.PA(1.0)):
        table[f"{type(rule).__name__} {'diagonal' * (rule == bt.AROW(covariance='diagonal'))} on 222 ijcnn1"] = Case(
            mapped(fourier, rule), ijcnn1, 2000, 10_000
        )
    table["Identity OGD covtype"] = Case(mapped(bt.Identity(), bt.OGD(0.1)), covtype, 2000, 30_000)
    table["Laplacian rbp 100 ijcnn1"] = Case(lambda: bt.rbp(bt.Laplacian(0.1), budget=100), ijcnn1, 5000, 20_000)
    table["Polynomial rbp 100 ijcnn1"] = Case(lambda: bt.rbp(bt.Polynomial(2), budget=100), ijcnn1, 5000, 20_000)
    table["7 classes rbp 100 covtype"] = Case(
        named("rbp", budget=100), lambda: data_set("covtype", classes=7), 5000, 20_000
    )
    table["Averaged rbp 100 ijcnn1"] = Case(
        lambda: bt.Averaged(bt.rbp(Gaussian(1 / 32), budget=100)), ijcnn1, 5000, 20_000
    )
    table["rbp 1000 ijcnn1 float32"] = Case(named("rbp", budget=1000), ijcnn1, 8000, 20_000, float32=True)
    table["fogd 400 ijcnn1 float32"] = Case(named("fogd", components=400), ijcnn1, 2000, 20_000, float32=True)
    return {" ".join(name.split()): case for name, case in table.items()}


def work(folder: str) -> None:
    """Answer each line of the input, the name of a case, with its microseconds a row."""
    known: dict[str, tuple[Case, Any, np.ndarray]] = {}
    all_cases = cases()
    for line in sys.stdin:
        name = line.strip()
        if name not in known:
            known.clear()
            saved = np.load(Path(folder) / "rows.npz")
            X = sparse.csr_matrix((saved["x"], saved["i"], saved["p"]), tuple(saved["s"])) if "i" in saved else saved["x"]
            known[name] = (all_cases[name], X, saved["y"])
        case, X, y = known[name]
        print(case.run(X, y), flush=True)


def keep(rows: Rows, float32: bool, folder: Path) -> None:
    """Write the rows where the workers read them."""
    X, y = rows
    kind = np.float32 if float32 else np.float64
    if sparse.issparse(X):
        np.savez(folder / "rows.npz", x=X.data.astype(kind), i=X.indices, p=X.indptr, s=X.shape, y=y)
    else:
        np.savez(folder / "rows.npz", x=np.ascontiguousarray(X, kind), y=y)


class Worker:
    """A process with one of the builds."""

    def __init__(self, python: str, folder: Path):
        path = str(Path(__file__).resolve())
        env = os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        pipe = subprocess.PIPE
        self.process = subprocess.Popen([python, path, "--work", str(folder)], stdin=pipe, stdout=pipe, text=True, env=env)

    def time(self, name: str) -> float:
        """Microseconds a row of one run."""
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(name + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise SystemExit(f"{self.process.args} ended in {name!r}")
        return float(answer)

    def close(self) -> None:
        """End it."""
        assert self.process.stdin
        self.process.stdin.close()
        self.process.wait()


def main() -> None:
    """Compare."""
    import tempfile

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("other", help="a Python with the other build")
    parser.add_argument("words", nargs="*", help="only cases with one of these in their name")
    parser.add_argument("--pairs", type=int, default=4, help="pairs of processes (default 4)")
    parser.add_argument("--turns", type=int, default=4, help="turns of each pair (default 4)")
    given = parser.parse_args()
    print(f"{'':<40}{'other':>9}{'this':>9}{'times':>7}   of each pair of processes")
    for name, case in cases().items():
        if given.words and not any(word in name for word in given.words):
            continue
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary)
            keep(case.rows(), case.float32, folder)
            ratios, least = [], [float("inf")] * 2
            for _ in range(given.pairs):
                pair = [Worker(python, folder) for python in (given.other, sys.executable)]
                best = [float("inf")] * 2
                for _ in range(given.turns):
                    best = [min(b, w.time(name)) for b, w in zip(best, pair, strict=True)]
                for w in pair:
                    w.close()
                ratios.append(best[0] / best[1])
                least = [min(a, b) for a, b in zip(least, best, strict=True)]
        each = " ".join(f"{r:.2f}" for r in ratios)
        lost = "  lost" if median(ratios) < 1 - LOSS else ""
        print(f"{name:<40}{least[0]:>9.2f}{least[1]:>9.2f}{median(ratios):>7.2f}   {each}{lost}", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--work"]:
        work(sys.argv[2])
    else:
        main()
