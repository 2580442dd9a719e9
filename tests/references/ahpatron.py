"""Ahpatron (Liao, Li, Liao, Hu & Dang 2024), from the program of its authors."""

from __future__ import annotations

from math import sqrt

import numpy as np

from tests.references.step import Array, Kernel, Model, Question, Task, gram, solve

RIDGE = 0.0005  # eta of the program


class AggressivePerceptron(Model):
    """AVP: a step lambda y where y f(x) < 1 - varepsilon, then f is pulled into the ball |f| <= U.

    It is its own rule and its own budget.
    """

    def __init__(
        self,
        kernel: Kernel,
        task: Task,
        *,
        margin: float,
        eta: float,
        U: float,
        budget: float = np.inf,
        ridge: float = RIDGE,
    ) -> None:
        super().__init__(kernel, task, self.step, self)  # type: ignore[arg-type]
        self.margin, self.eta, self.U, self.B, self.ridge = margin, eta, U, budget, ridge

    def step(self, q: Question, weight: float) -> tuple[float, float]:
        """The rule."""
        return 1.0, weight * self.eta * q.y if q.y * q.fx < self.margin else 0.0

    def insert(self, m: Model, x: Array, q: Question, beta: float) -> None:
        """The budget: if it is full, half of the support vectors leave first."""
        assert m is self
        if len(self.S) >= self.B:
            self.halve()
        self.append(x, beta * q.v)
        self.A = self.A * min(1.0, self.U / max(self.norm(), 1e-300))

    def halve(self) -> None:
        """Those with small coefficients are projected on the others, and f gets its norm back."""
        norm, size = self.norm(), (self.A**2).sum(1)
        order = np.argsort(-size, kind="stable")[: int(self.B) // 2]  # of equal ones the older stay
        large = sorted(order.tolist())
        small = [i for i in range(len(self.S)) if i not in large]
        K = gram(self.kernel, self.S)
        regular = K[np.ix_(large, large)] + self.ridge * np.diag(np.diag(K)[large])
        theta = solve(regular, K[np.ix_(large, small)] @ self.A[small])
        self.A, self.S = self.A[large] + theta, [self.S[i] for i in large]
        if self.norm() > 0:
            self.A = self.A * (norm / self.norm())

    def norm(self) -> float:
        """|f|, over all outputs."""
        return sqrt(max(0.0, float((self.A * (gram(self.kernel, self.S) @ self.A)).sum())))


def ahpatron(
    kernel: Kernel,
    task: Task,
    *,
    budget: int,
    margin: float = 0.5,
    U: float | None = None,
    eta: float | None = None,
) -> AggressivePerceptron:
    """U is sqrt(B)/2 and lambda U / (2 sqrt(B)), as in the program."""
    U = sqrt(budget) / 2 if U is None else U
    eta = U / (2 * sqrt(budget)) if eta is None else eta
    return AggressivePerceptron(kernel, task, margin=margin, eta=eta, U=U, budget=budget)
