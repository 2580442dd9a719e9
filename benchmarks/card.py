"""The engine of device="cuda" against the processor: agreement, speed, errors, memory.

    python -m benchmarks.card agree filters sweep streams crossing memory [--out FOLDER]

Each word writes one JSON file into the folder; `docs/card.md` has the figures. It needs a card, but with
``--numpy`` the same code runs on NumPy's arrays, for a look at the script itself. Data sets are found as by
``budgetron.datasets``.
"""

import argparse
import json
import tempfile
import time
from pathlib import Path

import numpy as np

from budgetron import (
    OGD,
    PA,
    SGD,
    Absolute,
    EpsilonInsensitive,
    Gaussian,
    Hashed,
    Identity,
    Kalman,
    Logistic,
    Mapped,
    Neighbours,
    Nystrom,
    OnlineClassifier,
    OnlineRegressor,
    Perceptron,
    RandomFourier,
    Ranged,
    SparseFourier,
    Squared,
    SquaredHinge,
    Stack,
    Stacked,
    Standardised,
    auto,
    load,
)
from budgetron.learners.cuda import engine
from budgetron.learners.cuda.arrays import Arrays


def rows_of(n, dtype=np.float64, d=6):
    """A generated stream with labels of two and of seven classes, and targets."""
    random = np.random.default_rng(0)
    X = random.normal(size=(n, d))
    f = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.2 * random.normal(size=n)
    ys = {2: (f > 0).astype(int), 7: np.digitize(f, [-1.5, -0.8, -0.3, 0.3, 0.8, 1.5]), 0: f}
    return np.ascontiguousarray(X, dtype=dtype), ys


def learners():
    """Every kind of learner that runs on a card, with the tasks it is for."""
    both = Stack(RandomFourier(Gaussian(0.3), 60), Identity(scale="1/sqrt(d)"))
    for drift in (0.0, 1e-4):
        for covariance in ("full", "diagonal", 40):
            yield (
                f"Kalman drift {drift:g} {covariance}",
                Mapped(both, Kalman(1.0, drift, covariance)),
                (2, 7, 0),
            )
    labels = OGD(0.3), OGD(0.3, lam=1e-3), OGD(0.3, loss=Logistic()), OGD(0.1, loss=SquaredHinge())
    for rule in (
        *labels,
        Perceptron(),
        PA(0.5),
        SGD(0.01),
        SGD(0.01, loss=Logistic()),
        SGD(0.01, loss=Squared()),
    ):
        yield repr(rule), Mapped(both, rule), (2, 7) if "SquaredHinge" not in repr(rule) else (2,)
    targets = OGD(0.1), OGD(0.1, loss=Absolute(), lam=1e-3), OGD(0.1, loss=EpsilonInsensitive())
    for rule in (*targets, Perceptron(), PA(0.5), SGD(0.1), SGD(0.1, loss=Absolute())):
        yield repr(rule), Mapped(both, rule), (0,)
    yield "Nystrom", Mapped(Nystrom(Gaussian(0.5), 50, rank=30), OGD(0.3)), (2, 7, 0)
    yield "Hashed", Mapped(Hashed(RandomFourier(Gaussian(0.5), 50), columns=4), Kalman(1.0)), (2, 7, 0)
    yield "SparseFourier", Mapped(SparseFourier(50), Kalman(1.0)), (2, 7, 0)
    yield "Standardised", Standardised(Mapped(both, Kalman(1.0))), (2, 7, 0)
    yield "Ranged", Ranged(Mapped(both, OGD(0.3))), (2, 7)
    yield (
        "Stacked",
        Standardised(
            Stacked(
                Mapped(both, Kalman(1.0)),
                Mapped(both, OGD(0.3)),
                Neighbours(50, 3),
                Mapped(RandomFourier(Gaussian(1.0), 50), PA()),
            )
        ),
        (2, 7, 0),
    )
    yield "auto(50)", auto(50), (2, 7, 0)


def estimator(learner, task, device="cuda"):
    return (OnlineClassifier if task else OnlineRegressor)(learner, random_state=0, device=device)


def learned(model, X, y, task, pieces=1):
    """The scores of every row from before it was learned."""
    model.start(X[:100], classes=np.unique(y)) if task else model.start(X[:100])
    native = model.fitted_.model
    codes = 2.0 * y - 1 if task == 2 else np.asarray(y, dtype=np.float64)
    return np.concatenate([native.learn(X[c], codes[c]) for c in np.array_split(np.arange(len(y)), pieces)])


def differences(a, b):
    """The largest difference of scores, and the first row with one above 1e-9 of the score."""
    far = (np.abs(a - b) > 1e-9 * np.maximum(1, np.abs(a))).any(axis=1)
    return float(np.abs(a - b).max()), int(np.argmax(far)) if far.any() else None


def agree(n=20000):
    """Every learner on the card and on the processor, row by row."""
    found = []
    for name, learner, tasks in learners():
        for task in tasks:
            X, ys = rows_of(n)
            y = ys[task]
            native = learned(estimator(learner, task, "cpu"), X, y, task)
            nudged = X * (1 + 2.2e-16 * np.random.default_rng(1).integers(-1, 2, X.shape))
            rounding = differences(native, learned(estimator(learner, task, "cpu"), nudged, y, task))
            card = learned(estimator(learner, task), X, y, task)
            cut = learned(estimator(learner, task), X, y, task, pieces=13)
            single = learned(estimator(learner, task), X.astype(np.float32), y, task)
            spread = float(native.std())
            row = {
                "learner": name,
                "task": task,
                "double": differences(native, card),
                "cut": differences(card, cut),
                "nudged": rounding,
                "single": float(np.abs(native - single).mean() / spread),
                "signs": float((np.sign(native) != np.sign(single)).mean()),
            }
            found.append(row)
            bad = row["double"][1] is not None or row["cut"][1] is not None
            print("MISS" if bad else ".", row if bad else "", flush=True, end="\n" if bad else "")
    print(
        "\nlargest", max(row["double"][0] for row in found), "single", max(row["single"] for row in found)
    )
    return found


def both_ways(n=4000):
    """Half a stream on one device, saved, and the other half on the other."""
    found = []
    for name, learner, tasks in learners():
        for task in tasks:
            X, ys = rows_of(n)
            y = ys[task]
            whole = estimator(learner, task, "cpu").fit(X, y)
            at_once = _scores(whole.partial_fit(X, y), X)
            row = {"learner": name, "task": task}
            for first, second in (("cuda", "cpu"), ("cpu", "cuda")):
                with tempfile.TemporaryDirectory() as folder:
                    model = estimator(learner, task, first).fit(X, y)
                    model.save(Path(folder) / "model")
                    back = load(Path(folder) / "model", device=second)
                    far = np.abs(_scores(back.partial_fit(X, y), X) - at_once).max()
                    row[f"{first} then {second}"] = float(far)
            found.append(row)
    print("largest", [max(row[k] for row in found) for k in ("cuda then cpu", "cpu then cuda")])
    return found


def _scores(model, X):
    return model.fitted_.model.scores(X)


def timed(call):
    began = time.perf_counter()
    result = call()
    return time.perf_counter() - began, result


def filters(sizes=((222, 40000), (1024, 40000), (4096, 40000), (8192, 12000)), core=True):
    """Us a row of one Kalman filter, and the share of what the card can do."""
    found = []
    for m, n in sizes:
        for task in (2, 7):
            for dtype in (np.float64, np.float32):
                X, ys = rows_of(n, dtype, d=54)
                learner = Mapped(Stack(RandomFourier(Gaussian(0.01), (m - 55) // 2), Identity()), Kalman())
                model = estimator(learner, task)
                model.partial_fit(X[:600], ys[task][:600], classes=np.unique(ys[task]))
                seconds, _ = timed(lambda: model.partial_fit(X, ys[task]))  # noqa: B023
                row = {
                    "features": m,
                    "classes": task,
                    "dtype": np.dtype(dtype).name,
                    "us": seconds / n * 1e6,
                }
                row["tflops"] = 4 * m * m / row["us"] / 1e6
                if core and dtype == np.float64 and m <= 4096:
                    rows = max(200, int(3e8 / m**2))
                    native = estimator(learner, task, "cpu")
                    native.partial_fit(X[:64], ys[task][:64], classes=np.unique(ys[task]))
                    seconds, _ = timed(lambda: native.partial_fit(X[:rows], ys[task][:rows]))  # noqa: B023
                    row["core us"] = seconds / rows * 1e6
                found.append(row)
                print(row, flush=True)
    return found


WORDS = {"agree": agree, "both_ways": both_ways, "filters": filters}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("words", nargs="+", choices=WORDS)
    parser.add_argument("--out", type=Path, default=Path("."))
    parser.add_argument("--numpy", action="store_true")
    args = parser.parse_args()
    if args.numpy:
        engine.ARRAYS = Arrays
    for word in args.words:
        print(f"== {word}", flush=True)
        found = WORDS[word]()
        (args.out / f"card_{word}.json").write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
