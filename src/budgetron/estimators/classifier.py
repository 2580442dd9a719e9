"""OnlineClassifier."""

from __future__ import annotations

__all__ = ["OnlineClassifier"]

from collections.abc import Callable
from types import MethodType
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets, unique_labels

from budgetron import _check
from budgetron._tasks import Labels
from budgetron._threads import learning_lock
from budgetron.automatic import Auto
from budgetron.estimators._online import Batch, Online
from budgetron.learners import Floats, Learner


class IfProbabilistic:
    """A method that exists if the learner has probabilities; else its AttributeError says how to get them.

    scikit-learn's ``available_if`` would hide that sentence behind "has no attribute".
    """

    def __init__(self, method: Callable[..., Any]) -> None:
        self.method = method
        self.__doc__ = method.__doc__

    def __get__(self, model: Any, owner: type | None = None) -> Any:
        if model is None:
            return self.method
        learner = getattr(model, "learner_", model.learner)
        if learner is not None and not (isinstance(learner, Learner) and learner.probabilistic):
            raise AttributeError(
                f"{self.method.__name__} needs a learner with probabilities, such as Auto(), or one with "
                'loss="logistic"; Stacked(learner) gives any learner some.'
            )
        return MethodType(self.method, model)


class OnlineClassifier(ClassifierMixin, Online):  # type: ignore[misc]
    """A scikit-learn classifier that learns row by row, with any learner of this package.

    Parameters
    ----------
    learner : Learner, optional
        The algorithm, for example ``forgetron(Gaussian(), budget=100)``. The default is
        :func:`~budgetron.auto`, which needs no tuning and takes rows as they are.
    epochs : int
        The number of passes that ``fit`` makes over the rows.
    shuffle : bool
        Whether ``fit`` shuffles the rows before each pass. The other methods never reorder rows.
    random_state : int, RandomState or None
        The seed of the budget's random choices and of ``shuffle``.

    Attributes
    ----------
    classes_ : array
        The labels, sorted. Of two classes, the second is the positive one.
    learner_ : Learner
        The learner in use, with every parameter resolved to a number.
    gamma_ : float
        The kernel's gamma, if the kernel has one.
    n_support_, support_vectors_, dual_coef_, memory_bytes_
        The present state of the model.

    Notes
    -----
    A sample weight multiplies the loss of its row. A row of weight 0 does not change the model.

    The same rows give the same model, bit for bit, however they are divided into batches. The one
    exception is gamma="scale", which is computed from the first batch.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from budgetron import Gaussian, OnlineClassifier, rbp
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> clf = OnlineClassifier(rbp(Gaussian(gamma=0.02), budget=30), random_state=0)
    >>> predictions = clf.progressive_predict(scale(X), y)
    >>> int((predictions != y).sum()), clf.n_support_
    (45, 30)
    """

    def start(self, X: Any, classes: Any) -> Self:
        """Discard the model and prepare a new one from sample rows, without learning them.

        The rows set the number of columns and parameters such as gamma="scale". Call ``partial_fit`` or
        ``progressive_predict`` next.

        Parameters
        ----------
        X : rows
            Rows like those to be learned, for example the first 1000 of a stream.
        classes : labels
            All labels of the stream.

        Examples
        --------
        >>> from budgetron import OnlineClassifier
        >>> model = OnlineClassifier().start([[0.0], [1.0]], classes=["no", "yes"])
        >>> model.predict_proba([[0.5]])
        array([[0.5, 0.5]])
        >>> model.partial_fit([[0.5]], ["yes"]).predict([[0.5]])
        array(['yes'], dtype='<U3')
        """
        return self._start(X, classes_=_sorted_classes(classes))

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn the rows in order. The first call needs ``classes``: all labels of the stream.

        All input is checked before the first row is learned; an error in these checks changes nothing. If
        later the score or step of a row is not finite, a :class:`~budgetron.DivergedError` is raised. The
        rows before that row stay learned, and the error's ``rows_learned`` is their number.
        """
        with learning_lock(self):
            if classes is None and not self.__sklearn_is_fitted__():
                raise ValueError("classes must be passed on the first call to partial_fit.")
            self._learn_labels(X, y, classes, sample_weight)
        return self

    def progressive_predict(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None
    ) -> npt.NDArray[Any]:
        """Predict each row, then learn it (the online protocol); return the predictions.

        If the first call has no ``classes``, the labels in y are the classes.
        """
        with learning_lock(self):
            return self._predictions(self._learn_labels(X, y, classes, sample_weight))

    def decision_function(self, X: Any) -> Floats:
        """The scores: one per row for two classes, else one per row and class."""
        snapshot = self._snapshot()
        scores = snapshot._finite_scores(X)
        return scores.ravel() if len(snapshot.classes_) == 2 else scores

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The labels: the second of two classes if the score is >= 0, or the class of the highest score."""
        snapshot = self._snapshot()
        return snapshot._predictions(snapshot._finite_scores(X))

    @IfProbabilistic
    def predict_proba(self, X: Any) -> Floats:
        """The class probabilities.

        Learners without probabilities get them by :class:`~budgetron.Stacked`; the default has them, and so
        have :class:`~budgetron.Kalman` and the :class:`~budgetron.Logistic` loss.
        """
        return np.asarray(np.exp(self.predict_log_proba(X)))

    @IfProbabilistic
    def predict_log_proba(self, X: Any) -> Floats:
        """The logarithms of :meth:`predict_proba`."""
        snapshot = self._snapshot()
        scores = snapshot._finite_scores(X)
        if len(snapshot.classes_) == 2:
            scores = np.hstack([-scores, scores]) / 2
        return np.asarray(scores - logsumexp(scores, axis=1, keepdims=True))

    def _default_learner(self) -> Learner:
        return Auto()

    def _learn_labels(self, X: Any, y: Any, classes: Any, sample_weight: Any) -> Floats:
        if self.__sklearn_is_fitted__() and self._same_classes(classes):
            return self._learn(X, y, sample_weight)
        return self._learn(X, y, sample_weight, classes=classes)

    def _batch(
        self, X: Any, y: Any, sample_weight: Any, *, first: bool, classes: Any = None, **_: Any
    ) -> Batch:
        _check.one_kind("y", y)
        X, y = self._rows(X, y=y, reset=first)
        _check_labels(y)
        known = self._known_classes(y, classes, first)
        weights, codes = self._weights(X, sample_weight), _codes(y, known)
        if first:
            self.classes_ = known
        return Batch(X, codes, weights)

    def _task(self) -> Labels:
        if len(self.classes_) < 2:
            [label] = self.classes_.tolist()
            raise ValueError(f"{type(self).__name__} needs at least two classes, got one class: {label!r}.")
        return Labels(len(self.classes_))

    def _known_classes(self, y: npt.NDArray[Any], classes: Any, first: bool) -> npt.NDArray[Any]:
        """The classes of the first call. Later calls may repeat them, but not change them."""
        given = None if classes is None else _sorted_classes(classes)
        if first:
            return _unique(y) if given is None else given
        known: npt.NDArray[Any] = self.classes_
        if given is not None and not np.array_equal(given, known):
            raise ValueError(
                f"classes differ from those of the first call: expected {known.tolist()}, "
                f"got {given.tolist()}."
            )
        return known

    def _same_classes(self, classes: Any) -> bool:
        """Whether a later call has no classes or repeats the known ones; False if this is not certain."""
        if classes is None:
            return True
        if type(classes) is np.ndarray:
            classes = classes.tolist()
        known = self.classes_.tolist()
        return (
            type(classes) is list
            and len(classes) == len(known)
            and all(type(a) is type(b) and a == b for a, b in zip(classes, known, strict=True))
        )

    def _labels_without_checks(self, y: Any, rows: int) -> Floats | None:
        if type(y) is np.ndarray and y.shape == (rows,):
            return _quick_codes(y, self.classes_)
        return None

    def _predictions(self, scores: Floats) -> npt.NDArray[Any]:
        if len(self.classes_) == 2:
            best = (scores[:, 0] >= 0).astype(np.intp)
        else:
            best = scores.argmax(axis=1)
        predictions: npt.NDArray[Any] = self.classes_[best]
        return predictions


def _quick_codes(y: npt.NDArray[Any], classes: npt.NDArray[Any]) -> Floats | None:
    """The codes of labels of the same type as the classes; None if a type or label differs."""
    kind = y.dtype.kind
    if kind != classes.dtype.kind or kind not in "iufbU":
        return None
    indices = np.searchsorted(classes, y)
    if (classes[np.minimum(indices, len(classes) - 1)] != y).any():
        return None
    codes = indices.astype(np.float64)
    return 2 * codes - 1 if len(classes) == 2 else codes


def _codes(y: npt.NDArray[Any], classes: npt.NDArray[Any]) -> Floats:
    """The labels as the core reads them: -1 and +1 for two classes, else the index of the class."""
    codes = _quick_codes(y, classes)
    if codes is not None:
        return codes
    known = np.isin(y, classes)
    if not known.all():
        label = y[np.argmin(known)].tolist()
        raise ValueError(f"y contains {label!r}, which is not among the classes {classes.tolist()}.")
    codes = np.searchsorted(classes, y).astype(np.float64)
    return 2 * codes - 1 if len(classes) == 2 else codes


def _sorted_classes(classes: Any) -> npt.NDArray[Any]:
    """The classes that a caller gives, checked and sorted."""
    if np.size(classes) == 0:
        raise ValueError("classes is empty: expected all labels of the stream.")
    _check.one_kind("classes", classes)
    _check.told_apart("classes", np.asarray(classes))
    return np.asarray(unique_labels(classes))


def _check_labels(y: npt.NDArray[Any]) -> None:
    """Check labels as scikit-learn does, but without its slow path for whole numbers."""
    _check.told_apart("y", y)
    whole = y.dtype.kind in "iub" or (y.dtype.kind == "f" and bool((y == np.rint(y)).all()))
    if not (whole and y.ndim == 1):
        check_classification_targets(y)


def _unique(y: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The different labels in y, sorted."""
    if y.dtype.kind not in "iubf":
        return np.asarray(unique_labels(y))
    ends = np.array([y.min(), y.max()])
    two = bool(((y == ends[0]) | (y == ends[1])).all())  # the common case, found without sorting y
    return np.unique(ends if two else y)
