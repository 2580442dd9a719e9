"""coverage: whether sets or intervals had the answers, row by row over a stream."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from budgetron._util import check
from budgetron.estimators import OnlineRegressor
from budgetron.evaluate.progressive import Estimator
from budgetron.evaluate.protocol import blocks_of, is_whole
from budgetron.streams import Block, DataError, Stream, from_arrays

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Coverage:
    """The sets or intervals of the rows of a stream, each made before its row was learned.

    Attributes
    ----------
    asked : float
        The coverage that was asked for.
    first : int
        The number of rows before the first one here: these were only learned.
    inside : array of bool
        Whether the set or the interval of a row had its label or target.
    sizes : array
        The number of labels in the set, or the width of the interval, of each row.
    predicted, y, ends : array or None
        For targets: predictions, targets, and the two ends of each interval.

    Examples
    --------
    >>> import numpy as np
    >>> from budgetron.evaluate import Coverage
    >>> found = Coverage(0.9, 1, np.array([True, True, False, True]), np.array([1, 1, 2, 3]))
    >>> found.windows(2)
    [(3, 1.0, 1.0), (5, 0.5, 2.5)]
    """

    asked: float
    first: int
    inside: npt.NDArray[np.bool_]
    sizes: Array
    predicted: Array | None = None
    y: Array | None = None
    ends: Array | None = None

    def windows(self, rows: int = 1000) -> list[tuple[int, float, float]]:
        """For each window: the row after its last, the share covered, and the mean size."""
        stops = range(rows, len(self.inside) + 1, rows)
        return [
            (
                self.first + stop,
                float(self.inside[stop - rows : stop].mean()),
                float(self.sizes[stop - rows : stop].mean()),
            )
            for stop in stops
        ]


def coverage(
    model: Estimator,
    stream: Stream | Iterable[Block] | tuple[Any, Any],
    *,
    classes: Any = None,
    step: int = 1,
) -> Coverage:
    """Learn a stream, and look before each row is learned whether its set or interval has the answer.

    Parameters
    ----------
    model : OnlineClassifier or OnlineRegressor
        One with a ``coverage``.
    stream : Stream, iterable of blocks or of pairs (x, y), or pair (X, y)
        The rows and their labels or targets.
    classes : array, optional
        All labels of the stream, for an unfitted classifier.
    step : int
        So many rows get their sets before the first of them is learned: more is faster, and sets are of an
        earlier model. The first step is only learned.

    Examples
    --------
    >>> import numpy as np
    >>> from budgetron import OnlineRegressor, evaluate
    >>> X = np.random.default_rng(0).normal(size=(800, 2))
    >>> model = OnlineRegressor(random_state=0, coverage=0.9)
    >>> found = evaluate.coverage(model, (X, X[:, 0] + X[:, 1] ** 3))
    >>> [(rows, round(share, 2)) for rows, share, _ in found.windows(395)]
    [(396, 0.9), (791, 0.91)]
    """
    check.count("coverage", "step", step)
    if model.coverage is None:
        raise ValueError(f"coverage: give {type(model).__name__}(coverage=0.9), got one without.")
    if is_whole(stream):
        stream = from_arrays(*stream)
    targets, first, parts = isinstance(model, OnlineRegressor), 0, list[dict[str, Any]]()
    more = {} if classes is None else {"classes": classes}
    for block in blocks_of("coverage", stream):
        for start in range(0, len(block), step):
            part = block.part(start, min(start + step, len(block)))
            if model.__sklearn_is_fitted__():
                parts.append((_interval if targets else _set)(model, part))
            else:
                first = len(part)
            model.partial_fit(part.X, part.y, sample_weight=part.weights, **more)
    if not parts:
        raise DataError(f"coverage: the stream has no rows after the first {max(first, step)}.")
    columns = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    return Coverage(model.coverage, first, **columns)


def _set(model: Any, rows: Block) -> dict[str, Array]:
    sets = model.predict_set(rows.X)
    inside = [label in labels for label, labels in zip(rows.y, sets, strict=True)]
    return {"inside": np.array(inside, dtype=bool), "sizes": np.array(list(map(len, sets)))}


def _interval(model: Any, rows: Block) -> dict[str, Array]:
    ends, y = model.predict_interval(rows.X), np.asarray(rows.y, dtype=float)
    inside = (ends[:, 0] <= y) & (y <= ends[:, 1])
    return {
        "inside": inside,
        "sizes": ends[:, 1] - ends[:, 0],
        "predicted": model.predict(rows.X),
        "y": y,
        "ends": ends,
    }
