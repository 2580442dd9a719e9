"""The engine of device="cuda" against the processor: agreement, speed, errors, memory.

    python -m benchmarks.card agree both_ways filters sweep many streams sizes fast crossing [--out FOLDER]

Each word writes one JSON file into the folder; `docs/card.md` has the figures. It needs a card, but with
``--numpy`` the same code runs on NumPy's arrays, for a look at the script itself. Data sets are found as by
``budgetron.datasets``.
"""

import argparse
import json
import lzma
import os
import resource
import tempfile
import time
from pathlib import Path

import numpy as np
from sklearn.datasets import load_svmlight_file

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
    progressive_predict_many,
)
from budgetron.learners.cuda import engine
from budgetron.learners.cuda.arrays import Arrays
from budgetron.learners.dated import with_all_columns


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


SETS = {
    "letter": ("letter.train", "letter.test"),
    "ijcnn1": ("ijcnn1.train", "ijcnn1.test"),
    "skin": ("skin_nonskin",),
    "covtype": ("covtype",),
}


def data(name):
    """A data set of the folder that BUDGETRON_DATA names, in a random order."""
    folder, parts = Path(os.environ["BUDGETRON_DATA"]), []
    for part in SETS[name]:
        with lzma.open(folder / f"{part}.svm.xz") as file:
            X, y = load_svmlight_file(file, n_features={"ijcnn1": 22, "letter": 16}.get(name))
        parts.append((X.toarray(), y))
    X, y = (np.concatenate(each) for each in zip(*parts, strict=True))
    order = np.random.default_rng(0).permutation(len(y))
    return np.ascontiguousarray(X[order]), np.unique(y[order], return_inverse=True)[1]


def passed(learner, X, y, device="cuda", jobs=None):
    """One pass: us a row, error and log loss in percent and nats, and processors in use."""
    model = OnlineClassifier(learner, random_state=0, device=device, n_jobs=jobs)
    began, busy = time.perf_counter(), time.process_time()
    model.start(X[:100], classes=np.unique(y))
    shares = model.progressive_predict_proba(X, y)
    took, busy = time.perf_counter() - began, time.process_time() - busy
    right = np.maximum(shares[np.arange(len(y)), y], 1e-12)
    error = float((shares.argmax(axis=1) != y).mean() * 100)
    row = {"rows": len(y), "us": took / len(y) * 1e6, "error": error}
    return row | {"log loss": float(-np.log(right).mean()), "processors": busy / took}


def streams():
    """The default with wide maps, on whole streams."""
    found = []
    for name in SETS:
        X, y = data(name)
        row = {"data": name, "learner": "auto(2000, wide=32768)"} | passed(auto(2000, wide=32768), X, y)
        found.append(row)
        print(row, flush=True)
    return found


def sizes():
    """Error by size, on three long streams."""
    found = []
    for name in ("letter", "ijcnn1", "covtype"):
        X, y = data(name)
        for size in (50, 200, 800, 2000):
            row = {"data": name, "size": size} | passed(auto(size), X, y)
            found.append(row)
            print(row, flush=True)
    return found


def fast(rows=60000, core=3000):
    """auto(400), and its filters alone, beside one core."""
    X, y = data("covtype")
    parts = with_all_columns(auto(400).composition())
    alone = Standardised(
        Stacked(*(part for part in parts.learner.learners if engine.runs(part)), drift=1e-5)
    )
    found = []
    for name, learner in (("auto(400)", auto(400)), ("its filters", alone)):
        passed(learner, X[:2000], y[:2000])
        card = passed(learner, X[:rows], y[:rows])
        one = passed(learner, X[:core], y[:core], "cpu", 1)
        row = {"learner": name, "card": card, "one core": one, "times": one["us"] / card["us"]}
        found.append(row)
        print(row, flush=True)
    return found


def four_steps(gamma):
    """Four step sizes on one map of 32,768 pairs."""
    return [Mapped(RandomFourier(Gaussian(gamma), 32768), OGD(eta)) for eta in (0.1, 0.3, 1.0, 3.0)]


def standardised(X):
    return ((X - X.mean(0)) / np.where(X.std(0) > 0, X.std(0), 1)).clip(-10, 10)


def sweep():
    """The four steps in a stack."""
    X, y = data("covtype")
    found = []
    for dtype in (np.float64, np.float32):
        for gamma in (0.2, 1.0):
            Z = standardised(X).astype(dtype)
            row = {"dtype": np.dtype(dtype).name, "gamma": gamma} | passed(
                Stacked(*four_steps(gamma)), Z, y
            )
            found.append(row)
            print(row, flush=True)
    return found


def many(gamma=1.0):
    """The four steps as models of their own, in one call and one after the other, beside a stack."""
    X, y = data("covtype")
    Z, found = standardised(X), []

    def side_by_side(models, Z, y):
        return progressive_predict_many(models, Z, y)

    def one_by_one(models, Z, y):
        return [model.progressive_predict(Z, y) for model in models]

    for call in (side_by_side, one_by_one):
        models = [[estimator(step, 7) for step in four_steps(gamma)] for _ in range(2)]
        call(models[0], Z[:2000], y[:2000])  # compiles
        seconds, predicted = timed(lambda: call(models[1], Z, y))  # noqa: B023
        errors = [float((each != y).mean() * 100) for each in predicted]
        found.append({"how": call.__name__, "rows": len(y), "us": seconds / len(y) * 1e6, "errors": errors})
        print(found[-1], flush=True)
    found.append({"how": "stack"} | passed(Stacked(*four_steps(gamma)), Z, y))
    print(found[-1], flush=True)
    return found


def crossing(sizes=(100, 222, 500, 1024, 2048), calls=(1, 16, 256, 4096)):
    """Time a row of a filter by features and rows of a call, on the card and on a core."""
    found = []
    for m in sizes:
        X, ys = rows_of(20000, d=20)
        learner = Mapped(Stack(RandomFourier(Gaussian(0.05), (m - 21) // 2), Identity()), Kalman())
        for call in calls:
            row = {"features": m, "rows of a call": call}
            for device in ("cuda", "cpu"):
                rows = min(20000, max(call, 300 if call < 256 else 4096 if device == "cuda" else 512))
                model = estimator(learner, 2, device).partial_fit(X[:2000], ys[2][:2000])
                cuts = [slice(i, i + call) for i in range(0, rows, call)]
                took, _ = timed(lambda: [model.partial_fit(X[c], ys[2][c]) for c in cuts])  # noqa: B023
                row[device] = took / rows * 1e6
            found.append(row)
            print(row, flush=True)
    return found


def memory():
    """What is announced and what is taken; ten million rows."""
    import cupy

    pool, found = cupy.get_default_memory_pool(), []
    X, ys = rows_of(500000)
    for name, learner in (
        ("Kalman, 4,096 features", Mapped(RandomFourier(Gaussian(0.1), 2048), Kalman())),
        ("OGD, 65,536 features", Mapped(RandomFourier(Gaussian(0.1), 32768), OGD())),
        ("auto(400)", auto(400)),
    ):
        pool.free_all_blocks()
        before = cupy.cuda.runtime.memGetInfo()[0]
        model = estimator(learner, 2).partial_fit(X[:5000], ys[2][:5000])
        built = model.fitted_.model.engine
        row = {"learner": name, "announced": built.needed_bytes / 2**20}
        row["taken"] = (before - cupy.cuda.runtime.memGetInfo()[0]) / 2**20
        found.append(row)
        print(row, flush=True)
        del model, built
    model, held = estimator(Mapped(RandomFourier(Gaussian(0.1), 200), Kalman()), 2), []
    for _ in range(20):
        model.partial_fit(X, ys[2])
        held.append((cupy.cuda.runtime.memGetInfo()[0], resource.getrusage(resource.RUSAGE_SELF).ru_maxrss))
    growth = {"rows": 20 * len(X), "card MiB": (held[2][0] - held[-1][0]) / 2**20}
    growth["host MiB"] = (held[-1][1] - held[2][1]) / 2**10
    print(growth, flush=True)
    return [*found, growth]


def picture():
    """Error against size, from card.json beside this file."""
    import matplotlib.pyplot as plt

    known = json.loads(Path(__file__).with_suffix(".json").read_text())
    figure, axes = plt.subplots(1, 3, figsize=(9, 2.8), layout="constrained")
    for axis, name in zip(axes, ("letter", "ijcnn1", "covtype"), strict=True):
        rows = [row for row in known["sizes"] if row["data"] == name]
        [wide] = [row["error"] for row in known["streams"] if row["data"] == name]
        axis.plot([row["size"] for row in rows], [row["error"] for row in rows], "o-", label="auto(size)")
        axis.plot([2000], [wide], "D", label="auto(2000, wide=32768)")
        axis.set(xscale="log", title=f"{name}, {rows[0]['rows']:,} rows", xlabel="size", ylabel="error, %")
    axes[2].legend(loc="center left")
    figure.savefig(Path(__file__).parent.parent / "docs" / "pictures" / "card.png", dpi=110)
    return known["sizes"]


WORDS = {
    "picture": picture,
    "agree": agree,
    "both_ways": both_ways,
    "filters": filters,
    "sweep": sweep,
    "many": many,
    "streams": streams,
    "sizes": sizes,
    "fast": fast,
    "crossing": crossing,
    "memory": memory,
}


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
