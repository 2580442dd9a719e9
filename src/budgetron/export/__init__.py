"""A fitted model as a formula, and the formula in ONNX and in C."""
