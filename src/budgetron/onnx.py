"""Models as ONNX graphs: a short name of ``budgetron.export.onnx``."""

from budgetron._util.exports import lazy

__getattr__, __dir__ = lazy("budgetron.export.onnx")
