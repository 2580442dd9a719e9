"""The kernel algorithms by name, for the library to be compared with: each is a rule and a budget."""

from __future__ import annotations

from math import inf, log, sqrt

from tests.references.budgets import (
    Forget,
    ForgetLargerRoot,
    Project,
    ProjectPlus,
    ProjectRank,
    Prune,
    RemoveOldest,
    RemoveRandom,
    RemoveRedundant,
    RemoveSmallest,
    Sample,
    SampleScaled,
    Stop,
    Swap,
    Unbounded,
    all_others,
    nearest,
    no_others,
)
from tests.references.step import (
    GradientDescent,
    Implicit,
    Kernel,
    Loss,
    Model,
    Norma,
    PassiveAggressive,
    PassiveAggressiveRegression,
    Perceptron,
    PerceptronRegression,
    Rule,
    Task,
    hinge,
    squared,
)


def _perceptron(task: Task, eta: float | None, epsilon: float, margin: float | None = None) -> Rule:
    if task.labels:
        return Perceptron(1.0 if eta is None else eta, margin)
    return PerceptronRegression(0.1 if eta is None else eta, epsilon)


def _pa(task: Task, C: float, epsilon: float) -> Rule:
    return PassiveAggressive(C) if task.labels else PassiveAggressiveRegression(C, epsilon)


def _ogd(task: Task, eta: float, lam: float, loss: Loss | None, epsilon: float) -> Rule:
    if task.labels:
        return GradientDescent(eta, lam, loss or hinge, None)
    return GradientDescent(eta, lam, loss or squared, epsilon)


def perceptron(kernel: Kernel, task: Task, *, eta: float | None = None, epsilon: float = 0.1) -> Model:
    return Model(kernel, task, _perceptron(task, eta, epsilon), Unbounded())


def stoptron(
    kernel: Kernel, task: Task, *, budget: int, eta: float | None = None, epsilon: float = 0.1
) -> Model:
    return Model(kernel, task, _perceptron(task, eta, epsilon), Stop(budget))


def rbp(
    kernel: Kernel,
    task: Task,
    *,
    budget: int,
    eta: float | None = None,
    epsilon: float = 0.1,
    seed: int = 0,
) -> Model:
    return Model(kernel, task, _perceptron(task, eta, epsilon), RemoveRandom(budget, seed))


def forgetron(
    kernel: Kernel,
    task: Task,
    *,
    budget: int,
    eta: float | None = None,
    epsilon: float = 0.1,
    reading: str = "definition",
) -> Model:
    forget = Forget(budget) if reading == "definition" else ForgetLargerRoot(budget)
    return Model(kernel, task, _perceptron(task, eta, epsilon, margin=0.0), forget)


def budget_perceptron(
    kernel: Kernel, task: Task, *, budget: int, eta: float | None = None, epsilon: float = 0.1
) -> Model:
    if not task.labels:
        raise ValueError("budget_perceptron needs labels")
    return Model(kernel, task, _perceptron(task, eta, epsilon), RemoveRedundant(budget))


def projectron(
    kernel: Kernel,
    task: Task,
    *,
    budget: int | None = None,
    eta: float | None = None,
    U: float | None = None,
    step: float | None = None,
    epsilon: float = 0.1,
) -> Model:
    """Projection threshold eta, or U of Eq. 13; step is the Perceptron's eta."""
    if U is not None and not task.labels:
        raise ValueError("U needs labels")
    return Model(kernel, task, _perceptron(task, step, epsilon), Project(budget, eta or 0.0, U))


def projectron_pp(
    kernel: Kernel,
    task: Task,
    *,
    budget: int | None = None,
    eta: float | None = None,
    U: float | None = None,
    step: float | None = None,
    epsilon: float = 0.1,
) -> Model:
    """As projectron; the U of margin errors, when not given, is from the budget or from eta."""
    if not task.labels:
        raise ValueError("projectron_pp needs labels")
    if U is not None:
        bound = U
    elif budget is not None:
        bound = sqrt((budget + 1) / log(budget + 1)) / 4
    elif eta:
        bound = 1 / (2 * eta)
    else:
        raise ValueError("projectron_pp needs a budget, eta > 0 or U")
    rule = _perceptron(task, step, epsilon, margin=1.0)
    return Model(kernel, task, rule, ProjectPlus(budget, eta or 0.0, U, bound))


def pa(kernel: Kernel, task: Task, *, C: float = 1.0, epsilon: float = 0.1) -> Model:
    return Model(kernel, task, _pa(task, C, epsilon), Unbounded())


def bpa_s(kernel: Kernel, task: Task, *, budget: int, C: float = 1.0, epsilon: float = 0.1) -> Model:
    return Model(kernel, task, _pa(task, C, epsilon), Swap(budget, no_others))


def bpa_nn(kernel: Kernel, task: Task, *, budget: int, C: float = 1.0, epsilon: float = 0.1) -> Model:
    return Model(kernel, task, _pa(task, C, epsilon), Swap(budget, nearest))


def bpa_p(kernel: Kernel, task: Task, *, budget: int, C: float = 1.0, epsilon: float = 0.1) -> Model:
    return Model(kernel, task, _pa(task, C, epsilon), Swap(budget, all_others))


def ogd(
    kernel: Kernel,
    task: Task,
    *,
    eta: float,
    lam: float = 0.0,
    loss: Loss | None = None,
    epsilon: float = 0.1,
) -> Model:
    return Model(kernel, task, _ogd(task, eta, lam, loss, epsilon), Unbounded())


def ogd_remove_oldest(
    kernel: Kernel,
    task: Task,
    *,
    budget: int,
    eta: float,
    lam: float = 0.0,
    loss: Loss | None = None,
    epsilon: float = 0.1,
) -> Model:
    return Model(kernel, task, _ogd(task, eta, lam, loss, epsilon), RemoveOldest(budget))


def silk(
    kernel: Kernel, task: Task, *, budget: int, eta: float, lam: float, loss: Loss | None = None
) -> Model:
    rule = Implicit(eta, lam, loss or (hinge if task.labels else squared))
    return Model(kernel, task, rule, RemoveSmallest(budget))


def norma(kernel: Kernel, task: Task, *, eta: float, nu: float, lam: float, epsilon: float = 0.1) -> Model:
    if task.labels:
        raise ValueError("norma is for regression")
    return Model(kernel, task, Norma(eta, nu, lam, epsilon), Unbounded())


def bogd(
    kernel: Kernel,
    task: Task,
    *,
    budget: int,
    eta: float,
    lam: float,
    cap: float,
    loss: Loss | None = None,
    epsilon: float = 0.1,
    seed: int = 0,
    reading: str = "definition",
) -> Model:
    sample: Sample | SampleScaled = Sample(budget, cap * eta, by_weight=False, seed=seed)
    if reading == "program":
        sample = SampleScaled(budget, cap * eta, seed)
    return Model(kernel, task, _ogd(task, eta, lam, loss, epsilon), sample)


def bogd_pp(
    kernel: Kernel,
    task: Task,
    *,
    budget: int,
    eta: float,
    lam: float,
    cap: float,
    loss: Loss | None = None,
    epsilon: float = 0.1,
    seed: int = 0,
) -> Model:
    sample = Sample(budget, cap * eta, by_weight=True, seed=seed)
    return Model(kernel, task, _ogd(task, eta, lam, loss, epsilon), sample)


def nogd(
    kernel: Kernel,
    task: Task,
    *,
    budget: int,
    rank: int,
    eta: float,
    loss: Loss | None = None,
    epsilon: float = 0.1,
) -> Model:
    return Model(kernel, task, _ogd(task, eta, 0.0, loss, epsilon), ProjectRank(budget, rank))


def polk(
    kernel: Kernel,
    task: Task,
    *,
    error: float,
    eta: float,
    lam: float,
    loss: Loss | None = None,
    budget: int | None = None,
) -> Model:
    return Model(kernel, task, _ogd(task, eta, lam, loss, 0.0), Prune(error, budget or inf))
