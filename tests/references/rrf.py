"""Reparameterised random features (Nguyen, Le, Bui & Phung 2017), from the program of its authors."""

from __future__ import annotations

from math import sqrt

import numpy as np

from tests.references.step import Array, Loss, Multiclass, Question, Task, hinge, squared


class RRF:
    """f(x) = W'z(x), z(x) = (sin(u_1'x), .., cos(u_D'x)) / sqrt(D), and u_ij = exp(g_j) e_ij.

    e has a row for each column of x, and one column for each component. W and g take a step of gradient
    descent each, both from where they were before the round.
    """

    def __init__(
        self,
        e: Array,
        task: Task,
        *,
        eta: float,
        eta_widths: float,
        lam: float = 0.0,
        loss: Loss | None = None,
    ) -> None:
        self.e, self.task, self.eta, self.eta_widths, self.lam = e, task, eta, eta_widths, lam
        self.loss = loss or (hinge if task.labels else squared)
        self.g = np.zeros(len(e))
        self.W = np.zeros((2 * e.shape[1], task.outputs))

    def z(self, x: Array, g: Array) -> Array:
        """The features of x for these widths."""
        angles = x @ (np.exp(g)[:, None] * self.e)
        return np.concatenate([np.sin(angles), np.cos(angles)]) / sqrt(self.e.shape[1])

    def score(self, x: Array) -> float | Array:
        """f(x), a number unless there are classes."""
        f = self.z(np.asarray(x, float), self.g) @ self.W
        return f if isinstance(self.task, Multiclass) else float(f[0])

    def slopes(self, x: Array, w: Array) -> Array:
        """The gradient of w'z(x) in g."""
        sines, cosines = np.split(self.z(x, self.g), 2)
        of_sines, of_cosines = np.split(w, 2)
        of_angles = of_sines * cosines - of_cosines * sines
        return np.asarray(x * np.exp(self.g) * (self.e @ of_angles))

    def learn(self, x: Array, y: float, weight: float = 1.0) -> float | Array:
        """One round; the score from before the update."""
        x = np.array(x, float)
        before = self.score(x)
        if weight > 0:
            q: Question = self.task.ask(np.atleast_1d(before), y, 1.0)
            slope = weight * self.loss.slope(q.fx, q.y)
            change = self.eta_widths * slope * self.slopes(x, self.W @ q.v)
            step = slope * np.outer(self.z(x, self.g), q.v)
            self.W, self.g = (1 - self.eta * self.lam) * self.W - self.eta * step, self.g - change
        return before
