"""OnlineClassifier."""

from __future__ import annotations

from collections.abc import Callable
from types import MethodType
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin

from budgetron._util import check
from budgetron._util.threads import learning_lock
from budgetron.estimators.attributes import FittedAttribute
from budgetron.estimators.online import (
    OF_Y,
    Coded,
    Online,
    answers_of,
    is_of_y,
    progressive,
    scored,
    start,
)
from budgetron.learners.learner import Floats, Learner
from budgetron.model.batch import learned_rows
from budgetron.model.fitted import Fitted
from budgetron.model.labels import KnownLabels, Scored, checked_labels, given_classes, unique
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
    costs : dict or None
        What mistakes cost: for a label, a mistake in a row of that label; for a pair (label, prediction),
        this mistake. Others cost 1. Predictions have the lowest expected cost; what is learned, scores and
        probabilities do not change. ``{"fraud": 9}`` predicts fraud from a probability of 0.1 on. Needs a
        learner with probabilities.
    encoder : Encoder, optional
        How records become rows of numbers. Without it, dicts and frames that hold anything but numbers are
        encoded by ``Encoder()``, and a frame of numbers follows scikit-learn's rule: the same columns in
        the same order. With it, columns are known by name, in any order, and new ones may come.
    coverage : float, optional
        The share of rows whose label `predict_set` shall have, such as 0.9. It is learned along the stream,
        and followed after drifts. Where the model is right more often than that, some sets are empty. Needs
        a learner with probabilities.
    n_jobs : int or None
        How many threads learn and predict a batch; None is one, -1 one for each processor. The experts of
        the default and of :class:`~budgetron.Stacked` learn side by side; other learners learn in one
        thread. All learners predict the rows of a batch in threads. Results do not depend on it by a bit,
        and model files do not have it.
    device : "cpu" or "cuda"
        Where rows are learned: "cuda" is a card of NVIDIA, for long batches and large learners on explicit
        features. The page "Large models on a card" says which learners. ``n_jobs`` None is then one thread
        for each processor. It is no part of a model file.
    dtype : "float32", "float64" or None
        The type of numbers in which a new model reads rows; None is that of the first rows. On a card all
        is computed in it, and "float32" is for cards that are slow in double precision. On a processor,
        float32 rounds rows, support vectors and kernels, and takes half their memory.

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
        costs: Any = None,
        encoder: Encoder | None = None,
        coverage: float | None = None,
        n_jobs: int | None = None,
        device: str = "cpu",
        dtype: str | None = None,
    ) -> None:
        super().__init__(
            learner,
            epochs=epochs,
            shuffle=shuffle,
            random_state=random_state,
            encoder=encoder,
            coverage=coverage,
            n_jobs=n_jobs,
            device=device,
            dtype=dtype,
        )
        self.class_weight = class_weight
        self.costs = costs

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
        start(self, X, known)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn the rows in order.

        A label is known from the first row that has it. If the first call has ``classes``, these are all
        labels, and others are refused.

        All input is checked before the first row is learned; an error in these checks changes nothing. If
        later the score or step of a row is not finite, a :class:`~budgetron.DivergedError` is raised. The
        rows before that row stay learned, and the error's ``rows_learned`` is their number.
        """
        with learning_lock(self):
            self._learn(X, y, sample_weight, classes)
        return self

    def learn_one(self, x: Any, y: Any) -> Self:
        """Learn one row: a dict, or a sequence of numbers.

        Examples
        --------
        >>> from budgetron import OnlineClassifier
        >>> model = OnlineClassifier()
        >>> for amount, country, label in [(5, "DE", "ok"), (900, "FR", "fraud"), (7, "DE", "ok")] * 2:
        ...     model = model.learn_one({"amount": amount, "country": country}, label)
        >>> model.predict_one({"amount": 6, "country": "DE"})
        'ok'
        """
        return super().learn_one(x, y)

    def predict_one(self, x: Any) -> Any:
        """The label of one row: a dict, or a sequence of numbers; None before a label is learned."""
        if not self._knows_labels:
            return None
        fitted, scores = self._scores_one(x)
        return answers_of(self, fitted).prediction(scores)

    def predict_proba_one(self, x: Any) -> dict[Any, float]:
        """The probability of every known label for one row: a dict, or a sequence of numbers."""
        self.predict_proba  # noqa: B018  raises if the learner has no probabilities
        if not self._knows_labels:
            return {}
        fitted, scores = self._scores_one(x)
        return labels_of(fitted).probabilities(scores)

    def progressive_predict(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None
    ) -> npt.NDArray[Any]:
        """Predict each row, then learn it (the online protocol); return the predictions.

        If the first call has no ``classes``, it begins with all labels in y. Labels in later calls may be
        new. The row that brings a label is predicted without it.
        """
        predicted: npt.NDArray[Any]
        predicted, _ = progressive(self, X, y, sample_weight, OF_Y if classes is None else classes)
        return predicted

    @IfProbabilistic
    def progressive_predict_proba(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None
    ) -> Floats:
        """As :meth:`progressive_predict`, with the class probabilities of each row before it was learned.

        The columns are the labels known at the end, ``classes_``. A label that was not known yet had the
        probability 0.
        """
        pieces, labels = self._progressive(X, y, classes, sample_weight)
        shares: Floats = labels.log_probabilities(pieces)
        return np.exp(shares, out=shares)

    def progressive_decision_function(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None
    ) -> Floats:
        """As :meth:`progressive_predict`, with the scores of each row before it was learned.

        There is a column for each of ``classes_``, also if there are two; a label that was not known yet
        has -inf.
        """
        pieces, labels = self._progressive(X, y, classes, sample_weight)
        return labels.score_table(pieces)

    def _progressive(
        self, X: Any, y: Any, classes: Any, sample_weight: Any
    ) -> tuple[list[Scored], KnownLabels]:
        """Predict each row, then learn it: the scores, and the labels known at the end."""
        with learning_lock(self):
            _, pieces = progressive(self, X, y, sample_weight, OF_Y if classes is None else classes)
            return pieces, labels_of(self.fitted_)

    @property
    def _knows_labels(self) -> bool:
        """Whether a label was learned, or given."""
        fitted = self._known()
        return fitted is not None and fitted.n_labels > 0

    def decision_function(self, X: Any) -> Floats:
        """The scores: one per row for two classes, else one per row and class."""
        fitted, [piece] = scored(self, X)
        return labels_of(fitted).decisions(piece.scores)

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The labels: the second of two classes if the score is >= 0, or the class of the highest score."""
        fitted, pieces = scored(self, X)
        return np.asarray(answers_of(self, fitted).predictions(pieces))

    @IfProbabilistic
    def predict_proba(self, X: Any) -> Floats:
        """The class probabilities.

        Learners without probabilities get them by :class:`~budgetron.Stacked`; the default has them, and so
        have :class:`~budgetron.Kalman` and the :class:`~budgetron.Logistic` loss.
        """
        shares: Floats = self.predict_log_proba(X)
        return np.exp(shares, out=shares)

    @IfProbabilistic
    def predict_log_proba(self, X: Any) -> Floats:
        """The logarithms of :meth:`predict_proba`."""
        fitted, pieces = scored(self, X)
        return labels_of(fitted).log_probabilities(pieces)

    def predict_set(self, X: Any) -> list[npt.NDArray[Any]]:
        """For each row the labels that its set has, the most probable first; there may be none.

        A share of ``coverage`` of the rows has its label in its set. A set is empty if no label is likely
        enough, compared with the last rows: such a row should go to a person. See :doc:`/howto/coverage`.
        """
        self._conformal("predict_set")
        fitted, pieces = scored(self, X)
        return fitted.sets(pieces)

    # ---- labels to be learned

    def _first_labels(self, y: Any) -> KnownLabels:
        labels = np.asarray(self._column(y, None, True))
        return KnownLabels(checked_labels(labels), fixed=False)

    def _column(self, y: Any, sample_weight: Any, of_y: bool) -> Any:
        y = y if of_y else _without_unlearned(y, sample_weight)
        check.one_kind("y", y)
        return check.label_column("y", y)

    def _coded(self, y: Any, weights: Floats | None, fitted: Fitted | None, classes: Any) -> Coded:
        learned = learned_rows(weights)
        start = 0 if learned is None or not len(learned) else int(learned[0])
        if fitted is None:
            known = _known_before(y, start, classes)
        else:
            known = labels_of(fitted)
            _refuse_other_classes(known, classes)
        y = checked_labels(known.alike(y, start))
        if learned is None:
            labels, codes, new = known.extended(y)
            return Coded(codes, labels, new, len(known))
        labels, codes, new = known.extended(y[learned])
        all_codes = np.zeros(len(y), dtype=np.intp)  # rows that are not learned have none
        all_codes[learned] = codes
        return Coded(all_codes, labels, learned[new].tolist(), len(known))


def labels_of(fitted: Fitted) -> KnownLabels:
    """The labels that a classifier knows."""
    assert fitted.labels is not None
    return fitted.labels


def _known_before(y: npt.NDArray[Any], start: int, classes: Any) -> KnownLabels:
    """The labels that are known before row ``start``, the first that is learned."""
    none = KnownLabels(np.empty(0), fixed=False)
    if classes is None:
        return none
    if is_of_y(classes):
        return KnownLabels(unique(checked_labels(none.alike(y, start))), fixed=False)
    return given_classes(classes)


def _refuse_other_classes(known: KnownLabels, classes: Any) -> None:
    """Later calls may repeat the classes of the first, but not change them."""
    if classes is None or is_of_y(classes):
        return
    given = given_classes(classes).classes
    if not np.array_equal(given, known.classes):
        raise ValueError(
            f"classes differ from those of the first call: expected {known.classes.tolist()}, "
            f"got {given.tolist()}."
        )


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
