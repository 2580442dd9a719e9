"""What lets threads share an estimator, and lets a process fork while one of them learns.

* ``turn(estimator)`` is the lock that calls which learn hold, so that they take turns.
* A native model has a lock of its own, held while rows are walked. A fork waits until it is free, a tenth
  of a second at most. So the child gets a model between two rows. In the child all locks are new.
"""

from __future__ import annotations

import os
import threading
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

_turns: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
_models: WeakSet[Any] = WeakSet()
_growing = threading.Lock()  # held while one of these two grows, and during a fork: no model is new then
_held: list[Any] = []  # the native models that it holds


def turn(owner: Any) -> Any:
    """The lock of an object, made when it is first asked for."""
    lock = _turns.get(owner)
    if lock is None:
        with _growing:
            lock = _turns.setdefault(owner, threading.RLock())
    return lock


def watch(model: Any) -> None:
    """From now on a fork waits for this model."""
    with _growing:
        _models.add(model)


def _before_fork() -> None:
    _growing.acquire()
    _held.extend(model._native for model in _models)
    for native in _held:
        native.hold()


def _after_fork_in_parent() -> None:
    for native in _held:
        native.release()
    _held.clear()
    _growing.release()


def _after_fork_in_child() -> None:
    global _growing
    for native in _held:
        native.renew()
    _held.clear()
    _turns.clear()  # their owners were threads that are not here
    _growing = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork,
        after_in_parent=_after_fork_in_parent,
        after_in_child=_after_fork_in_child,
    )
