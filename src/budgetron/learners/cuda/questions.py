"""First-order rules as numbers, and the step that they take: (shrink, beta, divisor) for one row."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from budgetron.parts.losses import (
    Absolute,
    EpsilonInsensitive,
    Hinge,
    Logistic,
    Loss,
    Squared,
    SquaredHinge,
)
from budgetron.parts.rules import OGD, PA, SGD, Perceptron, loss_for_labels, loss_for_targets
from budgetron.parts.tasks import Labels, Task

RULES = (Perceptron, PA, OGD, SGD)
LOSSES = (Hinge, SquaredHinge, Logistic, Squared, Absolute, EpsilonInsensitive)


class Rule(NamedTuple):
    """A rule for a task. The numbers of rules and losses are their places in RULES and LOSSES."""

    kind: int
    loss: int
    task: int  # 0: two classes, 1: several, 2: targets
    size: float  # eta; C of PA, 1/lam of SGD
    shrink: float
    tube: float  # no step is made for a target that is no further away; -1 for none
    epsilon: float  # of the loss
    ball: float  # SGD keeps |f| below y_max times this; 0 for none
    largest: float
    largest_square: float


class Question(NamedTuple):
    """What a row asks a scalar rule: f(x), y, |z|^2, whether the prediction is wrong, and whose it is."""

    f: float
    y: float
    kxx: float
    mistake: bool
    weight: float
    outputs: tuple[tuple[int, float], ...]


def rule_of(rule: Any, task: Task, largest: float, largest_square: float) -> Rule:
    """The numbers of a rule. The native rule is built as well, which checks the parameters."""
    task.rule(rule)
    kind, labels = RULES.index(type(rule)), isinstance(task, Labels)
    loss: Loss | None = None
    if hasattr(rule, "loss"):
        loss = loss_for_labels(rule) if labels else loss_for_targets(rule)
    lam, epsilon = getattr(rule, "lam", 0.0), getattr(rule, "epsilon", -1.0)
    ball = lam**-0.5 if type(rule) is SGD and loss is not None and loss.in_ball and lam <= 1 else 0.0
    size = task.unit(rule)
    return Rule(
        kind,
        0 if loss is None else LOSSES.index(type(loss)),
        2 if not isinstance(task, Labels) else int(task.n_classes > 2),
        float(size),
        1 - size * lam if type(rule) is OGD else 1.0,
        -1.0 if labels or type(rule) is SGD else float(epsilon),
        float(getattr(loss, "epsilon", 0.0)),
        float(ball),
        largest,
        largest_square,
    )


def ask(rule: Rule, f: Any, y: float, kxx: float, weight: float) -> Question:
    """The question of a row with these scores, as cpp/model/tasks.hpp asks it."""
    if rule.task == 0:
        return Question(float(f[0]), y, kxx, (1.0 if f[0] >= 0 else -1.0) != y, weight, ((0, 1.0),))
    if rule.task == 2:
        return Question(float(f[0]), y, kxx, bool(f[0] != y), weight, ((0, 1.0),))
    right = int(y)
    others = np.array(f, dtype=np.float64)
    others[right] = -np.inf
    wrong = int(np.argmax(others))
    mistake = bool(f[wrong] > f[right] or (f[wrong] == f[right] and wrong < right))
    outputs = (right, 1.0), (wrong, -1.0)
    return Question(float(f[right]) - float(f[wrong]), 1.0, 2 * kxx, mistake, weight, outputs)


def step_of(rule: Rule, q: Question, t: float, y_max: float) -> tuple[float, float, float]:
    """beta, the divisor of f, and the radius of its ball, as in cpp/model/rules.hpp."""
    kind, error = RULES[rule.kind], q.y - q.f
    if kind is Perceptron:
        steps = q.mistake if rule.task < 2 else abs(error) > rule.tube
        return (
            (q.weight * rule.size * (q.y if rule.task < 2 else np.sign(error)) if steps else 0.0),
            1.0,
            np.inf,
        )
    if kind is PA:
        if rule.task < 2:
            loss, sign = _clear(1 - q.y * q.f, abs(q.f)), q.y
        else:
            loss, sign = _clear(abs(error) - rule.tube, abs(q.y)), float(np.sign(error))
        return (sign * min(q.weight * rule.size, loss / q.kxx) if q.kxx > 0 else 0.0), 1.0, np.inf
    beta = -q.weight * rule.size * _slope(rule, q.f, q.y)
    if kind is OGD:
        return (0.0 if abs(error) <= rule.tube else beta), 1.0, np.inf
    return beta, t, y_max * rule.ball if rule.ball else np.inf


def _clear(loss: float, scale: float) -> float:
    """The loss, or 0 if it is rounding of the numbers that it is a difference of."""
    return loss if loss > 1e-12 * max(1.0, scale) else 0.0


def _slope(rule: Rule, f: float, y: float) -> float:
    loss = LOSSES[rule.loss]
    if loss is Hinge:
        return -y if y * f < 1 else 0.0
    if loss is SquaredHinge:
        return -y * max(0.0, 1 - y * f)
    if loss is Logistic:
        return float(-y / (1 + np.exp(min(y * f, 700.0))))
    if loss is Squared:
        return f - y
    if loss is Absolute:
        return float(np.sign(f - y))
    return float(np.sign(f - y)) if abs(f - y) > rule.epsilon else 0.0
