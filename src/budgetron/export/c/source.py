"""The text of a C header."""

from __future__ import annotations

from string import Template
from textwrap import fill
from typing import Any

import numpy as np
import numpy.typing as npt

FUNCTIONS = ("cos", "exp", "fabs", "floor", "log1p", "pow", "sin", "sqrt", "tanh")


class Source:
    """Pieces of C, in order.

    In a piece, ``$p`` is the prefix of all names, ``$f`` the suffix of numbers, and ``$exp`` the function
    for the type of the numbers, float or double. Other words are given: a float is written as a number of
    the type, and an array as a constant, whose name is the word.
    """

    def __init__(self, prefix: str, dtype: npt.DTypeLike) -> None:
        self.prefix = prefix
        self.dtype = np.dtype(dtype)
        self.single = self.dtype == np.float32
        self.pieces: list[str] = []
        self._names: dict[str, str] = {}  # of functions, by their text
        self._arrays = 0
        suffix = "f" if self.single else ""
        self._words = {"p": prefix, "f": suffix, "real": "float" if self.single else "double"}
        self._words |= {name: name + suffix for name in FUNCTIONS}

    def add(self, piece: str, /, **words: object) -> None:
        """Append a piece of C."""
        self.pieces.append(self.text(piece, **words))

    def text(self, piece: str, /, **words: object) -> str:
        """The piece with its words replaced."""
        return Template(piece).substitute(self._words, **{k: self._word(v) for k, v in words.items()})

    def _word(self, value: object) -> str:
        if isinstance(value, float):
            return self.number(value)
        return self.array(value) if isinstance(value, np.ndarray) else str(value)

    def function(self, kind: str, piece: str, /, **words: object) -> str:
        """Append a function, called ``$name`` in the piece; its name. Equal functions are written once."""
        text = self.text(piece, name="$name", **words)
        if text not in self._names:
            self._names[text] = f"{self.prefix}_{kind}{len(self._names)}"
            self.add(text, name=self._names[text])
        return self._names[text]

    def array(self, values: npt.ArrayLike) -> str:
        """Append a constant array of numbers; its name."""
        name, numbers = f"{self.prefix}_data{self._arrays}", np.asarray(values, dtype=np.float64).ravel()
        self._arrays += 1
        declared = f"static const {self.prefix}_real {name}[{len(numbers)}]"
        self.pieces.append(f"\n{declared} = {self.braces(numbers)};\n")
        return name

    def table(self, kind: str, values: npt.NDArray[Any]) -> str:
        """Append a constant array of whole numbers of a type of C, or of ``float``; its name."""
        name, flat = f"{self.prefix}_data{self._arrays}", values.ravel()
        self._arrays += 1
        if not len(flat):  # C has no empty arrays
            flat = np.zeros(1, values.dtype)
        distinct, places = np.unique(flat, return_inverse=True)  # many are equal
        suffix = {"float": "f", "uint64_t": "ULL"}.get(kind, "")
        words = ["NAN" if v != v else f"{v!s}{suffix}" for v in distinct]
        texts = np.array(words, dtype=object)[places].tolist()
        lines = ",\n  ".join(", ".join(texts[i : i + 12]) for i in range(0, len(texts), 12))
        self.pieces.append(f"\nstatic const {kind} {name}[{len(texts)}] = {{\n  {lines}}};\n")
        return name

    def braces(self, values: npt.ArrayLike) -> str:
        """The numbers between braces."""
        text = ", ".join(map(self.number, np.asarray(values, dtype=np.float64).ravel().tolist()))
        return "{\n" + fill(text, 100, initial_indent="  ", subsequent_indent="  ") + "}"

    def number(self, value: float) -> str:
        """A number of the type, which is read back exactly."""
        with np.errstate(over="ignore"):
            narrow: Any = np.asarray(value, self.dtype)[()]
        if not np.isfinite(narrow):
            raise ValueError(
                f"The model has the number {value}, which a {self._words['real']} cannot hold."
            )
        return (str(narrow) if set(".e") & set(str(narrow)) else f"{narrow}.0") + self._words["f"]
