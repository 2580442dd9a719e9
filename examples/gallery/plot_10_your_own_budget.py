"""
Bring your own budget
=====================

A budget is an idea about which support vector to remove. Parts that exist combine without new code: here one rule,
`PA`, with seven budgets. A new idea can be tried in NumPy first, as a scikit-learn estimator: `evaluate.compare`
takes it beside the others. This one finds the two most similar support vectors; the younger absorbs the older.
"""

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_digits

import budgetron
from budgetron import PA, Gaussian, Kernelized, evaluate
from budgetron.plots import style

kernel, B = Gaussian.of_width(16), 100


def k(P, Q):
    """The kernel of all pairs of rows."""
    return np.exp(-kernel.gamma * ((P**2).sum(axis=1)[:, None] + (Q**2).sum(axis=1) - 2 * P @ Q.T))


class Twins(ClassifierMixin, BaseEstimator):
    """The rule PA for ten classes, with a budget of its own: support vectors S, coefficients A."""

    def partial_fit(self, X, y, classes):
        if not hasattr(self, "S"):
            self.classes_, self.S, self.A = classes, np.zeros((1, 64)), np.zeros((1, 10))
        for x, own in zip(X, np.searchsorted(classes, y), strict=True):
            f = self.scores(x[None])[0]
            other = np.argmax(np.where(np.arange(10) == own, -np.inf, f))  # the best wrong class
            step = min(1, (1 - f[own] + f[other]) / 2)
            if step > 0:
                self.S, self.A = np.vstack([self.S, x]), np.vstack([self.A, np.zeros(10)])
                self.A[-1, [own, other]] = step, -step
            if len(self.S) > B:
                self.remove()
        return self

    def remove(self):
        """The budget."""
        alike = np.triu(k(self.S, self.S), 1)  # the first is the oldest
        older, younger = np.unravel_index(alike.argmax(), alike.shape)
        self.A[younger] += alike[older, younger] * self.A[older]
        self.S, self.A = np.delete(self.S, older, axis=0), np.delete(self.A, older, axis=0)

    def scores(self, X):
        return k(X, self.S) @ self.A

    def predict(self, X):
        return self.classes_[self.scores(X).argmax(axis=1)]


names = ["Stop", "RemoveRandom", "RemoveOldest", "Project", "Swap", "SwapNearest", "Merge"]
learners = {name: Kernelized(kernel, PA(), getattr(budgetron, name)(B)) for name in names}
result = evaluate.compare(learners | {"Twins": Twins()}, load_digits(return_X_y=True), permutations=2, n_jobs=1)
for r in result.rows: print(r.name, r.mean, r.sd)
