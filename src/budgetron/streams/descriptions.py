"""Convert transforms to plain data (type and parameters, not the learned state) and back."""

from typing import Any

from budgetron.streams.dense import Dense
from budgetron.streams.labels import EncodeLabels
from budgetron.streams.scaling import MinMax, Standardise
from budgetron.streams.shuffling import ShuffleBuffer
from budgetron.streams.stream import Transform

KINDS: dict[str, type[Transform]] = {
    kind.__name__: kind for kind in (ShuffleBuffer, Dense, Standardise, MinMax, EncodeLabels)
}


def described(transform: Transform) -> dict[str, Any]:
    """The type and the parameters of a transform, as a dict.

    >>> from budgetron import streams
    >>> streams.described(streams.ShuffleBuffer(100, seed=3))
    {'type': 'ShuffleBuffer', 'size': 100, 'seed': 3}
    """
    return {"type": type(transform).__name__} | transform.parameters()


def revived(description: dict[str, Any]) -> Transform:
    """A new transform from the dict that `described` returned. Only this package's transforms are allowed.

    >>> from budgetron import streams
    >>> streams.revived({"type": "ShuffleBuffer", "size": 100, "seed": 3})
    ShuffleBuffer(size=100, seed=3)
    """
    if not isinstance(description, dict) or description.get("type") not in KINDS:
        raise ValueError(f"there is no transform with the description {description!r}")
    parameters = {name: value for name, value in description.items() if name != "type"}
    return KINDS[description["type"]](**parameters)
