"""Models as ONNX graphs: the public name of ``budgetron.export.onnx``."""

from budgetron.export.onnx.converters import register_converters as register_converters
from budgetron.export.onnx.export import to_onnx as to_onnx
