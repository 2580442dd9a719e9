"""The named algorithms: one function each, which returns a learner. The package is the registry."""

from budgetron._util.exports import lazy

__getattr__, __dir__, __all__ = lazy(__name__)
