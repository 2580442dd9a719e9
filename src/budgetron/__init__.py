"""Budgeted online kernel learning: nonlinear models from a stream, in bounded memory and time.

A name is imported when it is first used: NumPy and scikit-learn take a second to import, and
``budgetron --help`` needs neither. Each module lists its public names in ``__all__``: see
``_util/exports.py``.
"""

from budgetron._util.exports import lazy

__getattr__, __dir__ = lazy(__name__)
