"""DualSGD (Le, Nguyen, Nguyen & Phung 2016), from the program of its authors, on the steps of SGD."""

from __future__ import annotations

import numpy as np

from tests.references.maps import Map
from tests.references.sgd import SGD
from tests.references.step import Array, Kernel, Loss, Multiclass, Task


class DualSGD(SGD):
    """f(x) = (sum_i c_i k(s_i, x) + W'z(x)) / t. What leaves the sum enters W."""

    def __init__(
        self,
        kernel: Kernel,
        task: Task,
        z: Map,
        *,
        budget: int,
        at_once: int,
        lam: float,
        loss: Loss | None,
    ) -> None:
        super().__init__(kernel, task, lam, loss, self)
        self.z, self.B, self.at_once = z, budget, at_once
        self.W: Array | None = None

    def score(self, x: Array) -> float | Array:
        """f(x), a number unless there are classes."""
        f = np.atleast_1d(super().score(x))
        if self.W is not None:
            f = f + self.z(np.asarray(x, float)) @ self.W / max(self.t, 1)
        return f if isinstance(self.task, Multiclass) else float(f[0])

    def insert(self, m: SGD, x: Array, row: Array) -> None:
        """The budget: if it is full, the smallest terms move first."""
        if len(m.S) >= self.B:
            self.move()
        m.append(x, row)

    def move(self) -> None:
        """W += z(s_i) c_i' for the smallest terms, the oldest of equal ones first."""
        sizes = (self.c**2).sum(1) * [float(self.kernel(s, s)) for s in self.S]
        for i in sorted(np.argsort(sizes, kind="stable")[: self.at_once].tolist(), reverse=True):
            term = np.outer(self.z(self.S[i]), self.c[i])
            self.W = term if self.W is None else self.W + term
            self.drop(i)

    def norm(self) -> float:
        """That of both parts side by side."""
        besides = 0.0 if self.W is None else float((self.W**2).sum()) / self.t**2
        return float(np.sqrt(super().norm() ** 2 + besides))

    def enter_ball(self, radius: float) -> None:
        """Project both parts onto |f| <= radius."""
        factor = min(1.0, radius / max(self.norm(), 1e-300))
        self.c = self.c * factor
        self.W = None if self.W is None else self.W * factor
