"""Feature maps: an explicit z(x) in place of a kernel, for learners and as scikit-learn transformers."""

from budgetron._util.exports import lazy

__getattr__, __dir__, __all__ = lazy(__name__)
