"""prequential: the online protocol over a stream."""

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any

from budgetron._util.text import shown
from budgetron.estimators import OnlineClassifier
from budgetron.evaluate.progressive import Estimator
from budgetron.evaluate.record import Record
from budgetron.evaluate.session import Session
from budgetron.streams import Block, DataError, Stream, from_arrays, from_pairs


def prequential(
    estimator: Estimator,
    stream: Stream | Iterable[Block] | tuple[Any, Any],
    *,
    every: int = 1000,
    classes: Any = None,
    delay: int = 0,
    predictions: Callable[..., object] | None = None,
    metrics: Iterable[str] | None = None,
    window: int = 1000,
) -> Iterator[Record]:
    """Predict each row of a stream, then learn it. Yields a `Record` every ``every`` rows and at the end.

    It runs a `Session` over the whole stream: see there for ``gamma="scale"`` and for errors.

    Parameters
    ----------
    estimator, delay, predictions, metrics, window
        See `Session`. If the estimator is already fitted, it continues.
    stream : Stream, iterable of blocks or of pairs (x, y), or pair (X, y)
        The rows and their labels or targets. x may be a dict.
    every : int
        The number of rows between two records.
    classes : array, optional
        All labels of the stream; others are refused. By default those of a pair (X, y), else labels are
        known from the first row that has them.

    Examples
    --------
    >>> from budgetron import OnlineRegressor, evaluate
    >>> X, y = [[0.0], [1.0]] * 50, [0.0, 1.0] * 50
    >>> [now, later] = [list(evaluate.prequential(OnlineRegressor(), (X, y), delay=k))[-1] for k in (0, 9)]
    >>> now.rows, now.rate < later.rate
    (100, True)
    """
    if is_whole(stream):
        stream = from_arrays(*stream)
        new = isinstance(estimator, OnlineClassifier) and not estimator.__sklearn_is_fitted__()
        classes = stream.y if new and classes is None else classes
    blocks = blocks_of("prequential", stream)
    session = Session(
        estimator,
        classes=classes,
        delay=delay,
        every=every,
        predictions=predictions,
        metrics=metrics,
        window=window,
        name="prequential",
    )
    return _records(session, blocks)


def is_whole(data: Any) -> bool:
    """Whether data is a pair (X, y) of all rows, not blocks or pairs of single rows."""
    return isinstance(data, tuple | list) and len(data) == 2 and not isinstance(data[0], Block | tuple)


def blocks_of(owner: str, data: Any) -> Iterable[Block]:
    """The blocks of a stream, of blocks, or of pairs (x, y)."""
    if isinstance(data, Stream):
        return data
    if not isinstance(data, Iterable):
        expected = "a stream, blocks, pairs (x, y) or a pair (X, y)"
        raise TypeError(f"{owner}: expected {expected}, got {shown(data)}.")
    rest = iter(data)
    for first in rest:
        return chain([first], rest) if isinstance(first, Block) else from_pairs(chain([first], rest))
    return ()


def _records(session: Session, blocks: Iterable[Block]) -> Iterator[Record]:
    for block in blocks:
        yield from session.feeding(block)
    yield from session.finishing()
    if not session.rows:
        raise DataError("prequential: the stream has no rows.")
