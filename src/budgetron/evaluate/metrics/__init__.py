"""Metrics of a stream, updated row by row: over all rows so far, and over the last ones."""

from budgetron._util.exports import lazy

__getattr__, __dir__, __all__ = lazy(
    __name__,
    {
        "evaluate.metrics.metrics": "Metrics",
    },
)
