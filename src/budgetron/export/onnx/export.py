"""A fitted model as an ONNX model."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from budgetron.export.formulas.freezing import checked_dtype, freeze, freeze_map, plain_labels
from budgetron.export.onnx.formulas import Formulas
from budgetron.export.onnx.graph import Graph
from budgetron.export.onnx.rows import write_rows
from budgetron.model.fitted import Fitted
from budgetron.parts.features.feature_map import FeatureMap

DOC = "A model of budgetron. It predicts as the model did when it was exported."


def to_onnx(model: Any, dtype: npt.DTypeLike = np.float64) -> Any:
    """The fitted model as an ``onnx.ModelProto``, of plain operators of opset 19.

    The input is ``X``, an array of rows. A model of records has one input for each column instead: numbers
    with NaN for missing values, dates as seconds since 1970, or texts, with "" for missing ones. Outputs of
    a classifier are ``label``, ``scores`` as of ``decision_function``, and ``probabilities``, if there are
    any. The output of a regressor is ``prediction``, that of a feature map ``features``.

    Parameters
    ----------
    model : OnlineClassifier, OnlineRegressor or FeatureMap
        A fitted model, with any learner.
    dtype : float64 or float32
        The type of the numbers in the graph. With float64, scores differ from the model's by rounding only.

    Returns
    -------
    onnx.ModelProto
        A checked model; ``.SerializeToString()`` gives the bytes of the file.

    Examples
    --------
    >>> import numpy as np
    >>> from onnx.reference import ReferenceEvaluator
    >>> from budgetron import Gaussian, OnlineClassifier, rbp, to_onnx
    >>> model = OnlineClassifier(rbp(Gaussian(1.0), budget=10)).fit([[0.0], [1.0]], ["no", "yes"])
    >>> label, scores = ReferenceEvaluator(to_onnx(model)).run(None, {"X": np.array([[0.9]])})
    >>> label, bool(abs(scores - model.decision_function([[0.9]])) < 1e-12)
    (array(['yes'], dtype=object), True)
    """
    graph = Graph(checked_dtype(dtype))
    if isinstance(model, FeatureMap):
        features = freeze_map(model)
        x = graph.input("X", graph.dtype, model.n_features_in_)
        z = Formulas(graph).features(features, x)
        graph.output("features", z, graph.dtype, [None, features.size])
        return graph.model(DOC)
    formula, fitted = freeze(model)
    write_outputs(graph, fitted, Formulas(graph).write(formula, write_rows(graph, fitted)))
    return graph.model(DOC)


def write_outputs(graph: Graph, fitted: Fitted, scores: str) -> None:
    """Write the outputs: labels, scores and probabilities, or predictions."""
    if fitted.labels is None:
        graph.output("prediction", _flat(graph, scores), graph.dtype, [None])
        return
    label, names = write_labels(graph, fitted.labels, scores)
    graph.output("label", label, str if names.dtype == object else names.dtype, [None])
    count = len(fitted.labels)
    if count > 2:
        graph.output("scores", _sorted(graph, fitted.labels, scores), graph.dtype, [None, count])
    else:
        signed = scores if fitted.labels.is_sorted else graph.add("Neg", scores)
        graph.output("scores", _flat(graph, signed), graph.dtype, [None])
    if fitted.model.learner.probabilistic:
        graph.output("probabilities", write_shares(graph, fitted, scores), graph.dtype, [None, count])


def write_labels(graph: Graph, labels: Any, scores: str) -> tuple[str, npt.NDArray[Any]]:
    """The predicted label of every row, as `KnownLabels.predictions` finds it, and all labels."""
    names = plain_labels(labels.labels)
    return graph.add("Gather", graph.constant(names), _codes(graph, scores, len(labels)), axis=0), names


def write_shares(graph: Graph, fitted: Fitted, scores: str) -> str:
    """One column for each sorted label: its probability, or its score if there are no probabilities."""
    probabilistic = fitted.model.learner.probabilistic
    if fitted.n_labels == 1:
        scores = graph.add("Mul", scores, graph.numbers(0))
    elif fitted.n_labels == 2:
        half = graph.add("Mul", scores, graph.numbers(0.5 if probabilistic else 1))
        scores = graph.add("Concat", graph.add("Neg", half), half, axis=1)
    shares = graph.add("Softmax", scores, axis=1) if probabilistic else scores
    return _sorted(graph, fitted.labels, shares)


def _flat(graph: Graph, column: str) -> str:
    return graph.add("Squeeze", column, graph.whole(1))


def _codes(graph: Graph, scores: str, labels: int) -> str:
    """The code of the predicted label, as `KnownLabels.predictions` finds it."""
    if labels > 2:
        return graph.add("ArgMax", scores, axis=1, keepdims=0)
    second = graph.add("GreaterOrEqual", scores, graph.numbers(0))
    code = graph.add("Cast", _flat(graph, second), to=graph.kind(np.int64))
    return code if labels == 2 else graph.add("Mul", code, graph.whole(0))


def _sorted(graph: Graph, labels: Any, columns: str) -> str:
    """Columns in the order of codes, in the order of the sorted labels."""
    if labels.is_sorted:
        return columns
    return graph.add("Gather", columns, graph.constant(labels.order.astype(np.int64)), axis=1)
