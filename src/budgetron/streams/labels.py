"""Encode labels as 0, 1, 2 ..."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from budgetron._util import check
from budgetron._util.errors import DataError
from budgetron.streams.stream import Block, Transform

MIXED = "EncodeLabels: labels must be all strings or all numbers, got both."


class EncodeLabels(Transform):
    """Replaces labels by integer codes: their index in ``classes``, or in order of first appearance.

    >>> from budgetron import streams
    >>> encode = streams.EncodeLabels()
    >>> [block] = streams.from_arrays([[0.0]] * 4, ["b", "a", "b", "c"]).through(encode)
    >>> block.y, encode.decode(block.y)
    (array([0, 1, 0, 2]), array(['b', 'a', 'b', 'c'], dtype='<U1'))
    """

    def __init__(self, classes: Sequence[Any] | None = None) -> None:
        self.classes = classes
        self._codes = _codes(() if classes is None else classes)

    @property
    def seen(self) -> Any:
        """The labels seen so far (or all ``classes``), in the order of their codes."""
        return np.array(list(self._codes))

    def learn_transform(self, block: Block) -> Block:
        if block.y is None:
            raise ValueError("EncodeLabels: the stream has no labels.")
        try:
            check.one_kind("EncodeLabels: y", block.y)
            check.told_apart("EncodeLabels: y", np.asarray(block.y))
        except ValueError as error:
            raise DataError(f"{error} The block starts at row {block.start}.") from error
        try:
            labels, first, inverse = np.unique(block.y, return_index=True, return_inverse=True)
        except TypeError:
            raise DataError(MIXED) from None
        known, names = dict(self._codes), labels.tolist()
        for i in np.argsort(first):
            if names[i] not in known:
                where = f"row {block.start + first[i]} (the first is 0)"
                if names[i] != names[i]:
                    raise DataError(f"EncodeLabels: {where} has the label NaN.")
                if self.classes is not None:
                    what = f"the label {names[i]!r}, which is not in classes"
                    raise DataError(f"EncodeLabels: {where} has {what}.")
                known[names[i]] = len(known)
        if len({isinstance(name, str) for name in known}) > 1:
            raise DataError(MIXED)
        self._codes = known
        codes = np.array([known[name] for name in names], dtype=np.int64)
        return replace(block, y=codes[inverse.reshape(-1)])

    def decode(self, codes: Any) -> Any:
        """The labels for an array of codes."""
        return self.seen[np.asarray(codes)]

    def state(self) -> dict[str, Any]:
        return {"classes": self.seen}

    def restore(self, state: dict[str, Any]) -> None:
        self._codes = _codes(state["classes"])


def _codes(labels: Any) -> dict[Any, int]:
    check.one_kind("EncodeLabels: classes", labels)
    labels = np.asarray(labels).tolist()
    codes = {label: code for code, label in enumerate(labels)}
    if len(codes) < len(labels):
        raise ValueError("EncodeLabels: classes has the same label twice.")
    return codes
