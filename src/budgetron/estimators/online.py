"""The base class of both estimators: parameters, learning a batch or a row, and what rooms above call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from numbers import Integral
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from budgetron._util import check
from budgetron._util.errors import note_rows
from budgetron._util.rows import Matrix
from budgetron._util.threads import learning_lock
from budgetron.estimators.attributes import FittedAttributes, fitted_of
from budgetron.estimators.explaining import Explaining
from budgetron.estimators.input import (
    Input,
    are_learnable,
    is_single,
    known_rows,
    learner_of,
    one_row,
    plain_numbers,
)
from budgetron.learners.dated import with_all_columns
from budgetron.learners.learner import Floats, Learner
from budgetron.model import class_weights
from budgetron.model.batch import Batch, Growth, growths
from budgetron.model.conformal import checked_coverage
from budgetron.model.decisions import CostedLabels, checked_costs
from budgetron.model.fitted import Fitted, Outcome
from budgetron.model.labels import KnownLabels, Scored, core_codes
from budgetron.model.model import DEVICES, Model
from budgetron.parts.tasks import Labels, Targets, Task
from budgetron.records.encoder import Encoder
from budgetron.records.encoding import Encoding


class Online(FittedAttributes, Explaining, BaseEstimator):  # type: ignore[misc]
    """Base of the estimators.

    Threads: ``start``, ``fit``, ``partial_fit``, ``learn_one`` and ``progressive_predict`` take turns. All
    other methods may run at the same time as one of these. Each call sees the model, the labels and the
    column names of one moment, never a mixture of two.

    How: all that was learned is one value, ``fitted_``, replaced in one assignment and read once in a call.
    """

    learner: Learner | None
    epochs: int
    shuffle: bool
    random_state: Any
    encoder: Encoder | None
    n_jobs: int | None
    coverage: float | None
    device: str
    dtype: str | None
    class_weight: Any = None  # a classifier may have some

    def __init__(
        self,
        learner: Learner | None = None,
        *,
        epochs: int = 1,
        shuffle: bool = False,
        random_state: Any = None,
        encoder: Encoder | None = None,
        coverage: float | None = None,
        n_jobs: int | None = None,
        device: str = "cpu",
        dtype: str | None = None,
    ) -> None:
        self.learner = learner
        self.epochs = epochs
        self.shuffle = shuffle
        self.random_state = random_state
        self.encoder = encoder
        self.coverage = coverage
        self.n_jobs = n_jobs
        self.device = device
        self.dtype = dtype

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name; with ``deep`` also those of the learner (None: of the default)."""
        params: dict[str, Any] = super().get_params(deep)
        if deep and self.learner is None:
            default = learner_of(self).get_params()
            params |= {f"learner__{name}": value for name, value in default.items()}
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name. To set one of the default's makes the default the learner."""
        inner = any(name.startswith("learner__") for name in params)
        if inner and params.get("learner", self.learner) is None:
            params = params | {"learner": learner_of(self)}
        super().set_params(**params)
        return self

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Discard the model and learn the rows ``epochs`` times. A failed call changes nothing."""
        with learning_lock(self):
            try:
                self.fitted_ = self._fit(X, y, sample_weight)
            except BaseException as error:
                note_rows(error, 0)
                raise
        return self

    # ---- what has been learned

    def _answers(self, fitted: Fitted) -> Any:
        """What turns scores into predictions."""
        return answers_of(self, fitted)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = Input(self, None).missing
        return tags

    # ---- a model that has learned nothing

    def _built(
        self,
        rows: Input,
        X: Matrix,
        labels: KnownLabels | None,
        weights: Floats | None,
        encoding: Encoding | None,
        expected: int = 0,
    ) -> Fitted:
        """A model for the columns of X; its learner may know that more are to be expected."""
        learner = check.instance(self, "learner", learner_of(self), Learner)
        device = check.one_of(self, "device", self.device, DEVICES)
        X = X.astype(rows.dtype_for(X), copy=False)
        counted = X if weights is None or not weights.any() else X[weights > 0]
        dates = [] if encoding is None or encoding.fixed or device != "cpu" else encoding.dates
        first = min([X.shape[1], *dates])  # a learner that does not see dates is widened by them
        wide = np.arange(max(first, expected)) % first  # as many columns, alike
        resolved = learner.resolved(counted[:, :first] if expected <= first else counted[:, wide])
        if with_all_columns(resolved) is resolved:
            first, resolved = X.shape[1], learner.resolved(counted)
        model = Model(resolved, self._task(labels), first, X.dtype, seed_of(self), device)
        model.widen(X.shape[1], aside=dates)
        return Fitted(model, labels, encoding, rows.names)

    def _task(self, labels: KnownLabels | None) -> Task:
        if labels is None:
            return Targets()
        if labels.fixed:
            self._refuse_one_class(labels)
        return Labels(max(2, len(labels)))

    def _refuse_one_class(self, labels: KnownLabels) -> None:
        if len(labels) < 2:
            [label] = labels.classes.tolist()
            raise ValueError(f"{type(self).__name__} needs at least two classes, got one class: {label!r}.")

    # ---- what differs between labels and targets

    _numeric = False  # whether scikit-learn's checks expect numbers in y

    def _column(self, y: Any, sample_weight: Any, of_y: bool) -> Any:  # noqa: ARG002
        """Labels or targets as scikit-learn's checks may see them."""
        return y

    def _coded(self, y: Any, weights: Floats | None, fitted: Fitted | None, classes: Any) -> Coded:
        """Checked labels or targets as the core learns them."""
        raise NotImplementedError

    def _first_labels(self, y: Any) -> KnownLabels | None:  # noqa: ARG002
        """The label of the first row, which is predicted until another is learned; None for targets."""
        return None

    # ---- learning

    def _batch(
        self, fitted: Fitted | None, X: Any, y: Any, sample_weight: Any, classes: Any, whole: bool = False
    ) -> tuple[Input, Batch]:
        """Check rows to be learned. The growth of a first batch begins with its first row."""
        rows, first = Input(self, fitted, whole), fitted is None
        y = self._column(y, sample_weight, first and is_of_y(classes))
        X, y, weights, encoded = rows.labelled(X, y, sample_weight, y_numeric=self._numeric)
        coded = self._coded(y, weights, fitted, classes)
        width = X.shape[1] if fitted is None else fitted.model.n_features
        columns, new, now = [] if encoded is None else list(encoded.growth), coded.new, Growth(0, width)
        now = replace(now, n_labels=coded.known)
        if first and new[:1] == [0]:
            now, new = replace(now, n_labels=1), new[1:]
        if first and encoded is not None:
            width, columns = encoded.at_first()
            now = replace(now, n_features=width)
        growth = growths(now, columns, new)
        growth = (now, *growth) if first else growth
        dates = () if encoded is None else encoded.encoding.dates
        return rows, Batch(X, coded.y, weights, growth, coded.labels, encoded, self._threads, dates)

    def _learn(self, X: Any, y: Any, sample_weight: Any = None, classes: Any = None) -> list[Scored]:
        """Learn the rows in order and return the scores of each before its update.

        The caller holds the `learning_lock`. If a row is refused, the rows before it stay learned. If a
        first call refuses its first row, the estimator stays unfitted.
        """
        fitted: Fitted | None = self.__dict__.get("fitted_")
        if fitted is not None and sample_weight is None and (classes is None or is_known(classes, fitted)):
            pieces = self._learn_known(fitted, X, y)
            if pieces is not None:
                return pieces
        rows, batch = self._checked(fitted, X, y, sample_weight, classes)
        if fitted is not None:
            return self._learn_batch(fitted, batch)
        built, batch = self._first(rows, batch)
        outcome = built.learn(batch, self.class_weight, private=True)
        if outcome.rows:
            self.fitted_ = outcome.fitted
        return outcome.checked()

    def _checked(
        self, fitted: Fitted | None, X: Any, y: Any, sample_weight: Any, classes: Any
    ) -> tuple[Input, Batch]:
        """As `_batch`; records that cannot be learned are refused as well."""
        rows, batch = self._batch(fitted, X, y, sample_weight, classes)
        if batch.encoded is not None:  # a column that comes later is not missing before
            for row, known in batch.encoded.known_stretches():
                rows.refuse(known, batch.encoded.encoding, row)
        return rows, batch

    def _first(self, rows: Input, batch: Batch) -> tuple[Fitted, Batch]:
        """A model for the first row of a batch, and the batch for that model."""
        start, *later = batch.growth
        labels = None if batch.labels is None else batch.labels.first(start.n_labels)
        X = batch.rows(slice(0, batch.X.shape[0]), start.n_features)
        expected = 0 if batch.encoded is None else batch.encoded.expected(start.n_features)
        built = self._equipped(self._built(rows, X, labels, batch.weights, None, expected))
        return built, replace(batch, growth=later)

    def _learn_known(self, fitted: Fitted, X: Any, y: Any) -> list[Scored] | None:
        """Learn rows that would pass every check unchanged. For others: None, with nothing changed."""
        rows = known_rows(fitted, X)
        y = plain_numbers(y) if type(y) is list else y
        if rows is None or type(y) is not np.ndarray or y.shape != (rows.shape[0],):
            return None
        if is_single(fitted, rows) and self._learns_plainly(fitted):
            number, scores = fitted.answers.number_of(y), np.empty((1, fitted.outputs))
            if number is not None and fitted.model.learn_row(rows, number, scores):
                return [Scored(scores, fitted.n_labels)]
        codes = fitted.answers.quick_codes(y) if are_learnable(fitted, rows) else None
        if codes is None:
            return None
        return self._learn_batch(fitted, Batch(rows, codes, threads=self._threads))

    def _learn_batch(self, fitted: Fitted, batch: Batch) -> list[Scored]:
        """Learn a batch; what is new in it becomes known at its end."""
        self.fitted_ = fitted = self._equipped(fitted)
        outcome = fitted.learn(batch, self.class_weight)
        self.fitted_ = outcome.fitted
        return outcome.checked()

    def _learns_plainly(self, fitted: Fitted) -> bool:
        """Whether `_equipped` changes nothing, so that a row can be learned at once."""
        return self.coverage is None and self.class_weight is None and self.device == fitted.model.device

    @property
    def _threads(self) -> int:
        """How many threads a call with many rows may use."""
        beside_a_card = self.n_jobs is None and self.device != "cpu"
        return check.threads(self, -1 if beside_a_card else self.n_jobs)

    def _equipped(self, fitted: Fitted) -> Fitted:
        """With class counts, if class weights need them, and with misfits, if something is to cover."""
        if fitted.model.device != self.device:
            device = check.one_of(self, "device", self.device, DEVICES)
            fitted = replace(fitted, model=fitted.model.on(device))
        fitted = fitted if self.class_weight is None else fitted.counting()
        if self.coverage is None:
            return fitted
        if fitted.labels is not None:
            refuse_without_probabilities(fitted, "coverage needs")
        return fitted.covering(checked_coverage(self.coverage))

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> Fitted:
        """A model that knows all columns and labels of the rows, and has learned them ``epochs`` times."""
        rows, batch = self._batch(None, X, y, sample_weight, OF_Y, whole=True)
        weights, labels = batch.weights, batch.labels
        if weights is not None and not weights.any():
            raise ValueError("All sample weights are zero: at least one must be above 0.")
        if batch.encoded is not None:
            rows.refuse(batch.encoded.X, batch.encoded.encoding)
        fitted = self._built(rows, batch.X, labels, weights, batch.encoding)
        if self.coverage is not None:
            return self._fit_covering(fitted, batch)
        if labels is None:
            self._run_epochs(fitted.model, batch.X, batch.y, weights)
            return fitted
        self._refuse_one_class(labels)
        if self.class_weight is not None:
            weights = class_weights.of_all(self.class_weight, labels, batch.y, weights)
        self._run_epochs(fitted.model, batch.X, core_codes(batch.y, len(labels)), weights)
        if self.class_weight is None:
            return fitted
        counts = class_weights.counted(batch.y, batch.weights, np.zeros(len(labels)))
        return replace(fitted, counts=class_weights.ClassCounts(counts, fitted.model.rows_done))

    def _fit_covering(self, fitted: Fitted, batch: Batch) -> Fitted:
        """One pass, of which the misfits count."""
        if self.epochs != 1 or self.shuffle:
            raise ValueError(f"{type(self).__name__}: coverage needs one pass: epochs=1 and shuffle=False.")
        fitted = self._equipped(fitted)
        outcome = fitted.learn(replace(batch, growth=(), encoded=None), self.class_weight, private=True)
        outcome.checked()
        return outcome.fitted

    def _run_epochs(self, model: Model, X: Matrix, y: Floats, weights: Floats | None) -> None:
        """Learn the rows ``epochs`` times, each time in a new random order if ``shuffle``."""
        random = check_random_state(self.random_state)
        for _ in range(check.count(self, "epochs", self.epochs)):
            if self.shuffle:
                order = random.permutation(X.shape[0])
                w = None if weights is None else weights[order]
                model.learn(X[order], y[order], w, self._threads)
            else:
                model.learn(X, y, weights, self._threads)

    # ---- one row

    def learn_one(self, x: Any, y: Any) -> Self:
        """Learn one row: a dict, or a sequence of numbers."""
        with learning_lock(self):
            fitted = self.__dict__.get("fitted_")  # as `_known`, without a call
            if fitted is None or not self._learns_plainly(fitted) or not fitted.learn_one(x, y):
                self._learn([one_row(fitted, x)], [y])
        return self

    def _scores_one(self, x: Any) -> tuple[Fitted, list[float]]:
        """What has been learned, and the scores of one row."""
        fitted = fitted_of(self)
        scores = fitted.scores_one(x)
        if scores is None:
            rows = Input(self, fitted).rows([one_row(fitted, x)])
            scores = list(fitted.scores(rows)[0].scores[0].tolist())
        return fitted, scores


class Coded(NamedTuple):
    """Targets or codes, the labels after these rows, the row of each new label, and how many were known."""

    y: Any
    labels: KnownLabels | None = None
    new: Sequence[int] = ()
    known: int = 0


OF_Y = "of y"
"""Stands for the classes that y has."""


def is_of_y(classes: Any) -> bool:
    """Whether the classes are those that y has."""
    return isinstance(classes, str) and classes == OF_Y


def is_known(classes: Any, fitted: Fitted) -> bool:
    """Whether a later call repeats the known classes; False if this is not certain."""
    if type(classes) is np.ndarray:
        classes = classes.tolist()
    known = [] if fitted.labels is None else fitted.labels.classes.tolist()
    return (
        type(classes) is list
        and len(classes) == len(known)
        and all(type(a) is type(b) and a == b for a, b in zip(classes, known, strict=True))
    )


# ---- for the rooms above

Estimator = TypeVar("Estimator", bound=Online)


def scored(estimator: Online, X: Any) -> tuple[Fitted, list[Scored]]:
    """What an estimator has learned, and the scores of rows."""
    fitted = fitted_of(estimator)
    rows = known_rows(fitted, X)
    if rows is not None and is_single(fitted, rows):
        scores = np.empty((1, fitted.outputs))
        if fitted.model.score_row(rows, scores):
            return fitted, [Scored(scores, fitted.n_labels)]
    return fitted, fitted.scores(checked_rows(estimator, fitted, X, rows), estimator._threads)


def answers_of(estimator: Online, fitted: Fitted) -> Any:
    """What turns scores into predictions: labels, with the costs of mistakes if the estimator has some."""
    costs = estimator.__dict__.get("costs")
    if costs is None or fitted.labels is None:
        return fitted.answers
    refuse_without_probabilities(fitted, "costs need")
    return CostedLabels(fitted.labels, checked_costs(costs))


def refuse_without_probabilities(fitted: Fitted, what: str) -> None:
    """Refuse what needs probabilities, if the learner has none."""
    if not fitted.model.learner.probabilistic:
        raise ValueError(
            f"{what} a learner with probabilities, such as Auto(); Stacked(learner) gives any learner some."
        )


def checked_rows(estimator: Online, fitted: Fitted, X: Any, known: Any) -> Matrix:
    """The rows of X in the core's layout; ``known`` is what `known_rows` returns for X."""
    if known is not None and are_learnable(fitted, known):
        return known
    return Input(estimator, fitted).rows(X)


def progressive(
    estimator: Online, X: Any, y: Any, sample_weight: Any = None, classes: Any = None
) -> tuple[Any, list[Scored]]:
    """Predict each row, then learn it; the predictions, and the scores that they were made from.

    ``OF_Y`` are the classes of a first call, and none of a later one.
    """
    with learning_lock(estimator):
        classes = None if classes is OF_Y and "fitted_" in estimator.__dict__ else classes
        pieces = estimator._learn(X, y, sample_weight, classes)
        return answers_of(estimator, estimator.fitted_).predictions(pieces), pieces


def begun(estimator: Online, X: Any, y: Any, sample_weight: Any = None) -> tuple[Fitted, Batch] | None:
    """A model that nobody else has, and rows that it can learn beside other models on a card.

    None if it must learn alone: on a processor, rows that bring columns or labels, weights of classes, sets
    and intervals that cover, and parts in Python.
    """
    if estimator.device == "cpu" or estimator.coverage is not None or estimator.class_weight is not None:
        return None
    fitted = estimator.__dict__.get("fitted_")
    rows, batch = estimator._checked(fitted, X, y, sample_weight, OF_Y if fitted is None else None)
    if fitted is None:
        fitted, batch = estimator._first(rows, batch)
    elif batch.growth or fitted.counts is not None or fitted.conformal is not None:
        return None
    else:
        fitted = estimator._equipped(fitted.copy())
    return None if batch.growth or fitted.model.learner.in_python else (fitted, batch)


def concluded(estimators: Sequence[Online], outcomes: Sequence[Outcome]) -> list[Any]:
    """The predictions of what `begun` has begun. An estimator has its model if that has learned a row."""
    pairs = list(zip(estimators, outcomes, strict=True))
    for estimator, outcome in pairs:
        if outcome.rows:
            estimator.fitted_ = outcome.fitted
    return [answers_of(each, outcome.fitted).predictions(outcome.checked()) for each, outcome in pairs]


def begin(estimator: Online, X: Any, y: Any) -> None:
    """Prepare a model for the columns of the first row and its label, without learning it."""
    fitted = estimator.__dict__.get("fitted_")
    if fitted is not None and (fitted.labels is None or len(fitted.labels)):
        return
    labels = estimator._first_labels(y)
    if fitted is None:
        start(estimator, X, labels)
    else:
        estimator.fitted_ = replace(fitted, labels=labels)


def start(
    estimator: Online, X: Any, labels: KnownLabels | None = None, encoding: Encoding | None = None
) -> None:
    """Replace the model by one that has learned nothing; X sets its columns and its ``gamma``.

    With an encoding, X has rows that it made.
    """
    with learning_lock(estimator):
        rows = Input(estimator, None)
        if encoding is None and rows.takes_records(X):
            encoded = rows.encoded(rows.table(X))
            X, encoding = encoded.X, encoded.encoding
        elif encoding is None:
            X = rows.rows(X)
        estimator.fitted_ = estimator._built(rows, X, labels, None, encoding)


def unfitted(estimator: Estimator) -> Estimator:
    """An estimator with the same parameters that has learned nothing."""
    return type(estimator)(**estimator.get_params(deep=False))


def seed_of(estimator: Online) -> int:
    """The seed that its random state gives to a model."""
    random = check_random_state(estimator.random_state)
    if isinstance(estimator.random_state, Integral):
        return int(estimator.random_state)
    return int(random.randint(2**31 - 1))
