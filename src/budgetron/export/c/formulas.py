"""The formulas of a frozen model as C functions."""

from __future__ import annotations

import numpy as np

from budgetron.export.c.source import Source
from budgetron.export.formulas import tree
from budgetron.parts.kernels import Gaussian, Kernel, Laplacian, Linear, Polynomial, Sigmoid

KERNEL = """
static inline ${p}_real $name(const ${p}_real *x, const ${p}_real *s) {
  ${p}_real r = 0;
  for (int j = 0; j < $columns; ++j) $reduce;
  return $finish;
}
"""
POWER = """
static inline ${p}_real $name(${p}_real base) {
  ${p}_real power = 1;
  for (int i = 0; i < $degree; ++i) power *= base;
  return power;
}
"""
EXPANSION = """
static inline void $name(const ${p}_real *x, ${p}_real *f) {
  for (int c = 0; c < $outputs; ++c) f[c] = 0;
  for (int i = 0; i < $n; ++i) {
    const ${p}_real k = $kernel(x, $vectors + (size_t)i * $columns);
    for (int c = 0; c < $outputs; ++c) f[c] += $coef[(size_t)i * $outputs + c] * k;
  }
}
"""
WEIGHTED = """
static inline void $name(const ${p}_real *x, ${p}_real *f) {
  ${p}_real z[$m];
  $features(x, z);
  for (int c = 0; c < $outputs; ++c) {
    f[c] = 0;
    for (int i = 0; i < $m; ++i) f[c] += $coef[(size_t)c * $m + i] * z[i];
  }
$moderate}
"""
MODERATE = """\
  ${p}_real S = 0;
$terms  S = $sqrt(1 + $share * S);
  for (int c = 0; c < $outputs; ++c) f[c] /= S;
"""
FULL = """\
  const ${p}_real *P = $full;
  for (int i = 0; i < $n; ++i) {
    ${p}_real g = 0;
    for (int j = 0; j <= i; ++j) g += *P++ * z[j];
    S += g * z[i];
  }
"""
DIAGONAL = "  for (int i = 0; i < $n; ++i) S += $variances[i] * z[$first + i] * z[$first + i];\n"
SCALED = """
static inline void $name(const ${p}_real *x, ${p}_real *f) {
  ${p}_real z[$columns];
  for (int j = 0; j < $columns; ++j) {
    const ${p}_real v = (x[j] - $shift[j]) * $factor[j];
    z[j] = $clipped;
  }
  $learner(z, f);
$back}
"""
MIXTURE = """
static inline void $name(const ${p}_real *x, ${p}_real *f) {
  ${p}_real l[$outputs];
  for (int c = 0; c < $outputs; ++c) f[c] = $start;
$experts}
"""
FOURIER = """\
  for (int i = 0; i < $D; ++i) {
    ${p}_real angle = 0;
    for (int j = 0; j < $d; ++j) angle += $U[(size_t)i * $d + j] * x[j];
    z[$at + i] = $scale * $sin(angle);
    z[$at + $D + i] = $scale * $cos(angle);
  }
"""
FROM_KERNEL = """\
  for (int r = 0; r < $m; ++r) z[$at + r] = 0;
  for (int i = 0; i < $n; ++i) {
    const ${p}_real k = $kernel(x, $points + (size_t)i * $d);
    for (int r = 0; r < $m; ++r) z[$at + r] += $A[(size_t)i * $m + r] * k;
  }
"""
HASHED = """\
  static const int places$at[$d] = {$places};
  ${p}_real h$at[$columns] = {0};
  for (int j = 0; j < $d; ++j) h$at[places$at[j]] += $signs[j] * x[j];
  $inner(h$at, z + $at);
"""
PRODUCT = "r += x[j] * s[j]"
KERNELS: dict[type, tuple[str, str]] = {
    Gaussian: ("r += (x[j] - s[j]) * (x[j] - s[j])", "$exp(-$gamma * r)"),
    Laplacian: ("r += $fabs(x[j] - s[j])", "$exp(-$gamma * r)"),
    Linear: (PRODUCT, "r"),
    Polynomial: (PRODUCT, "$pow($gamma * r + $coef0, $degree)"),
    Sigmoid: (PRODUCT, "$tanh($gamma * r + $coef0)"),
}
"""How each kernel adds up its columns, and what it makes of the sum."""
BACK = "  f[0] = $mean + $deviation * f[0];\n"
CLIPPED = "v < -$clip ? -$clip : v > $clip ? $clip : v"


class Formulas(tree.Writer):
    """Writes formulas into a source. ``columns`` is the number of columns of the rows."""

    language = "C"

    def __init__(self, source: Source, outputs: int, columns: int) -> None:
        self.source, self.outputs, self.columns = source, outputs, columns
        self._features: dict[int, str] = {}  # experts may share a map

    # ---- functions void f(const real *x, real *f)

    def expansion(self, formula: tree.Expansion) -> str:
        s, kernel = self.source, self.kernel(formula.kernel)
        arrays = {"vectors": formula.vectors, "coef": formula.coef.T}
        words = {"n": len(formula.vectors), "outputs": self.outputs, "columns": self.columns}
        return s.function("f", EXPANSION, kernel=kernel, **arrays, **words)

    def weighted(self, formula: tree.Weighted) -> str:
        s, features, m = self.source, self.features(formula.features), formula.features.size
        coef, moderate = s.array(formula.coef), ""
        if formula.full is not None and formula.variances is not None:
            terms = self._quadratic(formula.full, formula.variances)
            moderate = s.text(MODERATE, terms=terms, share=np.pi / 8, outputs=self.outputs)
        words = {"m": m, "outputs": self.outputs}
        return s.function("f", WEIGHTED, features=features, coef=coef, moderate=moderate, **words)

    def _quadratic(self, full: tree.Floats, variances: tree.Floats) -> str:
        """S += z'P z. Of the full block the lower triangle is stored, with the sum of two equal entries."""
        s, n, text = self.source, len(full), ""
        if n:
            lower = np.where(np.eye(n, dtype=bool), full, full + full.T)[np.tril_indices(n)]
            text += s.text(FULL, full=lower, n=n)
        if len(variances):
            text += s.text(DIAGONAL, variances=variances, n=len(variances), first=n)
        return text

    def scaled(self, formula: tree.Scaled) -> str:
        s, clipped, back = self.source, "v", ""
        words = {"learner": self.write(formula.learner), "columns": self.columns}
        if formula.clip < 1e38:  # a learner that does not clip has 1e150
            clipped = s.text(CLIPPED, clip=float(formula.clip))
        if formula.missing:
            clipped = f"x[j] != x[j] ? 0 : {clipped}"
        if (formula.mean, formula.deviation) != (0, 1):
            back = s.text(BACK, mean=formula.mean, deviation=formula.deviation)
        arrays = {"shift": formula.shift, "factor": formula.factor}
        return s.function("f", SCALED, clipped=clipped, back=back, **arrays, **words)

    def mixture(self, formula: tree.Mixture) -> str:
        experts = "".join(self._expert(formula, i) for i in range(len(formula.experts)))
        start = "0" if formula.biases is None else f"{self.source.array(formula.biases)}[c]"
        return self.source.function("f", MIXTURE, outputs=self.outputs, start=start, experts=experts)

    def _expert(self, formula: tree.Mixture, i: int) -> str:
        s = self.source
        loop, weight = f"  for (int c = 0; c < {self.outputs}; ++c)", s.number(formula.weights[i])
        text = f"  {self.write(formula.experts[i])}(x, l);\n"
        if formula.factors is None:
            return f"{text}{loop} f[c] += {weight} * l[c];\n"
        logit = "l[c]"
        if self.outputs > 1:
            first = " + ".join(f"l[{c}]" for c in range(formula.centred))
            text += f"  const {s.prefix}_real mean{i} = ({first}) / {formula.centred};\n"
            logit = f"(l[c] - mean{i})"
        clipped = s.text(CLIPPED, clip=formula.clip)
        text += f"{loop} {{\n    const {s.prefix}_real v = {logit} * {s.number(formula.factors[i])};\n"
        return f"{text}    f[c] += {weight} * ({clipped});\n  }}\n"

    # ---- functions void z(const real *x, real *z), and the statements that write a piece to z + at

    def features(self, features: tree.Features) -> str:
        """Write the function of the features; its name."""
        if id(features) not in self._features:
            at, body = 0, ""
            for piece in features.pieces:
                body += self.write(piece, at)
                at += piece.size
            if not any(not isinstance(piece, tree.Constant) for piece in features.pieces):
                body += "  (void)x;\n"
            head = "static inline void $name(const ${p}_real *x, ${p}_real *z) {\n"
            self._features[id(features)] = self.source.function("z", f"\n{head}{body}}}\n")
        return self._features[id(features)]

    def inputs(self, piece: tree.Inputs, at: int) -> str:
        scale = "" if piece.scale == 1 else f"{self.source.number(piece.scale)} * "
        return f"  for (int j = 0; j < {piece.size}; ++j) z[{at} + j] = {scale}x[{piece.start} + j];\n"

    def constant(self, piece: tree.Constant, at: int) -> str:  # noqa: ARG002
        return f"  z[{at}] = 1;\n"

    def fourier(self, piece: tree.Fourier, at: int) -> str:
        d, D = piece.frequencies.shape
        return self.source.text(FOURIER, U=piece.frequencies.T, d=d, D=D, at=at, scale=D**-0.5)

    def nystrom(self, piece: tree.Nystrom, at: int) -> str:
        arrays = {"points": piece.points, "A": piece.matrix.T}
        sizes = {"m": piece.size, "n": len(piece.points), "d": self.columns, "at": at}
        return self.source.text(FROM_KERNEL, kernel=self.kernel(piece.kernel), **arrays, **sizes)

    def hashed(self, piece: tree.Hashed, at: int) -> str:
        inner = Formulas(self.source, self.outputs, piece.columns).features(piece.features)
        places = ", ".join(map(str, piece.places.tolist()))
        words = {"inner": inner, "places": places, "columns": piece.columns, "d": self.columns, "at": at}
        return self.source.text(HASHED, signs=piece.signs, **words)

    # ---- kernels

    def kernel(self, kernel: Kernel) -> str:
        """Write the function of a kernel; its name."""
        s, (reduce, finish) = self.source, KERNELS[type(kernel)]
        if isinstance(kernel, Polynomial) and kernel.degree <= 100:
            finish = f"{s.function('power', POWER, degree=kernel.degree)}($gamma * r + $coef0)"
        numbers = {name: float(value) for name, value in kernel.get_params().items()}
        words = {"reduce": s.text(reduce), "finish": s.text(finish, **numbers)}
        return s.function("kernel", KERNEL, columns=self.columns, **words)
