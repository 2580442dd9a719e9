"""Bad input: one clear sentence that names the culprit, and a model that is left exactly as it was."""

import copy
import signal
import threading
from contextlib import contextmanager

import numpy as np
import pytest
from scipy import sparse

from budgetron import (
    NORMA,
    OGD,
    PA,
    EpsilonInsensitive,
    Gaussian,
    Hinge,
    Kernelized,
    Laplacian,
    Linear,
    Logistic,
    MarginPerceptron,
    Merge,
    OnlineClassifier,
    OnlineRegressor,
    Perceptron,
    Polynomial,
    Project,
    ProjectPlus,
    SampleByWeight,
    SampleUniform,
    Sigmoid,
    Squared,
    Unbounded,
    algorithms,
    bsgd,
    norma,
    ogd,
    projectron,
    rbp,
)
from tests.helpers.members import TASKS, bits, data, estimator, make, of_size, scores, start

K = Gaussian(0.5)
each_task = pytest.mark.parametrize("task", TASKS)


@contextmanager
def refused(*culprits, ours=True):
    """What is inside raises a ValueError or TypeError that names the culprits; ours in one sentence."""
    with pytest.raises((ValueError, TypeError)) as caught:
        yield caught
    sentence = str(caught.value)
    for culprit in culprits:
        assert culprit in sentence
    if ours:
        assert "\n" not in sentence
        assert sentence.endswith(".")
        assert "np." not in sentence


def everything(model):
    """All that a fitted estimator is, to be compared later."""
    rest = {name: repr(value) for name, value in vars(model).items() if name != "_model"}
    return rest, bits(model)


@contextmanager
def untouched(model, task):
    """What is inside leaves the model as it was: to look at, to predict with and to teach."""
    X, y = data(task)
    before, twin = everything(model), copy.deepcopy(model)
    yield
    assert everything(model) == before
    np.testing.assert_array_equal(scores(model, X), scores(twin, X))
    model.partial_fit(X, y)
    assert bits(model) == bits(twin.partial_fit(X, y))


def fitted(task):
    """A model in mid-stream."""
    return start(estimator(task, "forgetron"), task, *data(task))


def learn(model, method, X, y, sample_weight=None):
    """Any of the methods that learn, on a fitted model."""
    return getattr(model, method)(X, y, sample_weight=sample_weight)


each_method = pytest.mark.parametrize("method", ["fit", "partial_fit", "progressive_predict"])


# ---- rows


def poisoned(X, value, dtype=float):
    """X with one number replaced."""
    X = X.astype(dtype)
    X[3, 1] = value
    return X


ROWS = {
    "NaN": (lambda X: poisoned(X, np.nan), ["NaN"], False),
    "infinity": (lambda X: poisoned(X, np.inf), ["infinity"], False),
    "sparse NaN": (lambda X: sparse.csr_array(poisoned(X, np.nan)), ["NaN"], False),
    "1e200": (lambda X: poisoned(X, 1e200), ["Row 3", "too large"], True),
    "1e155": (lambda X: poisoned(X, 1e155), ["Row 3", "too large"], True),
    "sparse 1e200": (lambda X: sparse.csr_array(poisoned(X, 1e200)), ["Row 3", "too large"], True),
    "float32 infinity": (lambda X: poisoned(X, np.inf, np.float32), ["infinity"], False),
    "one dimension": (lambda X: X[:, 0], ["Expected 2D array"], False),
    "three dimensions": (lambda X: X[None], ["dim 3"], False),
    "a number": (lambda _: 3.0, ["Expected 2D array"], False),
    "None": (lambda _: None, [], False),
    "a string": (lambda _: "rows", [], False),
    "no rows": (lambda X: X[:0], ["0 sample(s)"], False),
    "no columns": (lambda X: X[:, :0], ["0 feature(s)"], False),
    "strings": (lambda X: X.astype(str).astype(object) + "a", ["could not convert"], False),
    "complex": (lambda X: X + 1j, ["Complex"], False),
    "ragged": (lambda X: [row[: 1 + i % 2] for i, row in enumerate(X.tolist())], [], False),
}


@each_task
@each_method
@pytest.mark.parametrize("kind", ROWS)
def test_bad_rows_to_learn(task, method, kind):
    """Rows that cannot be learned from are refused, and the model stays."""
    spoil, culprits, ours = ROWS[kind]
    X, y = data(task)
    model = fitted(task)
    rows = spoil(X)
    with untouched(model, task), refused(*culprits, ours=ours):
        learn(model, method, rows, y[:0] if kind == "no rows" else y)


@each_task
@pytest.mark.parametrize("kind", ROWS)
def test_bad_rows_to_predict(task, kind):
    """Rows that cannot be scored are refused."""
    spoil, culprits, ours = ROWS[kind]
    model = fitted(task)
    rows = spoil(data(task)[0])
    with untouched(model, task), refused(*culprits, ours=ours):
        model.predict(rows)


@each_task
@pytest.mark.parametrize("width", [2, 4])
@pytest.mark.parametrize("method", ["partial_fit", "progressive_predict"])
def test_other_number_of_features(task, width, method):
    """A model of three features refuses rows of another number."""
    X, y = np.ones((4, width)), np.array([0, 1, 0, 1])
    model = fitted(task)
    with untouched(model, task), refused(f"X has {width} features", "3 features", ours=False):
        learn(model, method, X, y)
    with untouched(model, task), refused(f"X has {width} features", ours=False):
        model.predict(X)


@each_task
@pytest.mark.parametrize(
    "bad", [{"epochs": 0}, {"learner": "rbp"}, {"learner": rbp(K, budget=0)}, {"random_state": "seven"}]
)
def test_refit_that_fails(task, bad):
    """A ``fit`` on other features that fails leaves the old model whole, to predict and to go on."""
    model = fitted(task)
    X = np.random.default_rng(0).normal(size=(20, 7))
    with untouched(model, task):
        with refused(ours=False):
            model.set_params(**bad).fit(X, np.arange(20) % 2)
        model.set_params(learner=make("forgetron"), epochs=1, random_state=0)


def test_refit_with_one_class():
    """A ``fit`` on other features that has one class leaves the old model whole."""
    model = fitted("binary")
    with untouched(model, "binary"), refused("one class"):
        model.fit(np.ones((5, 7)), np.zeros(5))


def test_narrow_overflow():
    """A float32 model refuses rows that overflow in float32, before they are learned."""
    X, y = data("binary")
    model = estimator("binary", "forgetron").fit(X.astype(np.float32), y)
    for rows in (poisoned(X, 1e39), sparse.csr_array(poisoned(X, 1e39))):
        with untouched(model, "binary"), refused("Row 3", "too large"):
            model.partial_fit(rows, y)
        with untouched(model, "binary"), refused("Row 3", "too large"):
            model.predict(rows)


@each_task
def test_scores_that_overflow(task):
    """Rows of finite squares whose kernel is not finite are refused, to learn and to predict."""
    X, y = data(task)
    model = estimator(task, make("pa", Polynomial(1.0, 1.0, 3))).fit(X, y)
    with untouched(model, task), refused("Row 0", "not finite"):
        model.partial_fit(1e120 + X, y)
    with untouched(model, task), refused("Row 0", "not finite"):
        model.predict(1e120 + X)


# ---- labels, targets and weights


@each_task
@each_method
def test_mismatched_lengths(task, method):
    """X, y and sample_weight must be as long as each other."""
    X, y = data(task)
    model = fitted(task)
    with untouched(model, task), refused("inconsistent numbers of samples", ours=False):
        learn(model, method, X, y[:-1])
    for weights in (np.ones(len(y) - 1), np.ones((len(y), 1)), np.ones((len(y), 2))):
        with untouched(model, task), refused("ample", ours=False):
            learn(model, method, X, y, weights)


@each_task
@each_method
@pytest.mark.parametrize(("weight", "culprit"), [(-1.0, "Negative"), (np.nan, "NaN"), (np.inf, "infinity")])
def test_bad_weights(task, method, weight, culprit):
    """Weights are finite and not negative."""
    X, y = data(task)
    model, weights = fitted(task), np.ones(len(y))
    weights[2] = weight
    with untouched(model, task), refused(culprit, "sample_weight", ours=False):
        learn(model, method, X, y, weights)


BAD_LABELS = {
    "NaN": [np.nan] * 80,
    "infinity": [np.inf] * 80,
    "mixed": ["a", None] * 40,
    "two columns": [[0, 1]] * 80,
    "None": None,
}


@each_task
@each_method
@pytest.mark.parametrize("kind", BAD_LABELS)
def test_bad_labels(task, method, kind):
    """Labels and targets are there, finite and one per row."""
    model = fitted(task)
    with untouched(model, task), refused(ours=False):
        learn(model, method, data(task)[0], BAD_LABELS[kind])


@pytest.mark.parametrize("task", ["binary", "multiclass"])
@pytest.mark.parametrize("method", ["partial_fit", "progressive_predict"])
@pytest.mark.parametrize("label", [7, -1])
def test_unknown_label(task, method, label):
    """A label that was not announced is refused by name."""
    X, y = data(task)
    model = fitted(task)
    y[5] = label
    with untouched(model, task), refused(f"y contains {label}", "classes [0, 1"):
        learn(model, method, X, y)


@pytest.mark.parametrize("method", ["partial_fit", "progressive_predict"])
def test_labels_of_another_kind(method):
    """Strings where numbers were announced, and numbers where strings were, are refused."""
    X, y = data("binary")
    model = fitted("binary")
    with untouched(model, "binary"), refused("y contains '"):
        learn(model, method, X, np.array(["no", "yes"])[y])
    model = estimator("binary", "rbp").fit(X, np.array(["no", "yes"])[y])
    before = everything(model)
    with refused("y contains", "['no', 'yes']"):
        learn(model, method, X, y)
    assert everything(model) == before


def test_continuous_labels():
    """A classifier refuses targets."""
    X, y = data("regression")
    model = fitted("binary")
    with untouched(model, "binary"), refused("continuous", ours=False):
        model.partial_fit(X, y)


def test_classes_missing():
    """The first partial_fit must be told all labels."""
    model = estimator("binary", "rbp")
    with refused("classes", "first call"):
        model.partial_fit(*data("binary"))
    assert not hasattr(model, "classes_")


def test_classes_changed():
    """The labels stay those of the first call."""
    model = fitted("binary")
    for classes in ([0, 1, 2], [1, 2], ["a", "b"]):
        with untouched(model, "binary"), refused("differ from those of the first call", "[0, 1]"):
            model.partial_fit(*data("binary"), classes=classes)


def test_one_class():
    """One label is nothing to tell apart."""
    X, y = data("binary")
    with refused("one class", "0"):
        OnlineClassifier(rbp(K, budget=5)).fit(X, 0 * y)
    with refused("one class", "'a'"):
        OnlineClassifier(rbp(K, budget=5)).partial_fit(X, ["a"] * len(y), classes=["a"])
    with refused("classes"):
        OnlineClassifier(rbp(K, budget=5)).partial_fit(X, y, classes=[])


def test_label_outside_the_first_classes():
    """A first call whose labels are not among the classes it names leaves an estimator to start with."""
    X, y = data("multiclass")
    model = estimator("multiclass", "rbp")
    with refused("y contains 2"):
        model.partial_fit(X, y, classes=[0, 1])
    assert not hasattr(model, "classes_")
    model.partial_fit(X, y, classes=[0, 1, 2])


@each_task
def test_not_fitted(task):
    """Nothing is known before the first row."""
    model = estimator(task, "rbp")
    attributes = ("n_support_", "support_vectors_", "dual_coef_", "memory_bytes_", "gamma_", "learner_")
    assert not any(hasattr(model, name) for name in attributes)
    with refused("not fitted yet", ours=False):
        model.predict([[0.0]])


@each_task
@each_method
def test_first_call_that_fails(task, method):
    """An estimator whose first call failed is as good as new."""
    X, y = data(task)
    model = estimator(task, rbp(K, budget=0))
    before = repr(vars(model))
    with refused("budget"):
        if method == "partial_fit":
            start(model, task, X, y)
        else:
            learn(model, method, X, y)
    assert repr(vars(model)) == before


# ---- parameters, found out when the model is built


@pytest.mark.parametrize(
    "budget", [0, -3, 2.0, 2.5, "ten", True, np.nan, np.inf, 2**31, 2**70, [5]], ids=str
)
def test_budget_is_a_count(budget):
    """A budget is a whole number above 0."""
    for spec in of_size(budget):
        with refused(type(spec).__name__, "budget", repr(budget)):
            OnlineClassifier(Kernelized(K, MarginPerceptron(), spec)).fit(*data("binary"))


def test_budget_left_out():
    """A budget that needs a number says so."""
    for spec in of_size(None):
        culprits = ["budget", "None"] if len(spec.get_params()) == 1 else ["budget"]
        with refused(type(spec).__name__, *culprits):
            OnlineClassifier(Kernelized(K, Perceptron(), spec)).fit(*data("binary"))
    with refused("Project", "budget", "eta", "U"):
        OnlineClassifier(projectron(K)).fit(*data("binary"))


def test_rank_above_budget():
    """The sentence of the design."""
    with pytest.raises(ValueError, match=r"^Project: rank \(60\) exceeds budget \(50\)\.$"):
        OnlineClassifier(make("nogd", budget=50, rank=60)).fit(*data("binary"))


NUMBERS = {
    "negative": -0.5,
    "NaN": np.nan,
    "infinite": np.inf,
    "string": "0.1",
    "truth": True,
    "list": [0.1],
    "complex": 1j,
}
PLACES = {
    "Gaussian gamma": lambda v: Kernelized(Gaussian(v), Perceptron(), Unbounded()),
    "Polynomial gamma": lambda v: Kernelized(Polynomial(v), Perceptron(), Unbounded()),
    "OGD eta": lambda v: ogd(K, eta=v),
    "OGD lam": lambda v: ogd(K, lam=v),
    "OGD epsilon": lambda v: ogd(K, epsilon=v),
    "EpsilonInsensitive epsilon": lambda v: ogd(K, loss=EpsilonInsensitive(v)),
    "PA C": lambda v: Kernelized(K, PA(C=v), Unbounded()),
    "PA epsilon": lambda v: Kernelized(K, PA(epsilon=v), Unbounded()),
    "Perceptron eta": lambda v: Kernelized(K, Perceptron(eta=v), Unbounded()),
    "Perceptron epsilon": lambda v: Kernelized(K, Perceptron(epsilon=v), Unbounded()),
    "NORMA eta": lambda v: norma(K, eta=v),
    "NORMA nu": lambda v: norma(K, nu=v),
    "NORMA lam": lambda v: norma(K, lam=v),
    "NORMA epsilon": lambda v: norma(K, epsilon=v),
    "SampleUniform cap": lambda v: Kernelized(K, OGD(), SampleUniform(5, cap=v)),
    "SampleByWeight cap": lambda v: Kernelized(K, OGD(), SampleByWeight(5, cap=v)),
    "Project eta": lambda v: projectron(K, eta=v),
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", NUMBERS)
def test_numbers(place, kind):
    """Every number is checked, by name, when the model is built."""
    with refused(*place.split(), repr(NUMBERS[kind])):
        OnlineRegressor(PLACES[place](NUMBERS[kind])).fit(*data("regression"))


LABEL_PLACES = {
    "MarginPerceptron margin": lambda v: Kernelized(K, MarginPerceptron(margin=v), Unbounded()),
    "MarginPerceptron eta": lambda v: Kernelized(K, MarginPerceptron(eta=v), Unbounded()),
    "Project U": lambda v: projectron(K, U=v),
    "ProjectPlus U": lambda v: Kernelized(K, MarginPerceptron(margin=1), ProjectPlus(U=v)),
    "ProjectPlus eta": lambda v: Kernelized(K, MarginPerceptron(margin=1), ProjectPlus(eta=v)),
    "Sigmoid coef0": lambda v: Kernelized(Sigmoid(1.0, v), Perceptron(), Unbounded()),
    "Polynomial coef0": lambda v: Kernelized(Polynomial(1.0, v), Perceptron(), Unbounded()),
    "Polynomial degree": lambda v: Kernelized(Polynomial(1.0, 1.0, v), Perceptron(), Unbounded()),
}


@pytest.mark.parametrize("place", LABEL_PLACES)
@pytest.mark.parametrize("kind", NUMBERS)
def test_numbers_for_labels(place, kind):
    """The same of what has a meaning for labels only."""
    if place.endswith("coef0") and kind == "negative":
        return
    with refused(*place.split(), repr(NUMBERS[kind])):
        OnlineClassifier(LABEL_PLACES[place](NUMBERS[kind])).fit(*data("binary"))


@pytest.mark.parametrize("learner", [ogd(K, eta=0.0), make("pa", C=0), rbp(Gaussian(0), budget=3)])
def test_zero_is_no_step(learner):
    """eta, C and gamma are above 0."""
    with refused("above 0"):
        OnlineClassifier(learner).fit(*data("binary"))


@pytest.mark.parametrize("gamma", ["scales", "", None, Gaussian()], ids=str)
def test_gamma_by_name(gamma):
    """Of the words there are two."""
    with refused("Gaussian", "gamma"):
        OnlineClassifier(rbp(Gaussian(gamma), budget=3)).fit(*data("binary"))


@pytest.mark.parametrize(("eta", "lam"), [(1.0, 1.0), (0.5, 4), (10, 0.1)])
def test_shrink_to_nothing(eta, lam):
    """Eta * lam stays below 1."""
    for name, model in {
        "OGD": OnlineClassifier(ogd(K, eta=eta, lam=lam)),
        "NORMA": OnlineRegressor(norma(K, eta=eta, lam=lam)),
    }.items():
        with refused(name, "eta * lam", repr(eta), repr(lam)):
            model.fit(*data("binary"))


@pytest.mark.parametrize("epochs", [0, -1, 1.5, "two", None, True], ids=str)
@each_task
def test_epochs(task, epochs):
    """The passes are a whole number above 0."""
    with refused("epochs", repr(epochs)):
        estimator(task, "rbp", epochs=epochs).fit(*data(task))


@pytest.mark.parametrize("seed", [-1, 1.5, "seven", 2**70, 2**32], ids=str)
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_seed(seed, method):
    """A seed that is none is refused in one line, by every method alike."""
    model = estimator("regression", "rbp", random_state=seed)
    with pytest.raises(ValueError, match=r"^[^\n]+$"):
        getattr(model, method)(*data("regression"))


# ---- nouns that do not go together


NOUNS = {
    "kernel for rule": (Kernelized(K, K, Unbounded()), ["rule must be a Rule", "Gaussian"]),
    "rule for kernel": (Kernelized(PA(), PA(), Unbounded()), ["kernel must be a Kernel", "PA"]),
    "number for budget": (Kernelized(K, PA(), 50), ["budget must be a Budget", "50"]),
    "class for budget": (Kernelized(K, PA(), Unbounded), ["budget must be a Budget"]),
    "class for rule": (Kernelized(K, PA, Unbounded()), ["rule must be a Rule"]),
    "class for kernel": (Kernelized(Gaussian, PA(), Unbounded()), ["kernel must be a Kernel"]),
    "string for kernel": (Kernelized("rbf", PA(), Unbounded()), ["kernel must be a Kernel", "'rbf'"]),
    "string for loss": (ogd(K, loss="hinge"), ["OGD", "loss must be a Loss", "'hinge'"]),
    "class for loss": (ogd(K, loss=Hinge), ["OGD", "loss must be a Loss"]),
    "string for learner": ("forgetron", ["learner must be a Learner", "'forgetron'"]),
    "function for learner": (rbp, ["learner must be a Learner"]),
    "kernel for learner": (Gaussian(), ["learner must be a Learner"]),
}


@pytest.mark.parametrize("mistake", NOUNS)
def test_wrong_nouns(mistake):
    """One noun in the place of another is refused by name."""
    learner, culprits = NOUNS[mistake]
    with refused(*culprits):
        OnlineClassifier(learner).fit(*data("binary"))


@pytest.mark.parametrize(
    ("learner", "culprits"),
    [
        (ogd(K, loss=Hinge()), ["OGD", "Hinge", "Squared"]),
        (ogd(K, loss=Logistic()), ["OGD", "Logistic", "Squared"]),
        (make("projectron_pp"), ["ProjectPlus", "classification only"]),
        (make("budget_perceptron"), ["RemoveRedundant", "classification only"]),
        (projectron(K, U=1.0), ["Project", "U", "classification only"]),
    ],
    ids=str,
)
def test_for_labels_only(learner, culprits):
    """What has no meaning for targets is refused by a regressor."""
    with refused(*culprits):
        OnlineRegressor(learner).fit(*data("regression"))


def test_for_targets_only():
    """NORMA is for regression."""
    for task in ("binary", "multiclass"):
        with refused("NORMA", "regression only"):
            estimator(task, "norma").fit(*data(task))


@pytest.mark.parametrize("kernel", [Sigmoid(0.1), Polynomial(0.5, -1.0, 2)], ids=repr)
def test_indefinite_kernels(kernel):
    """Budgets that need distances refuse kernels that have none, and the others learn with them."""
    X, y = data("binary")
    for spec in of_size(5):
        model = OnlineClassifier(Kernelized(kernel, MarginPerceptron(), spec))
        if isinstance(spec, Merge):
            continue  # for the Gaussian kernel only, as the last test says
        if spec.needs_distances:
            with refused(type(spec).__name__, "positive semidefinite", repr(kernel)):
                model.fit(X, y)
        else:
            assert np.isfinite(model.fit(X, y).decision_function(X)).all()


@pytest.mark.parametrize(
    ("spec", "culprits"),
    [
        (Project(budget=5, rank=2, eta=0.1), ["rank", "eta"]),
        (Project(rank=2), ["rank", "budget"]),
        (Project(eta=0.1, U=1.0), ["eta and U"]),
        (ProjectPlus(eta=0.1, U=1.0), ["eta and U"]),
        (ProjectPlus(), ["budget", "eta", "U"]),
        (Project(budget=5, rank=0), ["rank", "0"]),
        (Project(budget=5, rank=2.0), ["rank", "2.0"]),
    ],
    ids=repr,
)
def test_parameters_that_exclude_each_other(spec, culprits):
    """Thresholds and ranks go together only in some ways."""
    with refused(type(spec).__name__, *culprits):
        OnlineClassifier(Kernelized(K, MarginPerceptron(margin=1), spec)).fit(*data("binary"))


@pytest.mark.parametrize("name", ["rule__step", "rules__eta", "kernel__gamma__x", "eta"])
def test_unknown_parameter(name):
    """A parameter that is not there is refused by name, with those that are."""
    learner = ogd(K)
    with refused("has no parameter", name.split("__")[-1]):
        learner.set_params(**{name: 1})
    assert learner == ogd(K)


@pytest.mark.parametrize("name", algorithms.__all__)
def test_arguments_by_keyword(name):
    """All but the kernel is given by name."""
    with pytest.raises(TypeError, match="positional"):
        getattr(algorithms, name)(K, 5)


# ---- numbers that run away


def test_divergence_row_by_row():
    """The row at which gradient descent runs away is refused, and the model stays as it was before it."""
    X, y = data("regression")
    model = estimator("regression", ogd(K, eta=1e30, loss=Squared())).partial_fit(X[:1], y[:1])
    with refused("Row 0", "not finite", "eta"):
        for i in range(1, len(y)):
            before = everything(model)
            model.partial_fit(X[i : i + 1], y[i : i + 1])
    assert everything(model) == before
    assert np.isfinite(model.predict(X)).all()


@pytest.mark.parametrize("method", ["partial_fit", "progressive_predict"])
def test_divergence_in_a_batch(method):
    """A batch that runs away is learned up to the row that the error names, as if it ended there."""
    X, y = data("regression")
    model = estimator("regression", ogd(K, eta=1e30, loss=Squared())).partial_fit(X[:1], y[:1])
    single = copy.deepcopy(model)
    with refused("not finite", "eta") as caught:
        getattr(model, method)(X, y)
    row = int(str(caught.value).split()[1])
    assert row > 0
    assert bits(model) == bits(single.partial_fit(X[:row], y[:row]))
    with refused("Row 0"):
        single.partial_fit(X[row : row + 1], y[row : row + 1])
    assert bits(model) == bits(single)


def test_divergence_in_fit():
    """A ``fit`` that runs away leaves the old model."""
    X, y = data("regression")
    model = estimator("regression", ogd(K, eta=1e30, loss=Squared())).partial_fit(X[:1], y[:1])
    before = everything(model)
    with refused("Row", "not finite", "eta"):
        model.fit(X, y)
    assert everything(model) == before


@pytest.mark.parametrize(
    "budget",
    [*(spec for spec in of_size(3) if not isinstance(spec, Merge)), Unbounded()],
    ids=repr,
)
@pytest.mark.parametrize("kernel", [Linear(), Polynomial(1.0, 0.0, 2)], ids=repr)
def test_the_zero_row(budget, kernel):
    """A row of zeros, which is nothing to a linear kernel, does no harm to any budget."""
    X, y = data("binary")
    X = X * (np.arange(len(y)) % 4 > 0)[:, None]
    for rule in (OGD(eta=0.01), PA(), MarginPerceptron(margin=0.5)):
        model = OnlineClassifier(Kernelized(kernel, rule, budget), random_state=0).fit(X, y)
        assert np.isfinite(model.dual_coef_).all()
        assert np.isfinite(model.decision_function(X)).all()


def test_a_weight_too_large_to_step():
    """A weight that makes the step infinite is refused, and leaves no trace in a rule that counts."""
    X, y = data("regression")
    model = OnlineRegressor(Kernelized(K, NORMA(eta=100.0), Unbounded())).fit(X, y)
    with untouched(model, "regression"), refused("Row 0", "not finite"):
        model.partial_fit(X[:1], y[:1] + 1e9, sample_weight=[1e307])


# ---- interrupts


@pytest.fixture
def interruptible():
    """SIGINT raises KeyboardInterrupt, also where the suite runs in the background with it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="needs signals to threads")
def test_interrupt():
    """An interrupt in a long pass is answered soon, and the model goes on from a whole row."""
    X, y = data("binary", 60_000, features=20)
    model = start(estimator("binary", make("perceptron", Gaussian(50.0))), "binary", X[:10], y[:10])
    main = threading.main_thread().ident
    timer = threading.Timer(0.3, lambda: signal.pthread_kill(main, signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(X, y)
    timer.join()
    n = model.n_support_
    assert 0 < n < len(y)
    assert model.support_vectors_.shape == (n, 20)
    assert np.isfinite(model.decision_function(X[:10])).all()
    assert model.partial_fit(X[:10], y[:10]).n_support_ >= n


@pytest.mark.parametrize("kernel", [Linear(), Laplacian(0.5), Polynomial(0.5)], ids=repr)
def test_merging_is_for_the_gaussian_kernel(kernel):
    """Another kernel has no point whose image is between two others: one sentence says so."""
    learner = bsgd(kernel, budget=5, maintenance=Merge)
    with pytest.raises(ValueError, match=r"^Merge: is defined for the Gaussian kernel only, got .*\.$"):
        OnlineClassifier(learner).fit([[0.0], [1.0]], [0, 1])
