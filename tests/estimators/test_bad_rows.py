"""Rows that cannot be learned or scored are refused, and the model is unchanged."""

import numpy as np
from scipy import sparse

from budgetron import Gaussian, Polynomial, rbp
from tests.helpers.cases import each
from tests.helpers.members import TASKS, data, estimator, make
from tests.helpers.refusals import fitted, learn, refused, untouched

K = Gaussian(0.5)
each_task = each("task", TASKS)
each_method = each("method", ["fit", "partial_fit", "progressive_predict"])


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
@each("kind", ROWS)
def test_bad_rows_to_learn(task, method, kind):
    """Invalid rows are refused, and the model is unchanged."""
    spoil, culprits, ours = ROWS[kind]
    X, y = data(task)
    model = fitted(task)
    rows = spoil(X)
    with untouched(model, task), refused(*culprits, ours=ours):
        learn(model, method, rows, y[:0] if kind == "no rows" else y)


@each_task
@each("kind", ROWS)
def test_bad_rows_to_predict(task, kind):
    """Invalid rows are not scored."""
    spoil, culprits, ours = ROWS[kind]
    model = fitted(task)
    rows = spoil(data(task)[0])
    with untouched(model, task), refused(*culprits, ours=ours):
        model.predict(rows)


@each_task
@each("width", [2, 4])
@each("method", ["partial_fit", "progressive_predict"])
def test_other_number_of_features(task, width, method):
    """A model of three features refuses rows of another number."""
    X, y = np.ones((4, width)), np.array([0, 1, 0, 1])
    model = fitted(task)
    with untouched(model, task), refused(f"X has {width} features", "3 features", ours=False):
        learn(model, method, X, y)
    with untouched(model, task), refused(f"X has {width} features", ours=False):
        model.predict(X)


@each_task
@each("bad", [{"epochs": 0}, {"learner": "rbp"}, {"learner": rbp(K, budget=0)}, {"random_state": "seven"}])
def test_refit_that_fails(task, bad):
    """A failed ``fit`` with another number of features leaves the old model usable."""
    model = fitted(task)
    X = np.random.default_rng(0).normal(size=(20, 7))
    with untouched(model, task):
        with refused(ours=False):
            model.set_params(**bad).fit(X, np.arange(20) % 2)
        model.set_params(learner=make("forgetron"), epochs=1, random_state=0)


def test_refit_with_one_class():
    """A ``fit`` with one class and another number of features leaves the old model usable."""
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
    """Rows with finite squares but infinite kernel values are refused."""
    X, y = data(task)
    model = estimator(task, make("pa", Polynomial(1.0, 1.0, 3))).fit(X, y)
    with untouched(model, task), refused("Row 0", "not finite"):
        model.partial_fit(1e120 + X, y)
    with untouched(model, task), refused("Row 0", "not finite"):
        model.predict(1e120 + X)
