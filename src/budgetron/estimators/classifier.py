"""OnlineClassifier."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import MethodType
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin

from budgetron._util import check
from budgetron._util.threads import learning_lock
from budgetron.estimators.online import FittedAttribute, Online
from budgetron.learners.automatic import Auto
from budgetron.learners.learner import Floats, Learner
from budgetron.model import class_weights
from budgetron.model.batch import Batch, Growth, growths, learned_rows
from budgetron.model.labels import (
    Codes,
    KnownLabels,
    Scored,
    checked_labels,
    core_codes,
    given_classes,
    unique,
)
from budgetron.parts.tasks import Labels
from budgetron.records.encoder import Encoder


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
    class_weight : dict, "balanced" or None
        A weight for the rows of each class, by label; labels that a dict does not have get 1. "balanced"
        weighs a row by n / (k * count). ``fit`` counts all of y, as scikit-learn does. The other methods
        count the rows learned so far, including the present one: n rows of k classes, ``count`` of its
        own class. Sample weights multiply class weights; rows of sample weight 0 do not count.
    encoder : Encoder, optional
        How records become rows of numbers. Without it, dicts and frames that hold anything but numbers are
        encoded by ``Encoder()``, and a frame of numbers follows scikit-learn's rule: the same columns in
        the same order. With it, columns are known by name, in any order, and new ones may come.

    Attributes
    ----------
    classes_ : array
        The labels, sorted. Of two classes, the second is the positive one.
    encoding_ : Encoding or None
        How records become rows of numbers; None for a model of arrays.
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

    def __init__(
        self,
        learner: Learner | None = None,
        *,
        epochs: int = 1,
        shuffle: bool = False,
        random_state: Any = None,
        class_weight: Any = None,
        encoder: Encoder | None = None,
    ) -> None:
        super().__init__(
            learner, epochs=epochs, shuffle=shuffle, random_state=random_state, encoder=encoder
        )
        self.class_weight = class_weight

    classes_ = FittedAttribute(lambda fitted: None if fitted.labels is None else fitted.labels.classes)

    def start(self, X: Any, classes: Any = None) -> Self:
        """Discard the model and prepare a new one from sample rows, without learning them.

        The rows set the number of columns and parameters such as gamma="scale". Call ``partial_fit`` or
        ``progressive_predict`` next.

        Parameters
        ----------
        X : rows
            Rows like those to be learned, for example the first 1000 of a stream.
        classes : labels, optional
            All labels of the stream; others are refused. Without them, labels are learned as they appear.

        Examples
        --------
        >>> from budgetron import OnlineClassifier
        >>> model = OnlineClassifier().start([[0.0], [1.0]], classes=["no", "yes"])
        >>> model.predict_proba([[0.5]])
        array([[0.5, 0.5]])
        >>> model.partial_fit([[0.5]], ["yes"]).predict([[0.5]])
        array(['yes'], dtype='<U3')
        """
        known = KnownLabels(np.empty(0), fixed=False) if classes is None else given_classes(classes)
        return self._start(X, labels=known)

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn the rows in order.

        A label is known from the first row that has it. If the first call has ``classes``, these are all
        labels, and others are refused.

        All input is checked before the first row is learned; an error in these checks changes nothing. If
        later the score or step of a row is not finite, a :class:`~budgetron.DivergedError` is raised. The
        rows before that row stay learned, and the error's ``rows_learned`` is their number.
        """
        with learning_lock(self):
            self._learn_labels(X, y, classes, sample_weight)
        return self

    def learn_one(self, x: Any, y: Any) -> Self:
        """Learn one row: a dict, or a sequence of numbers.

        Examples
        --------
        >>> from budgetron import OnlineClassifier
        >>> model = OnlineClassifier()
        >>> for amount, country, label in [(5, "DE", "ok"), (900, "FR", "fraud"), (7, "DE", "ok")]:
        ...     model = model.learn_one({"amount": amount, "country": country}, label)
        >>> model.predict_one({"amount": 6, "country": "DE"})
        'ok'
        """
        with learning_lock(self):
            if not self._learn_known(x, y):
                self._learn_labels([self._one(x)], [y], None, None)
        return self

    def _learn_known(self, x: Any, y: Any) -> bool:
        """Learn a row without anything new in it. Returns False, with nothing changed, for any other."""
        if self.class_weight is not None or "fitted_" not in self.__dict__:
            return False
        fitted = self.fitted_
        row = fitted.row_of(x)
        if row is None:
            return False
        try:
            number = self._labels.core_numbers.get(y)
        except TypeError:  # it cannot be a label
            return False
        return number is not None and fitted.model.learn_row(row, number) is not None

    def predict_one(self, x: Any) -> Any:
        """The label of one row: a dict, or a sequence of numbers."""
        snapshot = self._snapshot()
        scores = snapshot._scores_of_one(x)
        return snapshot._labels.prediction(scores)

    def predict_proba_one(self, x: Any) -> dict[Any, float]:
        """The probability of every label for one row: a dict, or a sequence of numbers."""
        snapshot = self._snapshot()
        snapshot.predict_proba  # noqa: B018  raises if the learner has no probabilities
        scores = snapshot._scores_of_one(x)
        return snapshot._labels.probabilities(scores)

    def progressive_predict(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None
    ) -> npt.NDArray[Any]:
        """Predict each row, then learn it (the online protocol); return the predictions.

        If the first call has no ``classes``, it begins with all labels in y. Labels in later calls may be
        new. The row that brings a label is predicted without it.
        """
        with learning_lock(self):
            if classes is None and not self.__sklearn_is_fitted__():
                classes = "of y"
            return self._predicted(self._learn_labels(X, y, classes, sample_weight))

    def decision_function(self, X: Any) -> Floats:
        """The scores: one per row for two classes, else one per row and class."""
        snapshot = self._snapshot()
        scores = snapshot._finite_scores(X)
        return snapshot._labels.decisions(scores)

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The labels: the second of two classes if the score is >= 0, or the class of the highest score."""
        snapshot = self._snapshot()
        scored = snapshot._scored(X)
        return snapshot._predicted(scored)

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
        scored = snapshot._scored(X)
        return snapshot._labels.log_probabilities(scored)

    @property
    def _labels(self) -> KnownLabels:
        labels = self.fitted_.labels
        assert labels is not None
        return labels

    @property
    def _class_weight(self) -> Any:
        return self.class_weight

    def _begin(self, X: Any, y: Any) -> None:
        """Also know the label of the first row, which is predicted until another is learned."""
        if self.__sklearn_is_fitted__() and len(self._labels):
            return
        check.one_kind("y", y)
        labels = np.asarray(check.label_column("y", y))
        first = KnownLabels(checked_labels(labels), fixed=False)
        if self.__sklearn_is_fitted__():
            self.fitted_ = replace(self.fitted_, labels=first)
        else:
            self._start(X, labels=first)

    def _default_learner(self) -> Learner:
        return Auto()

    def _progressive(
        self, X: Any, y: Any, sample_weight: Any = None
    ) -> tuple[npt.NDArray[Any], list[Scored]]:
        """Predict each row, then learn it; the predictions, and the scores that they were made from."""
        with learning_lock(self):
            pieces = self._learn_labels(X, y, None, sample_weight)
            return self._predicted(pieces), pieces

    def _predicted(self, pieces: list[Scored]) -> npt.NDArray[Any]:
        return self._labels.predictions(pieces)

    def _scored(self, X: Any) -> list[Scored]:
        return [Scored(self._finite_scores(X), len(self._labels))]

    def _learn_labels(self, X: Any, y: Any, classes: Any, sample_weight: Any) -> list[Scored]:
        if self.__sklearn_is_fitted__() and self._same_classes(classes):
            return self._learn(X, y, sample_weight)
        return self._learn(X, y, sample_weight, classes=classes)

    def _batch(
        self, X: Any, y: Any, sample_weight: Any, *, first: bool, classes: Any = "of y", **_: Any
    ) -> Batch:
        y = y if first and _are_of_y(classes) else _without_unlearned(y, sample_weight)
        check.one_kind("y", y)
        X, y, weights, encoded = self._checked(X, check.label_column("y", y), sample_weight, first)
        learned = learned_rows(weights)
        start = 0 if learned is None or not len(learned) else int(learned[0])
        known = self._known_before(y, start, classes) if first else self._unchanged_classes(classes)
        y = checked_labels(known.alike(y, start))
        labels, codes, rows = known.extended(y if learned is None else y[learned])
        if learned is not None:
            codes, rows = _at(learned, codes, len(y)), learned[rows].tolist()
        columns = [] if encoded is None else list(encoded.growth)
        now = Growth(0, X.shape[1] if first or encoded is None else self.n_features_in_, len(known))
        if first:
            if rows[:1] == [0]:
                now, rows = replace(now, n_labels=1), rows[1:]
            if encoded is not None:
                width, columns = encoded.at_first()
                now = replace(now, n_features=width)
            growth = (now, *growths(now, columns, rows))
        else:
            growth = growths(now, columns, rows)
        return Batch(X, codes, weights, growth, labels, encoded)

    def _run_epochs(self, batch: Batch) -> None:
        weights, labels = batch.weights, self._labels
        if self.class_weight is not None:
            weights = class_weights.of_all(self.class_weight, labels, batch.y, batch.weights)
        super()._run_epochs(replace(batch, y=core_codes(batch.y, len(labels)), weights=weights))
        if self.class_weight is not None:
            counts = class_weights.counted(batch.y, batch.weights, np.zeros(len(labels)))
            rows = self.fitted_.model.rows_done
            self.fitted_ = replace(self.fitted_, counts=class_weights.ClassCounts(counts, rows))

    def _task(self, labels: KnownLabels | None) -> Labels:
        assert labels is not None
        if labels.fixed and len(labels) < 2:
            [label] = labels.classes.tolist()
            raise ValueError(f"{type(self).__name__} needs at least two classes, got one class: {label!r}.")
        return Labels(max(2, len(labels)))

    def _whole_batch(self, X: Any, y: Any, sample_weight: Any) -> Batch:
        batch = super()._whole_batch(X, y, sample_weight)
        if len(self._labels) < 2:
            [label] = self.classes_.tolist()
            raise ValueError(f"{type(self).__name__} needs at least two classes, got one class: {label!r}.")
        return batch

    def _known_before(self, y: npt.NDArray[Any], start: int, classes: Any) -> KnownLabels:
        """The labels that are known before row ``start``, the first that is learned."""
        none = KnownLabels(np.empty(0), fixed=False)
        if classes is None:
            return none
        if _are_of_y(classes):
            return KnownLabels(unique(checked_labels(none.alike(y, start))), fixed=False)
        return given_classes(classes)

    def _unchanged_classes(self, classes: Any) -> KnownLabels:
        """Later calls may repeat the classes of the first, but not change them."""
        known: KnownLabels = self._labels
        if classes is not None and not _are_of_y(classes):
            given = given_classes(classes).classes
            if not np.array_equal(given, known.classes):
                raise ValueError(
                    f"classes differ from those of the first call: expected {known.classes.tolist()}, "
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

    def _labels_without_checks(self, y: Any, rows: int) -> npt.NDArray[Any] | None:
        if type(y) is np.ndarray and y.shape == (rows,):
            return self._labels.quick_codes(y)
        return None

    def _core_number(self, y: Any) -> float | None:
        labels: KnownLabels = self._labels
        if self.class_weight is not None or type(y) is not np.ndarray or y.shape != (1,):
            return None
        same_kind = y.dtype.kind == labels.labels.dtype.kind in "iufbU"
        return labels.core_numbers.get(y.item()) if same_kind else None


def _are_of_y(classes: Any) -> bool:
    """Whether the classes are those that y has."""
    return isinstance(classes, str) and classes == "of y"


def _without_unlearned(y: Any, weights: Any) -> Any:
    """The labels with another one in rows of weight 0, where a list may have anything."""
    if weights is None or not check.may_be_of_many_kinds(y):
        return y
    try:
        learned = np.asarray(weights, dtype=np.float64) != 0
    except (TypeError, ValueError, OverflowError):  # refused later
        return y
    if learned.shape != (len(y),) or learned.all():
        return y
    labels = list(y)
    some = labels[int(np.argmax(learned))] if learned.any() else 0
    return [label if is_learned else some for label, is_learned in zip(labels, learned, strict=True)]


def _at(rows: Codes, codes: Codes, n: int) -> Codes:
    """The codes at these of n rows; the others have none, and are not learned."""
    found = np.zeros(n, dtype=np.intp)
    found[rows] = codes
    return found
