"""Zhao & Hoi 2012: the rise of the dual, and the bound on the mistakes (Lemma 2, Theorem 2)."""

from functools import cache

import numpy as np

from budgetron import (
    DualNearest,
    DualProjection,
    DualProjectionClipped,
    DualRemoval,
    Gaussian,
    Hinge,
    bduol,
    duol,
)
from budgetron.evaluate.ball import best_in_ball
from budgetron.model.model import Model
from budgetron.parts.tasks import Labels
from tests.bounds.runs import below, coordinates, fault, stream
from tests.helpers.cases import each

KERNEL = Gaussian(0.5)
C = 2.0
LEARNERS = {
    "duol": duol(KERNEL, C=C),
    **{
        each.__name__: bduol(KERNEL, budget=15, C=C, maintenance=each)
        for each in (DualRemoval, DualNearest, DualProjection, DualProjectionClipped)
    },
}


def follow(learner, X, y):
    """For every row: its score, and the rise of the dual objective by updates and by maintenance."""
    model = Model(learner, Labels(2), X.shape[1], np.float64, 0)
    f, totals = np.zeros(len(X)), np.zeros((len(X) + 1, 2))
    for t in range(len(X)):
        f[t] = model.learn(X[t : t + 1], y[t : t + 1])[0, 0]
        state = model.state()
        totals[t + 1] = state["dual.objective"][0], state["dual.ascents"][0]
    objective, maintained = np.diff(totals, axis=0).T
    return f, objective - maintained, maintained


@cache
def primal(n):
    """The least |f|^2 / 2 + C sum of hinge losses on the stream, from above: the best of some balls."""
    X, y = stream(n)
    Z = coordinates(KERNEL(X))
    balls = (best_in_ball(Z, y, Hinge(), radius, 1e-4) for radius in (1, 3, 6, 10, 15))
    return min(each.w @ each.w / 2 + C * each.losses.sum() for each in balls)


def rises(learner, X, y):
    """The proof of Theorem 2: with C >= 1 and k(x,x) <= 1 a mistake raises the dual by 1/2 or more."""
    f, rise, maintained = follow(learner, X, y)
    below(0, rise)
    still = (y * f <= 0) & (maintained == 0)
    below(0.5, rise[still])


@each("name", LEARNERS)
def test_a_mistake_raises_the_dual(name):
    X, y = stream()
    rises(LEARNERS[name], X, y)


def test_a_smaller_C_raises_it_less():
    X, y = stream()
    fault(rises, duol(KERNEL, C=0.3), X, y)


def mistakes_within(learner, X, y):
    """Theorem 2 where rho = 0: M <= 2 min P - 2 sum DA; and the dual is below the primal."""
    f, rise, maintained = follow(learner, X, y)
    least = primal(len(X))
    below(rise.sum() + maintained.sum(), least)
    below((y * f <= 0).sum(), 2 * least - 2 * maintained.sum())
    below((y * f <= 0).sum() / 2, rise.sum())


@each("name", LEARNERS)
def test_theorem_2(name):
    X, y = stream(120)
    mistakes_within(LEARNERS[name], X, y)


def test_theorem_2_fails_without_updates_that_raise_the_dual():
    X, y = stream(120)
    fault(mistakes_within, bduol(KERNEL, budget=15, C=0.05), X, y)


@each("name", [name for name in LEARNERS if name != "duol"])
def test_the_sum_of_ascents_is_negative(name):
    """So the bound of BDUOL is above that of DUOL: a budget costs something."""
    X, y = stream()
    assert follow(LEARNERS[name], X, y)[2].sum() < 0
