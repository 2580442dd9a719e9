"""Run tasks on any executor of ``concurrent.futures``: threads, processes, or the workers of a cluster."""

from collections.abc import Callable, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, as_completed
from typing import Any, TypeVar

from budgetron._util.text import shown

T = TypeVar("T")

TRIES = 3
"""How often a task is submitted before it is run here."""


def checked(owner: str, executor: Any) -> Executor | None:
    """The executor, or None; anything else is refused.

    Examples
    --------
    >>> from budgetron._util import executors
    >>> executors.checked("compare", 4)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    TypeError: compare: executor must be an executor of concurrent.futures, ...
    """
    if executor is None or isinstance(executor, Executor):
        return executor
    hint = "client.get_executor()" if hasattr(executor, "get_executor") else "ProcessPoolExecutor()"
    raise TypeError(
        f"{owner}: executor must be an executor of concurrent.futures, such as {hint}, "
        f"got {shown(executor)}."
    )


def results(
    executor: Executor,
    task: Callable[..., T],
    shared: Any,
    arguments: Sequence[tuple[Any, ...]],
    finished: Callable[[int, T], None] = lambda *_: None,
) -> list[T]:
    """``task(shared, *arguments[i])`` for every i, in order; ``finished(i, result)`` is called as they end.

    The task and what it takes are pickled for workers in other processes. ``shared`` goes to every worker
    of a Dask cluster once. The tasks of a worker that is lost are submitted again; if the executor takes no
    more, or the worker is lost again and again, they run here. If a task fails, those that have not started
    are cancelled, and its error is raised. The executor stays open.

    Examples
    --------
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> from budgetron._util import executors
    >>> with ThreadPoolExecutor(2) as pool:
    ...     executors.results(pool, pow, 2, [(3,), (4,)])
    [8, 16]
    """
    answers: dict[int, T] = {}
    there = _scattered(executor, shared)
    calls = {i: (task, there, *each) for i, each in enumerate(arguments)}  # without an answer
    futures: dict[Future[T], int] = {}
    try:
        for _ in range(TRIES):
            futures = _submitted(executor, calls)
            for future in as_completed(futures):
                i = futures[future]
                if not _is_lost(future):
                    answers[i] = future.result()
                    finished(i, answers[i])
                    del calls[i]
            if not calls or not futures:
                break
    except BaseException:
        for future in futures:
            future.cancel()
        raise
    for i in calls:
        answers[i] = task(shared, *arguments[i])
        finished(i, answers[i])
    return [answers[i] for i in range(len(arguments))]


def _submitted(executor: Executor, calls: dict[int, tuple[Any, ...]]) -> dict[Future[Any], int]:
    """The calls that the executor has taken."""
    taken: dict[Future[Any], int] = {}
    for i, call in calls.items():
        try:
            taken[executor.submit(*call)] = i
        except BrokenExecutor:  # a pool of processes takes nothing more when it has lost one
            break
    return taken


def _is_lost(future: Future[Any]) -> bool:
    """Whether a task has ended with its worker, not by itself."""
    try:
        error = future.exception()
    except CancelledError:
        return True
    return isinstance(error, BrokenExecutor) or type(error).__name__ == "KilledWorker"  # Dask's


def _scattered(executor: Executor, shared: Any) -> Any:
    """The data, or for Dask a reference to them: they travel to every worker once, not with every task."""
    client = getattr(executor, "_client", None)
    if client is None or not hasattr(client, "scatter"):
        return shared
    return client.scatter(shared, broadcast=True, hash=False)
