"""Converters for skl2onnx, so that pipelines with models of this package convert."""

from __future__ import annotations

from typing import Any

import numpy as np

from budgetron._util.exports import exported
from budgetron.estimators import OnlineClassifier, OnlineRegressor
from budgetron.export.formulas.freezing import freeze, freeze_map, plain_labels
from budgetron.export.formulas.tree import Formula
from budgetron.export.onnx.export import write_labels, write_shares
from budgetron.export.onnx.formulas import Formulas
from budgetron.export.onnx.graph import Graph
from budgetron.model.fitted import Fitted
from budgetron.parts.features.feature_map import FeatureMap

LEAST_OPSET = 13  # the first in which ReduceSum takes its axes as an input
OPSET_OF_CELLS = 18  # the first that has BitwiseXor
OPTIONS = {"zipmap": [True, False, "columns"], "nocl": [False]}  # skl2onnx asks for nocl with zipmap


def register_converters() -> None:
    """Tell skl2onnx how to convert classifiers, regressors and feature maps of this package.

    A classifier in a pipeline has two outputs, as those of scikit-learn: the label, and one column for each
    class. These are probabilities if the learner has them, else scores.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from budgetron import Gaussian, OnlineClassifier, rbp, register_converters
    >>> X = np.array([[0.0], [1.0], [3.0]])
    >>> model = make_pipeline(StandardScaler(), OnlineClassifier(rbp(Gaussian(1.0), budget=10)))
    >>> model = model.fit(X, [0, 1, 1])
    >>> import skl2onnx
    >>> register_converters()
    >>> graph = skl2onnx.to_onnx(model, X, options={"zipmap": False})
    >>> [output.name for output in graph.graph.output]
    ['label', 'probabilities']
    """
    try:
        from skl2onnx import update_registered_converter
    except ImportError:
        raise ImportError("register_converters needs skl2onnx: pip install skl2onnx.") from None
    update_registered_converter(
        OnlineClassifier, "BudgetronClassifier", _classifier_shapes, _convert_classifier, options=OPTIONS
    )
    update_registered_converter(
        OnlineRegressor, "BudgetronRegressor", _regressor_shapes, _convert_regressor
    )
    for name, kind in exported(FeatureMap).items():
        if kind is not FeatureMap:
            update_registered_converter(kind, f"Budgetron{name}", _map_shapes, _convert_map)


# ---- the shapes of the outputs


def _number_type(operator: Any) -> Any:
    from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType

    double = isinstance(operator.inputs[0].type, DoubleTensorType)
    return DoubleTensorType if double else FloatTensorType


def _rows(operator: Any) -> Any:
    return operator.inputs[0].get_first_dimension()


def _classifier_shapes(operator: Any) -> None:
    from skl2onnx.common.data_types import Int64TensorType, StringTensorType

    labels = plain_labels(operator.raw_operator.classes_)
    kind = StringTensorType if labels.dtype == object else Int64TensorType
    operator.outputs[0].type = kind([_rows(operator)])
    operator.outputs[1].type = _number_type(operator)([_rows(operator), len(labels)])


def _regressor_shapes(operator: Any) -> None:
    operator.outputs[0].type = _number_type(operator)([_rows(operator), 1])


def _map_shapes(operator: Any) -> None:
    columns = freeze_map(operator.raw_operator).size
    operator.outputs[0].type = _number_type(operator)([_rows(operator), columns])


# ---- the operators


def _convert_classifier(scope: Any, operator: Any, container: Any) -> None:
    formula, fitted = _frozen(operator)
    graph = _graph(operator, container)
    scores = Formulas(graph).write(formula, "X")
    label, names = write_labels(graph, fitted.labels, scores)
    if names.dtype != object:
        label = graph.add("Cast", label, to=graph.kind(np.int64))
    _copy(graph, [label, write_shares(graph, fitted, scores)], scope, operator, container)


def _convert_regressor(scope: Any, operator: Any, container: Any) -> None:
    graph = _graph(operator, container)
    scores = Formulas(graph).write(_frozen(operator)[0], "X")
    _copy(graph, [scores], scope, operator, container)


def _convert_map(scope: Any, operator: Any, container: Any) -> None:
    graph = _graph(operator, container)
    z = Formulas(graph).features(freeze_map(operator.raw_operator), "X")
    _copy(graph, [z], scope, operator, container)


def _frozen(operator: Any) -> tuple[Formula, Fitted]:
    formula, fitted = freeze(operator.raw_operator)
    if fitted.encoding is not None:
        raise ValueError(
            "A model of records cannot be part of a pipeline of skl2onnx, which passes arrays of numbers: "
            "use budgetron.to_onnx."
        )
    return formula, fitted


def _graph(operator: Any, container: Any) -> Graph:
    opset = container.target_opset_any_domain("")
    if opset < LEAST_OPSET:
        raise ValueError(f"target_opset must be at least {LEAST_OPSET}, got {opset}.")
    double = _number_type(operator).__name__ == "DoubleTensorType"
    return Graph(np.float64 if double else np.float32)


def _copy(graph: Graph, results: list[str], scope: Any, operator: Any, container: Any) -> None:
    """Copy the operators of a graph whose input is X, under names of the container's own."""
    names = {"X": scope.get_unique_variable_name("rows")}
    kind, opset = graph.kind(graph.dtype), container.target_opset_any_domain("")
    if opset < OPSET_OF_CELLS and any(node.op_type == "BitwiseXor" for node in graph.nodes):
        raise ValueError(
            f"target_opset must be at least {OPSET_OF_CELLS} for a model with cells, got {opset}."
        )
    container.add_node("Cast", [operator.inputs[0].full_name], [names["X"]], to=kind)
    for constant in graph.constants:
        name = names[constant.name] = scope.get_unique_variable_name(constant.name[1:])
        texts = constant.data_type == graph.onnx.TensorProto.STRING
        content = list(constant.string_data) if texts else constant
        container.add_initializer(name, constant.data_type, list(constant.dims), content)
    make = graph.onnx.helper
    for node in graph.nodes:
        for result in node.output:
            names[result] = scope.get_unique_variable_name(result[1:])
        attributes = {a.name: make.get_attribute_value(a) for a in node.attribute}
        arguments = [names[argument] for argument in node.input]
        container.add_node(node.op_type, arguments, [names[result] for result in node.output], **attributes)
    for result, output in zip(results, operator.outputs, strict=True):
        container.add_node("Identity", [names[result]], [output.full_name])
