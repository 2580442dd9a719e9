"""OneByOne: a model that learns one row per call with little overhead."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from budgetron._util import check
from budgetron.learners.learner import Floats, Learner
from budgetron.model.model import Model
from budgetron.parts.tasks import Labels, Targets


class OneByOne(Model):
    """A model that learns one row per call, for loops in which every microsecond counts.

    The overhead of a call is two microseconds; that of an estimator's ``partial_fit`` is ten times that.
    The model is the same, bit for bit, as that of an estimator with the same learner, rows and seed. It can
    be pickled and shared by threads.

    Parameters
    ----------
    learner : Learner
        The algorithm. Parameters such as ``gamma="scale"``, which are computed from rows, must be numbers
        here: ``learner.resolved(X)`` computes them.
    n_features : int
        The number of columns.
    n_classes : int or None
        2: the labels are -1 and +1. k > 2: the labels are 0 .. k-1. None: regression.
    dtype : float64 or float32
        The dtype of the rows.
    seed : int
        The seed of the budget's random choices.

    Examples
    --------
    >>> import numpy as np
    >>> from budgetron import Gaussian, OneByOne, forgetron
    >>> model = OneByOne(forgetron(Gaussian(0.5), budget=10), n_features=2)
    >>> model.learn_one(np.array([0.0, 1.0]), -1)
    0.0
    >>> model.learn_one(np.array([1.0, 0.0]), +1) < 0
    True
    >>> model.size
    2
    >>> digits = OneByOne(forgetron(Gaussian(0.5), budget=10), n_features=2, n_classes=10)
    >>> digits.learn_one(np.array([0.0, 1.0]), 7).shape
    (10,)
    """

    def __init__(
        self,
        learner: Learner,
        n_features: int,
        n_classes: int | None = 2,
        *,
        dtype: npt.DTypeLike = np.float64,
        seed: int = 0,
    ) -> None:
        if np.dtype(dtype) not in (np.float64, np.float32):
            raise ValueError(f"OneByOne: dtype must be float64 or float32, got {dtype!r}.")
        n_features = check.count(self, "n_features", n_features)
        no_rows = np.empty((0, n_features))
        super().__init__(
            check.instance(self, "learner", learner, Learner).resolved(no_rows),
            Targets() if n_classes is None else self._labels(n_classes),
            n_features,
            dtype,
            check.natural(self, "seed", seed),
        )

    def learn_one(self, x: npt.NDArray[Any], y: float, weight: float = 1.0) -> float | Floats:
        """Learn x and return its score from before the update.

        The score is a number for two classes or regression, else an array with one number per class. x is a
        contiguous array of ``n_features`` numbers of the model's dtype. If its score is not finite, a
        ValueError is raised and the model is unchanged. The weight multiplies the loss; a row of weight 0
        is scored and not learned.
        """
        scores = np.empty(self.engine.outputs)
        if weight != 1.0:
            weight = check.non_negative(self, "weight", weight)
        if not self.engine.learn_one(self._row(x), self.task.code(y), scores, weight):
            self._refuse(x, "scale the features, or take a smaller step (eta, C or 1/lam)")
        return scores if len(scores) > 1 else scores.item()

    def score_one(self, x: npt.NDArray[Any]) -> float | Floats:
        """The score of x, without learning it. An ``Averaged`` learner scores with its average."""
        scores = np.empty(self.engine.outputs)
        if not self.engine.score_one(self._row(x), scores):
            self._refuse(x, "scale the features")
        return scores if len(scores) > 1 else scores.item()

    def _labels(self, n_classes: int) -> Labels:
        if check.count(self, "n_classes", n_classes) == 1:
            raise ValueError("OneByOne: n_classes must be at least 2, got 1.")
        return Labels(n_classes)

    def _row(self, x: Any) -> npt.NDArray[Any]:
        """Check the type, shape and layout of a row."""
        if (
            isinstance(x, np.ndarray)
            and x.dtype == self.dtype
            and x.shape == (self.n_features,)
            and x.flags.c_contiguous
        ):
            return x if x.flags.aligned else x.copy()
        got = f"{x.dtype} of shape {x.shape}" if isinstance(x, np.ndarray) else type(x).__name__
        if got == f"{self.dtype} of shape ({self.n_features},)":
            got += " that is not contiguous"
        raise ValueError(
            f"x must be a contiguous array of {self.dtype} and shape ({self.n_features},), got {got}: "
            f"numpy.ascontiguousarray(x, dtype=numpy.{self.dtype}) makes one."
        )

    @staticmethod
    def _refuse(x: npt.NDArray[Any], advice: str) -> NoReturn:
        if not np.isfinite(x).all():
            raise ValueError(f"x[{int(np.argmin(np.isfinite(x)))}] is not finite.")
        with np.errstate(over="ignore"):
            norm = 8 * np.dot(x, x)
        if not np.isfinite(norm):
            raise ValueError("x is too large: its squared norm overflows.")
        raise ValueError(f"x gives a score that is not finite, and the model is unchanged: {advice}.")
