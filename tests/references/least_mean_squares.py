"""KLMS (Liu, Pokharel & Principe 2008) and QKLMS (Chen et al. 2012) from their equations."""

from __future__ import annotations

import numpy as np

from tests.references.step import Array, Kernel


class KLMS:
    """f(x) = sum_i a_i k(s_i, x); the oldest support vector is first."""

    def __init__(self, kernel: Kernel, eta: float) -> None:
        self.kernel, self.eta = kernel, eta
        self.S: list[Array] = []
        self.a: list[float] = []

    def score(self, x: Array) -> float:
        """f(x)."""
        return sum(a * float(self.kernel(s, x)) for a, s in zip(self.a, self.S, strict=True))

    def learn(self, x: Array, d: float, weight: float = 1.0) -> float:
        """One iteration with the desired response d; the output from before."""
        output = self.score(x)
        if (error := d - output) != 0 and weight > 0:
            self.enter(x, self.eta * weight * error)
        return output

    def enter(self, x: Array, step: float) -> None:
        """The step eta e becomes the coefficient of a new centre."""
        self.S.append(x)
        self.a.append(step)


class QKLMS(KLMS):
    """The same on a codebook: the centres are at least a quantum apart."""

    def __init__(self, kernel: Kernel, eta: float, delta: float, order: int = 2) -> None:
        super().__init__(kernel, eta)
        self.delta, self.order = delta, order

    def enter(self, x: Array, step: float) -> None:
        """The nearest centre takes the step if it is within the quantum, the oldest on ties."""
        distances = [float(np.linalg.norm(x - s, self.order)) for s in self.S]
        if distances and min(distances) <= self.delta:
            self.a[int(np.argmin(distances))] += step
        else:
            super().enter(x, step)
