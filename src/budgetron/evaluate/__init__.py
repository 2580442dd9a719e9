"""Evaluate learners online: records of a run, comparisons over random orders, studies.

Tables and plots are made from these records, not from models.

>>> from sklearn.datasets import load_breast_cancer
>>> from budgetron import Gaussian, OnlineClassifier, evaluate, rbp
>>> model = OnlineClassifier(rbp(Gaussian(1e-6), budget=50), random_state=0)
>>> for record in evaluate.prequential(model, load_breast_cancer(return_X_y=True), every=200):
...     print(record.rows, record.mistakes, record.support_vectors)
200 19 19
400 37 37
569 53 50
"""

from budgetron._util.exports import lazy

__getattr__, __dir__, __all__ = lazy(
    __name__,
    {
        "evaluate.comparison": "compare",
        "evaluate.covering": "Coverage coverage",
        "evaluate.differences": "Difference difference",
        "evaluate.hindsight": "Regret regret",
        "evaluate.metrics.metrics": "Metrics",
        "evaluate.protocol": "prequential",
        "evaluate.record": "Record",
        "evaluate.results": "Comparison Row",
        "evaluate.session": "Session",
        "evaluate.studies.results": "Cell Study",
        "evaluate.studies.runs": "Job RunStore",
        "evaluate.studies.statistics": "Friedman Pair Ranks",
        "evaluate.studies.study": "study",
        "evaluate.tuning": "Candidate Tuning tune",
    },
)
