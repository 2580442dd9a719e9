"""The scikit-learn estimators: OnlineClassifier and OnlineRegressor."""

from budgetron.estimators.classifier import OnlineClassifier
from budgetron.estimators.regressor import OnlineRegressor

__all__ = ["OnlineClassifier", "OnlineRegressor"]
