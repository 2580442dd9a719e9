"""The memory of a model, its budget, and the attributes that show its support vectors."""

import pickle
import sys

import numpy as np
from scipy import sparse

import budgetron
from budgetron import Gaussian, Laplacian
from tests.helpers.cases import each, pairs
from tests.helpers.members import (
    budgeted,
    cases,
    data,
    estimator,
    expansions,
    make,
    parameters,
    scores,
    start,
)

each_expansion = each(("task", "name"), expansions())
each_budgeted_case = each(("task", "name"), [(task, name) for task, name in cases() if name in budgeted()])


@each_expansion
def test_memory(task, name):
    """memory_bytes_ includes at least the support vectors and their coefficients."""
    model = estimator(task, name).fit(*data(task))
    held = model.support_vectors_.nbytes + model.dual_coef_.nbytes
    assert model.n_support_ > 0
    assert held <= model.memory_bytes_ < held + 100_000
    assert sys.getsizeof(model.fitted_.model) >= model.memory_bytes_
    loaded = pickle.loads(pickle.dumps(model))
    assert held <= loaded.memory_bytes_ <= model.memory_bytes_


@each_budgeted_case
def test_memory_grows_with_the_budget(task, name):
    """A larger budget takes more memory; further rows in a full budget do not."""
    X, y = data(task, 1000)
    small, large = (estimator(task, make(name, budget=b)).fit(X, y) for b in (10, 100))
    assert small.memory_bytes_ < large.memory_bytes_
    full = small.memory_bytes_
    assert small.partial_fit(X, y).memory_bytes_ == full


@each_budgeted_case
def test_never_over_budget(task, name):
    """The support vectors are within the budget after every single example."""
    X, y = data(task, 60)
    model, sizes = estimator(task, make(name, budget=6)), []
    for i in range(len(y)):
        start(model, task, X[i : i + 1], y[i : i + 1])
        sizes.append(model.n_support_)
        assert model.support_vectors_.shape == (model.n_support_, 3)
        assert model.dual_coef_.shape == (3 if task == "multiclass" else 1, model.n_support_)
    assert max(sizes) == 6


@each_budgeted_case
def test_budget_of_one(task, name):
    """A budget of one works."""
    rank = {"rank": 1} if "rank" in parameters(name) else {}
    model = estimator(task, make(name, budget=1, **rank)).fit(*data(task))
    assert model.n_support_ == 1
    assert np.isfinite(model.dual_coef_).all()


@pairs
@each_expansion
@each("container", [np.asarray, sparse.csr_array])
@each("kernel", [Gaussian(0.5), Laplacian(0.5), budgetron.Polynomial(0.3)], ids=repr)
def test_the_model_in_the_open(task, name, container, kernel):
    """Support vectors are rows of X, and with coefficients and kernel they give the scores."""
    X, y = data(task)
    rate = {"eta": 0.001} if {"eta", "loss"} <= parameters(name) else {}
    model = estimator(task, make(name, kernel, **rate)).fit(container(X), y)
    S, alpha = model.support_vectors_, model.dual_coef_
    assert {row.tobytes() for row in S + 0.0} <= {row.tobytes() for row in X + 0.0}
    f = kernel(X, S) @ alpha.T
    expected = scores(model, X).reshape(f.shape)
    np.testing.assert_allclose(f, expected, rtol=1e-9, atol=1e-9 * max(1, np.abs(alpha).max()))
