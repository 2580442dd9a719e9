"""The scikit-learn estimators: OnlineClassifier and OnlineRegressor."""

from budgetron._util.exports import lazy

__getattr__, __dir__, __all__ = lazy(__name__)
