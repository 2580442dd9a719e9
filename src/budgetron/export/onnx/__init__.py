"""Fitted models as ONNX graphs of plain operators. Needs the extra ``onnx``."""

from budgetron._util.exports import lazy

__getattr__, __dir__, __all__ = lazy(__name__)
