"""Fitted models as C99 headers, which predict and learn without allocation or dependency."""

from budgetron._util.exports import lazy

__getattr__, __dir__, __all__ = lazy(__name__)
