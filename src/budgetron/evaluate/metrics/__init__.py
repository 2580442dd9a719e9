"""Metrics of a stream, updated row by row: over all rows so far, and over the last ones."""

from budgetron.evaluate.metrics.metrics import Metrics

__all__ = ["Metrics"]
