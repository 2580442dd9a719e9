"""A graph of ONNX operators that is written from its inputs to its outputs."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from budgetron._util.extras import pip_install

OPSET = 19  # the first in which Equal compares texts
IR_VERSION = 9


def packages() -> Any:
    """The package ``onnx``, which is optional."""
    try:
        import onnx
    except ImportError as error:
        raise ImportError(
            f"The ONNX export needs more packages ({error.name}): {pip_install('onnx')}."
        ) from None
    return onnx


class Graph:
    """Operators in order, with constants. Every result has a name, the argument of later operators.

    Numbers are of one type, float64 or float32.
    """

    def __init__(self, dtype: npt.DTypeLike) -> None:
        self.onnx = packages()
        self.dtype = np.dtype(dtype)
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.inputs: list[Any] = []
        self.outputs: list[Any] = []

    def add(self, operator: str, *arguments: str, **attributes: Any) -> str:
        """Apply an operator; the name of its result."""
        name = f"/{operator.lower()}_{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(operator, list(arguments), [name], **attributes))
        return name

    def add_two(self, operator: str, *arguments: str, **attributes: Any) -> tuple[str, str]:
        """Apply an operator with two results; their names."""
        first = self.add(operator, *arguments, **attributes)
        second = first + "_second"
        self.nodes[-1].output.append(second)
        return first, second

    def numbers(self, values: npt.ArrayLike) -> str:
        """A constant of the graph's type, a matrix; a single number is one as well."""
        return self.constant(self._narrowed(np.atleast_2d(np.asarray(values, dtype=np.float64))))

    def number(self, value: float) -> str:
        """A constant of the graph's type, a plain number, for operators that need one."""
        return self.constant(self._narrowed(np.array(value)))

    def _narrowed(self, wide: npt.NDArray[np.float64]) -> npt.NDArray[Any]:
        with np.errstate(over="ignore"):
            narrow = wide.astype(self.dtype)
        if not (np.isfinite(narrow) | ~np.isfinite(wide)).all():
            largest = float(abs(wide).max())
            raise ValueError(
                f"The model has the number {largest}, which float32 cannot hold: take float64."
            )
        return narrow

    def constant(self, values: npt.NDArray[Any]) -> str:
        """A constant of the array's own type; texts are arrays of Python objects."""
        name = f"/constant_{len(self.constants)}"
        if values.dtype == object:
            tensor = self.onnx.helper.make_tensor(
                name,
                self.onnx.TensorProto.STRING,
                values.shape,
                [str(text).encode("utf-8", "surrogatepass") for text in values.ravel()],
            )
        else:
            tensor = self.onnx.numpy_helper.from_array(np.ascontiguousarray(values), name)
        self.constants.append(tensor)
        return name

    def whole(self, *values: int) -> str:
        """A constant of whole numbers, such as the axes of an operator."""
        return self.constant(np.array(values, dtype=np.int64))

    def times(self, argument: str, columns: int, number: float) -> str:
        """A number times a result of this many columns.

        It is no plain number here: onnxruntime would make one operator of a matrix product and a number, in
        which the number is a float32.
        """
        if number == 1:
            return argument
        if columns == 1:
            return self.add("MatMul", argument, self.numbers(number))
        return self.add("Mul", argument, self.numbers(np.full(columns, number)))

    def sum(self, argument: str, axis: int = 1) -> str:
        """The sum over an axis, which stays, with length 1."""
        return self.add("ReduceSum", argument, self.whole(axis), keepdims=1)

    def input(self, name: str, dtype: Any, columns: int) -> str:
        """An input of the graph: rows of this many columns."""
        self.inputs.append(self._value(name, dtype, [None, columns]))
        return name

    def output(self, name: str, result: str, dtype: Any, shape: list[int | None]) -> None:
        """An output of the graph."""
        self.nodes.append(self.onnx.helper.make_node("Identity", [result], [name]))
        self.outputs.append(self._value(name, dtype, shape))

    def _value(self, name: str, dtype: Any, shape: list[int | None]) -> Any:
        sizes = ["rows" if size is None else size for size in shape]
        kind = self.onnx.TensorProto.STRING if dtype is str else self.kind(dtype)
        return self.onnx.helper.make_tensor_value_info(name, kind, sizes)

    def kind(self, dtype: Any) -> int:
        """ONNX's number of a type."""
        return int(self.onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))

    def model(self, doc: str) -> Any:
        """The checked model."""
        from budgetron import __version__

        make = self.onnx.helper
        graph = make.make_graph(self.nodes, "budgetron", self.inputs, self.outputs, self.constants)
        model = make.make_model(
            graph,
            opset_imports=[make.make_opsetid("", OPSET)],
            ir_version=IR_VERSION,
            producer_name="budgetron",
            producer_version=__version__,
            doc_string=doc,
        )
        self.onnx.checker.check_model(model, full_check=model.ByteSize() < 2**30)
        return model
