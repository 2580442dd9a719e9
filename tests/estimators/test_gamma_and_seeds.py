"""gamma="scale", and seeds of random choices."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.svm import SVC

import budgetron
from budgetron import Gaussian, OnlineClassifier, rbp
from tests.helpers.cases import each
from tests.helpers.members import TASKS, cases, data, estimator, same_state, start

each_task = pytest.mark.parametrize("task", TASKS)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array, sparse.csr_matrix])
def test_scale_is_that_of_scikit_learn(container):
    """gamma="scale" and "auto" have the same values as in scikit-learn."""
    X, y = data("binary")
    X = container(X)
    for gamma in ("scale", "auto"):
        ours = OnlineClassifier(rbp(Gaussian(gamma), budget=10)).fit(X, y).gamma_
        assert ours == pytest.approx(SVC(gamma=gamma).fit(X, y)._gamma, rel=1e-12)


@each_task
def test_scale_is_frozen(task):
    """gamma="scale" is computed from the first batch and then fixed; the parameter stays "scale"."""
    X, y = data(task)
    model = start(estimator(task, rbp(Gaussian(), budget=10)), task, X[:20], y[:20])
    gamma = model.gamma_
    assert gamma == pytest.approx(1 / (3 * X[:20].var()), rel=1e-12)
    model.partial_fit(100 * X[20:], y[20:])
    assert model.gamma_ == model.learner_.kernel.gamma == gamma
    assert model.learner.kernel.gamma == "scale"
    assert pickle.loads(pickle.dumps(model)).gamma_ == gamma
    model.fit(100 * X, y)
    assert model.gamma_ == pytest.approx(gamma / 1e4, rel=0.5)


def test_gamma_is_of_the_model():
    """A model whose kernel has no gamma has no ``gamma_``, even after a fit that had one."""
    X, y = data("binary")
    model = OnlineClassifier(rbp(Gaussian(), budget=10)).fit(X, y)
    model.set_params(learner__kernel=budgetron.Linear()).fit(X, y)
    assert not hasattr(model, "gamma_")


def draws(task, name):
    """Whether the algorithm makes random choices."""
    return "random.drawn" in estimator(task, name).fit(*data(task)).fitted_.model.state()


@each(("task", "name"), [case for case in cases() if draws(*case)])
def test_seeds(task, name):
    """The seed determines the random choices. A RandomState and None are valid seeds."""
    X, y = data(task, 200)
    one, same, other = (estimator(task, name, random_state=seed).fit(X, y) for seed in (7, 7, 8))
    assert same_state(one, same)
    assert not np.array_equal(one.support_vectors_, other.support_vectors_)
    drawn = [estimator(task, name, random_state=np.random.RandomState(3)).fit(X, y) for _ in range(2)]
    assert same_state(*drawn)
    free = [estimator(task, name, random_state=None).fit(X, y) for _ in range(2)]
    assert not same_state(*free)


def test_seed_of_numpy():
    """A NumPy integer is a valid seed."""
    X, y = data("binary")
    one, other = (estimator("binary", "rbp", random_state=s).fit(X, y) for s in (5, np.int64(5)))
    assert same_state(one, other)
