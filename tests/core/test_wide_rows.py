"""Wide sparse rows: an inverted index of the support vectors gives what the dense layout gives."""

import pickle

import numpy as np
import pytest
from scipy import sparse

from budgetron import Gaussian, Laplacian, Linear, Merge, OnlineClassifier, rbp
from tests.helpers.cases import each
from tests.helpers.members import cases, estimator, make, parameters, same_state, scaling, scores, start

WIDE = 3000


def stream(task, n=200, columns=WIDE, dtype=float):
    """Rows with a few of the columns in use, most of them the same few."""
    r = np.random.default_rng(0)
    favourites = r.choice(columns, 40, replace=False)
    X = np.zeros((n, columns), dtype)
    for row in X:
        row[r.choice(favourites, 6, replace=False)] = r.standard_normal(6)
        row[r.choice(columns, 2)] = 1
    f = X[:, favourites[:20]].sum(1) + 0.2 * r.standard_normal(n)
    return X, f if task == "regression" else np.digitize(f, [0] if task == "binary" else [-0.5, 0.5])


def layout(model):
    return int(model.fitted_.model.state()["support.layout"][0])


def pair(task, learner, X, y):
    """The model of the rows as they are, and that of the same rows in CSR."""
    dense = start(estimator(task, learner), task, X, y)
    csr = start(estimator(task, learner), task, sparse.csr_array(X), y)
    assert (layout(dense), layout(csr)) == (0, 1)
    return dense, csr


@each(("task", "name"), [c for c in cases() if c[1] not in ("fogd", "rrf", *scaling())])
def test_scores_are_those_of_dense_rows(task, name):
    X, y = stream(task)
    budget = {"budget": 30} if "budget" in parameters(name) else {}
    dense, csr = pair(task, make(name, Gaussian(0.2), **budget), X, y)
    np.testing.assert_array_equal(csr.dual_coef_, dense.dual_coef_)
    np.testing.assert_array_equal(csr.support_vectors_, dense.support_vectors_)
    np.testing.assert_array_equal(scores(csr, sparse.csr_array(X)), scores(dense, X))
    np.testing.assert_array_equal(scores(csr, X), scores(dense, sparse.csr_array(X)))


@each("dtype", [np.float32, np.float64])
@each("budget", [500, 1000, 8000])
def test_the_index_of_few_columns_depends_on_the_precision(dtype, budget):
    X, y = stream("binary", 20, columns=300, dtype=dtype)
    model = start(estimator("binary", make("rbp", budget=budget)), "binary", sparse.csr_array(X), y)
    assert layout(model) == (budget > (7000 if dtype == np.float32 else 874))


def test_sums_of_floats_have_the_same_order():
    X, y = stream("binary", dtype=np.float32)
    dense, csr = pair("binary", make("bpa_s", Linear(), budget=30), X, y)
    np.testing.assert_array_equal(scores(csr, X), scores(dense, X))


def test_l1_distance():
    X, y = stream("binary")
    dense, csr = pair("binary", make("bpa_s", Laplacian(0.1), budget=30), X, y)
    np.testing.assert_allclose(scores(csr, X), scores(dense, X), atol=1e-12)


def test_merging_and_dense_rows_later():
    X, y = stream("binary")
    dense, csr = pair("binary", make("bsgd", Gaussian(0.1), budget=30, maintenance=Merge), X, y)
    np.testing.assert_array_equal(scores(csr.partial_fit(X, y), X), scores(dense.partial_fit(X, y), X))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_saved_and_loaded_it_goes_on_as_if_never_stopped(dtype):
    X, y = stream("binary", dtype=dtype)
    rows = sparse.csr_array(X)
    model = start(estimator("binary", make("bpa_nn", budget=30)), "binary", rows, y)
    loaded = pickle.loads(pickle.dumps(model))
    assert same_state(model, loaded)
    assert same_state(model.partial_fit(rows, y), loaded.partial_fit(rows, y))


def test_state_that_does_not_fit_is_refused():
    X, y = stream("binary", 40)
    model = start(estimator("binary", "rbp"), "binary", sparse.csr_array(X), y).fitted_.model
    for name, spoil in {"support.columns": lambda a: a + WIDE, "support.sizes": lambda a: a + 1}.items():
        state = model.state()
        native = model.learner.build(model.task, WIDE, model.dtype, 0)
        with pytest.raises(ValueError, match="do not fit together"):
            native.restore(state | {name: spoil(state[name])})


@pytest.mark.parametrize("learner", ["rbp", "nogd"])
def test_an_unknown_layout_is_refused(learner):
    """A file of a later version, say: its support vectors are not read as if they lay in a known way."""
    X, y = stream("binary", 40)
    model = start(estimator("binary", learner), "binary", X, y).fitted_.model
    state = model.state()
    [name] = [name for name in state if name.endswith(".layout")]
    native = model.learner.build(model.task, WIDE, model.dtype, 0)
    with pytest.raises(ValueError, match="do not fit together"):
        native.restore(state | {name: state[name] + 2})


def test_cuts_of_the_stream_do_not_matter():
    X, y = stream("binary")
    rows = sparse.csr_array(X)
    whole = start(estimator("binary", "forgetron"), "binary", rows, y)
    parts = start(estimator("binary", "forgetron"), "binary", rows[:1], y[:1])
    for i in range(1, 200, 7):
        parts.partial_fit(rows[i : i + 7], y[i : i + 7])
    assert same_state(whole, parts)


def test_memory_goes_with_the_nonzeros():
    n, columns, nonzeros, budget = 2000, 1_000_000, 80, 200
    r = np.random.default_rng(0)
    X = sparse.csr_array(
        (
            r.random(n * nonzeros),
            np.sort(r.integers(0, columns, (n, nonzeros))).ravel(),
            np.arange(n + 1) * nonzeros,
        ),
        (n, columns),
    )
    X.sum_duplicates()
    model = OnlineClassifier(rbp(Gaussian(0.01), budget=budget)).fit(X, r.integers(0, 2, n))
    assert model.n_support_ == budget
    assert model.memory_bytes_ < 200 * budget * nonzeros
