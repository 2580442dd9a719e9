"""Models in C learn as in Python: the same labels and scores on whole streams."""

import ctypes
from copy import copy

import numpy as np
import pytest

import budgetron as bt
from budgetron.estimators.online import progressive
from budgetron.export.c import to_c
from tests.helpers import members
from tests.helpers.cases import each
from tests.helpers.compiled import learning, library, needs_compiler, pointer

NEAR, FAR = bt.Gaussian(0.1), bt.Gaussian(1.0)  # FAR: the Gram matrix of a projection is well conditioned

# The learners that the page names, and how far their floats may be from Python's doubles, in units of the
# largest score. A projection in float solves a linear system, and Standardised sums up squares.
LEARNERS = {
    "rbp": (bt.rbp(NEAR, budget=30), 1e-6),
    "forgetron": (bt.forgetron(NEAR, budget=30), 1e-6),
    "bogd": (bt.bogd(NEAR, budget=30, lam=0.01), 1e-6),
    "projectron": (bt.projectron(FAR, budget=30), 1e-6),
    "fogd": (bt.fogd(NEAR, components=30, eta=0.5, lam=0.001), 1e-6),
    "kalman": (bt.Mapped(bt.Identity(), bt.Kalman(covariance="diagonal", drift=0.001)), 1e-6),
    "stoptron": (bt.stoptron(NEAR, budget=30), 1e-6),
    "scaled": (bt.Standardised(bt.rbp(NEAR, budget=30)), 1e-5),
    "scaled kalman": (bt.Standardised(bt.Mapped(bt.Identity(), bt.Kalman(covariance="diagonal"))), 1e-5),
}
# Parts in other combinations, in double.
OTHERS = {
    **{
        repr(k): bt.rbp(k, budget=20)
        for k in (bt.Linear(), bt.Polynomial(0.1, 1.0, 2), bt.Laplacian(0.3), bt.Sigmoid(0.1))
    },
    **{
        repr(loss): bt.Kernelized(NEAR, bt.OGD(0.2, loss=loss), bt.RemoveOldest(15))
        for loss in (
            bt.Absolute(),
            bt.Squared(),
            bt.EpsilonInsensitive(0.2),
            bt.Hinge(),
            bt.SquaredHinge(),
            bt.Logistic(),
        )
    },
    "PA": bt.Kernelized(NEAR, bt.PA(0.5), bt.RemoveOldest(20)),
    "margin": bt.Kernelized(NEAR, bt.MarginPerceptron(margin=0.3), bt.RemoveOldest(20)),
    "capped": bt.bogd(NEAR, budget=20, eta=0.5, cap=1.0),
    "one vector": bt.bogd(NEAR, budget=1),
    "threshold": bt.projectron(FAR, budget=20, eta=0.3),
    "progress": bt.Kernelized(FAR, bt.Perceptron(), bt.Project(20, U=2.0)),
    "gradient": bt.Kernelized(FAR, bt.OGD(0.2), bt.Project(20)),
    "features": bt.Mapped(bt.Stack(bt.RandomFourier(NEAR, 10), bt.Identity(scale=0.5)), bt.PA()),
    "hashed": bt.Mapped(
        bt.Hashed(bt.RandomFourier(NEAR, 10), columns=3), bt.Kalman(covariance="diagonal", prior=1.0)
    ),
    "scaled projection": bt.Standardised(bt.projectron(FAR, budget=20)),
    "scaled features": bt.Standardised(bt.fogd(NEAR, components=10), clip=2.0),
}


def stream(task, rows=500):
    """Rows that float holds exactly, and labels or targets that are not linear in them."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(rows, 4)).astype(np.float32).astype(np.float64)
    r = (np.sin(X[:, 0]) + 0.5 * X[:, 1] * X[:, 3]).astype(np.float32).astype(np.float64)
    return X, r if task == "regression" else np.digitize(r, [0] if task == "binary" else [-0.5, 0.5])


def troubled(task, rows=500):
    """The same, with absurd values and targets, and units that change."""
    X, y = stream(task, rows)
    X[5::97, 0], X[7::31, 1] = 1e5, -9999.0
    X[60::9, 2] *= 1000
    X[200:, 3] *= 1e4
    if task == "regression":
        y[[3, 150, 152, 300]] = 1e4, 1e6, 1e6, -1e8
        y[400:] *= 1e4
    return X, y


def defined(task, learner):
    try:
        return members.start(members.estimator(task, learner), task, *stream(task, 5))
    except ValueError:
        return None


class Runs:
    """Streams that are learned in C and in Python, after the first rows were learned in Python."""

    def __init__(self, folder, dtype, learners, first, stream=stream):
        self.dtype, self.cases = np.dtype(dtype), {}
        for learner in learners:
            for task in members.TASKS:
                if defined(task, learner) is None:
                    continue
                X, y = stream(task)
                model = members.estimator(task, learner)
                model = model.start(X) if task == "regression" else model.start(X, classes=np.unique(y))
                if first:
                    model.partial_fit(X[:first], y[:first])
                self.cases[f"m{len(self.cases)}"] = task, model, X[first:], y[first:]
        headers = {
            name: to_c(case[1], name=name, dtype=dtype, learn=True) for name, case in self.cases.items()
        }
        functions = [learning(name, case[1]) for name, case in self.cases.items()]
        self.library = library(folder, headers, functions)

    def check(self, tolerance, only=None):
        """Labels are the same, and scores within the tolerance, in units of the largest score."""
        checked = 0
        for name, (task, model, X, y) in self.cases.items():
            if only is not None and model.learner is not only:
                continue
            checked += 1
            codes = 2.0 * y - 1 if task == "binary" else y.astype(float)
            wanted = copy(model.fitted_.model).learn(X, codes)
            labels, scores, done = self.run(name, task, X, y, wanted.shape[1])
            assert done == len(X)
            error = abs(scores - wanted).max() / max(1, abs(wanted).max())
            assert error <= tolerance, (task, model.learner_, error)
            if task == "binary":
                assert (labels == (wanted[:, 0] >= 0)).all()
            elif task == "multiclass":
                assert (labels == wanted.argmax(axis=1)).all()
        assert checked

    def run(self, name, task, X, y, outputs):
        x = np.ascontiguousarray(X, self.dtype)
        own = np.ascontiguousarray(y, self.dtype if task == "regression" else np.int32)
        return learned(self.library, name, x, own, outputs)


def learned(functions, name, x, y, outputs):
    """Labels and scores before each row was learned, and the number of rows that were not refused."""
    x = np.ascontiguousarray(x)
    labels, scores = np.zeros(len(x), np.int32), np.zeros((len(x), outputs), x.dtype)
    arguments = pointer(x), pointer(y), ctypes.c_long(len(x)), pointer(scores), pointer(labels)
    return labels, scores, getattr(functions, f"{name}_run")(*arguments)


@pytest.fixture(scope="module", params=["float64", "float32"])
def runs(request, tmp_path_factory):
    learners = [learner for learner, _ in LEARNERS.values()]
    return Runs(tmp_path_factory.mktemp(request.param), request.param, learners, first=0)


@needs_compiler
@pytest.mark.parametrize("name", LEARNERS)
def test_whole_streams(name, runs):
    learner, tolerance = LEARNERS[name]
    runs.check(tolerance if runs.dtype == np.float32 else 1e-12, learner)


@needs_compiler
def test_every_part_goes_on_where_python_stopped(tmp_path):
    learners = [*(learner for learner, _ in LEARNERS.values()), *OTHERS.values()]
    Runs(tmp_path, "float64", learners, first=100).check(1e-12)


@needs_compiler
@pytest.mark.parametrize("first", [0, 110, 215, 415])
def test_absurd_values_and_new_units(first, tmp_path):
    """Beside 1e5 among the first values, the others of the column keep five digits less."""
    learners = [LEARNERS[name][0] for name in ("scaled", "scaled kalman")]
    Runs(tmp_path, "float64", learners, first, troubled).check(1e-12 if first else 1e-9)


@needs_compiler
def test_a_row_that_is_refused_changes_nothing(tmp_path):
    runs = Runs(
        tmp_path,
        "float64",
        [bt.rbp(NEAR, budget=9), bt.fogd(NEAR, components=5), LEARNERS["scaled"][0]],
        first=20,
    )
    for name, (task, model, X, y) in runs.cases.items():
        bad = np.repeat(X, 2, axis=0)
        bad[::2, 1] = np.where(np.arange(len(X)) % 2, np.inf, 1e200)
        labels, scores, done = runs.run(name, task, bad, np.repeat(y, 2), model.fitted_.model.task.outputs)
        plain_labels, plain, _ = runs.run(name, task, X, y, scores.shape[1])
        assert done == len(X)
        assert (scores[1::2] == plain).all()
        assert (labels[1::2] == plain_labels).all()
        if task != "regression":
            assert runs.run(name, task, X, y + 7, scores.shape[1])[2] == 0  # no such label


@needs_compiler
def test_missing_values_and_labels_in_the_order_of_their_appearance(tmp_path):
    X, y = stream("multiclass", 300)
    X[np.random.default_rng(0).random(X.shape) < 0.2] = np.nan
    names = np.array(["z", "a", "m"])[(y - y[0]) % 3]
    model = bt.OnlineClassifier(LEARNERS["scaled"][0], random_state=0).partial_fit(X[:100], names[:100])
    assert not model.fitted_.labels.is_sorted
    places, header = (
        np.searchsorted(model.classes_, names),
        to_c(model, name="one", dtype="float64", learn=True),
    )
    functions = library(tmp_path, {"one": header}, [learning("one", model)])
    labels, scores, done = learned(functions, "one", X[100:], places[100:].astype(np.int32), 3)
    assert done == 200
    predictions, pieces = progressive(model, X[100:], names[100:])
    assert (model.classes_[labels] == predictions).all()
    wanted = np.concatenate([model.fitted_.labels.decisions(piece.scores) for piece in pieces])
    assert abs(scores - wanted).max() <= 1e-12


@needs_compiler
def test_memory_is_fixed_and_small(tmp_path):
    model = members.start(
        members.estimator("binary", bt.rbp(NEAR, budget=30)), "binary", *stream("binary", 50)
    )
    functions = library(tmp_path, {"m": to_c(model, name="m", learn=True)}, [learning("m", model)])
    assert 30 * 5 * 4 <= functions.m_bytes() <= 30 * 5 * 4 + 32  # floats of 30 rows of 4, 30 coefficients


@each(
    ("learner", "message"),
    [
        (
            bt.bpa_nn(NEAR, budget=9),
            "The budget SwapNearest cannot learn in C: take one of Stop, RemoveRandom",
        ),
        (bt.perceptron(NEAR), "The budget Unbounded cannot learn in C"),
        (bt.nogd(NEAR, budget=9), "Project with a rank (nogd) cannot learn in C: take it without a rank."),
        (
            bt.projectron(NEAR, eta=0.1),
            "Project without a budget cannot learn in C, where memory is fixed.",
        ),
        (
            bt.Kernelized(NEAR, bt.sgd(NEAR).rule, bt.RemoveOldest(9)),
            "The rule SGD cannot learn in C: take Perceptron",
        ),
        (bt.duol(NEAR), "The learner DoubleUpdating cannot learn in C"),
        (bt.Averaged(bt.rbp(NEAR, budget=9)), "The learner Averaged cannot learn in C"),
        (bt.Stacked(bt.rbp(NEAR, budget=9)), "The learner Stacked cannot learn in C"),
        (bt.Ranged(bt.rbp(NEAR, budget=9)), "The learner Ranged cannot learn in C"),
        (bt.auto(size=5), "The learner Dated cannot learn in C"),
        (
            bt.Mapped(bt.Nystrom(NEAR, 5), bt.OGD()),
            "Maps that learn (Nystrom, Recruited, LearnedWidths) cannot learn in C: take a Fourier map.",
        ),
        (
            bt.Mapped(bt.Identity(), bt.Kalman()),
            'A Kalman filter can learn in C with covariance="diagonal" only.',
        ),
    ],
)
def test_what_cannot_learn_is_refused_by_name(learner, message):
    model = bt.OnlineClassifier(learner, random_state=0).fit(*stream("binary", 20))
    assert to_c(model).startswith("/* A model of budgetron; a classifier of 2 labels.")  # it can predict
    with pytest.raises(ValueError, match=r".") as refused:
        to_c(model, learn=True)
    assert str(refused.value).startswith(message)


def test_sparse_rows_cannot_be_scaled_in_c():
    from scipy import sparse

    X, y = stream("regression", 20)
    model = bt.OnlineRegressor(LEARNERS["scaled"][0], random_state=0).fit(sparse.csr_matrix(X), y)
    with pytest.raises(ValueError, match=r"^A model of sparse rows cannot learn in C\.$"):
        to_c(model, learn=True)


def test_weights_of_classes_are_refused():
    """The C code would learn every row with the weight 1."""
    model = bt.OnlineClassifier(LEARNERS["rbp"][0], class_weight={0: 1, 1: 5}).fit(*stream("binary", 20))
    with pytest.raises(ValueError, match=r"^A model with class_weight cannot learn in C"):
        to_c(model, learn=True)
    assert to_c(model)
