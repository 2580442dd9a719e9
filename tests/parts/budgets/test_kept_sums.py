"""Sums that a budget keeps instead of recomputing them."""

import numpy as np

from budgetron import OGD, SGD, Gaussian, Kernelized, Perceptron, RemoveRedundant, Squared
from budgetron.model.model import Model
from budgetron.parts.tasks import Labels
from tests.helpers.cases import each
from tests.references.step import gaussian, gram

RULES = {"perceptron": Perceptron(), "shrinking": OGD(0.3, 0.1), "ball": SGD(0.5, Squared())}


@each("classes", [2, 4])
@each("rule", RULES)
def test_scores_of_the_support_vectors_without_themselves(rule, classes):
    r = np.random.default_rng(0)
    X, y = r.standard_normal((2000, 4)), r.integers(0, classes, 2000).astype(float)
    learner = Kernelized(Gaussian(0.3), RULES[rule], RemoveRedundant(15))
    model = Model(learner, Labels(classes), 4, np.float64, 0)
    for rows in np.split(np.arange(2000), [10, 100]):
        model.learn(X[rows], 2 * y[rows] - 1 if classes == 2 else y[rows])
        state = model.state()
        outputs = 1 if classes == 2 else classes
        alpha = np.array([state[f"expansion.alpha.{c}"] for c in range(outputs)])
        order = np.argsort(state["expansion.births"])
        K = gram(gaussian(0.3), model.support_vectors())
        np.fill_diagonal(K, 0)
        kept = state["redundant.without"].reshape(outputs, -1)
        np.testing.assert_allclose(kept[:, order], alpha[:, order] @ K, rtol=1e-9, atol=1e-9)
