"""Kalman, Standardised and Stacked, plainly from their equations, for the library to be compared with.

Rows are dense; absent entries of a sparse row are 0. Two classes are -1 and +1 and have one output, k > 2
classes are 0 .. k - 1 and have k outputs, a target is a number. A row of weight 0 changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import pi, sqrt
from typing import Any, Literal

import numpy as np

from tests.references.noise import Noise
from tests.references.step import Array

Map = Callable[[Array], Array]  # x -> z(x)
Task = tuple[Literal["labels"], int] | tuple[Literal["targets"]]
Learner = Any  # has score(x) and learn(x, y, weight), perhaps deviation(x)


def outputs(task: Task) -> int:
    """One per class if there are more than two classes, otherwise 1."""
    return task[1] if len(task) == 2 and task[1] > 2 else 1


# ---- labels: f is one margin (two classes) or a logit per class


def log_probabilities(f: Array) -> Array:
    """Log softmax of f; with one margin, log sigmoid(-f) and log sigmoid(f)."""
    logits = np.append(0.0, f) if len(f) == 1 else f
    return np.asarray(logits - np.logaddexp.reduce(logits))


def log_probability(f: Array, y: float) -> float:
    """Log p_y."""
    return float(log_probabilities(f)[int((y + 1) / 2 if len(f) == 1 else y)])


def residual(f: Array, y: float) -> Array:
    """[c = y] - p_c for each class c; with one margin t - p. The gradient of log p_y in f."""
    p = np.exp(log_probabilities(f))
    return np.asarray((y + 1) / 2 - p[1:] if len(f) == 1 else np.eye(len(f))[int(y)] - p)


# ---- the filter's covariance


def observed(P: Array, v: Array, a: float, drift: float, limit: float) -> Array:
    """P -= a g g' / (1 + a v'g) with g = P v, then P_ii = min(P_ii + drift, limit)."""
    g = P @ v
    P = P - a * np.outer(g, g) / (1 + a * (v @ g))
    np.fill_diagonal(P, np.minimum(np.diag(P) + drift, limit))
    return P


class Kalman:
    """Weights W of the features z(x), with one covariance P for all outputs."""

    def __init__(
        self, features: Map, task: Task, prior: float, drift: float, full: int | None = None
    ) -> None:
        self.features, self.task, self.prior, self.drift, self.full = features, task, prior, drift, full
        self.W, self.P = np.zeros((outputs(task), 0)), np.zeros((0, 0))  # as wide as the first z
        self.errors = self.weights = 0.0  # sums of c e^2 / (1 + S) and of c

    def z(self, x: Array) -> Array:
        """The features of x; the first row sets the width of W and P."""
        z = self.features(np.asarray(x, float))
        if self.W.size == 0:
            self.W = np.zeros((len(self.W), len(z)))
        if self.P.size == 0:
            self.P = self.prior * np.eye(len(z))
        return z

    def score(self, x: Array) -> Array:
        """W z for targets, W z / sqrt(1 + pi S / 8) for labels."""
        z = self.z(x)
        shrink = 1.0 if self.task[0] == "targets" else sqrt(1 + pi * (z @ self.P @ z) / 8)
        return np.asarray(self.W @ z / shrink)

    def deviation(self, x: Array) -> float:
        """The standard deviation of a target: sqrt(noise (1 + S)); the noise is 0 before the first row."""
        z = self.z(x)
        noise = self.errors / self.weights if self.weights > 0 else 0.0
        return sqrt(noise * (1 + z @ self.P @ z))

    def learn(self, x: Array, y: float, weight: float = 1.0) -> None:
        """W += c step g' / (1 + c h S), P -= c h g g' / (1 + c h S), then the drift; g = P z, S = z'g."""
        if weight == 0:
            return
        z = self.z(x)
        f, g, S = self.W @ z, self.P @ z, float(z @ self.P @ z)
        if self.task[0] == "targets":
            step, h = y - f, 1.0
            self.errors += weight * float(step[0]) ** 2 / (1 + S)
            self.weights += weight
        else:
            p_max = float(np.exp(log_probabilities(f).max()))
            step, h = (2 if len(f) == 1 else 1) * residual(f, y), p_max * (1 - p_max)
        self.W = self.W + weight * np.outer(step, g) / (1 + weight * h * S)
        block = np.arange(len(z)) < (len(z) if self.full is None else self.full)
        kept = np.outer(block, block) | np.eye(len(z), dtype=bool)
        self.P = np.where(kept, observed(self.P, z, weight * h, self.drift, self.prior), 0.0)


class Running:
    """Mean and population standard deviation (Welford); if not centred, 0 and the root mean square."""

    def __init__(self, centred: bool) -> None:
        self.centred, self.count, self.mean, self.M2 = centred, 0, 0.0, 0.0

    @property
    def sd(self) -> float:
        """0 while the values are equal, and before the first value."""
        return sqrt(self.M2 / max(self.count, 1))

    def add(self, x: float) -> None:
        """Count a value."""
        d = x - self.mean
        self.count += 1
        self.mean += d / self.count if self.centred else 0.0
        self.M2 += d * (x - self.mean)


class Spread:
    """The scale of a column. No value ruins it, a new unit is followed. A sparse 0 says nothing."""

    def __init__(self, centred: bool = True, limited: bool = True) -> None:
        self.centred, self.limited, self.starts = centred, limited, True
        self.all, self.later = Running(centred), Running(centred)
        self.evidence, self.last, self.until, self.reach = 0, 0.0, 0, 0.0

    def far(self, x: float) -> bool:
        """Beyond 10 deviations of at least 16 values."""
        return self.all.count >= 16 and self.all.sd > 0 and abs(x - self.all.mean) > 10 * self.all.sd

    def known(self, x: float) -> bool:
        """Far, and another far value, on the same side, was one of the last 1000."""
        before, d = self.last - self.all.mean, x - self.all.mean
        return self.all.count <= self.until and self.far(x) and x != self.last and before * d > 0

    def add(self, x: float) -> None:
        """Count a value within its limit, which a far value before it may raise."""
        if not self.centred and x != 0:
            self.end_start()
        before, alike = self.last - self.all.mean, self.known(x)
        if not self.begins_a_unit(x):
            self.count(x, abs(before) if alike and self.evidence <= 1 else 0.0)

    def begins_a_unit(self, x: float) -> bool:
        """Whether 32 more values speak for a new unit than against it. A repeated one says nothing."""
        if self.starts:
            return False
        if self.far(x):
            self.later = self.later if self.evidence else Running(self.centred)
            self.evidence += x != self.last
            self.last, self.until = x, self.all.count + 1000
        elif self.evidence and (x != 0 or self.centred):
            self.evidence -= 1
        self.later.add(x)
        if self.evidence == 32:
            self.forget()
            return True
        return False

    def count(self, x: float, before: float = 0.0) -> None:
        """The first 16 values, and the first that differs, have no limit; nor has what is no farther.

        ``before`` is the deviation of a far value before x.
        """
        n, d, sd = self.all.count, x - self.all.mean, self.all.sd
        most = max(self.reach, before, min(10, sqrt(n)) * sd) if self.limited else np.inf
        if n < 16 or sd == 0:
            self.reach = max(self.reach, abs(d) if n or not self.centred else 0.0)
            most = np.inf
        self.all.add(x if abs(d) <= most else self.all.mean + np.copysign(most, d))
        if self.starts and n >= 16:
            self.later.add(x)
            if self.centred:
                self.end_start()

    def end_start(self) -> None:
        """Forget the first 16 of 32 values if the others have less than a tenth of the deviation of all.

        A sparse column waits for its next value that is not 0.
        """
        if not self.starts or self.all.count < 32:
            return
        self.starts = False
        if 0 < self.later.M2 / 16 < self.all.M2 / 32 / 100:
            self.forget()
            self.starts = self.centred
        self.later = Running(self.centred)

    def forget(self) -> None:
        """All values but the later ones."""
        self.all, self.later = self.later, Running(self.centred)
        self.evidence, self.until, self.reach = 0, 0, 0.0


class Standardised:
    """A learner of columns, and of a target, that are scaled by their moments along the stream."""

    def __init__(self, inner: Learner, clip: float, task: Task, sparse: bool = False) -> None:
        self.inner, self.clip, self.task, self.sparse = inner, clip, task, sparse
        self.columns: list[Spread] = []
        self.target = Spread(limited=False)

    def scaled(self, x: Array) -> Array:
        """The row in units of the rows counted so far, centred unless sparse."""
        x = np.asarray(x, float)
        self.columns = self.columns or [Spread(centred=not self.sparse) for _ in x]
        mean, scale = (np.array([getattr(c.all, name) for c in self.columns]) for name in ("mean", "sd"))
        known = (scale > 0) & ~np.isnan(x)
        z = np.zeros(len(x))
        z[known] = (x[known] - mean[known]) / scale[known]
        return np.asarray(np.clip(z, -self.clip, self.clip))

    @property
    def unit(self) -> tuple[float, float]:
        """Mean and sd of the targets, the sd 1 while it is 0. With labels 0 and 1."""
        return self.target.all.mean, self.target.all.sd or 1.0

    def score(self, x: Array) -> Array:
        """The inner score in the units of the target."""
        mean, sd = self.unit
        return np.asarray(mean + sd * np.atleast_1d(self.inner.score(self.scaled(x))))

    def deviation(self, x: Array) -> float:
        """The inner deviation in the units of the target."""
        return float(self.unit[1] * self.inner.deviation(self.scaled(x)))

    def learn(self, x: Array, y: float, weight: float = 1.0) -> None:
        """Count y, learn the row scaled by the rows before it, count the row."""
        if weight == 0:
            return
        if self.task[0] == "labels" or self.takes(y):
            mean, sd = self.unit
            self.inner.learn(self.scaled(x), (y - mean) / sd, weight)
        self.scaled(x)  # the first row has columns, learned or not
        for column, value in zip(self.columns, np.asarray(x, float), strict=True):
            if not np.isnan(value):
                column.add(value)

    def takes(self, y: float) -> bool:
        """Count y, unless it is far and the first among the last targets, or one of a run."""
        far, known = self.target.far(y), self.target.known(y)
        if self.target.begins_a_unit(y):
            return True
        if far and (not known or self.target.evidence > 1):
            return False
        self.target.count(y)
        return True


class Calibration:
    """g(f), the calibrated score of a score f of a stack for labels: odd, and straight between knots."""

    def __init__(self, start: float, drift: float, floor: float) -> None:
        self.start, self.drift, self.floor = start, drift / 10, floor
        self.knots = np.array([0.0, 1.0, 2.0, 4.0, np.inf])
        self.slopes, self.P = np.ones(4), start * np.eye(4)

    def parts(self, f: Array) -> Array:
        """The part of every f between neighbouring knots, with the sign of f."""
        low, high = self.knots[:-1], self.knots[1:]
        return np.asarray(np.sign(f)[:, None] * (np.clip(np.abs(f)[:, None], low, high) - low))

    def __call__(self, f: Array) -> Array:
        """The calibrated scores; no slope is below 0.05."""
        return np.asarray(self.parts(f) @ np.maximum(self.slopes, 0.05))

    def learn(self, f: Array, y: float, weight: float) -> None:
        """Slopes += c g / (1 + c max(h, floor) v'g), v the gradient of log p_y; P as of the stack."""
        v = residual(self(f), y) @ self.parts(f)
        p = np.exp(log_probability(self(f), y))
        g, h = self.P @ v, p / max(1 - p, 1e-12)
        self.slopes = self.slopes + weight * g / (1 + weight * max(h, self.floor) * (v @ g))
        self.P = observed(self.P, v, weight * h, self.drift, self.start)


class Stacked:
    """Members that learn every row as if alone; a filter weighs their scores from before the row."""

    def __init__(
        self,
        members: Sequence[Learner],
        task: Task,
        start: float = 0.1,
        drift: float = 1e-4,
        logits: Sequence[bool] | None = None,  # whose scores are logits; None: all members'
        clip: float = 8.0,  # of the logits
        floor: float = 0.25,  # of the curvature h in the step, not in P
    ) -> None:
        self.members, self.task, self.start, self.drift, n = members, task, start, drift, len(members)
        self.clip, self.floor = clip, floor
        self.logits = np.array([True] * n if logits is None else logits)
        self.squares, self.rows = np.zeros(n), 0  # sums over rows of mean_c l_ic^2
        self.loss_sums, self.weights = np.zeros(n), 0.0
        self.w, self.b = np.full(n, 1 / n), np.zeros(outputs(task))
        self.P = start * np.eye(n + len(self.b))
        block = np.arange(len(self.P)) < (n if len(self.b) > 256 else len(self.P))  # with covariances
        self.kept = np.outer(block, block) | np.eye(len(self.P), dtype=bool)
        self.filter = Kalman(lambda x: self.scores(x)[:, 0], ("targets",), start, drift)
        self.filter.W = self.w[None, :]
        self.noise: Noise | None = None  # of targets
        self.calibration = Calibration(start, drift, floor)  # of labels

    @property
    def losses(self) -> Array:
        """Per member: the mean log loss (labels) or squared error (targets), 0 before the first row."""
        return np.asarray(self.loss_sums / (self.weights or 1.0))

    def scores(self, x: Array) -> Array:
        """f_ic, one row per member; with more than one output minus its mean over the outputs."""
        f = np.array([np.atleast_1d(member.score(x)) for member in self.members])
        return f if f.shape[1] == 1 else np.asarray(f - f.mean(axis=1, keepdims=True))

    def scaled(self, x: Array) -> Array:
        """The logits l_ic; 0 while their scale r_i is 0."""
        r = np.where(self.logits, 1.0, np.sqrt(self.squares / max(self.rows, 1)))[:, None]
        return np.asarray(
            np.clip((r > 0) * self.scores(x) / np.where(r > 0, r, 1.0), -self.clip, self.clip)
        )

    def score(self, x: Array) -> Array:
        """The filter's target, or the calibrated scores."""
        return self.filter.score(x) if self.task[0] == "targets" else self.calibration(self.weighed(x))

    def weighed(self, x: Array) -> Array:
        """sum_i w_i l_ic + b_c"""
        return np.asarray(self.w @ self.scaled(x) + self.b)

    def deviation(self, x: Array) -> float:
        """The standard deviation of a target; 0 before the first."""
        return self.noise.deviation(np.asarray(x, float), *self.told(x)) if self.noise else 0.0

    def told(self, x: Array) -> tuple[float, float]:
        """The predicted target, and what the filter does not know about it."""
        z = self.filter.z(x)
        return float(self.filter.score(x)[0]), float(z @ self.filter.P @ z)

    def gradient(self, x: Array, y: float) -> Array:
        """The gradient v of log p_y, not calibrated, in (w, b): v_i = sum_c l_ic r_c, v_b = r."""
        r = residual(self.weighed(x), y)
        return np.append(self.scaled(x) @ r, r)

    def learn(self, x: Array, y: float, weight: float = 1.0) -> None:
        """The filter learns from the scores before the row, then the members learn the row.

        Labels: (w, b) += c g / (1 + c max(h, floor) v'g), P -= c h g g' / (1 + c h v'g), then the drift;
        g = P v.
        """
        if weight == 0:
            return
        if self.task[0] == "targets":
            losses = (y - self.scores(x)[:, 0]) ** 2
            self.noise = self.noise or Noise(len(x), self.drift)
            self.noise.learn(np.asarray(x, float), y, *self.told(x), weight)
            self.filter.learn(x, y, weight)
            self.w = self.filter.W[0]
        else:
            losses = np.array([-log_probability(logits, y) for logits in self.scaled(x)])
            f = self.weighed(x)
            p, v = np.exp(log_probability(f, y)), self.gradient(x, y)
            self.calibration.learn(f, y, weight)
            g, h = self.P @ v, p / max(1 - p, 1e-12)
            step = weight * g / (1 + weight * max(h, self.floor) * (v @ g))
            self.w, self.b = self.w + step[: len(self.w)], self.b + step[len(self.w) :]
            self.P = np.where(self.kept, observed(self.P, v, weight * h, self.drift, self.start), 0.0)
        self.loss_sums, self.weights = self.loss_sums + weight * losses, self.weights + weight
        self.squares, self.rows = self.squares + (self.scores(x) ** 2).mean(axis=1), self.rows + 1
        for member in self.members:
            member.learn(x, y, weight)
