"""The formulas of a frozen model as operators."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from budgetron.export.formulas import tree
from budgetron.export.formulas.rounding import finite
from budgetron.export.onnx.graph import Graph
from budgetron.parts.features import pieces
from budgetron.parts.kernels import Gaussian, Laplacian, Linear, Polynomial, Sigmoid

LARGEST_PRODUCT = 100.0
"""Distances come from products up to this gamma |s|^2. Kernel values then lose 1e-13, 3e-5 in float32."""


class Formulas(tree.Writer):
    """Writes formulas into a graph. ``x`` is the name of the rows; results have a row for each of them."""

    language = "ONNX"

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._raw: str | None = None  # inside `Scaled`: the rows before any scaling
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
        outer, self._raw = self._raw, self._raw or x
        f = self.write(formula.learner, scaled)
        self._raw = outer
        if (formula.mean, formula.deviation) == (0, 1):
            return f
        return g.add("Add", g.times(f, 1, formula.deviation), g.numbers(formula.mean))

    def narrow(self, formula: tree.Narrow, x: str) -> str:
        g, kept, outer = self.graph, self.graph.constant(formula.kept), self._raw
        self._raw = outer and g.add("Gather", outer, kept, axis=1)
        f = self.write(formula.learner, g.add("Gather", x, kept, axis=1))
        self._raw = outer
        return f

    def celled(self, formula: tree.Celled, x: str) -> str:
        g, width = self.graph, formula.entries.shape[1]
        x = (self._raw or x) if formula.cells.unscaled else x
        entries, absent = formula.entries, self._absent(formula.cells, x)
        places = self._places(self.write(formula.cells, x), formula)
        if absent is not None:  # an entry of zeros behind the others
            places = g.add("Where", absent, g.whole(len(entries)), places)
            entries = np.vstack([entries, np.zeros((1, width), np.float32)])
        found = self._cast(g.add("Gather", g.constant(entries), places, axis=0), g.dtype)
        sums = g.add("ReduceSum", found, g.whole(1), keepdims=0)
        sums = g.add("Add", g.add("Mul", sums, g.numbers(formula.units)), g.numbers(formula.constant))
        if not formula.moderated:
            return sums
        f = g.add("Slice", sums, g.whole(0), g.whole(width - 1), g.whole(1))
        spread = g.add("Slice", sums, g.whole(width - 1), g.whole(width), g.whole(1))
        variance = g.add("MatMul", spread, g.numbers(np.pi / 8))
        return g.add("Div", f, g.add("Sqrt", g.add("Add", variance, g.numbers(1))))

    def _places(self, cells: str, formula: tree.Celled) -> str:
        """The places of cells in the table. Runtimes multiply int64 only, and shift uint64 only."""
        g, places = self.graph, cells
        if formula.hashed:
            mixed = self._folded(g.add("Mul", cells, self._bits(formula.CELL)), 29)
            upper = self._right(g.add("Mul", mixed, self._bits(formula.MIX)), 32)
            places = self._right(g.add("Mul", upper, g.whole(formula.full)), 32)
        if formula.hashed and formula.direct:
            places = g.add("Where", g.add("Less", cells, g.whole(formula.full)), cells, places)
        return self._right(places, formula.halvings) if formula.halvings else places

    def _right(self, v: str, shift: int) -> str:
        """Numbers without their last bits."""
        g, by = self.graph, np.array([shift], dtype=np.uint64)
        bits = g.add("BitShift", self._cast(v, np.uint64), g.constant(by), direction="RIGHT")
        return self._cast(bits, np.int64)

    def _folded(self, v: str, shift: int) -> str:
        """The exclusive or of numbers with themselves, shifted to the right."""
        g, bits = self.graph, self._cast(v, np.uint64)
        shifted = g.add("BitShift", bits, g.constant(np.array([shift], dtype=np.uint64)), direction="RIGHT")
        return self._cast(g.add("BitwiseXor", bits, shifted), np.int64)

    def _exact_sum(self, values: str) -> str:
        """The sum over the columns, modulo 2^64. In halves: onnxruntime adds up int64 in double."""
        g = self.graph
        upper = self._right(values, 32)
        lower = g.add("Sub", values, g.add("Mul", upper, g.whole(2**32)))
        one, other = (g.add("ReduceSum", half, g.whole(1), keepdims=0) for half in (upper, lower))
        return g.add("Add", g.add("Mul", one, g.whole(2**32)), other)

    def _bits(self, number: int) -> str:
        """The int64 with the bits of a number."""
        return self.graph.constant(np.array([number], dtype=np.uint64).view(np.int64))

    def _cast(self, values: str, dtype: npt.DTypeLike) -> str:
        return self.graph.add("Cast", values, to=self.graph.kind(dtype))

    def nearest(self, formula: tree.Nearest, x: str) -> str:
        g, k, classes = self.graph, formula.k, formula.labels.shape[1]
        distances, at = g.add_two(
            "TopK", self._single_distances(formula, x), g.whole(k), axis=1, largest=0, sorted=1
        )
        d = self._cast(distances, g.dtype)
        most = g.add("Slice", d, g.whole(k - 1), g.whole(k), g.whole(1))
        unit = g.add("Where", g.add("Greater", most, g.numbers(0)), most, g.numbers(1))
        votes = g.add("Add", g.add("Div", d, unit), g.numbers(formula.softening))
        weights = g.add("Gather", g.constant(formula.weights.astype(g.dtype)), at, axis=0)
        votes = g.add("Div", weights, votes)
        labels = g.constant(formula.labels.astype(g.dtype))
        of_rows = g.add("Gather", labels, at, axis=0)  # rows, neighbours, classes
        if classes == 1:  # equal targets have exactly their mean
            first = g.add("Slice", of_rows, g.whole(0), g.whole(1), g.whole(1))
            apart = g.add("Squeeze", g.add("Sub", of_rows, first), g.whole(2))
            mean = g.add("Div", g.sum(g.add("Mul", votes, apart)), g.sum(votes))
            return g.add("Add", mean, g.add("Squeeze", first, g.whole(2)))
        counted = g.add("Mul", g.add("Unsqueeze", votes, g.whole(2)), of_rows)
        sums = g.add("ReduceSum", counted, g.whole(1), keepdims=0)
        shares = g.add("Mul", sums, g.numbers(np.full(classes, 1 / (2 * formula.start))))
        logs = g.add("Log", g.add("Add", shares, g.numbers(1)))
        if classes == 2:
            return g.add("MatMul", logs, g.numbers([[-1], [1]]))
        return logs if formula.first is None else self._two_kept(logs, classes, *formula.first)

    def _two_kept(self, logs: str, classes: int, one: int, other: int) -> str:
        """Two first classes that became more have -f/2 and f/2."""
        g, mean, half, signs = self.graph, np.zeros(classes), np.zeros(classes), np.zeros(classes)
        mean[[one, other]] = 0.5
        half[[one, other]] = signs[[one, other]] = -1, 1
        above = g.add("Sub", logs, g.add("MatMul", logs, g.numbers(mean[:, None])))
        kept = g.add("MatMul", logs, g.numbers(half[:, None] * signs / 2))
        return g.add("Where", g.constant((signs != 0)[None, :]), kept, g.add("Max", above, g.numbers(0)))

    def _single_distances(self, formula: tree.Nearest, x: str) -> str:
        """Squared distances in single precision, added up in column order: those of the core, exactly."""
        g, total, scaled = self.graph, "", self._raw is not None and not formula.unscaled
        x = (self._raw or x) if formula.unscaled else x
        nothing = None if scaled else g.constant(np.zeros((1, 1), np.float32))
        clipped = g.add("Clip", x, g.number(-tree.Nearest.CLIP), g.number(tree.Nearest.CLIP))
        single = self._cast(clipped, np.float32)
        for j, column in enumerate(np.ascontiguousarray(formula.rows.T)):
            value = g.add("Slice", single, g.whole(j), g.whole(j + 1), g.whole(1))
            apart = g.add("Sub", g.constant(column[None, :]), value)
            if nothing is not None:
                apart = g.add("Where", g.add("IsNaN", apart), nothing, apart)
            square = g.add("Mul", apart, apart)
            total = g.add("Add", total, square) if total else square
        return total

    # ---- numbers of cells, one column per member

    def ferns(self, cells: tree.Ferns, x: str) -> str:
        g, (members, depth) = self.graph, cells.tested.shape
        values = g.add("Gather", x, g.constant(cells.tested.ravel()), axis=1)
        above = g.add("Greater", values, g.constant(finite(cells.thresholds.reshape(1, -1), g.dtype)))
        powers = g.constant(np.tile(2 ** np.arange(depth)[::-1], members)[None, :])
        bits = g.add("Where", above, powers, g.whole(0))
        codes = g.add(
            "ReduceSum", g.add("Reshape", bits, g.whole(-1, members, depth)), g.whole(2), keepdims=0
        )
        return g.add("Add", codes, g.constant(cells.first[None, :]))

    def quantiles(self, cells: tree.Quantiles, x: str) -> str:
        g, columns = self.graph, len(cells.edges)
        x = g.add("Slice", x, g.whole(0), g.whole(columns), g.whole(1))
        missing = g.add("IsNaN", x)
        bins, sides = self._bins(cells, g.add("Where", missing, g.numbers(0), x))
        starts, of_pairs = cells.starts, g.constant(cells.sides[None, :] - 1)
        bins = g.add("Where", missing, g.whole(cells.bins), bins)
        sides = g.add("Where", missing, of_pairs, sides)
        first = starts[-1] + (cells.bins + 1) * np.arange(columns)
        numbers = [g.add("Add", bins, g.constant(first[None, :]))]
        if cells.pairs:
            pairs = np.array(cells.pairs).T
            one, other = (g.add("Gather", sides, g.constant(each), axis=1) for each in pairs)
            one = g.add("Mul", one, g.constant(cells.sides[pairs[1]][None, :]))
            numbers.append(g.add("Add", g.add("Add", one, other), g.constant(starts[None, :-1])))
        return numbers[0] if len(numbers) == 1 else g.add("Concat", *numbers, axis=1)

    def _absent(self, cells: tree.CellNumbers, x: str) -> str | None:
        """Which cells are not there, if any can be: those of columns that came later, without a value."""
        if not isinstance(cells, tree.Quantiles) or cells.first >= len(cells.edges):
            return None
        g, columns, members = self.graph, len(cells.edges), cells.members
        x = g.add("Slice", x, g.whole(0), g.whole(columns), g.whole(1))
        empty = g.add("Or", g.add("IsNaN", x), g.add("Equal", x, g.numbers(0)))
        all_members = np.append(np.arange(columns), np.zeros(members - columns, int))
        of_members = g.add("Gather", empty, g.constant(all_members), axis=1)
        late = np.arange(members) >= cells.first
        late[columns:] = False  # pairs are those of the first columns
        return g.add("And", of_members, g.constant(late[None, :]))

    def _bins(self, cells: tree.Quantiles, x: str) -> tuple[str, str]:
        """The bins of columns without missing values, and those for pairs."""
        g, columns = self.graph, len(cells.edges)
        counts, codes = np.array(list(map(len, cells.edges))), np.array(cells.codes, dtype=bool)
        edges = np.full((1, columns, max(1, counts.max(initial=0))), np.inf, g.dtype)
        for j, each in enumerate(cells.edges):
            edges[0, j, : len(each)] = finite(each, g.dtype)
        if codes.any():
            limit = g.number(float(cells.FROM))
            floor = g.add("Floor", g.add("Clip", x, g.number(-float(cells.FROM)), limit))
            x = g.add("Where", g.constant(codes[None, :]), floor, x)
        one, edge = g.add("Unsqueeze", x, g.whole(2)), g.constant(edges)
        bins = self._count(g.add("GreaterOrEqual", one, edge))
        sides = g.add("Mul", bins, g.whole(cells.side))
        sides = g.add("Div", sides, g.constant((counts + 1)[None, :]))
        if not codes.any():
            return bins, sides
        number = g.add("Add", self._cast(floor, np.int64), g.whole(cells.FROM))
        known = g.add("Greater", self._count(g.add("Equal", one, edge)), g.whole(0))
        of_codes = g.constant(codes[None, :])
        found = []
        for plain, room in ((bins, np.full(columns, cells.bins)), (sides, cells.sides - 1)):
            behind = np.where(counts < room, counts, 0)
            place = g.add("Mod", g.add("Sub", bins, g.whole(1)), g.constant(room[None, :]))
            other = g.add("Mod", number, g.constant((room - behind)[None, :]))
            other = g.add("Add", other, g.constant(behind[None, :]))
            found.append(g.add("Where", of_codes, g.add("Where", known, place, other), plain))
        return found[0], found[1]

    def _count(self, found: str) -> str:
        """How many along the last axis."""
        counts = self.graph.add("ReduceSum", self._cast(found, np.int32), self.graph.whole(2), keepdims=0)
        return self._cast(counts, np.int64)

    def grids(self, cells: tree.Grids, x: str) -> str:
        g, (columns, members) = self.graph, cells.pitches.shape
        x = g.add("Slice", x, g.whole(0), g.whole(columns), g.whole(1))
        skipped = g.add("Or", g.add("IsNaN", x), g.add("Equal", x, g.numbers(0)))
        values = g.add("Unsqueeze", g.add("Where", skipped, g.numbers(1), x), g.whole(2))
        pitches = np.maximum(cells.pitches, np.finfo(g.dtype).tiny)[None]
        places = g.add("Div", values, g.constant(pitches.astype(g.dtype)))
        bins = g.add("Floor", g.add("Add", places, g.constant(cells.shifts[None].astype(g.dtype))))
        number = self._cast(g.add("Clip", bins, g.number(-(2.0**62)), g.number(2.0**62)), np.int64)
        of_column = (np.arange(1, columns + 1, dtype=np.uint64) * np.uint64(cells.COLUMN))[None, :, None]
        hashed = self._cast(g.add("Mul", number, self._bits(cells.BIN)), np.uint64)
        hashed = self._cast(g.add("BitwiseXor", hashed, g.constant(of_column)), np.int64)
        hashed = self._folded(g.add("Mul", self._folded(hashed, 29), self._bits(cells.MIX)), 32)
        nothing = g.add("Or", g.add("Unsqueeze", skipped, g.whole(2)), g.add("Equal", number, g.whole(0)))
        sums = self._exact_sum(g.add("Where", nothing, g.whole(0), hashed))
        return g.add("Add", sums, g.constant((np.arange(members) << 32)[None, :]))

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
        f = g.add("Sum", *terms)
        if not formula.bent:
            return f
        terms = [g.times(f, outputs, formula.slopes[-1])]
        for gain, bend in formula.bent:
            terms.append(g.times(g.add("Clip", f, g.number(-bend), g.number(bend)), outputs, gain))
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

    def features(self, features: pieces.Features, x: str) -> str:
        """z(x), one column per feature."""
        key = id(features), x
        if key not in self._features:
            pieces = [self.write(piece, x) for piece in features.pieces]
            self._features[key] = (
                pieces[0] if len(pieces) == 1 else self.graph.add("Concat", *pieces, axis=1)
            )
        return self._features[key]

    def inputs(self, piece: pieces.Inputs, x: str) -> str:
        g = self.graph
        columns = g.add("Slice", x, g.whole(piece.start), g.whole(piece.stop), g.whole(1))
        return g.times(columns, piece.size, piece.scale)

    def constant(self, piece: pieces.Constant, x: str) -> str:  # noqa: ARG002
        g = self.graph
        rows = g.add("Slice", g.add("Shape", x), g.whole(0), g.whole(1))
        return g.add("Expand", g.numbers(1), g.add("Concat", rows, g.whole(1), axis=0))

    def fourier(self, piece: pieces.Fourier, x: str) -> str:
        g = self.graph
        angles = g.add("MatMul", x, g.numbers(piece.frequencies))
        quarter = g.add("Add", angles, g.numbers(np.pi / 2))  # many runtimes have no Cos of doubles
        waves = g.add("Sin", g.add("Concat", angles, quarter, axis=1))
        return g.times(waves, piece.size, piece.frequencies.shape[1] ** -0.5)

    def nystrom(self, piece: pieces.Nystrom, x: str) -> str:
        k = self.write(piece.kernel, piece.points, x)
        return self.graph.add("MatMul", k, self.graph.numbers(piece.matrix.T))

    def hashed(self, piece: pieces.Hashed, x: str) -> str:
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
