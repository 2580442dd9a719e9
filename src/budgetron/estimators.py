"""The scikit-learn face: OnlineClassifier and OnlineRegressor."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import check_array, check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets, unique_labels
from sklearn.utils.validation import check_is_fitted, validate_data

from budgetron import _check, _core
from budgetron._rows import Matrix, canonical, whole
from budgetron._tasks import Labels, Targets, Task
from budgetron.algorithms import bpa_p
from budgetron.budgets import SwapProject
from budgetron.kernels import Gaussian
from budgetron.learners import Floats, Kernelized, Learner, Model
from budgetron.rules import OGD


class _Online(BaseEstimator):  # type: ignore[misc]
    """What both estimators share: the model, its rows and its attributes."""

    learner: Learner | None
    epochs: int
    shuffle: bool
    random_state: Any

    def __init__(
        self,
        learner: Learner | None = None,
        *,
        epochs: int = 1,
        shuffle: bool = False,
        random_state: Any = None,
    ) -> None:
        self.learner = learner
        self.epochs = epochs
        self.shuffle = shuffle
        self.random_state = random_state

    @property
    def n_support_(self) -> int:
        """The number of support vectors."""
        return self._fitted_model().size

    @property
    def support_vectors_(self) -> Matrix:
        """The support vectors, oldest first."""
        return self._fitted_model().support_vectors()

    @property
    def dual_coef_(self) -> Floats:
        """The coefficients: one row (binary, regression) or one per class, oldest vector first."""
        return self._fitted_model().dual_coef()

    @property
    def memory_bytes_(self) -> int:
        """The native memory that the model holds, in bytes."""
        return self._fitted_model().memory_bytes

    def _default_learner(self) -> Learner:
        raise NotImplementedError

    def _fitted_model(self) -> Model:
        check_is_fitted(self, "_model")
        model: Model = self._model
        return model

    def _started(self) -> bool:
        return hasattr(self, "_model")

    def _seed(self) -> int:
        random = check_random_state(self.random_state)
        if isinstance(self.random_state, Integral):
            return int(self.random_state)
        return int(random.randint(2**31 - 1))

    @contextmanager
    def _or_as_before(self) -> Iterator[None]:
        """Whatever fails inside leaves the attributes as they were."""
        before = dict(vars(self))
        try:
            yield
        except BaseException:
            for name in set(vars(self)) - set(before):
                delattr(self, name)
            self.__dict__.update(before)
            raise

    def _rows(self, X: Any, *, reset: bool, **more: Any) -> Any:
        """X (and y) checked, in the core's layout; rows too large to square are refused."""
        checked = validate_data(
            self, X, reset=reset, accept_sparse="csr", dtype=(np.float64, np.float32), **more
        )
        X, y = checked if "y" in more else (checked, None)
        X = canonical(X)
        single = X.dtype == np.float32 or (not reset and self._model.dtype == np.float32)
        precision = _core.Precision.Single if single else _core.Precision.Double
        row = _core.first_too_large(whole(X), precision)
        if row < X.shape[0]:
            raise ValueError(f"Row {row} of X is too large: its squared norm overflows.")
        return (X, y) if "y" in more else X

    def _weights(self, X: Matrix, sample_weight: Any) -> Floats | None:
        if sample_weight is None:
            return None
        if isinstance(sample_weight, Real):
            sample_weight = np.full(X.shape[0], sample_weight)
        weights: Floats = check_array(
            sample_weight, ensure_2d=False, dtype=np.float64, order="C", input_name="sample_weight"
        )
        if weights.shape != (X.shape[0],):
            raise ValueError(f"sample_weight has shape {weights.shape}, expected ({X.shape[0]},).")
        if (weights < 0).any():
            raise ValueError(f"Negative values in sample_weight: {weights.min()}.")
        return weights

    def _new_model(self, X: Matrix, task: Task, weights: Floats | None) -> Model:
        learner = self._default_learner() if self.learner is None else self.learner
        seen = X if weights is None or not weights.any() else X[weights > 0]
        learner = _check.instance(self, "learner", learner, Learner).fitted(seen)
        return Model(learner, task, X.shape[1], X.dtype, self._seed())

    def _adopt(self, model: Model) -> None:
        self._model = model
        self.learner_ = model.learner
        self.__dict__.pop("gamma_", None)
        gamma = getattr(getattr(model.learner, "kernel", None), "gamma", None)
        if gamma is not None:
            self.gamma_ = gamma

    def _passes(self, model: Model, X: Matrix, y: Floats, weights: Floats | None) -> None:
        """``epochs`` passes over the rows, each in a new order if ``shuffle``."""
        if weights is not None and not np.any(weights):
            raise ValueError("Sample weights are all zero: there is nothing to fit.")
        random = check_random_state(self.random_state)
        for _ in range(_check.count(self, "epochs", self.epochs)):
            if self.shuffle:
                order = random.permutation(X.shape[0])
                model.learn(X[order], y[order], None if weights is None else weights[order])
            else:
                model.learn(X, y, weights)

    def _finite_scores(self, X: Any) -> Floats:
        model = self._fitted_model()
        scores = model.scores(self._rows(X, reset=False))
        if not np.isfinite(scores).all():
            row = int(np.argmin(np.isfinite(scores).all(axis=1)))
            raise ValueError(f"Row {row} of X gives a score that is not finite: scale the features.")
        return scores

    def __sizeof__(self) -> int:
        own: int = object.__sizeof__(self)
        return own + (self._model.memory_bytes if self._started() else 0)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class OnlineClassifier(ClassifierMixin, _Online):  # type: ignore[misc]
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

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Start afresh and learn the rows, ``epochs`` times."""
        with self._or_as_before():
            X, y = self._rows(X, y=y, reset=True)
            check_classification_targets(y)
            classes = unique_labels(y)
            weights = self._weights(X, sample_weight)
            model = self._new_model(X, self._labels(classes), weights)
            self._passes(model, X, self._codes(y, classes), weights)
            self.classes_ = classes
            self._adopt(model)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn the rows in order. ``classes``, all labels there will be, on the first call."""
        if classes is None and not self._started():
            raise ValueError("classes must be passed on the first call to partial_fit.")
        self._learn(X, y, classes, sample_weight)
        return self

    def progressive_predict(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None
    ) -> npt.NDArray[Any]:
        """Predict each row, then learn it: the online protocol, in one native pass.

        Without ``classes``, the first call takes the set of labels from y.
        """
        return self._predictions(self._learn(X, y, classes, sample_weight))

    def decision_function(self, X: Any) -> Floats:
        """f(x): one number per row for two classes, one per class for more."""
        scores = self._finite_scores(X)
        return scores.ravel() if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The labels: of two classes the second where f(x) >= 0; of more the one of the best score."""
        return self._predictions(self._finite_scores(X))

    @available_if(lambda self: self._probabilistic())  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Floats:
        """Probabilities of the classes, where the loss is :class:`~budgetron.Logistic`."""
        return np.asarray(np.exp(self.predict_log_proba(X)))

    @available_if(lambda self: self._probabilistic())  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> Floats:
        """Logarithms of :meth:`predict_proba`."""
        scores = self._finite_scores(X)
        if len(self.classes_) == 2:
            scores = np.hstack([-scores, scores]) / 2
        return np.asarray(scores - logsumexp(scores, axis=1, keepdims=True))

    def _default_learner(self) -> Learner:
        return bpa_p(Gaussian(), budget=200)

    def _probabilistic(self) -> bool:
        learner = getattr(self, "learner_", self.learner)
        if not (isinstance(learner, Learner) and learner.probabilistic):
            raise AttributeError("predict_proba needs a learner with the Logistic loss.")
        return True

    def _learn(self, X: Any, y: Any, classes: Any, sample_weight: Any) -> Floats:
        first = not self._started()
        with self._or_as_before():
            X, y = self._rows(X, y=y, reset=first)
            check_classification_targets(y)
            known = self._known(y, classes, first)
            weights, codes = self._weights(X, sample_weight), self._codes(y, known)
            if first:
                self._adopt(self._new_model(X, self._labels(known), weights))
                self.classes_ = known
        return self._model.learn(X, codes, weights)

    def _known(self, y: npt.NDArray[Any], classes: Any, first: bool) -> npt.NDArray[Any]:
        """The labels there are: those of the first call, which a later one may repeat."""
        if classes is not None and np.size(classes) == 0:
            raise ValueError("classes is empty; it must name all labels there will be.")
        given = None if classes is None else unique_labels(classes)
        if first:
            return unique_labels(y) if given is None else given  # type: ignore[no-any-return]
        known: npt.NDArray[Any] = self.classes_
        if given is not None and not np.array_equal(given, known):
            raise ValueError(
                f"classes={given.tolist()} differ from those of the first call, {known.tolist()}."
            )
        return known

    def _labels(self, classes: npt.NDArray[Any]) -> Labels:
        if len(classes) < 2:
            raise ValueError(
                f"{type(self).__name__} needs at least two classes, got one class: {classes.tolist()[0]!r}."
            )
        return Labels(len(classes))

    def _codes(self, y: npt.NDArray[Any], classes: npt.NDArray[Any]) -> Floats:
        """Labels as the core reads them: -1 and +1 for two classes, indices for more."""
        known = np.isin(y, classes)
        if not known.all():
            label = y[np.argmin(known)].tolist()
            raise ValueError(f"y contains {label!r}, which is not among the classes {classes.tolist()}.")
        codes = np.searchsorted(classes, y).astype(np.float64)
        return 2 * codes - 1 if len(classes) == 2 else codes

    def _predictions(self, scores: Floats) -> npt.NDArray[Any]:
        if len(self.classes_) == 2:
            best = (scores[:, 0] >= 0).astype(np.intp)
        else:
            best = scores.argmax(axis=1)
        predictions: npt.NDArray[Any] = self.classes_[best]
        return predictions


class OnlineRegressor(RegressorMixin, _Online):  # type: ignore[misc]
    """A regressor that learns from a stream, one example at a time, by any learner.

    Parameters
    ----------
    learner : Learner, optional
        What learns, for example ``nogd(Gaussian(), budget=100, rank=20, eta=0.1)``. The default suits
        standardised features: ``Kernelized(Gaussian(), OGD(eta=0.2), SwapProject(200))``.
    epochs, shuffle, random_state
        As for :class:`OnlineClassifier`.

    Attributes
    ----------
    learner_, gamma_, n_support_, support_vectors_, dual_coef_, memory_bytes_
        As for :class:`OnlineClassifier`.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.preprocessing import minmax_scale
    >>> from budgetron import Gaussian, OnlineRegressor, Squared, nogd
    >>> X, y = load_diabetes(return_X_y=True)
    >>> X, y = minmax_scale(X), minmax_scale(y)
    >>> reg = OnlineRegressor(nogd(Gaussian.of_width(8), budget=30, rank=6, eta=0.1, loss=Squared()))
    >>> round(float(((reg.progressive_predict(X, y) - y) ** 2).mean()), 3)
    0.06
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Start afresh and learn the rows, ``epochs`` times."""
        with self._or_as_before():
            X, y = self._rows(X, y=y, y_numeric=True, reset=True)
            weights = self._weights(X, sample_weight)
            model = self._new_model(X, Targets(), weights)
            self._passes(model, X, self._targets(y), weights)
            self._adopt(model)
        return self

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn the rows in order."""
        self._learn(X, y, sample_weight)
        return self

    def progressive_predict(self, X: Any, y: Any, sample_weight: Any = None) -> Floats:
        """Predict each row, then learn it: the online protocol, in one native pass."""
        return self._learn(X, y, sample_weight).ravel()

    def predict(self, X: Any) -> Floats:
        """f(x) for every row."""
        return self._finite_scores(X).ravel()

    def _default_learner(self) -> Learner:
        return Kernelized(Gaussian(), OGD(eta=0.2), SwapProject(200))

    def _learn(self, X: Any, y: Any, sample_weight: Any) -> Floats:
        first = not self._started()
        with self._or_as_before():
            X, y = self._rows(X, y=y, y_numeric=True, reset=first)
            weights = self._weights(X, sample_weight)
            if first:
                self._adopt(self._new_model(X, Targets(), weights))
        return self._model.learn(X, self._targets(y), weights)

    @staticmethod
    def _targets(y: npt.NDArray[Any]) -> Floats:
        return np.ascontiguousarray(y, dtype=np.float64)
