"""Budgets: how a new term joins f, and which support vector is removed when there are more than B."""

from budgetron._util.exports import lazy

__getattr__, __dir__, __all__ = lazy(__name__)
