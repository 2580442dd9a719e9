"""Parts that do not fit together are refused, by name, when the model is built."""

import numpy as np
import pytest

import budgetron as bt
from tests.helpers.cases import each
from tests.helpers.members import data, estimator, make, of_size, parameters
from tests.helpers.refusals import refused

K = bt.Gaussian(0.5)


NOUNS = {
    "kernel for rule": (bt.Kernelized(K, K, bt.Unbounded()), ["rule must be a Rule", "Gaussian"]),
    "rule for kernel": (bt.Kernelized(bt.PA(), bt.PA(), bt.Unbounded()), ["kernel must be a Kernel", "PA"]),
    "number for budget": (bt.Kernelized(K, bt.PA(), 50), ["budget must be a Budget", "50"]),
    "class for budget": (bt.Kernelized(K, bt.PA(), bt.Unbounded), ["budget must be a Budget"]),
    "class for rule": (bt.Kernelized(K, bt.PA, bt.Unbounded()), ["rule must be a Rule"]),
    "class for kernel": (bt.Kernelized(bt.Gaussian, bt.PA(), bt.Unbounded()), ["kernel must be a Kernel"]),
    "string for kernel": (
        bt.Kernelized("rbf", bt.PA(), bt.Unbounded()),
        ["be a Kernel", "'rbf'", "Gaussian()"],
    ),
    "string for loss": (bt.ogd(K, loss="hing"), ["OGD", "loss must be a Loss", "'hing'", "Hinge()"]),
    "class for loss": (bt.ogd(K, loss=bt.Hinge), ["OGD", "loss must be a Loss"]),
    "string for learner": ("forgetron", ["learner must be a Learner", "'forgetron'"]),
    "function for learner": (bt.rbp, ["learner must be a Learner"]),
    "kernel for learner": (bt.Gaussian(), ["learner must be a Learner"]),
}


@each("mistake", NOUNS)
def test_wrong_nouns(mistake):
    """An object of the wrong kind, such as a kernel for a rule, is refused by name."""
    learner, culprits = NOUNS[mistake]
    with refused(*culprits):
        bt.OnlineClassifier(learner).fit(*data("binary"))


@each(
    ("learner", "culprits"),
    [
        (bt.ogd(K, loss=bt.Hinge()), ["OGD", "Hinge", "Squared"]),
        (bt.ogd(K, loss=bt.Logistic()), ["OGD", "Logistic", "Squared"]),
        (make("projectron_pp"), ["ProjectPlus", "classification only"]),
        (make("budget_perceptron"), ["RemoveRedundant", "classification only"]),
        (bt.projectron(K, U=1.0), ["Project", "U", "classification only"]),
    ],
    ids=str,
)
def test_for_labels_only(learner, culprits):
    """A regressor refuses parts that are defined for classification only."""
    with refused(*culprits):
        bt.OnlineRegressor(learner).fit(*data("regression"))


def test_for_targets_only():
    """NORMA is for regression."""
    for task in ("binary", "multiclass"):
        with refused("NORMA", "regression only"):
            estimator(task, "norma").fit(*data(task))


@pytest.mark.parametrize("kernel", [bt.Sigmoid(0.1), bt.Polynomial(0.5, -1.0, 2)], ids=repr)
def test_indefinite_kernels(kernel):
    """Budgets that need distances refuse indefinite kernels; the others accept them."""
    X, y = data("binary")
    for spec in of_size(5):
        model = bt.OnlineClassifier(bt.Kernelized(kernel, bt.MarginPerceptron(), spec))
        if isinstance(spec, bt.Merge):
            continue  # for the Gaussian kernel only, as another test says
        if spec.needs_distances:
            with refused(type(spec).__name__, "positive semidefinite", repr(kernel)):
                model.fit(X, y)
        else:
            assert np.isfinite(model.fit(X, y).decision_function(X)).all()


@each(
    ("spec", "culprits"),
    [
        (bt.Project(budget=5, rank=2, eta=0.1), ["rank", "eta"]),
        (bt.Project(rank=2), ["rank", "budget"]),
        (bt.Project(eta=0.1, U=1.0), ["eta and U"]),
        (bt.ProjectPlus(eta=0.1, U=1.0), ["eta and U"]),
        (bt.ProjectPlus(), ["budget", "eta", "U"]),
        (bt.Project(budget=5, rank=0), ["rank", "0"]),
        (bt.Project(budget=5, rank=2.0), ["rank", "2.0"]),
    ],
    ids=repr,
)
def test_parameters_that_exclude_each_other(spec, culprits):
    """Invalid combinations of budget, rank, eta and U are refused."""
    with refused(type(spec).__name__, *culprits):
        bt.OnlineClassifier(bt.Kernelized(K, bt.MarginPerceptron(margin=1), spec)).fit(*data("binary"))


@each("name", ["rule__step", "rules__eta", "kernel__gamma__x", "eta"])
def test_unknown_parameter(name):
    """An unknown parameter is refused by name; the message lists the known ones."""
    learner = bt.ogd(K)
    with refused("has no parameter", name.split("__")[-1]):
        learner.set_params(**{name: 1})
    assert learner == bt.ogd(K)


@each("name", [name for name in bt.algorithms.__all__ if "kernel" in parameters(name)])
def test_arguments_by_keyword(name):
    """All parameters but the kernel are keyword-only."""
    with pytest.raises(TypeError, match="positional"):
        getattr(bt.algorithms, name)(K, 5)


@pytest.mark.parametrize("kernel", [bt.Linear(), bt.Laplacian(0.5), bt.Polynomial(0.5)], ids=repr)
def test_merging_is_for_the_gaussian_kernel(kernel):
    """Merge is defined for the Gaussian kernel only, and refuses others."""
    learner = bt.bsgd(kernel, budget=5, maintenance=bt.Merge)
    with pytest.raises(ValueError, match=r"^Merge: is defined for the Gaussian kernel only, got .*\.$"):
        bt.OnlineClassifier(learner).fit([[0.0], [1.0]], [0, 1])
