"""
Bring your own budget
=====================

Parts combine without new code: here the rule `PA` with seven budgets. A new idea can be tried in NumPy
beside them: a new support vector takes the place and the weight of the nearest one of its class.
"""

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_digits

from budgetron import PA, Gaussian, Kernelized, budgets, evaluate
from budgetron.plots import style

kernel, B = Gaussian.of_width(16), 100


class Successor(ClassifierMixin, BaseEstimator):
    """The rule PA for ten classes, with a budget of its own. S: support vectors, A: coefficients."""

    S, A = np.zeros((0, 64)), np.zeros((0, 10))

    def k(self, X):
        return np.exp(-kernel.gamma * ((X[:, None] - self.S) ** 2).sum(axis=2))

    def predict(self, X):
        return self.classes_[np.argmax(self.k(X) @ self.A, axis=1)]

    def partial_fit(self, X, y, classes):
        self.classes_ = classes
        for x, own in zip(X, np.searchsorted(classes, y), strict=True):
            [k] = self.k(x[None])
            f = k @ self.A
            other = np.argmax(np.where(np.arange(10) == own, -np.inf, f))  # the best wrong class
            if (step := min(1, (1 - f[own] + f[other]) / 2)) > 0:
                self.insert(x, k, step * (np.eye(10)[own] - np.eye(10)[other]), own)
        return self

    def insert(self, x, k, a, own):  # the budget: x shall be a support vector with coefficients a
        if len(self.S) < B:
            self.S, self.A = np.vstack([self.S, x]), np.vstack([self.A, a])
        else:
            nearest = np.argmax(np.where(self.A.argmax(axis=1) == own, k, 0))
            self.S[nearest], self.A[nearest] = x, a + self.A[nearest]


names = ["Stop", "RemoveRandom", "RemoveOldest", "Project", "Swap", "SwapNearest", "Merge"]
learners = {"Successor": Successor()} | {n: Kernelized(kernel, PA(), getattr(budgets, n)(B)) for n in names}
rows = evaluate.compare(learners, load_digits(return_X_y=True), permutations=3).rows
ax = style.axes(None)
ax.grid(visible=False)
for row in sorted(rows, key=lambda row: -row.mean):
    bar = ax.barh(row.name, 100 * row.mean, color=style.COLOURS[row.name == "Successor"], height=0.6)
    ax.bar_label(bar, fmt="%.1f", padding=4)
ax.set(xlabel="mistakes, % of rows (handwritten digits)", xlim=(0, 15), title="PA with 100 support vectors")

# %%
# **Lesson:** a few lines of NumPy show where a new budget stands: this one errs less than plain removal,
# and more than `SwapNearest`, `Project` and `Merge`.
