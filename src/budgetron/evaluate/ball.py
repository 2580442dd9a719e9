"""The best f of a ball for rows that are all known: the least sum of losses with norm of f at most U.

With a matrix G of features, f(x_i) = g_i'w, and the norm of f is that of w. A barrier keeps w in the ball:

    minimise  s sum_i m_s(g_i'w) - log(U^2 - w'w)

by Newton steps, for a growing s. m_s is the loss, or, if that is the largest of some lines t_k(f), a smooth
function near it: the least r - sum_k log(r - t_k(f)) / s over r. A line of its slope lies below the loss,
a_i f + b_i <= l(f). So by duality no f of the ball has a smaller sum of losses than

    sum_i b_i - U norm(G'a)
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.linalg import cho_factor, cho_solve

from budgetron.parts.losses import Loss

Floats = npt.NDArray[np.float64]

STAGES = 30
STEPS = 50
"""The largest number of Newton steps in one stage."""
NARROW = 1e-12
"""A step shorter than this is rounding."""


@dataclass(frozen=True)
class Best:
    """The best w of a ball. The sum of its losses exceeds the least one by at most ``gap``."""

    w: Floats
    f: Floats
    losses: Floats
    gap: float


@dataclass(frozen=True)
class Smooth:
    """m_s of every row, and the intercept of a line of its slope that lies below the loss."""

    value: Floats
    slope: Floats
    curvature: Floats
    intercept: Floats


class Losses:
    """A loss at many rows."""

    def __init__(self, loss: Loss, y: Floats) -> None:
        native = loss.build()
        self._value, self._slope, self.y = _rowwise(native.value), _rowwise(native.slope), y
        self._lines = loss.lines(y)

    def value(self, f: Floats) -> Floats:
        return self._value(f, self.y)

    def smooth(self, f: Floats, s: float) -> Smooth:
        return self._curved(f) if self._lines is None else _of_lines(*self._lines, f, s)

    def _curved(self, f: Floats) -> Smooth:
        h = 1e-6 * (1 + np.abs(f))
        bend = (self._slope(f + h, self.y) - self._slope(f - h, self.y)) / (2 * h)
        value, slope = self.value(f), self._slope(f, self.y)
        return Smooth(value, slope, np.maximum(0, bend), value - slope * f)


def _of_lines(slopes: Floats, intercepts: Floats, f: Floats, s: float) -> Smooth:
    """The least r - sum_k log(r - t_k) / s. There the shares 1 / (s (r - t_k)) of the lines add up to 1."""
    t = slopes * f[:, None] + intercepts
    top = t.max(1, keepdims=True)
    below = s * (top - t)
    low, high = np.ones_like(top), np.full_like(top, t.shape[1])
    for _ in range(50):
        u = (low + high) / 2  # s (r - top)
        above = (1 / (below + u)).sum(1, keepdims=True) < 1
        low, high = np.where(above, low, u), np.where(above, u, high)
    shares = 1 / (below + high)
    shares /= shares.sum(1, keepdims=True)
    squares = shares**2
    mean = (squares * slopes).sum(1) / squares.sum(1)
    bend = s * (squares * (slopes - mean[:, None]) ** 2).sum(1)
    value = top[:, 0] + (high[:, 0] - np.log(below + high).sum(1)) / s
    return Smooth(value, (shares * slopes).sum(1), bend, (shares * intercepts).sum(1))


class Ball:
    """The search in one ball: a point w that moves, the best point so far, and bounds of the least sum."""

    def __init__(self, G: Floats, losses: Losses, radius: float) -> None:
        self.G, self.losses, self.radius = G, losses, radius
        self.w = self.best = np.zeros(G.shape[1])
        self.upper, self.lower = np.inf, -np.inf

    def stage(self, s: float) -> None:
        """Newton steps for one s; then both bounds."""
        for _ in range(STEPS):
            if not self._step(s):
                break
        at = self.losses.smooth(self.G @ self.w, s)
        pull = self.G.T @ at.slope
        size = float(np.linalg.norm(pull))
        self.lower = max(self.lower, float(at.intercept.sum()) - self.radius * size)
        self._offer(self.w)
        if size > 0:
            self._offer(-self.radius / size * pull)

    def _offer(self, w: Floats) -> None:
        total = float(self.losses.value(self.G @ w).sum())
        if total < self.upper:
            self.upper, self.best = total, w

    def _step(self, s: float) -> bool:
        """One Newton step; False if it would be too small to matter."""
        d, fall = self._direction(s)
        if not fall > 0.01:
            return False
        here, length = self._objective(self.w, s), 1.0
        while not self._objective(self.w + length * d, s) <= here - 0.1 * length * fall:
            length /= 2
            if length < NARROW:
                return False
        self.w = self.w + length * d
        return True

    def _direction(self, s: float) -> tuple[Floats, float]:
        """The Newton direction, and how fast the objective falls along it."""
        w, room = self.w, self.radius**2 - float(self.w @ self.w)
        at = self.losses.smooth(self.G @ w, s)
        A = self.G * np.sqrt(s * at.curvature)[:, None]
        H = A.T @ A
        H[np.diag_indices_from(H)] += 2 / room + 1e-14 * H.diagonal()
        gradient = s * (self.G.T @ at.slope) + 2 / room * w
        d, v = cho_solve(cho_factor(H, overwrite_a=True), np.column_stack([-gradient, w])).T
        d = d - v * (w @ d) / (room**2 / 4 + w @ v)  # the curvature of the barrier along w
        return d, -float(gradient @ d)

    def _objective(self, w: Floats, s: float) -> float:
        room = self.radius**2 - float(w @ w)
        if room <= 0:
            return np.inf
        return s * float(self.losses.smooth(self.G @ w, s).value.sum()) - float(np.log(room))


def best_in_ball(G: Floats, y: Floats, loss: Loss, radius: float, tolerance: float = 1e-6) -> Best:
    """The w of norm at most ``radius`` with the least sum of losses, up to ``tolerance`` of that sum."""
    losses = Losses(loss, y)
    ball = Ball(G, losses, radius)
    zero = max(float(losses.value(np.zeros(len(y))).sum()), 1e-300)
    for stage in range(STAGES):
        s = 8**stage / zero
        ball.stage(s)
        enough = max(tolerance * ball.upper, 1e-12 * zero)
        if ball.upper - ball.lower <= enough or 30 * len(y) / s < enough:  # what is left is rounding
            break
    f = G @ ball.best
    return Best(ball.best, f, losses.value(f), max(0.0, ball.upper - ball.lower))


def _rowwise(function: Callable[[float, float], float]) -> Callable[[Floats, Floats], Floats]:
    each = np.frompyfunc(function, 2, 1)
    return lambda f, y: np.asarray(each(f, y), np.float64)
