"""The formulas of a frozen model as operators."""

from __future__ import annotations

import numpy as np

from budgetron.export.formulas import tree
from budgetron.export.onnx.graph import Graph
from budgetron.parts.kernels import Gaussian, Laplacian, Linear, Polynomial, Sigmoid

LARGEST_PRODUCT = 100.0
"""Distances come from products up to this gamma |s|^2. Kernel values then lose 1e-13, 3e-5 in float32."""


class Formulas(tree.Writer):
    """Writes formulas into a graph. ``x`` is the name of the rows; results have a row for each of them."""

    language = "ONNX"

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._features: dict[tuple[int, str], str] = {}  # experts may share a map

    # ---- scores, one column per output

    def expansion(self, formula: tree.Expansion, x: str) -> str:
        k = self.write(formula.kernel, formula.vectors, x)
        return self.graph.add("MatMul", k, self.graph.numbers(formula.coef.T))

    def weighted(self, formula: tree.Weighted, x: str) -> str:
        g, z = self.graph, self.features(formula.features, x)
        f = g.add("MatMul", z, g.numbers(formula.coef.T))
        if formula.full is None or formula.variances is None:
            return f
        variance = self._quadratic(z, np.pi / 8 * formula.full, np.pi / 8 * formula.variances)
        return g.add("Div", f, g.add("Sqrt", g.add("Add", variance, g.numbers(1))))

    def scaled(self, formula: tree.Scaled, x: str) -> str:
        g = self.graph
        scaled = g.add("Mul", g.add("Sub", x, g.numbers(formula.shift)), g.numbers(formula.factor))
        if formula.missing:
            scaled = g.add("Where", g.add("IsNaN", x), g.numbers(0), scaled)
        if formula.clip < 1e38:  # the largest float32; a learner that does not clip has 1e150
            scaled = g.add("Clip", scaled, g.number(-formula.clip), g.number(formula.clip))
        f = self.write(formula.learner, scaled)
        if (formula.mean, formula.deviation) == (0, 1):
            return f
        return g.add("Add", g.times(f, 1, formula.deviation), g.numbers(formula.mean))

    def mixture(self, formula: tree.Mixture, x: str) -> str:
        g, terms = self.graph, []
        outputs = 1 if formula.biases is None else len(formula.biases)
        for i, expert in enumerate(formula.experts):
            f = self.write(expert, x)
            if formula.factors is not None:
                f = self._logits(f, formula, i)
            terms.append(g.times(f, outputs, formula.weights[i]))
        if formula.biases is not None:
            terms.append(g.numbers(formula.biases))
        return g.add("Sum", *terms)

    def _logits(self, f: str, formula: tree.Mixture, i: int) -> str:
        g = self.graph
        assert formula.factors is not None
        assert formula.biases is not None
        if len(formula.biases) > 1:
            first = g.add("Slice", f, g.whole(0), g.whole(formula.centred), g.whole(1))
            f = g.add("Sub", f, g.add("Div", g.sum(first), g.numbers(formula.centred)))
        f = g.times(f, len(formula.biases), formula.factors[i])
        return g.add("Clip", f, g.number(-formula.clip), g.number(formula.clip))

    def _quadratic(self, z: str, full: tree.Floats, variances: tree.Floats) -> str:
        """The form z'P z of every row."""
        g, n, terms = self.graph, len(full), []
        if n:
            first = z if not len(variances) else g.add("Slice", z, g.whole(0), g.whole(n), g.whole(1))
            terms.append(g.sum(g.add("Mul", g.add("MatMul", first, g.numbers(full)), first)))
        if len(variances):
            end = g.whole(n + len(variances))
            others = z if not n else g.add("Slice", z, g.whole(n), end, g.whole(1))
            terms.append(g.add("MatMul", g.add("Mul", others, others), g.numbers(variances[:, None])))
        return terms[0] if len(terms) == 1 else g.add("Add", *terms)

    # ---- features

    def features(self, features: tree.Features, x: str) -> str:
        """z(x), one column per feature."""
        key = id(features), x
        if key not in self._features:
            pieces = [self.write(piece, x) for piece in features.pieces]
            self._features[key] = (
                pieces[0] if len(pieces) == 1 else self.graph.add("Concat", *pieces, axis=1)
            )
        return self._features[key]

    def inputs(self, piece: tree.Inputs, x: str) -> str:
        g = self.graph
        columns = g.add("Slice", x, g.whole(piece.start), g.whole(piece.stop), g.whole(1))
        return g.times(columns, piece.size, piece.scale)

    def constant(self, piece: tree.Constant, x: str) -> str:  # noqa: ARG002
        g = self.graph
        rows = g.add("Slice", g.add("Shape", x), g.whole(0), g.whole(1))
        return g.add("Expand", g.numbers(1), g.add("Concat", rows, g.whole(1), axis=0))

    def fourier(self, piece: tree.Fourier, x: str) -> str:
        g = self.graph
        angles = g.add("MatMul", x, g.numbers(piece.frequencies))
        quarter = g.add("Add", angles, g.numbers(np.pi / 2))  # many runtimes have no Cos of doubles
        waves = g.add("Sin", g.add("Concat", angles, quarter, axis=1))
        return g.times(waves, piece.size, piece.frequencies.shape[1] ** -0.5)

    def nystrom(self, piece: tree.Nystrom, x: str) -> str:
        k = self.write(piece.kernel, piece.points, x)
        return self.graph.add("MatMul", k, self.graph.numbers(piece.matrix.T))

    def hashed(self, piece: tree.Hashed, x: str) -> str:
        to = np.zeros((len(piece.places), piece.columns))
        to[np.arange(len(to)), piece.places] = piece.signs
        return self.features(piece.features, self.graph.add("MatMul", x, self.graph.numbers(to)))

    # ---- kernels

    def gaussian(self, kernel: Gaussian, points: tree.Floats, x: str) -> str:
        gamma = kernel.gaussian_gamma()
        return self._falling(gamma, self._squared_distances(points, x, gamma))

    def laplacian(self, kernel: Laplacian, points: tree.Floats, x: str) -> str:
        apart = self.graph.add("Abs", self._differences(points, x))
        return self._falling(float(kernel.gamma), self._sum_of_columns(apart))

    def linear(self, kernel: Linear, points: tree.Floats, x: str) -> str:  # noqa: ARG002
        return self.graph.add("MatMul", x, self.graph.numbers(points.T))

    def polynomial(self, kernel: Polynomial, points: tree.Floats, x: str) -> str:
        return self.graph.add("Pow", self._shifted(kernel, points, x), self.graph.numbers(kernel.degree))

    def sigmoid(self, kernel: Sigmoid, points: tree.Floats, x: str) -> str:
        return self.graph.add("Tanh", self._shifted(kernel, points, x))

    def _shifted(self, kernel: Polynomial | Sigmoid, points: tree.Floats, x: str) -> str:
        products = self.graph.add("MatMul", x, self.graph.numbers(float(kernel.gamma) * points.T))
        return self.graph.add("Add", products, self.graph.numbers(kernel.coef0))

    def _falling(self, gamma: float, distances: str) -> str:
        return self.graph.add("Exp", self.graph.add("Mul", distances, self.graph.numbers(-gamma)))

    def _squared_distances(self, points: tree.Floats, x: str, gamma: float) -> str:
        """|x - s|^2 from products, if these are small, else from differences, which take more memory.

        Rows and points are moved to the points' mean. What products lose is a share of their size.
        """
        g, mean = self.graph, points.mean(axis=0)
        near = points - mean
        if not gamma * (near**2).sum(axis=1).max() <= LARGEST_PRODUCT:
            apart = self._differences(points, x)
            return self._sum_of_columns(g.add("Mul", apart, apart))
        moved = g.add("Sub", x, g.numbers(mean))
        squares = g.sum(g.add("Mul", moved, moved))
        products = g.add("MatMul", moved, g.numbers(-2 * near.T))
        both = g.add("Add", squares, g.numbers((near**2).sum(axis=1)))
        return g.add("Max", g.add("Add", both, products), g.numbers(0))

    def _differences(self, points: tree.Floats, x: str) -> str:
        """The differences x - s, of shape rows, points, columns."""
        g = self.graph
        return g.add("Sub", g.add("Unsqueeze", x, g.whole(1)), g.numbers(points[None]))

    def _sum_of_columns(self, differences: str) -> str:
        return self.graph.add("ReduceSum", differences, self.graph.whole(2), keepdims=0)
