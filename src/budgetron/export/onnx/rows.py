"""The inputs of a graph: an array, or the columns of records."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from budgetron.export.onnx.graph import Graph
from budgetron.model.fitted import Fitted
from budgetron.records.periods import DAY, PERIODS

OUTPUTS = ("label", "scores", "probabilities", "prediction")


def write_rows(graph: Graph, fitted: Fitted) -> str:
    """Write the inputs; the name of the rows of numbers."""
    if fitted.encoding is None:
        return graph.input("X", graph.dtype, fitted.model.n_features)
    return _Records(graph, fitted).rows()


class _Records:
    """Records have one input of one column for each of theirs: numbers, with NaN for missing, or texts."""

    def __init__(self, graph: Graph, fitted: Any) -> None:
        self.graph, self.encoding, self.n_features = graph, fitted.encoding, fitted.model.n_features
        self._pieces: list[str] = []
        self._slots: list[int] = []  # of the pieces' columns

    def rows(self) -> str:
        g, encoding = self.graph, self.encoding
        state = encoding.state()
        self._refuse_hashed(state)
        self._refuse_words()
        if not encoding.width:
            raise ValueError("The model has seen no column of the records, so there is nothing to export.")
        for column in state["columns"]:
            self._numbers(column)
            self._texts(column)
        self._refuse_names([value.name for value in g.inputs])
        order = np.argsort(self._slots)[: self.n_features]
        together = g.add("Concat", *self._pieces, axis=1)
        return g.add("Gather", together, g.constant(order.astype(np.int64)), axis=1)

    def _refuse_names(self, names: list[str]) -> None:
        for name, count in Counter(names).items():
            if name in OUTPUTS or not name or name.startswith("/") or count > 1:
                raise ValueError(
                    f"No input of the graph can have the name {name!r}, which is empty or has another "
                    "meaning there: rename the column, and learn again."
                )

    def _refuse_hashed(self, state: dict[str, Any]) -> None:
        if state["block"] is None:
            return
        hashed = [column["name"] for column in state["columns"] if column["hashed"]]
        what = f"values of {hashed[0]!r}" if hashed else "columns that came late"
        raise ValueError(
            f"The encoder hashes {what}, which no ONNX operator can: raise most_values or most_columns of "
            "the Encoder, and learn again."
        )

    def _refuse_words(self) -> None:
        """Refuse columns of words, and those whose first values were read as something else."""
        for column, kind in zip(
            self.encoding.state()["columns"], self.encoding.kinds.values(), strict=True
        ):
            name, was = column["name"], "a number" if column["number"] is not None else "categories"
            if column["words"] is not None:
                raise ValueError(
                    f"The column {name!r} is read as words, which no ONNX operator can hash: "
                    f"leave it out (Encoder(columns={{{name!r}: 'identifier'}})), and learn again."
                )
            if (kind.kind == "category" and column["number"] is not None) or (
                kind.kind == "identifier" and (column["number"] is not None or column["values"])
            ):
                raise ValueError(
                    f"The column {name!r} was read as {was} before it was known as {kind.kind}, which "
                    f"no graph does: learn again with Encoder(columns={{{name!r}: {kind.kind!r}}})."
                )

    def _numbers(self, column: dict[str, Any]) -> None:
        g, dated = self.graph, column["trend"] is not None or column["times"]
        if column["number"] is None and not dated:
            return
        value = g.input(column["name"], np.float64 if dated else g.dtype, 1)  # seconds need a double
        if column["number"] is not None:
            self._put(self._narrow(value) if dated else value, [column["number"]])
        if column["trend"] is not None:
            self._put(self._trend(value, column["kind"]), [column["trend"]])
        for part, first in column["times"].items():
            angle = self._angle(value, *PERIODS[part])
            both = g.add("Concat", angle, g.add("Add", angle, g.constant(np.array([[np.pi / 2]]))), axis=1)
            self._put(self._narrow(g.add("Sin", both)), [first, first + 1])  # sine and cosine

    def _trend(self, moment: str, kind: dict[str, Any]) -> str:
        """Days since the first moment, within the span of the first ones."""
        g, (low, high) = self.graph, kind["span"]
        limits = (g.constant(np.array(limit)) for limit in (low, high))
        since = g.add("Sub", g.add("Clip", moment, *limits), g.constant(np.array(kind["first"])))
        return self._narrow(g.add("Div", since, g.constant(np.array(DAY))))

    def _angle(self, moment: str, length: float, start: float) -> str:
        """The place in the period, as an angle, in double."""
        g = self.graph

        def double(number: float) -> str:
            return g.constant(np.array(number))

        since = g.add("Add", moment, double(start))
        whole = g.add("Mul", g.add("Floor", g.add("Div", since, double(length))), double(length))
        return g.add("Mul", g.add("Sub", since, whole), double(2 * np.pi / length))

    def _texts(self, column: dict[str, Any]) -> None:
        if not column["values"]:
            return
        name = column["name"] if column["number"] is None else f"{column['name']} (text)"
        values = self.graph.constant(np.array([column["values"]], dtype=object))
        equal = self.graph.add("Equal", self.graph.input(name, str, 1), values)
        self._put(self._narrow(equal), column["slots"])

    def _narrow(self, values: str) -> str:
        """The values in the type of the graph."""
        return self.graph.add("Cast", values, to=self.graph.kind(self.graph.dtype))

    def _put(self, piece: str, slots: list[int]) -> None:
        self._pieces.append(piece)
        self._slots += slots
