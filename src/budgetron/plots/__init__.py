"""Plots of runs and comparisons, and of classifiers of two features.

Every function takes an optional ``ax`` and returns the axes it drew on, with three exceptions: `overview`
and `experts` return a figure, and `learning` an animation. All need matplotlib, the extra ``plot``.

>>> from sklearn.datasets import load_breast_cancer
>>> from budgetron import Gaussian, evaluate, forgetron, plots, rbp
>>> k = Gaussian(1e-6)
>>> learners = {"rbp": rbp(k, budget=50), "forgetron": forgetron(k, budget=50)}
>>> result = evaluate.compare(learners, load_breast_cancer(return_X_y=True), permutations=3)
>>> plots.error_against_rows(result).figure.savefig("error.png")  # doctest: +SKIP
"""

from budgetron.plots.animation import learning
from budgetron.plots.boundary import decision_boundary
from budgetron.plots.curves import (
    Line,
    curves,
    error_against_budget,
    error_against_rows,
    error_against_time,
    over_rows,
    overview,
    support_vectors_against_rows,
    window_against_rows,
)
from budgetron.plots.experts import experts

__all__ = [
    "Line",
    "curves",
    "decision_boundary",
    "error_against_budget",
    "error_against_rows",
    "error_against_time",
    "experts",
    "learning",
    "over_rows",
    "overview",
    "support_vectors_against_rows",
    "window_against_rows",
]
