"""Merge kernel expansions: the union of their support vectors, passed through the budget."""

from __future__ import annotations

import numpy as np

from budgetron._rows import views
from budgetron.learners import Averaged
from budgetron.merging.features import common_divisor, rule_numbers
from budgetron.merging.parts import NotMergeable, Parts, State


def merged(parts: Parts) -> State:
    """The merged fields of `Kernelized`: f = sum_k share_k f_k, kept within the budget.

    The support vectors of the other models enter one by one, oldest first, as rows do on which the first
    model was wrong: what the budget does with these, it does with them.
    """
    if isinstance(parts.learner, Averaged):
        raise NotMergeable  # a union would lose the average
    divisor, shares = common_divisor(parts, "expansion.divisor"), parts.shares
    native = parts.restored(parts.states[0])
    share = shares[0]
    for other, own in zip(parts.states[1:], shares[1:], strict=True):
        part = parts.restored(other)
        X = np.ascontiguousarray(part.support_vectors(parts.n_features).astype(parts.dtype, copy=False))
        coefficients = np.ascontiguousarray(own * part.dual_coef().T)
        native.absorb(views(X)(slice(0, len(X))), coefficients.ravel(), share, divisor)
        share = 1.0
    state: State = dict(native.state())
    return state | parts.sums("t") | rule_numbers(parts)
