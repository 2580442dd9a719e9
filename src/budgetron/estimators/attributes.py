"""What a fitted estimator shows: attributes, a copy and a file, all read from what it has learned."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Self

from sklearn.utils.validation import check_is_fitted

from budgetron._util.rows import Matrix
from budgetron.learners.learner import Floats
from budgetron.model.conformal import Conformal
from budgetron.model.files import model_files
from budgetron.model.fitted import Fitted
from budgetron.records.encoding import Encoding


def fitted_of(estimator: Any) -> Fitted:
    """What an estimator has learned; raises before the first row."""
    if "fitted_" not in estimator.__dict__:
        check_is_fitted(estimator)  # raises
    fitted: Fitted = estimator.fitted_
    return fitted


class FittedAttribute:
    """An attribute of a fitted estimator, read from ``fitted_``.

    It can be set on an object of its own: scikit-learn's checks of a first batch set two of them.
    """

    def __init__(self, read: Callable[[Fitted], Any]) -> None:
        self.read = read

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, estimator: Any, owner: type | None = None) -> Any:
        if estimator is None:
            return self
        fitted = estimator.__dict__.get("fitted_")
        value = None if fitted is None else self.read(fitted)
        if value is None:
            raise AttributeError(f"{type(estimator).__name__!r} object has no attribute {self.name!r}")
        return value


class FittedAttributes:
    """Base of the estimators: all that was learned is one value, ``fitted_``, read once in a call."""

    fitted_: Fitted

    learner_ = FittedAttribute(lambda fitted: fitted.model.learner)
    gamma_ = FittedAttribute(lambda fitted: fitted.gamma)
    n_features_in_ = FittedAttribute(lambda fitted: fitted.model.n_features)
    feature_names_in_ = FittedAttribute(lambda fitted: fitted.names)

    @property
    def encoding_(self) -> Encoding | None:
        """How records become rows; None for a model of arrays."""
        fitted = self._known()
        return None if fitted is None else fitted.encoding

    @property
    def n_support_(self) -> int:
        """The number of support vectors."""
        return fitted_of(self).model.size

    @property
    def support_vectors_(self) -> Matrix:
        """The support vectors, oldest first."""
        return fitted_of(self).model.support_vectors()

    @property
    def dual_coef_(self) -> Floats:
        """The coefficients, oldest support vector first.

        The array has one row for two classes and for regression, else one row per class.
        """
        return fitted_of(self).model.dual_coef()

    @property
    def coef_(self) -> Floats:
        """The weights of the explicit features, one row per output; only for learners on a feature map."""
        return fitted_of(self).model.coef()

    @property
    def expert_weights_(self) -> Floats:
        """The weight of every expert; only for :class:`~budgetron.Stacked` learners."""
        return fitted_of(self).model.expert_weights()

    @property
    def expert_losses_(self) -> Floats:
        """The mean loss of every expert so far: log loss for labels, squared error for targets."""
        return fitted_of(self).model.expert_losses()

    @property
    def memory_bytes_(self) -> int:
        """The memory of the native model, in bytes."""
        return fitted_of(self).model.memory_bytes

    def save(self, path: model_files.Path, extra: Mapping[str, Any] | None = None) -> None:
        """Write the estimator to a file that :func:`budgetron.load` reads.

        The file holds only data, in the safetensors format. Saving the same estimator twice writes the same
        bytes. An existing file is replaced atomically: after a failure it is still the old file. Failures
        raise :class:`~budgetron.SaveError`.

        Parameters
        ----------
        path : str or path
            The file to write.
        extra : dict, optional
            Your own data to store with the model: numbers, strings, None, arrays, and lists and dicts of
            these. ``budgetron.model_files.read(path).extra`` returns it.
        """
        fitted_of(self)  # raises before the first row
        model_files.save(self, path, extra)

    # ---- what has been learned

    def __sklearn_is_fitted__(self) -> bool:
        return "fitted_" in self.__dict__

    def _known(self) -> Fitted | None:
        """What has been learned; None before the first row."""
        return self.__dict__.get("fitted_")

    def __copy__(self) -> Self:
        """A copy that learns separately."""
        other = object.__new__(type(self))
        other.__dict__ = self.__dict__.copy()
        if (fitted := self._known()) is not None:
            other.fitted_ = fitted.copy()
        return other

    def __sizeof__(self) -> int:
        own: int = object.__sizeof__(self)
        return own + (self.fitted_.model.memory_bytes if self.__sklearn_is_fitted__() else 0)

    def _conformal(self, what: str) -> tuple[Fitted, Conformal]:
        """What has been learned, with its misfits."""
        fitted = fitted_of(self)
        if fitted.conformal is None:
            raise AttributeError(
                f"{what} needs misfits of the stream: give {type(self).__name__}(coverage=0.9), and learn."
            )
        return fitted, fitted.conformal

    @property
    def covered_(self) -> float | None:
        """The share of the last 500 rows that their sets or intervals covered, before they were learned."""
        return self._conformal("covered_")[1].share_covered
