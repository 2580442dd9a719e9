"""DUOL and BDUOL (Zhao et al. 2012) written plainly from their equations; more than two classes are ours.

f(x) = sum_i g_i y_i k(s_i, x) with weights g_i in [0, C]; every step is one on the dual of the SVM,
D(g) = sum_i g_i - |f|^2 / 2. The margins y_i f(s_i) are computed anew each time.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import brentq

from tests.references.step import Array, Kernel, gram, solve

ZERO = 1e-12  # a loss up to this is none, and a margin up to this above 1 is 1


def dual(K: Array, y: Array, g: Array) -> float:
    """Eq. 3: D(g) = sum g - |f|^2 / 2."""
    return float(g.sum() - (g * y) @ K @ (g * y) / 2)


def margins(K: Array, y: Array, g: Array) -> Array:
    """y_i f(s_i)."""
    return np.asarray(y * (K @ (g * y)))


def dual_ascent(K: Array, y: Array, g: Array, change: Array) -> float:
    """Eq. 4: D(g - change) - D(g)."""
    norm2 = float((change * y) @ K @ (change * y))
    return float(-change.sum() + change @ margins(K, y, g)) - norm2 / 2


# ---- the double update


def peak(p: float, q: float, low: float, high: float) -> float:
    """Where p u - q u^2 / 2 is largest in [low, high]."""
    if q > 0:
        return min(max(p / q, low), high)
    return max((low, high), key=lambda u: p * u - q * u**2 / 2)


def double_update(
    l_t: float, l_b: float, k_t: float, k_b: float, w: float, g_b: float, C: float
) -> tuple[float, float]:
    """What Eq. 1 is the solution of: (g_t, d_b) in [0, C] x [-g_b, C - g_b] of the largest dual ascent."""
    return box_pair(l_t, l_b, k_t, k_b, w, C, -g_b, C - g_b)


def box_pair(
    l_t: float, l_b: float, k_t: float, k_b: float, w: float, C: float, low: float, high: float
) -> tuple[float, float]:
    """The same with d_b in [low, high]: inside the box, or at the best point of its edges."""

    def ascent(u: tuple[float, float]) -> float:
        g, d = u
        return g * l_t + d * l_b - k_t * g**2 / 2 - k_b * d**2 / 2 - w * g * d

    edges = [
        (0.0, peak(l_b, k_b, low, high)),
        (C, peak(l_b - w * C, k_b, low, high)),
        (peak(l_t - w * low, k_t, 0.0, C), low),
        (peak(l_t - w * high, k_t, 0.0, C), high),
    ]
    det = k_t * k_b - w**2
    if k_t > 0 and det > 0:
        g, d = (k_b * l_t - w * l_b) / det, (k_t * l_b - w * l_t) / det
        if 0 <= g <= C and low <= d <= high:
            return g, d
    return max(edges, key=ascent)


# ---- maintenance: (K, y, g, C) -> the j that goes and what the others get, b (with b_j = 0)


Refit = Callable[[Array, Array, Array, float, int], Array]
Maintenance = Callable[[Array, Array, Array, float], tuple[int, Array]]


def nothing(_K: Array, _y: Array, g: Array, _C: float, _j: int) -> Array:
    """Removal (Eq. 6): b = 0."""
    return np.zeros(len(g))


def target(K: Array, y: Array, g: Array, j: int) -> tuple[list[int], Array, Array]:
    """The others V and the Q and q with which Eq. 8 is b'Qb - 2 q'b + constant."""
    V = [i for i in range(len(g)) if i != j]
    return V, np.outer(y[V], y[V]) * K[V][:, V], g[j] * y[j] * y[V] * K[V, j]


def box_qp(Q: Array, q: Array, low: Array, high: Array) -> Array:
    """The b in [low, high] that minimises b'Qb - 2 q'b, Q positive definite and 0 in the box: active sets.

    Some of b are free and the others at a bound. The free ones go towards their minimum and stop at the
    first bound on the way, whose owner is then no longer free; those that arrive release the one at a
    bound that the objective pulls inwards most. The objective only falls, so no set comes back.
    """
    b = np.zeros(len(q))
    free = (low < b) & (b < high)
    for _ in range(100 * len(q)):
        to = b.copy()
        to[free] = solve(Q[free][:, free], q[free] - Q[free][:, ~free] @ b[~free])
        bound = np.where(to > b, high, low)
        out = free & ((to < low) | (to > high))
        if out.any():
            step = np.where(out, (bound - b) / np.where(out, to - b, 1), np.inf)
            i = int(np.argmin(step))
            b = np.where(free, np.clip(b + step[i] * (to - b), low, high), b)
            b[i], free[i] = bound[i], False
            continue
        b = to
        pull = q - Q @ b
        inwards = np.where(free, 0, np.where(b <= low, pull, -pull))
        i = int(np.argmax(inwards))
        if inwards[i] <= 1e-13 * np.max(np.abs(q) + np.abs(Q) @ np.abs(b)):
            return b
        free[i] = True
    raise ArithmeticError("no optimum found: are the support vectors nearly dependent?")


def projected(K: Array, y: Array, g: Array, C: float, j: int) -> Array:
    """Eq. 8."""
    b = np.zeros(len(g))
    V, Q, q = target(K, y, g, j)
    if V:
        b[V] = box_qp(Q, q, -g[V], C - g[V])
    return b


def clipped(K: Array, y: Array, g: Array, C: float, j: int) -> Array:
    """Eq. 11: Eq. 8 without the box, then clipped to it."""
    b = np.zeros(len(g))
    V, Q, q = target(K, y, g, j)
    b[V] = np.clip(solve(Q, q), -g[V], C - g[V])
    return b


def on_nearest(K: Array, y: Array, g: Array, C: float, j: int) -> Array:
    """Eq. 13: only the nearest in feature space gets anything."""
    b = np.zeros(len(g))
    V = [i for i in range(len(g)) if i != j]
    if V:
        N = min(V, key=lambda i: float(K[j, j] + K[i, i] - 2 * K[j, i]))
        b[N] = np.clip(g[j] * y[j] * y[N] * K[j, N] / K[N, N], -g[N], C - g[N])
    return b


def ascent_without(K: Array, y: Array, g: Array, j: int, b: Array) -> float:
    """Eq. 4 when j goes and the others get b."""
    change = -b
    change[j] = g[j]
    return dual_ascent(K, y, g, change)


def best(refit: Refit) -> Maintenance:
    """The j of the largest dual ascent."""

    def step(K: Array, y: Array, g: Array, C: float) -> tuple[int, Array]:
        b = [refit(K, y, g, C, j) for j in range(len(g))]
        j = int(np.argmax([ascent_without(K, y, g, j, b[j]) for j in range(len(g))]))
        return j, b[j]

    return step


def fast(refit: Refit) -> Maintenance:
    """The remark of Sec. 3.3: the j of removal, projected, or on its nearest."""

    def step(K: Array, y: Array, g: Array, C: float) -> tuple[int, Array]:
        j, _ = best(nothing)(K, y, g, C)
        return j, refit(K, y, g, C, j)

    return step


MAINTENANCE: dict[str, Maintenance] = {
    "remove": best(nothing),
    "project": best(projected),
    "clip": best(clipped),
    "nearest": best(on_nearest),
    "fast": fast(projected),
    "fast_nearest": fast(on_nearest),
}


# ---- the model


class DoubleUpdating:
    """f(x) = sum_i g_i y_i k(s_i, x); the oldest support vector is first."""

    def __init__(
        self, kernel: Kernel, C: float, rho: float, B: int | None = None, maintenance: str = "remove"
    ) -> None:
        self.kernel, self.C, self.rho, self.B = kernel, C, rho, B
        self.maintenance = MAINTENANCE[maintenance]
        self.S: list[Array] = []
        self.y: Array = np.zeros(0)
        self.g: Array = np.zeros(0)

    @property
    def A(self) -> Array:
        """The coefficients g_i y_i."""
        return np.asarray(self.g * self.y)

    def gram(self) -> Array:
        """K of the support vectors."""
        return gram(self.kernel, self.S)

    def dual(self) -> float:
        """D(g)."""
        return dual(self.gram(), self.y, self.g)

    def k(self, x: Array) -> Array:
        """Row of the kernel between each support vector and x."""
        return self.kernel(np.array(self.S), x) if self.S else np.zeros(0)

    def score(self, x: Array) -> float:
        """f(x)."""
        return float(self.k(np.asarray(x, float)) @ self.A)

    def learn(self, x: Array, y: float) -> float:
        """One round of Alg. 1, y = -1 or +1; the score from before the update."""
        x = np.array(x, float)
        before = self.score(x)
        if 1 - y * before > ZERO:
            if len(self.S) == self.B:
                self.maintain()
            if 1 - y * self.score(x) > ZERO:
                self.update(x, y)
        return before

    def update(self, x: Array, y: float) -> None:
        """Lines 13 to 36: x enters, and the support vector that conflicts most is corrected."""
        l_t, k_t = 1 - y * self.score(x), float(self.kernel(x, x))
        m, w = margins(self.gram(), self.y, self.g), y * self.y * self.k(x)
        candidates = [i for i in range(len(self.S)) if m[i] <= 1 + ZERO]
        b = min(reversed(candidates), key=lambda i: float(w[i]), default=None)  # the last of equals
        if b is not None and w[b] <= -self.rho and w[b] < 0:
            k_b = float(self.kernel(self.S[b], self.S[b]))
            g_t, d_b = double_update(l_t, 1 - m[b], k_t, k_b, w[b], self.g[b], self.C)
            self.g[b] = np.clip(self.g[b] + d_b, 0, self.C)
        else:
            g_t = min(self.C, l_t / k_t) if k_t > 0 else 0.0
        if g_t > 0:
            self.S.append(x)
            self.y, self.g = np.append(self.y, y), np.append(self.g, g_t)

    def maintain(self) -> None:
        """One goes, the others get b."""
        j, b = self.maintenance(self.gram(), self.y, self.g, self.C)
        del self.S[j]
        self.y = np.delete(self.y, j)
        self.g = np.delete(np.clip(self.g + b, 0, self.C), j)


# ---- more than two classes: ours


def possible(z: Array, y: int, C: float) -> Array:
    """The nearest to z with sum 0, a_y <= C and other a_r <= 0: min(z - m, bound), m the multiplier."""
    bound = np.zeros(len(z))
    bound[y] = C
    low, high = float(np.min(z - C)) - 1, float(np.max(z)) + 1
    m = brentq(lambda m: float(np.minimum(z - m, bound).sum()), low, high, xtol=1e-15, rtol=1e-15)
    return np.asarray(np.minimum(z - m, bound))


class ManyClasses:
    """f_c(x) = sum_i A_ic k(s_i, x); the oldest support vector is first.

    s_i of class y_i has a weight g_ir >= 0 for each wrong class r, sum_r g_ir <= C. With v = e_{y_i} - e_r,
    A_i = sum_r g_ir v, and D = sum g - sum_c |f_c|^2 / 2.
    """

    def __init__(
        self,
        kernel: Kernel,
        classes: int,
        C: float,
        rho: float = 0.0,
        B: int | None = None,
        maintenance: str = "remove",
    ) -> None:
        self.kernel, self.classes, self.C, self.rho = kernel, classes, C, rho
        self.B, self.maintenance = B, maintenance
        self.S: list[Array] = []
        self.y: list[int] = []
        self.g: Array = np.zeros((0, classes))

    @property
    def A(self) -> Array:
        """The coefficients, a row for each support vector."""
        A = -self.g
        A[np.arange(len(self.y)), self.y] = self.g.sum(1)
        return A

    def dual(self) -> float:
        """D(g)."""
        A = self.A
        return float(self.g.sum() - (A * (gram(self.kernel, self.S) @ A)).sum() / 2) if self.S else 0.0

    def score(self, x: Array) -> Array:
        """f(x), one number for each class."""
        return np.asarray(self.kernel(np.array(self.S), x) @ self.A) if self.S else np.zeros(self.classes)

    def rival(self, f: Array, y: int) -> int:
        """The best wrong class, the lowest on ties."""
        return int(np.argmax(np.where(np.arange(self.classes) == y, -np.inf, f)))

    def question(self, x: Array, y: int) -> tuple[int, float]:
        """The best wrong class of x, and the loss against it."""
        f = self.score(x)
        s = self.rival(f, y)
        loss = 1 - (f[y] - f[s])
        return s, float(loss) if loss > ZERO * max(1.0, abs(f[y] - f[s])) else 0.0

    def learn(self, x: Array, label: float) -> Array:
        """One round; the scores from before the update."""
        x, y = np.array(x, float), int(label)
        before = self.score(x)
        if self.question(x, y)[1] > 0:
            if len(self.S) == self.B:
                self.maintain()
            s, loss = self.question(x, y)
            if loss > 0:
                self.update(x, y, s, loss)
        return before

    def direction(self, y: int, r: int) -> Array:
        """V = e_y - e_r."""
        v = np.zeros(self.classes)
        v[y], v[r] = 1, -1
        return v

    def update(self, x: Array, y: int, s: int, loss: float) -> None:
        """The row enters; the support vector whose best wrong class conflicts most is corrected."""
        v, kxx = self.direction(y, s), 2 * float(self.kernel(x, x))
        b, smallest, rival, margin = None, 0.0, 0, 0.0
        for i, z in enumerate(self.S):
            f = self.score(z)
            r = self.rival(f, self.y[i])
            m = float(f[self.y[i]] - f[r])
            w = float(v @ self.direction(self.y[i], r) * self.kernel(z, x))
            if m <= 1 + ZERO and w < 0 and w <= -self.rho and (b is None or w <= smallest):
                b, smallest, rival, margin = i, w, r, m  # the last of equals
        if b is None:
            g = min(self.C, loss / kxx)
        else:
            kbb, held = 2 * float(self.kernel(self.S[b], self.S[b])), float(self.g[b].sum())
            low, high = -float(self.g[b, rival]), self.C - held
            g, d = box_pair(loss, 1 - margin, kxx, kbb, smallest, self.C, low, high)
            self.g[b, rival] = max(0.0, self.g[b, rival] + d)
        if g > 0:
            self.S.append(x)
            self.y.append(y)
            self.g = np.vstack([self.g, np.zeros(self.classes)])
            self.g[-1, s] = g

    def maintain(self) -> None:
        """One goes; its nearest takes what it may of the coefficients."""
        choices = [self.without(j) for j in range(len(self.S))]
        if self.maintenance in ("remove", "fast_nearest"):
            now = self.dual()
            rises = [self.dual_of(np.delete(self.A, j, 0), j) - now for j in range(len(self.S))]
        else:
            rises = [self.dual_of(A, j) - self.dual() for j, A in enumerate(choices)]
        j = int(np.argmax(rises))
        A = choices[j]
        del self.S[j], self.y[j]
        self.g = np.maximum(0.0, -A)
        self.g[np.arange(len(self.y)), self.y] = 0

    def without(self, j: int) -> Array:
        """The coefficients of the others when s_j goes."""
        A = self.A
        others = [i for i in range(len(self.S)) if i != j]
        if others and self.maintenance != "remove":
            K = gram(self.kernel, self.S)
            n = min(others, key=lambda i: float(K[j, j] + K[i, i] - 2 * K[j, i]))
            A[n] = possible(A[n] + A[j] * K[j, n] / K[n, n], self.y[n], self.C)
        return np.delete(A, j, 0)

    def dual_of(self, A: Array, j: int) -> float:
        """D of coefficients of all but s_j."""
        S, y = [s for i, s in enumerate(self.S) if i != j], np.delete(self.y, j).astype(int)
        if not S:
            return 0.0
        return float(A[np.arange(len(y)), y].sum() - (A * (gram(self.kernel, S) @ A)).sum() / 2)


# ---- the algorithms by name


def duol(kernel: Kernel, *, C: float = 1.0, rho: float = 0.0) -> DoubleUpdating:
    return DoubleUpdating(kernel, C, rho)


def bduol(
    kernel: Kernel, *, budget: int, C: float = 1.0, rho: float = 0.0, maintenance: str = "remove"
) -> DoubleUpdating:
    return DoubleUpdating(kernel, C, rho, budget, maintenance)
