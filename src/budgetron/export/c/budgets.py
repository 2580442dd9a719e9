"""Budgets in C: how a term beta k(x,.) joins the support vectors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from budgetron.export.c.source import Source
from budgetron.parts.budgets.projection import Project
from budgetron.parts.budgets.removal import Forget, RemoveOldest, RemoveRandom, Stop
from budgetron.parts.budgets.sampling import SampleUniform
from budgetron.parts.tasks import Task

LARGEST_CAP = {False: 1e70, True: 1e10}  # as in the core; for float, so that squares stay finite

RANDOM = """
/* The upper half of a product of 64 bits each. */
static inline uint64_t ${p}_upper(uint64_t a, uint64_t b) {
  const uint64_t a0 = a & 0xFFFFFFFFu, a1 = a >> 32, b0 = b & 0xFFFFFFFFu, b1 = b >> 32;
  const uint64_t low = a0 * b0, one = a1 * b0 + (low >> 32), two = a0 * b1 + (one & 0xFFFFFFFFu);
  return a1 * b1 + (one >> 32) + (two >> 32);
}

/* A random number of 0 .. n - 1: Philox4x64-10, number m->drawn of the seed. */
static inline int ${p}_below(${p}_state *m, int n) {
  uint64_t c[4] = {m->drawn / 4 + 1, 0, 0, 0}, k0 = UINT64_C($seed), k1 = 0;
  for (int round = 0; round < 10; ++round) {
    const uint64_t upper0 = ${p}_upper(UINT64_C(0xD2E7470EE14C6C93), c[0]);
    const uint64_t upper1 = ${p}_upper(UINT64_C(0xCA5A826395121157), c[2]);
    const uint64_t lower0 = UINT64_C(0xD2E7470EE14C6C93) * c[0];
    const uint64_t lower1 = UINT64_C(0xCA5A826395121157) * c[2];
    c[0] = upper1 ^ c[1] ^ k0;
    c[1] = lower1;
    c[2] = upper0 ^ c[3] ^ k1;
    c[3] = lower0;
    k0 += UINT64_C(0x9E3779B97F4A7C15);
    k1 += UINT64_C(0xBB67AE8584CAA73B);
  }
  return (int)${p}_upper(c[m->drawn++ % 4] >> 11 << 11, (uint64_t)n);
}
"""
FORGET = """\
  const int old = m->oldest;
  ${p}_real sigma = 0, mu = 0, q = 0;
  for (int c = 0; c < $C; ++c) {
    const ${p}_real *a = m->alpha + c * $B, size = $fabs(a[old]);
    const int sign = (a[old] > 0) - (a[old] < 0);
    ${p}_real at = (c == plus ? beta : c == minus ? -beta : 0) * k[old];
    if (sign == 0) continue;
    sigma = size > sigma ? size : sigma;
    for (int i = 0; i < $B; ++i) at += a[i] * $kernel(m->vectors + old * $d, m->vectors + i * $d);
    mu += sign * at;
    q += $kernel(m->vectors + old * $d, m->vectors + old * $d);
  }
  const ${p}_real a = q * sigma * sigma - 2 * sigma * mu, slack = m->slack;
  ${p}_real phi = 1;
  if (a + 2 * sigma > slack) {
    if (slack <= 0) return 1;
    phi = slack / (sigma + $sqrt(sigma * sigma + a * slack));
  }
  const ${p}_real psi = a * phi * phi + 2 * sigma * phi;
  if (!(phi > 0) || !($fabs(psi) <= $square)) return 1;
  m->slack -= psi;
  ${p}_put(m, old, x, beta, plus, minus);
  for (int i = 0; i < $C * $B; ++i) m->alpha[i] *= phi;
  m->oldest = (old + 1) % $B;
"""
APPEND = """\
  if (m->size < $B) {
    ${p}_put(m, m->size++, x, beta, plus, minus);
    return 1;
  }
"""
SAMPLE = """\
  const int gone = ${p}_below(m, $B);
  for (int i = 0; i < $C * $B; ++i) {
    const ${p}_real v = m->alpha[i] + m->alpha[i] * $more;
    m->alpha[i] = v < -$cap ? -$cap : v > $cap ? $cap : v;
  }
  ${p}_put(m, gone, x, beta, plus, minus);
"""
PROJECT = """\
  ${p}_real v[$B], P = 0;
  const ${p}_real *L = m->L;
  for (int i = 0; i < m->size; ++i) { /* L v = k */
    v[i] = k[i];
    for (int j = 0; j < i; ++j) v[i] -= *L++ * v[j];
    v[i] /= *L++;
    P += v[i] * v[i];
  }
  const ${p}_real delta2 = self - P;
  if (m->size < $B && delta2 > $inside * self && $sqrt(delta2) > $eta) {
    ${p}_real *row = m->L + m->size * (m->size + 1) / 2;
    for (int i = 0; i < m->size; ++i) row[i] = v[i];
    row[m->size] = $sqrt(delta2);
    ${p}_put(m, m->size++, x, beta, plus, minus);
    return 1;
  }
  for (int i = m->size - 1; i >= 0; --i) { /* L' d = v; d takes the place of v */
    const ${p}_real *row = m->L + i * (i + 1) / 2;
    v[i] /= row[i];
    for (int j = 0; j < i; ++j) v[j] -= row[j] * v[i];
    if (!${p}_within(beta * v[i])) return 1;
  }
  for (int i = 0; i < m->size; ++i) {
    m->alpha[plus * $B + i] += beta * v[i];
    if (minus >= 0) m->alpha[minus * $B + i] -= beta * v[i];
  }
"""


PROGRESS = "(2 * (y * fx < 1 ? 1 - y * fx : 0) - P - $half) / $twice"
INSERT: dict[type, str] = {
    Stop: APPEND,
    RemoveRandom: APPEND + "  ${p}_put(m, ${p}_below(m, $B), x, beta, plus, minus);\n",
    RemoveOldest: APPEND
    + "  ${p}_put(m, m->oldest, x, beta, plus, minus);\n  m->oldest = (m->oldest + 1) % $B;\n",
    Forget: "  if (mistake) m->slack += $gain;\n" + APPEND + FORGET,
    SampleUniform: APPEND + SAMPLE,
    Project: PROJECT,
}
"""The statements of each budget."""


@dataclass(frozen=True)
class BudgetCode:
    """The fields of a budget in the model, each with its first value, and the statements of `insert`.

    ``before`` is what these need in front of them.
    """

    size: int
    fields: list[tuple[str, str]]
    insert: str
    before: str


def budget_code(
    source: Source, learner: Any, task: Task, state: dict[str, Any], words: dict[str, Any]
) -> BudgetCode:
    """The budget of a kernel learner; ``words`` has the kernel, the sizes and the limits."""
    budget, name = learner.budget, type(learner.budget).__name__
    if type(budget) not in INSERT:
        known = ", ".join(kind.__name__ for kind in INSERT)
        raise ValueError(f"The budget {name} cannot learn in C: take one of {known}.")
    if budget.budget is None:
        raise ValueError(f"{name} without a budget cannot learn in C, where memory is fixed.")
    words = words | {"B": budget.budget, "gain": 15 / 32}
    if isinstance(budget, SampleUniform):
        words |= _sampling(budget, task.unit(learner.rule), source)
    if isinstance(budget, Project):
        words |= _projecting(budget, source)
    before = source.text(RANDOM, seed=state["random.seed"][0]) if "random.seed" in state else ""
    insert = source.text(INSERT[type(budget)], **words)
    fields = [*_fields(source, insert, state, budget.budget)]
    return BudgetCode(budget.budget, fields, insert, before)


def _fields(source: Source, insert: str, state: dict[str, Any], B: int) -> Iterator[tuple[str, str]]:
    if "random.drawn" in state:
        yield "uint64_t drawn", f"UINT64_C({state['random.drawn'][0]})"
    if "m->oldest" in insert:  # its place; the others follow in a ring
        births = state["expansion.births"]
        yield "int oldest", str(int(np.argmin(births)) if len(births) else 0)
    if "forget.M" in state:
        [M], [Q] = state["forget.M"], state["forget.Q"]
        yield "${p}_real slack", source.number(15 / 32 * float(M) - Q)
    if "span.L" in state:
        yield f"${{p}}_real L[{B * (B + 1) // 2}]", source.braces(state["span.L"])


def _sampling(budget: SampleUniform, unit: float, source: Source) -> dict[str, Any]:
    more = 1 / (budget.budget - 1) if budget.budget > 1 else 0.0  # 1 / (1 - 1/B) = 1 + 1 / (B - 1)
    return {"more": more, "cap": min(budget.cap * unit, LARGEST_CAP[source.single])}


def _projecting(budget: Project, source: Source) -> dict[str, Any]:
    if budget.rank is not None:
        raise ValueError("Project with a rank (nogd) cannot learn in C: take it without a rank.")
    eta: Any = float(budget.eta or 0)
    if budget.U is not None:
        eta = source.text(PROGRESS, half=0.5, twice=float(2 * budget.U))
    return {"eta": eta, "inside": 1e-5 if source.single else 1e-10}
