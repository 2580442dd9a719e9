"""Bad parameters are refused, by name, when the model is built."""

import numpy as np
import pytest

from budgetron import (
    OGD,
    PA,
    EpsilonInsensitive,
    Gaussian,
    Kernelized,
    LeastSquares,
    MarginPerceptron,
    OnlineClassifier,
    OnlineRegressor,
    Perceptron,
    Polynomial,
    ProjectPlus,
    Prune,
    SampleByWeight,
    SampleUniform,
    Sigmoid,
    Unbounded,
    norma,
    ogd,
    projectron,
    rbp,
)
from tests.helpers.cases import each
from tests.helpers.members import TASKS, data, estimator, make, of_size
from tests.helpers.refusals import refused

K = Gaussian(0.5)
each_task = each("task", TASKS)


@each("budget", [0, -3, 2.0, 2.5, "ten", True, np.nan, np.inf, 2**31, 2**70, [5]], ids=str)
def test_budget_is_a_count(budget):
    """A budget is a whole number above 0."""
    for spec in of_size(budget):
        with refused(type(spec).__name__, "budget", repr(budget)):
            OnlineClassifier(Kernelized(K, MarginPerceptron(), spec)).fit(*data("binary"))


def test_budget_left_out():
    """A budget that needs a number says so."""
    for spec in of_size(None):
        if isinstance(spec, LeastSquares | Prune):
            continue  # something else limits the number of support vectors
        culprits = ["budget", "None"] if len(spec.get_params()) == 1 else ["budget"]
        with refused(type(spec).__name__, *culprits):
            OnlineClassifier(Kernelized(K, Perceptron(), spec)).fit(*data("binary"))
    with refused("Project", "budget", "eta", "U"):
        OnlineClassifier(projectron(K)).fit(*data("binary"))


def test_rank_above_budget():
    """The message names both numbers."""
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


@each("place", PLACES)
@each("kind", NUMBERS)
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


@each("place", LABEL_PLACES)
@each("kind", NUMBERS)
def test_numbers_for_labels(place, kind):
    """The same for parameters of classification only."""
    if place.endswith("coef0") and kind == "negative":
        return
    with refused(*place.split(), repr(NUMBERS[kind])):
        OnlineClassifier(LABEL_PLACES[place](NUMBERS[kind])).fit(*data("binary"))


@pytest.mark.parametrize("learner", [ogd(K, eta=0.0), make("pa", C=0), rbp(Gaussian(0), budget=3)])
def test_zero_is_no_step(learner):
    """eta, C and gamma must be above 0."""
    with refused("above 0"):
        OnlineClassifier(learner).fit(*data("binary"))


@each("gamma", ["scales", "", None, Gaussian()], ids=str)
def test_gamma_by_name(gamma):
    """Gamma is "scale", "auto" or a number."""
    with refused("Gaussian", "gamma"):
        OnlineClassifier(rbp(Gaussian(gamma), budget=3)).fit(*data("binary"))


@pytest.mark.parametrize(("eta", "lam"), [(1.0, 1.0), (0.5, 4), (10, 0.1)])
def test_shrink_to_nothing(eta, lam):
    """Eta * lam must be below 1."""
    for name, model in {
        "OGD": OnlineClassifier(ogd(K, eta=eta, lam=lam)),
        "NORMA": OnlineRegressor(norma(K, eta=eta, lam=lam)),
    }.items():
        with refused(name, "eta * lam", repr(eta), repr(lam)):
            model.fit(*data("binary"))


@each("epochs", [0, -1, 1.5, "two", None, True], ids=str)
@each_task
def test_epochs(task, epochs):
    """Epochs must be a whole number above 0."""
    with refused("epochs", repr(epochs)):
        estimator(task, "rbp", epochs=epochs).fit(*data(task))


@each("seed", [-1, 1.5, "seven", 2**70, 2**32], ids=str)
@each("method", ["fit", "partial_fit"])
def test_seed(seed, method):
    """An invalid seed is refused in one line by all methods."""
    model = estimator("regression", "rbp", random_state=seed)
    with pytest.raises(ValueError, match=r"^[^\n]+$"):
        getattr(model, method)(*data("regression"))
