"""The speed ratios that the project promises, each measured by runs that take turns."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from time import perf_counter

import numpy as np

from benchmarks.clock import take_turns
from benchmarks.library import GAMMA, D, learner, mistakes, row_by_row
from benchmarks.numpy_loop import plain_rbp
from benchmarks.peers import features, plain_bogd, sampler
from benchmarks.rows import Data, noise
from budgetron import OnlineClassifier, _core, progressive_predict_many


@dataclass(frozen=True)
class Answer:
    """A measured ratio and the promised bound, a minimum or a maximum."""

    what: str
    value: float
    wanted: float
    at_least: bool = True

    @property
    def met(self) -> bool:
        """Whether the ratio is within the bound."""
        return self.value >= self.wanted if self.at_least else self.value <= self.wanted


def against_numpy(data: Data) -> Iterator[Answer]:
    """The library against the same loop in NumPy."""
    X, y = data.dense, data.y
    for budget, wanted in ((100, 25), (1000, 6)):
        runs = {
            "rbp": partial(mistakes, learner("rbp", budget=budget), X, y),
            "bogd": partial(mistakes, learner("bogd", budget=budget), X, y),
            "plain rbp": partial(plain_rbp, X, y, GAMMA, budget),
            "plain bogd": partial(plain_bogd, X, y, budget),
        }
        times = take_turns(runs)
        for name in ("rbp", "bogd"):
            yield Answer(f"NumPy loop / {name}, B={budget}", times.ratio(f"plain {name}", name), wanted)


def precision(data: Data) -> Iterator[Answer]:
    """Single against double precision, and look-ahead against row by row, at a budget of 1000."""
    X, y, rbp = data.dense, data.y, learner("rbp", budget=1000)
    single = X.astype(np.float32)
    runs = {
        "float64": partial(mistakes, rbp, X, y),
        "float32": partial(mistakes, rbp, single, y),
        "row by row": partial(row_by_row, rbp, X, y),
    }
    times = take_turns(runs)
    width = f"B=1000, {data.name}"
    yield Answer(f"float64 / float32, rbp, {width}", times.ratio("float64", "float32"), 1.6)
    if X.shape[1] > 100:
        yield Answer(f"row by row / look-ahead, rbp, {width}", times.ratio("row by row", "float64"), 2)


def sparse_rows(data: Data) -> Iterator[Answer]:
    """The same rows as CSR and as a dense array."""
    X, y = data.dense, data.y
    for name, budget in (("rbp", 100), ("bogd", 100), ("rbp", 1000)):
        what = learner(name, budget=budget)
        runs = {"dense": partial(mistakes, what, X, y), "CSR": partial(mistakes, what, data.X, y)}
        times = take_turns(runs)
        yield Answer(f"dense / CSR, {name}, B={budget}, {data.name}", times.ratio("dense", "CSR"), 4)


def among_learners(data: Data) -> Iterator[Answer]:
    """The other budgets against random removal."""
    X, y = data.dense, data.y
    names = ("rbp", "forgetron", "bpa_s", "projectron", "bogd", "bogd_pp")
    times = take_turns({n: partial(mistakes, learner(n, budget=100), X, y) for n in names})
    wanted = {"forgetron": 1.3, "bpa_s": 1.5, "projectron": 2.0}
    for name, most in wanted.items():
        yield Answer(f"{name} / rbp, B=100", times.ratio(name, "rbp"), most, at_least=False)
    yield Answer("bogd_pp / bogd, B=100", times.ratio("bogd_pp", "bogd"), 1.3, at_least=False)


def fourier(data: Data) -> Iterator[Answer]:
    """FOGD against RBFSampler + SGDClassifier."""
    X, y, fogd, few = data.dense, data.y, learner("fogd", components=D, eta=0.5), 1000
    single = X.astype(np.float32)
    runs = {
        "float64": partial(mistakes, fogd, X, y),
        "float32": partial(mistakes, fogd, single, y),
        "batches": lambda: features(sampler(), X, y, 1000),
        "batches, float32": lambda: features(sampler(), single, y, 1000),
    }
    times = take_turns(runs)
    rows = take_turns({"rows": lambda: features(sampler(), X[:few], y[:few], 1)}).seconds["rows"]
    name = f"RBFSampler({D}) + SGD"
    yield Answer(f"{name} in batches / fogd", times.ratio("batches", "float64"), 6)
    yield Answer(f"{name} in batches / fogd in float32", times.ratio("batches", "float32"), 10)
    yield Answer(f"{name} in batches / fogd, float32 both", times.ratio("batches, float32", "float32"), 10)
    yield Answer(f"{name} by rows / fogd", rows / few / (times.seconds["float64"] / len(y)), 500)


def more_rows(data: Data) -> Iterator[Answer]:
    """Twice the rows, with a budget that is full from the start."""
    X, y = data.dense, data.y
    half, rbp = len(y) // 2, learner("rbp", budget=100)
    models = {"half": OnlineClassifier(rbp, random_state=0), "all": OnlineClassifier(rbp, random_state=0)}
    for model in models.values():
        model.progressive_predict(X, y)
    runs = {
        "half": lambda: models["half"].partial_fit(X[:half], y[:half]),
        "all": lambda: models["all"].partial_fit(X[: 2 * half], y[: 2 * half]),
    }
    ratio = take_turns(runs).ratio("all", "half")
    yield Answer(
        "twice the rows / the rows, rbp, B=100: off 2 by", abs(ratio / 2 - 1), 0.05, at_least=False
    )


def products() -> Iterator[Answer]:
    """The block product against NumPy's, which uses its BLAS."""
    r = np.random.default_rng(0)
    for d in (123, 300):
        for kind, ours in ((np.float64, _core.products), (np.float32, _core.products_single)):
            X, S = (r.standard_normal((d, n)).astype(kind) for n in (64, 1008))

            def many(call, X=X, S=S):
                for _ in range(200):
                    call(X, S)

            runs = {"ours": partial(many, ours), "NumPy": partial(many, lambda X, S: X.T @ S)}
            ratio = take_turns(runs).ratio("NumPy", "ours")
            yield Answer(f"block product: speed of NumPy's, B=1008, d={d}, {np.dtype(kind)}", ratio, 0.6)


def threads() -> Iterator[Answer]:
    """Two models in two threads against one; and the same for NumPy, as the machine's present limit."""
    X, y = noise(100_000, 50)  # takes a tenth of a second, much longer than starting a thread
    angles = np.linspace(0, 1, 100_000)

    def run(count: int) -> None:
        models = [OnlineClassifier(learner("bogd", budget=300), random_state=0) for _ in range(count)]
        progressive_predict_many(models, X, y, n_jobs=2)

    def sines(count: int) -> None:
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda _: [np.sin(angles) for _ in range(20)], range(count)))

    runs = {"one": partial(run, 1), "two": partial(run, 2)}
    runs |= {"sine": partial(sines, 1), "sines": partial(sines, 2)}
    times = take_turns(runs, 4.0, perf_counter)
    what = f"two models in two threads / one (NumPy's sine: {times.ratio('sines', 'sine'):.2f})"
    yield Answer(what, times.ratio("two", "one"), 1.2, at_least=False)


def answers(ijcnn1: Data, a9a: Data, w8a: Data) -> Iterator[Answer]:
    """Measure all ratios."""
    yield from against_numpy(ijcnn1)
    yield from precision(a9a)
    yield from precision(ijcnn1)
    yield from sparse_rows(w8a)
    yield from among_learners(ijcnn1)
    yield from fourier(ijcnn1)
    yield from more_rows(ijcnn1)
    yield from products()
    yield from threads()
