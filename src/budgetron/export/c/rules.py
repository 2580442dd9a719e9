"""Scalar rules in C: what a step is computed from, and how long it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from budgetron.export.c.source import Source
from budgetron.parts.losses import (
    Absolute,
    EpsilonInsensitive,
    Hinge,
    Logistic,
    Loss,
    Squared,
    SquaredHinge,
)
from budgetron.parts.rules import OGD, PA, MarginPerceptron, Perceptron, loss_for_labels, loss_for_targets
from budgetron.parts.tasks import Labels, Task

TWO_CLASSES = """\
  const ${p}_real fx = f[0], y = label ? 1 : -1, kxx = self;
  const int mistake = (fx >= 0) != label, plus = 0, minus = -1;
"""
CLASSES = """\
  int s = label == 0 ? 1 : 0;
  for (int c = s + 1; c < $outputs; ++c) s = c != label && f[c] > f[s] ? c : s;
  const ${p}_real fx = f[label] - f[s], y = 1, kxx = 2 * self;
  const int mistake = f[s] > f[label] || (f[s] == f[label] && s < label), plus = label, minus = s;
"""
TARGETS = """\
  const ${p}_real fx = f[0], kxx = self;
  const int mistake = fx != y, plus = 0, minus = -1;
"""
POSSIBLE = """\
  (void)mistake, (void)fx;
  if (!(${p}_within(beta) && beta * beta * kxx <= $square)) return 0;
"""
SIGN = "(${p}_real)((fx > y) - (fx < y))"
SLOPES: dict[type, str] = {
    Hinge: "y * fx < 1 ? -y : 0",
    SquaredHinge: "y * fx < 1 ? -y * (1 - y * fx) : 0",
    Logistic: "-y / (1 + $exp(y * fx))",
    Squared: "fx - y",
    Absolute: SIGN,
    EpsilonInsensitive: f"$fabs(fx - y) > $epsilon ? {SIGN} : 0",
}


def argument(task: Task) -> str:
    """The last argument of a step: the label's code, or the target."""
    return "int label" if isinstance(task, Labels) else "${p}_real y"


def question(source: Source, task: Task) -> str:
    """Statements from f and self = k(x,x) to fx, y, kxx, mistake, plus and minus."""
    if not isinstance(task, Labels):
        return source.text(TARGETS)
    return source.text(TWO_CLASSES if task.outputs == 1 else CLASSES, outputs=task.outputs)


def step(source: Source, rule: Any, task: Task, square: float) -> str:
    """Statements that define beta, and refuse a step that is too long."""
    if type(rule) not in BETAS:
        raise ValueError(
            f"The rule {type(rule).__name__} cannot learn in C: take Perceptron, MarginPerceptron, PA or "
            'OGD, or Kalman(covariance="diagonal") on features.'
        )
    beta = BETAS[type(rule)](source, rule, isinstance(task, Labels), source.number(task.unit(rule)))
    defined = source.text(f"  const ${{p}}_real {beta};\n")
    return defined + source.text(POSSIBLE, square=square)


def shrink(source: Source, rule: Any) -> str | None:
    """The share of f that is taken away before a step; None for nothing.

    1 minus the share would be rounded, always to the same side, and a float would drift.
    """
    return source.number(rule.eta * rule.lam) if isinstance(rule, OGD) and rule.lam else None


def _perceptron(source: Source, rule: Perceptron, labels: bool, unit: str) -> str:
    if labels:
        return f"beta = mistake ? {unit} * y : 0"
    return f"beta = $fabs(y - fx) > {source.number(rule.epsilon)} ? (y > fx ? {unit} : -{unit}) : 0"


def _margin_perceptron(source: Source, rule: MarginPerceptron, labels: bool, unit: str) -> str:
    if labels:
        return f"beta = y * fx <= {source.number(rule.margin)} ? {unit} * y : 0"
    return _perceptron(source, rule, labels, unit)


def _passive_aggressive(source: Source, rule: PA, labels: bool, unit: str) -> str:
    least = "1e-6f" if source.single else "1e-12"
    loss, scale, sign = "1 - y * fx", "$fabs(fx)", "y"
    if not labels:
        epsilon = source.number(rule.epsilon)
        loss, scale, sign = f"$fabs(y - fx) - {epsilon}", "$fabs(y)", "(y > fx ? 1 : -1)"
    clear = f"l = {loss}, least = {least} * ({scale} > 1 ? {scale} : 1), "
    longest = f"most = kxx > 0 ? l / kxx : 0, beta = kxx > 0 && l > least ? {sign} * "
    return f"{clear}{longest}({unit} < most ? {unit} : most) : 0"


def _gradient(source: Source, rule: OGD, labels: bool, unit: str) -> str:
    if labels:
        return f"beta = -{unit} * ({_slope(source, loss_for_labels(rule))})"
    slope, epsilon = _slope(source, loss_for_targets(rule)), source.number(rule.epsilon)
    return f"beta = $fabs(y - fx) <= {epsilon} ? 0 : -{unit} * ({slope})"


BETAS: dict[type, Callable[[Source, Any, bool, str], str]] = {
    Perceptron: _perceptron,
    MarginPerceptron: _margin_perceptron,
    PA: _passive_aggressive,
    OGD: _gradient,
}


def _slope(source: Source, loss: Loss) -> str:
    if type(loss) not in SLOPES:
        raise ValueError(f"The loss {type(loss).__name__} cannot learn in C.")
    numbers = {name: float(value) for name, value in loss.get_params().items()}
    return source.text(SLOPES[type(loss)], **numbers)
