"""dtype="float32" is as if all rows were given so; "float64" as if none were."""

import pickle

import numpy as np
from scipy import sparse
from sklearn.base import clone

from budgetron import (
    Gaussian,
    Kalman,
    Mapped,
    OnlineClassifier,
    RandomFourier,
    Standardised,
    auto,
    load,
    rbp,
)
from tests.helpers.cases import each
from tests.helpers.members import bits
from tests.helpers.refusals import refused

LEARNERS = {
    "rbp": rbp(Gaussian("scale"), budget=20),
    "fourier": Standardised(Mapped(RandomFourier(Gaussian(0.3), 10), Kalman())),
    "auto": auto(8),
}


def rows_of(n=200, d=4):
    random = np.random.default_rng(0)
    X = random.normal(size=(n, d))
    return X, np.where(X[:, 0] * X[:, 1] > 0, "yes", "no")


@each("learner", LEARNERS)
@each("form", [np.asarray, sparse.csr_matrix])
@each("dtype, other", [("float32", "float64"), ("float64", "float32")])
def test_it_is_the_type_of_the_rows(learner, form, dtype, other):
    X, y = rows_of()
    rows, same = form(X.astype(other)), form(X.astype(other).astype(dtype))
    given = OnlineClassifier(LEARNERS[learner], random_state=0, dtype=dtype)
    plain = OnlineClassifier(LEARNERS[learner], random_state=0)
    for model, X in ((given, rows), (plain, same)):
        model.partial_fit(X[:150], y[:150]).partial_fit(X[150:], y[150:])
    assert given.fitted_.model.dtype == dtype
    assert bits(given) == bits(plain)
    np.testing.assert_array_equal(given.decision_function(rows), plain.decision_function(same))


@each("learner", LEARNERS)
def test_records_give_the_same_bits_in_any_cut(learner):
    X, y = rows_of()
    records = [dict(zip("abcd", row.tolist(), strict=True)) for row in X]
    whole, single = (OnlineClassifier(LEARNERS[learner], random_state=0, dtype="float32") for _ in range(2))
    whole.start(records[:50], classes=["no", "yes"]).partial_fit(records, y)
    single.start(records[:50], classes=["no", "yes"])
    for record, label in zip(records, y, strict=True):
        single.learn_one(record, label)
    assert bits(whole) == bits(single)
    assert single.predict_one(records[3]) == whole.predict(records[3:4])[0]


def test_files_clones_and_pickles_keep_it(tmp_path):
    X, y = rows_of()
    model = OnlineClassifier(LEARNERS["fourier"], random_state=0, dtype="float32").fit(X, y)
    model.save(tmp_path / "model")
    for other in (load(tmp_path / "model"), pickle.loads(pickle.dumps(model)), clone(model)):
        assert other.dtype == "float32"
        other.partial_fit(X, y)
        assert other.fitted_.model.dtype == np.float32
    model.set_params(dtype="float64").partial_fit(X, y)
    assert model.fitted_.model.dtype == np.float32  # of a new model only
    assert model.fit(X, y).fitted_.model.dtype == np.float64


def test_what_is_refused():
    X, y = rows_of()
    model = OnlineClassifier(LEARNERS["fourier"], dtype="float16")
    with refused("dtype must be 'float32' or 'float64'", "float16"):
        model.fit(X, y)
    model.set_params(dtype="float32")
    X[7] = 1e30  # its square is no number of single precision
    for rows in (X, [dict(zip("abcd", row.tolist(), strict=True)) for row in X]):
        with refused("ow 7 of X is too large"):
            model.fit(rows, y)
    assert not hasattr(model, "fitted_")
