"""Labels as codes 0, 1, 2 ..."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from budgetron.streams._stream import Block, DataError, Step


class EncodeLabels(Step):
    """Labels to codes: their places in ``classes``, or else in the order of their first appearance.

    >>> from budgetron import streams
    >>> encode = streams.EncodeLabels()
    >>> [block] = streams.from_arrays([[0.0]] * 4, ["b", "a", "b", "c"]).through(encode)
    >>> block.y, encode.decode(block.y)
    (array([0, 1, 0, 2]), array(['b', 'a', 'b', 'c'], dtype='<U1'))
    """

    def __init__(self, classes: Sequence[Any] | None = None) -> None:
        self.classes = classes
        self._codes = _codes(() if classes is None else classes)

    def __repr__(self) -> str:
        return f"EncodeLabels(classes={self.classes!r})"

    @property
    def seen(self) -> Any:
        """The labels in the order of their codes."""
        return np.array(list(self._codes))

    def learn_transform(self, block: Block) -> Block:
        """The block with codes for labels."""
        if block.y is None:
            raise ValueError("EncodeLabels: the stream has no labels.")
        labels, first, inverse = np.unique(block.y, return_index=True, return_inverse=True)
        for i in np.argsort(first):
            label = labels[i].item() if isinstance(labels[i], np.generic) else labels[i]
            if label in self._codes:
                continue
            if self.classes is not None:
                where = f"row {block.start + first[i]} (the first is 0)"
                raise DataError(f"EncodeLabels: {where} has the label {label!r}, which is not in classes.")
            self._codes[label] = len(self._codes)
        codes = np.array([self._codes[label] for label in labels.tolist()], dtype=np.int64)
        return Block(block.X, codes[inverse.reshape(-1)], block.start)

    def decode(self, codes: Any) -> Any:
        """The labels of some codes."""
        return self.seen[np.asarray(codes)]

    def state(self) -> dict[str, Any]:
        """The labels so far."""
        return {"classes": self.seen}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a saved state."""
        self._codes = _codes(state["classes"])


def _codes(labels: Any) -> dict[Any, int]:
    labels = np.asarray(labels).tolist()
    codes = {label: code for code, label in enumerate(labels)}
    if len(codes) < len(labels):
        raise ValueError("EncodeLabels: classes must differ from one another.")
    return codes
