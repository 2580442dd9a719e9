"""Transforms as plain data: the name of the type and its parameters, without what was learned."""

from __future__ import annotations

import inspect
from typing import Any

from budgetron.streams._stream import Transform
from budgetron.streams.dense import Dense
from budgetron.streams.labels import EncodeLabels
from budgetron.streams.scaling import MinMax, Standardise
from budgetron.streams.shuffling import ShuffleBuffer

KINDS: dict[str, type[Transform]] = {
    kind.__name__: kind for kind in (ShuffleBuffer, Dense, Standardise, MinMax, EncodeLabels)
}


def described(transform: Transform) -> dict[str, Any]:
    """What a transform is, as plain data.

    >>> from budgetron import streams
    >>> streams.described(streams.ShuffleBuffer(100, seed=3))
    {'type': 'ShuffleBuffer', 'size': 100, 'seed': 3}
    """
    kind = type(transform)
    return {"type": kind.__name__} | {
        name: getattr(transform, name) for name in inspect.signature(kind).parameters
    }


def revived(said: dict[str, Any]) -> Transform:
    """A new transform of this description; only those of this package are known.

    >>> from budgetron import streams
    >>> streams.revived({"type": "ShuffleBuffer", "size": 100, "seed": 3})
    ShuffleBuffer(size=100, seed=3)
    """
    if not isinstance(said, dict) or said.get("type") not in KINDS:
        raise ValueError(f"there is no transform of the description {said!r}")
    return KINDS[said["type"]](**{name: value for name, value in said.items() if name != "type"})
