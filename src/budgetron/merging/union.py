"""Merge kernel expansions: the union of their support vectors, passed through the budget."""

from __future__ import annotations

import numpy as np

from budgetron._util.rows import Matrix, views
from budgetron.learners.kernelized import Kernelized
from budgetron.learners.learner import Floats
from budgetron.merging.fields import Parts, State
from budgetron.merging.weights import common_divisor


def merged(parts: Parts) -> State:
    """The merged fields of `Kernelized`: f = sum_k share_k f_k, kept within the budget.

    The support vectors of all models enter a new one, as rows do on which it is wrong: what its budget does
    with these, it does with them. Most budgets part with what is small or old, so those with the smallest
    terms enter first; a budget that keeps the first gets the largest terms first.
    """
    learner = parts.learner
    assert isinstance(learner, Kernelized)  # not Averaged: a union would lose the average
    rows, coefficients = _terms(parts)
    order = np.argsort(_sizes(learner, rows, coefficients), kind="stable")
    if learner.budget.keeps_first:
        order = order[::-1]
    native = parts.new()
    native.begin()
    rows, coefficients = np.ascontiguousarray(rows[order]), np.ascontiguousarray(coefficients[order])
    divisor = common_divisor(parts, "expansion.divisor")
    native.absorb(views(rows)(slice(0, len(rows))), coefficients.ravel(), 1.0, divisor)
    return dict(native.state()) | parts.declared()


def _terms(parts: Parts) -> tuple[Matrix, Floats]:
    """All support vectors and their coefficients, each model's by its share; oldest first."""
    models = [parts.restored(state) for state in parts.states]
    rows = [model.support_vectors(parts.n_features).astype(parts.dtype, copy=False) for model in models]
    shares = [share * model.dual_coef().T for share, model in zip(parts.shares, models, strict=True)]
    return np.vstack(rows), np.vstack(shares)


def _sizes(learner: Kernelized, rows: Matrix, coefficients: Floats) -> Floats:
    """The squared norm of every term."""
    kernel, n_features = learner.kernel.build(), rows.shape[1]
    view = views(np.ascontiguousarray(rows, dtype=np.float64))
    one_by_one = [slice(i, i + 1) for i in range(len(rows))]
    kxx = [float(kernel.matrix(view(i), view(i), n_features)[0, 0]) for i in one_by_one]
    return np.asarray(np.square(coefficients).sum(axis=1) * np.array(kxx))
