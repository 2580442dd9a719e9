"""The formulas of a frozen model as C functions."""

from __future__ import annotations

import numpy as np

from budgetron.export.c.source import Source
from budgetron.export.formulas import tree
from budgetron.export.formulas.rounding import finite
from budgetron.parts.features import pieces
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
static inline void $name(const ${p}_real *x, $raw${p}_real *f) {
  ${p}_real z[$columns];
  for (int j = 0; j < $columns; ++j) {
    const ${p}_real v = (x[j] - $shift[j]) * $factor[j];
    z[j] = $clipped;
  }
  $learner;
$back}
"""
NARROW = """
static inline void $name(const ${p}_real *x, $raw${p}_real *f) {
  ${p}_real few[$columns];
  for (int j = 0; j < $columns; ++j) few[j] = x[$kept[j]];
$before  $learner;
}
"""
BEFORE = """  ${p}_real before[$columns];
  for (int j = 0; j < $columns; ++j) before[j] = raw[$kept[j]];
"""
MIXTURE = """
static inline void $name(const ${p}_real *x, $raw${p}_real *f) {
  ${p}_real l[$outputs];
  for (int c = 0; c < $outputs; ++c) f[c] = $start;
$experts}
"""
BENT = """\
  for (int c = 0; c < {outputs}; ++c) {{
    const {real} v = f[c];
    f[c] = {sum};
  }}
"""
FERNS = """
static inline uint64_t $name(const ${p}_real *x, int m) {
  uint64_t code = 0;
  for (int i = m * $depth; i < (m + 1) * $depth; ++i) code = 2 * code + (x[$tested[i]] > $thresholds[i]);
  return $first[m] + code;
}
"""
REACHED = """
static inline int $name(${p}_real v, int j) { /* the number of edges that are not above v */
  int low = $starts[j], high = $starts[j + 1];
  while (low < high) {
    const int middle = (low + high) / 2;
    if ($edges[middle] <= v)
      low = middle + 1;
    else
      high = middle;
  }
  return low - $starts[j];
}
"""
CODE = """
static inline uint64_t $name(${p}_real v, int j, uint64_t bins) {
  const uint64_t known = (uint64_t)($starts[j + 1] - $starts[j]);
  v = $floor(v < -$most ? -$most : v > $most ? $most : v);
  const int above = $reached(v, j);
  if (above > 0 && $edges[$starts[j] + above - 1] == v) return (uint64_t)(above - 1) % bins;
  const uint64_t number = (uint64_t)((int64_t)v + (int64_t)$most);
  return known < bins ? known + number % (bins - known) : number % bins; /* a code that came later */
}
"""
BIN = """
static inline uint64_t $name(const ${p}_real *x, int j) {
  if (x[j] != x[j]) return $bins; /* a missing value */
  if ($codes[j]) return $code(x[j], j, $bins);
  return (uint64_t)$reached(x[j], j);
}
"""
SIDE = """
static inline uint64_t $name(const ${p}_real *x, int j) {
  if (x[j] != x[j]) return $sides[j] - 1u;
  if ($codes[j]) return $code(x[j], j, $sides[j] - 1u);
  return (uint64_t)$reached(x[j], j) * $side / (uint64_t)($starts[j + 1] - $starts[j] + 1);
}
"""
QUANTILES = """
static inline uint64_t $name(const ${p}_real *x, int m) {
$pair  const uint64_t bin = $bin(x, m);
$absent  return $columns_from + (uint64_t)m * ($bins + 1) + bin;
}
"""
PAIR = """\
  if (m >= $columns) {
    const int p = m - $columns, i = $pairs[2 * p], j = $pairs[2 * p + 1];
    return $pairs_from[p] + $side(x, i) * $sides[j] + $side(x, j);
  }
"""
ABSENT = """\
  if (m >= $first && (bin == $bins || x[m] == 0)) return $none; /* a column that came later */
"""
GRIDS = """
static inline uint64_t $name(const ${p}_real *x, int m) {
  uint64_t cell = (uint64_t)m << 32;
  for (int j = 0; j < $columns; ++j) {
    if (x[j] == 0 || x[j] != x[j]) continue;
    const ${p}_real bin = $floor(x[j] / $pitches[j * $members + m] + $shifts[j * $members + m]);
    if (bin == 0) continue;
    const int64_t number = (int64_t)($clipped);
    uint64_t v = ((uint64_t)number * $by) ^ ((uint64_t)(j + 1) * $column);
    v = (v ^ (v >> 29)) * $mix;
    cell += v ^ (v >> 32);
  }
  return cell;
}
"""
PLACE = """
static inline uint64_t $name(uint64_t cell) {
$direct  cell *= $by;
  cell ^= cell >> 29;
  cell *= $mix;
  return (cell >> 32) * $full >> 32;
}
"""
CELLED = """
static inline void $name(const ${p}_real *x, $raw${p}_real *f) {
  ${p}_real sums[$width] = {0};
$unused  for (int m = 0; m < $members; ++m) {
    const uint64_t cell = $cells($row, m);
$skip    const float *const entry = $entries + (size_t)($place) * $width;
    for (int c = 0; c < $width; ++c) sums[c] += entry[c];
  }
  for (int c = 0; c < $outputs; ++c) f[c] = $constant[c] + $unit * sums[c];
$moderate}
"""
CELLS_SPREAD = "  S = $constant[$outputs] + $last * sums[$outputs];\n"
NEAREST = """
static inline void $name(const ${p}_real *x, $raw${p}_real *f) {
  float row[$columns], near[$k];
  int at[$k], n = 0;
$unused  for (int j = 0; j < $columns; ++j)
    row[j] = (float)($row[j] < -$clip ? -$clip : $row[j] > $clip ? $clip : $row[j]);
  for (int i = 0; i < $n; ++i) {
    float sum = 0;
    for (int j = 0; j < $columns; ++j) {
      const float d = $rows[(size_t)i * $columns + j] - row[j];
      sum += d == d ? d * d : 0; /* a missing value adds nothing */
    }
    if (n == $k && !(sum < near[$k - 1])) continue;
    int place = n < $k ? n++ : $k - 1;
    for (; place > 0 && sum < near[place - 1]; --place) {
      near[place] = near[place - 1];
      at[place] = at[place - 1];
    }
    near[place] = sum;
    at[place] = i;
  }
  ${p}_real votes[$votes] = {0};
  const ${p}_real most = near[$k - 1];
  for (int i = 0; i < $k; ++i) {
    const ${p}_real vote = $weight / ((most > 0 ? near[i] / most : 0) + $softening);
$count  }
$finish}
"""
OF_TARGETS = """\
    votes[0] += vote;
    votes[1] += vote * ($labels[at[i]] - $labels[at[0]]);
"""
OF_LABELS = "    votes[$labels[at[i]]] += vote / 2;\n"
MEAN_TARGET = "  f[0] = $labels[at[0]] + votes[1] / votes[0];\n"
LOGS = "  for (int c = 0; c < $votes; ++c) votes[c] = $log1p(votes[c] / $start);\n"
TWO_LOGS = "  f[0] = votes[1] - votes[0];\n"
ALL_LOGS = "  for (int c = 0; c < $votes; ++c) f[c] = votes[c];\n"
KEPT_TWO = """\
  const ${p}_real mean = (votes[$one] + votes[$other]) / 2, half = (votes[$other] - votes[$one]) / 2;
  for (int c = 0; c < $votes; ++c) f[c] = votes[c] > mean ? votes[c] - mean : 0;
  f[$other] = half;
  f[$one] = -half;
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

    def call(self, formula: tree.Formula, row: str, raw: str, scores: str) -> str:
        """Write a formula; the call of its function."""
        name = self.write(formula)
        return (
            f"{name}({row}, {raw}, {scores})" if tree.looks_at_rows(formula) else f"{name}({row}, {scores})"
        )

    # ---- functions void f(const real *x, real *f). What looks at rows before any scaling gets these in
    # ---- between, const real *raw

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
        learner = self.call(formula.learner, "z", "raw", "f")
        words = {"learner": learner, "raw": self._raw(formula), "columns": self.columns}
        if formula.clip < 1e38:  # a learner that does not clip has 1e150
            clipped = s.text(CLIPPED, clip=float(formula.clip))
        if formula.missing:
            clipped = f"x[j] != x[j] ? 0 : {clipped}"
        if (formula.mean, formula.deviation) != (0, 1):
            back = s.text(BACK, mean=formula.mean, deviation=formula.deviation)
        arrays = {"shift": formula.shift, "factor": formula.factor}
        return s.function("f", SCALED, clipped=clipped, back=back, **arrays, **words)

    def narrow(self, formula: tree.Narrow) -> str:
        s, outer = self.source, self.columns
        self.columns = len(formula.kept)
        words = {"kept": s.table("int", formula.kept), "columns": self.columns, "raw": self._raw(formula)}
        words["learner"] = self.call(formula.learner, "few", "before", "f")
        before = s.text(BEFORE, **words) if tree.looks_at_rows(formula) else ""
        self.columns = outer
        return s.function("f", NARROW, before=before, **words)

    def mixture(self, formula: tree.Mixture) -> str:
        experts = "".join(self._expert(formula, i) for i in range(len(formula.experts)))
        start = "0" if formula.biases is None else f"{self.source.array(formula.biases)}[c]"
        words = {"outputs": self.outputs, "start": start, "raw": self._raw(formula)}
        return self.source.function("f", MIXTURE, experts=experts + self._bent(formula), **words)

    def _bent(self, formula: tree.Mixture) -> str:
        if not formula.bent:
            return ""
        s = self.source
        terms = [f"{s.number(formula.slopes[-1])} * v"]
        terms += [f"{s.number(gain)} * ({s.text(CLIPPED, clip=bend)})" for gain, bend in formula.bent]
        return BENT.format(outputs=self.outputs, real=f"{s.prefix}_real", sum="\n         + ".join(terms))

    def _raw(self, formula: tree.Formula) -> str:
        return self.source.text("const ${p}_real *raw, ") if tree.looks_at_rows(formula) else ""

    def _expert(self, formula: tree.Mixture, i: int) -> str:
        s = self.source
        loop, weight = f"  for (int c = 0; c < {self.outputs}; ++c)", s.number(formula.weights[i])
        text = f"  {self.call(formula.experts[i], 'x', 'raw', 'l')};\n"
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

    def celled(self, formula: tree.Celled) -> str:
        s, cells = self.source, formula.cells
        width, unscaled, moderate = formula.entries.shape[1], formula.cells.unscaled, ""
        constant = s.array(formula.constant)
        if formula.moderated:
            words = {"constant": constant, "outputs": self.outputs, "last": formula.unit_of_last}
            terms = s.text(CELLS_SPREAD, **words)
            moderate = s.text(MODERATE, terms=terms, share=np.pi / 8, outputs=self.outputs)
        late = isinstance(cells, tree.Quantiles) and cells.first < len(cells.edges)
        return s.function(
            "f",
            CELLED,
            **self._row(unscaled),
            cells=self.write(cells),
            members=cells.members,
            skip=f"    if (cell == {_bits(tree.NO_CELL)}) continue;\n" if late else "",
            place=self._place(formula) + (f" >> {formula.halvings}" if formula.halvings else ""),
            entries=s.table("float", formula.entries),
            width=width,
            outputs=self.outputs,
            constant=constant,
            unit=formula.unit,
            moderate=moderate,
        )

    def _place(self, formula: tree.Celled) -> str:
        """The place of a cell before any halving."""
        if not formula.hashed:
            return "cell"
        full = _bits(formula.full)
        direct = f"  if (cell < {full}) return cell;\n" if formula.direct else ""
        mixed = {"by": _bits(formula.CELL), "mix": _bits(formula.MIX)}
        return self.source.function("place", PLACE, direct=direct, full=full, **mixed) + "(cell)"

    def nearest(self, formula: tree.Nearest) -> str:
        s, (n, columns), classes = self.source, formula.rows.shape, formula.labels.shape[1]
        ones = bool((formula.weights == 1).all())
        words = {"k": formula.k, "n": n, "columns": columns, "softening": formula.softening}
        words |= {"weight": "1" if ones else f"{s.array(formula.weights)}[at[i]]", "clip": formula.CLIP}
        if classes == 1:
            labels, count, finish, votes = s.array(formula.labels), OF_TARGETS, MEAN_TARGET, 2
        else:
            codes = formula.labels.argmax(axis=1).astype(np.int32)
            labels, count, votes = s.table("int", codes), OF_LABELS, classes
            finish = LOGS + (
                TWO_LOGS if self.outputs == 1 else ALL_LOGS if formula.first is None else KEPT_TWO
            )
        one, other = formula.first or (0, 1)
        inner = {"labels": labels, "votes": votes, "start": formula.start, "one": one, "other": other}
        text = {"count": s.text(count, **inner), "finish": s.text(finish, **inner)}
        words |= self._row(formula.unscaled)
        return s.function("f", NEAREST, rows=s.table("float", formula.rows), votes=votes, **text, **words)

    def _row(self, unscaled: bool) -> dict[str, str]:
        """The words of a function that looks at rows before any scaling, or does not."""
        if not unscaled:
            return {"raw": "", "unused": "", "row": "x"}
        return {"raw": self.source.text("const ${p}_real *raw, "), "unused": "  (void)x;\n", "row": "raw"}

    # ---- functions uint64_t cell(const real *x, int m): the number of the cell of member m

    def ferns(self, cells: tree.Ferns) -> str:
        s = self.source
        arrays = {
            "tested": s.table("uint16_t", cells.tested),
            "thresholds": finite(cells.thresholds, s.dtype),
            "first": s.table("uint64_t", cells.first),
        }
        return s.function("cell", FERNS, depth=cells.tested.shape[1], **arrays)

    def quantiles(self, cells: tree.Quantiles) -> str:
        s, columns = self.source, len(cells.edges)
        joined = np.concatenate([*cells.edges, [0.0]])  # C has no empty arrays
        words: dict[str, object] = {
            "codes": s.table("uint8_t", np.array(cells.codes, dtype=np.uint8)),
            "starts": s.table("int", np.cumsum([0, *map(len, cells.edges)])),
            "edges": s.array(finite(joined, s.dtype)),
            "bins": _bits(cells.bins),
        }
        words["reached"] = s.function("reached", REACHED, **words)
        words["code"] = s.function("code", CODE, most=float(cells.FROM), **words)
        words["bin"] = s.function("bin", BIN, **words)
        pair = ""
        if cells.pairs:
            words |= {"sides": s.table("uint16_t", cells.sides)}
            pairs = s.table("uint16_t", np.array(cells.pairs))
            pairs_from = s.table("uint64_t", cells.starts[:-1])
            side = s.function("side", SIDE, side=_bits(cells.side), **words)
            pair = s.text(PAIR, side=side, pairs=pairs, pairs_from=pairs_from, columns=columns, **words)
        absent = (
            s.text(ABSENT, first=cells.first, none=_bits(tree.NO_CELL), **words)
            if cells.first < columns
            else ""
        )
        words["columns_from"] = _bits(int(cells.starts[-1]))
        return s.function("cell", QUANTILES, pair=pair, absent=absent, **words)

    def grids(self, cells: tree.Grids) -> str:
        s, (columns, members) = self.source, cells.pitches.shape
        tiny = np.finfo(s.dtype).tiny
        bits = {"by": _bits(cells.BIN), "column": _bits(cells.COLUMN), "mix": _bits(cells.MIX)}
        arrays = {"pitches": np.maximum(cells.pitches, tiny), "shifts": cells.shifts}
        clipped = s.text(CLIPPED.replace("v", "bin"), clip=2.0**62)
        return s.function(
            "cell", GRIDS, columns=columns, members=members, clipped=clipped, **bits, **arrays
        )

    # ---- functions void z(const real *x, real *z), and the statements that write a piece to z + at

    def features(self, features: pieces.Features) -> str:
        """Write the function of the features; its name."""
        if id(features) not in self._features:
            at, body = 0, ""
            for piece in features.pieces:
                body += self.write(piece, at)
                at += piece.size
            if not any(not isinstance(piece, pieces.Constant) for piece in features.pieces):
                body += "  (void)x;\n"
            head = "static inline void $name(const ${p}_real *x, ${p}_real *z) {\n"
            self._features[id(features)] = self.source.function("z", f"\n{head}{body}}}\n")
        return self._features[id(features)]

    def inputs(self, piece: pieces.Inputs, at: int) -> str:
        scale = "" if piece.scale == 1 else f"{self.source.number(piece.scale)} * "
        return f"  for (int j = 0; j < {piece.size}; ++j) z[{at} + j] = {scale}x[{piece.start} + j];\n"

    def constant(self, piece: pieces.Constant, at: int) -> str:  # noqa: ARG002
        return f"  z[{at}] = 1;\n"

    def fourier(self, piece: pieces.Fourier, at: int) -> str:
        d, D = piece.frequencies.shape
        return self.source.text(FOURIER, U=piece.frequencies.T, d=d, D=D, at=at, scale=D**-0.5)

    def nystrom(self, piece: pieces.Nystrom, at: int) -> str:
        arrays = {"points": piece.points, "A": piece.matrix.T}
        sizes = {"m": piece.size, "n": len(piece.points), "d": self.columns, "at": at}
        return self.source.text(FROM_KERNEL, kernel=self.kernel(piece.kernel), **arrays, **sizes)

    def hashed(self, piece: pieces.Hashed, at: int) -> str:
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


def _bits(number: int) -> str:
    return f"{number:#x}ULL"
