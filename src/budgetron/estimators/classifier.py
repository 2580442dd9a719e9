"""The classifier."""

from __future__ import annotations

__all__ = ["OnlineClassifier"]

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets, unique_labels

from budgetron import _check
from budgetron._tasks import Labels
from budgetron._threads import turn
from budgetron.algorithms.passive_aggressive import bpa_p
from budgetron.estimators._online import Batch, Online
from budgetron.kernels import Gaussian
from budgetron.learners import Floats, Learner


class OnlineClassifier(ClassifierMixin, Online):  # type: ignore[misc]
    """A classifier that learns from a stream, one example at a time, by any learner.

    Parameters
    ----------
    learner : Learner, optional
        What learns, for example ``forgetron(Gaussian(), budget=100)``. The default suits standardised
        data: ``bpa_p(Gaussian(), budget=200)``.
    epochs : int
        How many passes ``fit`` makes. ``fit`` is that many ``partial_fit`` on a new model.
    shuffle : bool
        Whether ``fit`` takes the rows in a new random order in each pass. The other methods never
        reorder rows.
    random_state : int, RandomState or None
        The seed of the budget's draws and of ``shuffle``.

    Attributes
    ----------
    classes_ : array
        The labels, sorted; the positive one of two is the second.
    learner_ : Learner
        The learner with every parameter a number.
    gamma_ : float
        The kernel's gamma, where it has one.
    n_support_, support_vectors_, dual_coef_, memory_bytes_
        The model as it is now.

    Notes
    -----
    A sample weight multiplies the loss of its example; weight 0 leaves the model exactly as it was.
    Any cutting of the same rows into batches gives the same model, bit for bit; only gamma="scale" is
    taken from the first batch.

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
        """Start afresh from rows that decide what is open, such as gamma="scale"; learn nothing.

        The model is then ready for ``partial_fit`` and ``progressive_predict``.

        Parameters
        ----------
        X : rows
            The first of those that are to be learned, as many as can be waited for.
        classes : labels
            All labels there will be.

        Examples
        --------
        >>> from budgetron import OnlineClassifier
        >>> model = OnlineClassifier().start([[0.0], [1.0]], classes=["no", "yes"])
        >>> model.gamma_, model.n_support_
        (4.0, 0)
        >>> model.partial_fit([[0.5]], ["yes"]).n_support_
        1
        """
        return self._start(X, classes_=_given(classes))

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn the rows in order. ``classes``, all labels there will be, on the first call.

        If the score or step of a row is not finite, the rows before it stay learned, and the
        :class:`~budgetron.DivergedError` says how many in ``rows_learned``. Everything else is checked
        before the first row, and a refusal changes nothing.
        """
        with turn(self):
            if classes is None and not self.__sklearn_is_fitted__():
                raise ValueError("classes must be passed on the first call to partial_fit.")
            self._learn_labels(X, y, classes, sample_weight)
        return self

    def progressive_predict(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None
    ) -> npt.NDArray[Any]:
        """Predict each row, then learn it: the online protocol, in one native pass.

        Without ``classes``, the first call takes the set of labels from y.
        """
        with turn(self):
            return self._predictions(self._learn_labels(X, y, classes, sample_weight))

    def decision_function(self, X: Any) -> Floats:
        """f(x): one number per row for two classes, one per class for more."""
        now = self._now()
        scores = now._finite_scores(X)
        return scores.ravel() if len(now.classes_) == 2 else scores

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The labels: of two classes the second where f(x) >= 0; of more the one of the best score."""
        now = self._now()
        return now._predictions(now._finite_scores(X))

    @available_if(lambda self: self._probabilistic())  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Floats:
        """Probabilities of the classes, where the loss is :class:`~budgetron.Logistic`."""
        return np.asarray(np.exp(self.predict_log_proba(X)))

    @available_if(lambda self: self._probabilistic())  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> Floats:
        """Logarithms of :meth:`predict_proba`."""
        now = self._now()
        scores = now._finite_scores(X)
        if len(now.classes_) == 2:
            scores = np.hstack([-scores, scores]) / 2
        return np.asarray(scores - logsumexp(scores, axis=1, keepdims=True))

    def _default_learner(self) -> Learner:
        return bpa_p(Gaussian(), budget=200)

    def _probabilistic(self) -> bool:
        learner = getattr(self, "learner_", self.learner)
        if not (isinstance(learner, Learner) and learner.probabilistic):
            raise AttributeError("predict_proba needs a learner with the Logistic loss.")
        return True

    def _learn_labels(self, X: Any, y: Any, classes: Any, sample_weight: Any) -> Floats:
        if self.__sklearn_is_fitted__() and self._certain_classes(classes):
            return self._learn(X, y, sample_weight)
        return self._learn(X, y, sample_weight, classes=classes)

    def _batch(
        self, X: Any, y: Any, sample_weight: Any, *, first: bool, classes: Any = None, **_: Any
    ) -> Batch:
        _check.one_kind("y", y)
        X, y = self._rows(X, y=y, reset=first)
        _check_labels(y)
        known = self._known(y, classes, first)
        weights, codes = self._weights(X, sample_weight), self._codes(y, known)
        if first:
            self.classes_ = known
        return Batch(X, codes, weights)

    def _task(self) -> Labels:
        if len(self.classes_) < 2:
            [label] = self.classes_.tolist()
            raise ValueError(f"{type(self).__name__} needs at least two classes, got one class: {label!r}.")
        return Labels(len(self.classes_))

    def _known(self, y: npt.NDArray[Any], classes: Any, first: bool) -> npt.NDArray[Any]:
        """The labels there are: those of the first call, which a later one may repeat."""
        given = None if classes is None else _given(classes)
        if first:
            return _labels_in(y) if given is None else given
        known: npt.NDArray[Any] = self.classes_
        if given is not None and not np.array_equal(given, known):
            raise ValueError(
                f"classes={given.tolist()} differ from those of the first call, {known.tolist()}."
            )
        return known

    def _certain_classes(self, classes: Any) -> bool:
        """Whether the classes of a later call are certainly none, or those of the first."""
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

    def _certain_labels(self, y: Any, rows: int) -> Floats | None:
        """The codes of labels that would pass every check as they are; None if that is not certain."""
        known: npt.NDArray[Any] = self.classes_
        if not (
            type(y) is np.ndarray
            and y.shape == (rows,)
            and y.dtype.kind == known.dtype.kind
            and y.dtype.kind in "iufbU"
        ):
            return None
        codes = np.searchsorted(known, y)
        if (known[np.minimum(codes, len(known) - 1)] != y).any():
            return None
        return self._as_read(codes, known)

    def _codes(self, y: npt.NDArray[Any], classes: npt.NDArray[Any]) -> Floats:
        """Labels as the core reads them: -1 and +1 for two classes, indices for more."""
        if len(classes) == 2 and y.dtype.kind in "iubf":
            plus = y == classes[1]
            if (plus | (y == classes[0])).all():
                return np.where(plus, 1.0, -1.0)
        known = np.isin(y, classes)
        if not known.all():
            label = y[np.argmin(known)].tolist()
            raise ValueError(f"y contains {label!r}, which is not among the classes {classes.tolist()}.")
        return self._as_read(np.searchsorted(classes, y), classes)

    @staticmethod
    def _as_read(codes: npt.NDArray[np.intp], classes: npt.NDArray[Any]) -> Floats:
        floats = codes.astype(np.float64)
        return 2 * floats - 1 if len(classes) == 2 else floats

    def _predictions(self, scores: Floats) -> npt.NDArray[Any]:
        if len(self.classes_) == 2:
            best = (scores[:, 0] >= 0).astype(np.intp)
        else:
            best = scores.argmax(axis=1)
        predictions: npt.NDArray[Any] = self.classes_[best]
        return predictions


def _given(classes: Any) -> npt.NDArray[Any]:
    """The labels that a caller names, sorted."""
    if np.size(classes) == 0:
        raise ValueError("classes is empty; it must name all labels there will be.")
    _check.one_kind("classes", classes)
    _check.told_apart("classes", np.asarray(classes))
    return np.asarray(unique_labels(classes))


def _check_labels(y: npt.NDArray[Any]) -> None:
    """As scikit-learn checks them; whole numbers are labels without a further look."""
    _check.told_apart("y", y)
    whole = y.dtype.kind in "iub" or (y.dtype.kind == "f" and bool((y == np.rint(y)).all()))
    if not (whole and y.ndim == 1):
        check_classification_targets(y)


def _labels_in(y: npt.NDArray[Any]) -> npt.NDArray[Any]:
    if y.dtype.kind not in "iubf":
        return np.asarray(unique_labels(y))
    ends = np.array([y.min(), y.max()])
    two = bool(((y == ends[0]) | (y == ends[1])).all())  # the usual case, and no sorting needed
    return np.unique(ends if two else y)
