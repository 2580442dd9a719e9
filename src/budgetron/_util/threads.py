"""Locks: several threads may share an estimator, and a process may fork while a thread learns.

* ``learning_lock(estimator)`` is held by every call that learns, so that such calls run one at a time.
* Each native model also has its own lock, held while it learns rows. A fork waits for these locks, at most
  a tenth of a second. So the child process gets models that have learned whole rows. Its locks are new.
"""

import os
import threading
from collections import deque
from typing import Any
from weakref import WeakSet, finalize

from budgetron import _core

_locks: dict[int, Any] = {}  # one for each living estimator, by id, which is found sooner than a weak key
_models: WeakSet[Any] = WeakSet()
_adding = threading.Lock()  # held while _locks or _models grows, and during a fork
_held: list[Any] = []  # the engines whose locks the forking thread holds


def learning_lock(estimator: Any) -> Any:
    """The lock of an estimator, created on first use."""
    lock = _locks.get(id(estimator))
    if lock is None:
        with _adding:
            lock = _locks.setdefault(id(estimator), threading.RLock())
        finalize(estimator, _locks.pop, id(estimator), None).atexit = False
    return lock


def watch(model: Any) -> None:
    """Register a model: forks wait for its lock from now on."""
    with _adding:
        _models.add(model)


class Turns:
    """A lock, which knows whether somebody waits for it."""

    def __init__(self) -> None:
        self._lock, self._waiting = threading.RLock(), deque[None]()

    @property
    def waiting(self) -> bool:
        return bool(self._waiting)

    def acquire(self) -> None:
        if self._lock.acquire(blocking=False):
            return
        self._waiting.append(None)
        try:
            self._lock.acquire()
        finally:
            self._waiting.pop()

    def release(self) -> None:
        self._lock.release()

    def __enter__(self) -> None:
        self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()


def _before_fork() -> None:
    _adding.acquire()  # a model created from now on would not be held
    _held.extend(model.engine for model in _models)
    for engine in _held:
        engine.hold()


def _after_fork_in_parent() -> None:
    for engine in _held:
        engine.release()
    _held.clear()
    _adding.release()


def _after_fork_in_child() -> None:
    global _adding
    for engine in _held:
        engine.renew()
    _held.clear()
    _core.renew_threads()
    _locks.clear()  # held by threads that do not exist in the child
    _adding = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork,
        after_in_parent=_after_fork_in_parent,
        after_in_child=_after_fork_in_child,
    )
