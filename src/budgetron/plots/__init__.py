"""Plots of runs and comparisons, and of classifiers of two features.

Every function takes an optional ``ax`` and returns the axes it drew on, with six exceptions: `columns`,
`coverage`, `overview`, `experts` and `study_curves` return a figure, and `learning` an animation. All need
matplotlib, the extra ``plot``.

>>> from sklearn.datasets import load_breast_cancer
>>> from budgetron import Gaussian, evaluate, forgetron, plots, rbp
>>> k = Gaussian(1e-6)
>>> learners = {"rbp": rbp(k, budget=50), "forgetron": forgetron(k, budget=50)}
>>> result = evaluate.compare(learners, load_breast_cancer(return_X_y=True), permutations=3)
>>> plots.error_against_rows(result).figure.savefig("error.png")  # doctest: +SKIP
"""

from budgetron._util.exports import lazy

__getattr__, __dir__, __all__ = lazy(
    __name__,
    {
        "plots.animation": "learning",
        "plots.boundary": "decision_boundary",
        "plots.decisions": "coverage intervals precision_recall",
        "plots.lines": "Line curves error_against_budget error_against_rows error_against_time over_rows "
        "overview support_vectors_against_rows window_against_rows",
        "plots.studies": "critical_difference study_curves",
        "plots.tables": "columns",
        "plots.weights": "experts",
        "plots.why": "explanation importances",
    },
)
