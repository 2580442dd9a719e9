"""Learners in C: a struct of fixed size, and the functions that change it."""

from __future__ import annotations

from typing import Any

import numpy as np

from budgetron.export.c import rules
from budgetron.export.c.budgets import budget_code
from budgetron.export.c.formulas import MODERATE, Formulas
from budgetron.export.c.source import Source
from budgetron.export.formulas.tree import Formula, Scaled, Weighted
from budgetron.learners.kernelized import Kernelized
from budgetron.learners.mapped import Mapped
from budgetron.learners.scaled import Standardised
from budgetron.model.fitted import Fitted
from budgetron.parts.kernels import Gaussian, Laplacian
from budgetron.parts.tasks import Labels, Task
from budgetron.parts.vector_rules import Kalman

Fields = list[tuple[str, str]]

COMMON = """
/* Whether a number is within the limits; NaN is not. */
static inline int ${p}_within(${p}_real v) { return $fabs(v) <= $largest; }
"""
KERNELIZED = """
static inline void ${p}_put(${p}_state *m, int i, const ${p}_real *x, ${p}_real beta, int plus, int minus) {
  for (int j = 0; j < $d; ++j) m->vectors[i * $d + j] = x[j];
  for (int c = 0; c < $C; ++c) m->alpha[c * $B + i] = c == plus ? beta : c == minus ? -beta : 0;
}

static inline void ${p}_scores(const ${p}_state *m, const ${p}_real *x, ${p}_real *f) {
  for (int c = 0; c < $C; ++c) f[c] = 0;
  for (int i = 0; i < m->size; ++i) {
    const ${p}_real k = $kernel(x, m->vectors + i * $d);
    for (int c = 0; c < $C; ++c) f[c] += m->alpha[c * $B + i] * k;
  }
}

static inline int ${p}_step(${p}_state *m, const ${p}_real *x, $argument) {
  ${p}_real k[$B], f[$C], norm = 0;
  for (int j = 0; j < $d; ++j) norm += x[j] * x[j];
  if (!(norm <= $norm)) return 0;
  const ${p}_real self = $self;
  for (int c = 0; c < $C; ++c) f[c] = 0;
  for (int i = 0; i < m->size; ++i) {
    k[i] = $kernel(x, m->vectors + i * $d);
    for (int c = 0; c < $C; ++c) f[c] += m->alpha[c * $B + i] * k[i];
  }
  for (int c = 0; c < $C; ++c)
    if (!${p}_within(f[c])) return 0;
  if (!${p}_within(self)) return 0;
$question$step$shrink  if (beta == 0) return 1;
$insert  return 1;
}
"""
MAPPED = """
static inline void ${p}_scores(const ${p}_state *m, const ${p}_real *x, ${p}_real *f) {
  ${p}_real z[$m];
  $features(x, z);
  for (int c = 0; c < $C; ++c) {
    f[c] = 0;
    for (int i = 0; i < $m; ++i) f[c] += m->w[c * $m + i] * z[i];
  }
$moderate}

static inline int ${p}_step(${p}_state *m, const ${p}_real *x, $argument) {
  ${p}_real z[$m], f[$C], self = 0, norm = 0;
  for (int j = 0; j < $d; ++j) norm += x[j] * x[j];
  if (!(norm <= $norm)) return 0;
  $features(x, z);
  for (int i = 0; i < $m; ++i) self += z[i] * z[i];
  if (!(self <= $square)) return 0;
  for (int c = 0; c < $C; ++c) {
    f[c] = 0;
    for (int i = 0; i < $m; ++i) f[c] += m->w[c * $m + i] * z[i];
    if (!${p}_within(f[c])) return 0;
  }
$body  return 1;
}
"""
ALONG = """\
$question$step$shrink  for (int i = 0; i < $m; ++i) {
    m->w[plus * $m + i] += beta * z[i];
    if (minus >= 0) m->w[minus * $m + i] -= beta * z[i];
  }
"""
VARIANCE = "  for (int i = 0; i < $m; ++i) S += m->variance[i] * z[i] * z[i];\n"
KALMAN = """\
  ${p}_real S = 0;
$variance  if (!(S <= $square)) return 0;
$errors  for (int i = 0; i < $m; ++i) {
    const ${p}_real g = m->variance[i] * z[i];
    for (int c = 0; c < $C; ++c) m->w[c * $m + i] += f[c] / (1 + h * S) * g;
  }
  if (h * S > $most) h = $most / S;
  for (int i = 0; i < $m; ++i) {
    const ${p}_real g = m->variance[i] * z[i], v = m->variance[i] - h / (1 + h * S) * g * g + $drift;
    m->variance[i] = v < 0 ? 0 : v > $prior ? $prior : v;
  }
"""
TWO_ERRORS = """\
  const ${p}_real up = 1 / (1 + $exp(f[0])), down = 1 / (1 + $exp(-f[0])); /* 1 - p and p */
  ${p}_real h = up * down;
  f[0] = 2 * (label ? up : -down); /* from here on f is the error */
"""
ERRORS = """\
  ${p}_real others = 0, wrong = 0; /* sums of small numbers, which 1 - p would lose */
  int top = 0;
  for (int c = 1; c < $C; ++c) top = f[c] > f[top] ? c : top;
  const ${p}_real most = f[top];
  for (int c = 0; c < $C; ++c) {
    f[c] = $exp(f[c] - most);
    others += c == top ? 0 : f[c];
  }
  ${p}_real h = others / (1 + others) / (1 + others);
  for (int c = 0; c < $C; ++c) {
    wrong += c == label ? 0 : f[c] / (1 + others);
    f[c] /= -(1 + others);
  }
  f[label] = wrong; /* from here on f is the error */
"""
TARGET_ERROR = """\
  ${p}_real h = 1;
  f[0] = y - f[0]; /* from here on f is the error */
  if (!${p}_within(f[0])) return 0;
"""
SPREAD = """
/* Mean and deviation of a column. A value is far beyond 10 deviations; see the page on learners. */
typedef struct {
  uint32_t count, later_count, evidence, until;
  ${p}_real mean, squares, later_mean, later_squares, last, reach;
} ${p}_spread;
"""
COUNTS = ("count", "later.count", "evidence", "until")  # the fields of a spread, in order
NUMBERS = ("mean", "squares", "later.mean", "later.squares", "last", "reach")
COUNT = """
static inline ${p}_real ${p}_deviation(const ${p}_spread *s) {
  return s->squares > 0 ? $sqrt(s->squares / (${p}_real)s->count) : 1;
}

static inline int ${p}_far(const ${p}_spread *s, ${p}_real x) {
  const ${p}_real d = x - s->mean;
  return s->count >= 16 && s->squares > 0 && (${p}_real)s->count * (d * d) > 100 * s->squares;
}

static inline void ${p}_add_to(uint32_t *count, ${p}_real *mean, ${p}_real *squares, ${p}_real x) {
  const ${p}_real d = x - *mean;
  *mean += d / (${p}_real)++*count;
  *squares += d * (x - *mean);
}

static inline void ${p}_take_later(${p}_spread *s) {
  const ${p}_spread later = {s->later_count, 0, 0, 0, s->later_mean, s->later_squares, 0, 0, s->last, 0};
  *s = later;
}

/* Whether x completes the evidence of a new unit: the statistics are then those of the last values. */
static inline int ${p}_judge(${p}_spread *s, ${p}_real x) {
  if (s->count < 32) return 0;
  if (${p}_far(s, x)) {
    if (s->evidence == 0) {
      s->later_count = 0;
      s->later_mean = s->later_squares = 0;
    }
    s->evidence += x != s->last;
    s->last = x;
    s->until = s->count + 1000;
  } else if (s->evidence > 0) {
    --s->evidence;
  } else {
    return 0;
  }
  ${p}_add_to(&s->later_count, &s->later_mean, &s->later_squares, x);
  if (s->evidence < 32) return 0;
  ${p}_take_later(s);
  return 1;
}

/* Counts value, for x. */
static inline void ${p}_add_in_full(${p}_spread *s, ${p}_real value, ${p}_real x) {
  ${p}_add_to(&s->count, &s->mean, &s->squares, value);
  if (s->count <= 16 || s->count > 32) return;
  ${p}_add_to(&s->later_count, &s->later_mean, &s->later_squares, x);
  if (s->count < 32) return;
  if (s->later_count >= 16 && s->later_squares > 0 &&
      100 * s->later_squares / (${p}_real)s->later_count < s->squares / (${p}_real)s->count) {
    ${p}_take_later(s);
  } else {
    s->later_count = 0;
    s->later_mean = s->later_squares = 0;
  }
}

static inline int ${p}_known(const ${p}_spread *s, ${p}_real x) {
  return s->count <= s->until && ${p}_far(s, x) && x != s->last && (x - s->mean) * (s->last - s->mean) > 0;
}

static inline void ${p}_add(${p}_spread *s, ${p}_real x) {
  const ${p}_real before = s->last - s->mean, d = x - s->mean;
  const int alike = ${p}_known(s, x);
  if (${p}_judge(s, x)) return;
  ${p}_real full = s->reach;
  if (s->count < 16 || s->squares == 0) {
    if (s->count > 0 && $fabs(d) > full) s->reach = $fabs(d);
    ${p}_add_in_full(s, x, x);
    return;
  }
  if (alike && s->evidence <= 1 && $fabs(before) > full) full = $fabs(before);
  ${p}_real most = s->squares * (s->count > 100 ? 100 / (${p}_real)s->count : 1);
  most = full * full > most ? full * full : most;
  ${p}_add_in_full(s, d * d > most ? s->mean + (d < 0 ? -$sqrt(most) : $sqrt(most)) : x, x);
}
"""
SCALE = """
static inline void ${p}_scale(const ${p}_state *m, const ${p}_real *x, ${p}_real *z) {
  for (int j = 0; j < $d; ++j) {
    const ${p}_spread *s = m->columns + j;
    z[j] = 0;
    if (x[j] != x[j] || !(s->squares > 0)) continue; /* missing, or constant so far */
    const ${p}_real v = (x[j] - s->mean) / ${p}_deviation(s);
    z[j] = v < -$clip ? -$clip : v > $clip ? $clip : v;
  }
}

static inline void ${p}_count(${p}_state *m, const ${p}_real *x) {
  for (int j = 0; j < $d; ++j)
    if (x[j] == x[j]) ${p}_add(m->columns + j, x[j]);
}

static inline void ${p}_scaled_scores(const ${p}_state *m, const ${p}_real *x, ${p}_real *f) {
  ${p}_real z[$d];
  ${p}_scale(m, x, z);
  ${p}_scores(m, z, f);
$back}
"""
FINITE = """\
  for (int j = 0; j < $d; ++j)
    if ($fabs(x[j]) > $largest) return 0;
"""
TARGET = """\
  if (!${p}_within(y)) return 0;
  ${p}_spread t = m->target;
  const int far = ${p}_far(&t, y), known = ${p}_known(&t, y);
  int taken = ${p}_judge(&t, y);
  if (!taken && (!far || (known && t.evidence <= 1))) {
    ${p}_add_in_full(&t, y, y);
    taken = 1;
  }
  if (taken && !${p}_step(m, z, (y - t.mean) / ${p}_deviation(&t))) return 0;
  m->target = t;
"""
LEARN = """
/* Learns the row x; $what. Returns 1, or 0 with nothing changed if a number is too large or not finite. */
static inline int ${p}_learn(${p}_state *m, const ${p}_real *x, $argument) {
$body}
"""


def write_learner(source: Source, formula: Formula, fitted: Fitted) -> str:
    """Write the struct and the functions of a learner; the name of the function of the scores."""
    return _Writer(source, fitted).write(formula)


class _Writer:
    def __init__(self, source: Source, fitted: Any) -> None:
        self.source, self.fitted, self.model = source, fitted, fitted.model
        self.task: Task = self.model.task
        single = source.single
        self.words: dict[str, Any] = {
            "d": self.model.n_features,
            "C": self.fitted.outputs,
            "largest": 1e18 if single else 1e150,
            "square": 1e36 if single else 1e250,
            "norm": 4e37 if single else 2e307,
            "argument": source.text(rules.argument(self.task)),
        }

    def write(self, formula: Any) -> str:
        learner, native, fields = self.model.learner, self.model.engine, list[tuple[str, str]]()
        self.standardised = isinstance(learner, Standardised)
        if isinstance(learner, Standardised):
            assert isinstance(formula, Scaled)
            fields += self._statistics(native.state())
            self.words["clip"] = float(learner.clip)
            learner, native, formula = learner.learner, native.inner, formula.learner
        if isinstance(learner, Kernelized):
            more, code = self._kernelized(learner, native)
        elif isinstance(learner, Mapped):
            more, code = self._mapped(learner, native, formula)
        else:
            raise ValueError(
                f"The learner {type(learner).__name__} cannot learn in C: take a kernel learner or one on "
                "explicit features, alone or in Standardised."
            )
        if self.standardised:
            self.source.add(SPREAD)
        self._struct(more + fields)
        self.source.add(COMMON + code, **self.words)
        if self.standardised:
            self._write_scaling()
        self._write_learn()
        return f"{self.source.prefix}_{'scaled_' if self.standardised else ''}scores"

    def _struct(self, fields: Fields) -> None:
        fields = [(self.source.text(declared), value) for declared, value in fields]
        declared = "".join(f"  {declared};\n" for declared, _ in fields)
        values = ",\n".join("{0}" if value.replace(" ", "") == "{\n}" else value for _, value in fields)
        self.source.add(
            "\n/* All that learning changes. It starts as it was exported: ${p}_state m = ${p}_start; */\n"
            "typedef struct {\n$declared} ${p}_state;\n\n"
            "static const ${p}_state ${p}_start = {$values};\n",
            declared=declared,
            values=values,
        )

    # ---- kernel learners

    def _kernelized(self, learner: Kernelized, native: Any) -> tuple[Fields, str]:
        s, state = self.source, native.state()
        kernel = Formulas(s, self.fitted.outputs, self.model.n_features).kernel(learner.kernel)
        budget = budget_code(s, learner, self.task, state, self.words | {"kernel": kernel})
        d, C, B = self.model.n_features, self.fitted.outputs, budget.size
        order = np.argsort(np.argsort(state["expansion.births"]))  # from age to the place in the core
        vectors, coef = native.support_vectors(d)[order], np.zeros((C, B))
        coef[:, : len(order)] = native.dual_coef()[:, order]
        fields = [
            ("int size", str(len(order))),
            (f"${{p}}_real vectors[{B * d}]", s.braces(vectors)),
            (f"${{p}}_real alpha[{C * B}]", s.braces(coef)),
        ]
        one = isinstance(learner.kernel, Gaussian | Laplacian)
        self.words |= {"B": B, "kernel": kernel, "self": "1" if one else f"{kernel}(x, x)"}
        self.words["insert"] = budget.insert
        self._add_rule(learner.rule, "m->alpha", C * B)
        return fields + budget.fields, budget.before + KERNELIZED

    def _add_rule(self, rule: Any, coefficients: str, count: int) -> None:
        share = rules.shrink(self.source, rule)
        loop = f"  for (int i = 0; i < {count}; ++i) {coefficients}[i] -= {share} * {coefficients}[i];\n"
        self.words |= {
            "question": rules.question(self.source, self.task),
            "step": rules.step(self.source, rule, self.task, self.words["square"]),
            "shrink": "" if share is None else loop,
        }

    # ---- explicit features

    def _mapped(self, learner: Mapped, native: Any, formula: Weighted) -> tuple[Fields, str]:
        if learner.cells is not None:
            raise ValueError(
                f"The cells of {type(learner.features).__name__} cannot learn in C: take a Fourier map."
            )
        s, m, C = self.source, formula.features.size, self.fitted.outputs
        if learner.features.learns:
            raise ValueError(
                "Maps that learn (Nystrom, Recruited, LearnedWidths) cannot learn in C: take a Fourier map."
            )
        features = Formulas(s, C, self.model.n_features).features(formula.features)
        fields = [(f"${{p}}_real w[{C * m}]", s.braces(formula.coef))]
        self.words |= {"m": m, "features": features, "moderate": ""}
        if isinstance(learner.rule, Kalman):
            full, variances = native.covariance()
            if len(full):
                raise ValueError('A Kalman filter can learn in C with covariance="diagonal" only.')
            fields.append((f"${{p}}_real variance[{m}]", s.braces(variances)))
            self.words["body"] = self._kalman(learner.rule)
        else:
            self._add_rule(learner.rule, "m->w", C * m)
            self.words["body"] = s.text(ALONG, **self.words)
        return fields, MAPPED

    def _kalman(self, rule: Kalman) -> str:
        s, errors = self.source, TARGET_ERROR
        variance = s.text(VARIANCE, **self.words)
        if isinstance(self.task, Labels):
            errors = TWO_ERRORS if self.fitted.outputs == 1 else ERRORS
            terms = {"terms": variance, "outputs": self.fitted.outputs}
            self.words["moderate"] = s.text(MODERATE, share=np.pi / 8, **terms)
        numbers = {"drift": float(rule.drift), "prior": float(rule.prior), "most": 2.0**40}
        errors = s.text(errors, **self.words)
        return s.text(KALMAN, errors=errors, variance=variance, **numbers, **self.words)

    # ---- scaling

    def _statistics(self, state: dict[str, Any]) -> Fields:
        [kind] = state["scaled.kind"]
        if kind == 2:
            raise ValueError("A model of sparse rows cannot learn in C.")
        d, fields = self.model.n_features, []
        columns = [self._spread(state, "scaled.", j) for j in range(d)]
        fields.append((f"${{p}}_spread columns[{d}]", "{" + ",\n".join(columns) + "}"))
        if not isinstance(self.task, Labels):
            fields.append(("${p}_spread target", self._spread(state, "scaled.target.", 0)))
        return fields

    def _spread(self, state: dict[str, Any], prefix: str, j: int) -> str:
        if prefix + "count" not in state:  # no row was learned
            return "{0}"
        counts = [str(int(state[prefix + name][j])) for name in COUNTS]
        numbers = [self.source.number(state[prefix + name][j]) for name in NUMBERS]
        return f"{{{', '.join(counts + numbers)}}}"

    def _write_scaling(self) -> None:
        back = ""
        if not isinstance(self.task, Labels):
            back = self.source.text("  f[0] = m->target.mean + ${p}_deviation(&m->target) * f[0];\n")
        self.source.add(COUNT + SCALE, back=back, **self.words)

    def _write_learn(self) -> None:
        s, labels, body = self.source, isinstance(self.task, Labels), ""
        y = "label" if labels else "y"
        if labels:
            body += f"  if (label < 0 || label >= {s.prefix}_classes) return 0;\n"
            if not self.fitted.labels.is_sorted:
                codes = ", ".join(map(str, self.fitted.labels.order.tolist()))
                body += f"  static const int codes[] = {{{codes}}};\n"
                y = "codes[label]"
        if not self.standardised:
            body += f"  return {s.prefix}_step(m, x, {y});\n"
        else:
            body += FINITE + "  ${p}_real z[$d];\n  ${p}_scale(m, x, z);\n"
            body += "  if (!${p}_step(m, z, " + y + ")) return 0;\n" if labels else TARGET
            body += "  ${p}_count(m, x);\n  return 1;\n"
        what = f"label is a place in {s.prefix}_labels" if labels else "y is its target"
        s.add(LEARN, what=what, body=s.text(body, **self.words), argument=self.words["argument"])
