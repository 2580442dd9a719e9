"""Evaluate learners online: records of a run, and comparisons over random orders of the rows.

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

from budgetron.evaluate.compare import compare
from budgetron.evaluate.metrics import Metrics
from budgetron.evaluate.protocol import prequential
from budgetron.evaluate.record import Record
from budgetron.evaluate.results import Comparison, Row
from budgetron.evaluate.session import Session
from budgetron.evaluate.tuning import Candidate, Tuning, tune

__all__ = [
    "Candidate",
    "Comparison",
    "Metrics",
    "Record",
    "Row",
    "Session",
    "Tuning",
    "compare",
    "prequential",
    "tune",
]
