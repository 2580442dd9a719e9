"""Exercise 3: the budget of the Projectron (Orabona, Keshet & Caputo 2008, Algorithm 2)."""

import numpy as np  # noqa: F401  (you will need it)

from budgetron import PythonBudget


class MyProjection(PythonBudget):
    """A term that is near the span of the support vectors is projected onto it, others are appended.

    With K_ij = k(s_i, s_j) and k_i = k(s_i, x), the projection of k(x,.) is sum_i d_i k(s_i,.) with K d =
    k. Its squared distance from k(x,.) is k(x,x) - k'd.

    1. Build K: ``f.kernel_row(i)`` is its row i. Solve for d. ``term.k`` is k, ``term.kxx`` is k(x,x).
    2. If the distance is at most eta, or the squared distance at most 1e-10 k(x,x), which is rounding, or
       if there are ``budget`` support vectors: ``f.spread(term, d)`` adds the projection of the term.
    3. Otherwise ``f.append(term)``.
    """

    solves_systems = True  # kernel values are then computed in double precision
    budget: int
    eta: float = 0.0

    def insert(self, f, term):
        raise NotImplementedError("write this")
