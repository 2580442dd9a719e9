"""Learners on explicit features with their arrays on the card, and the products around the walks."""

from __future__ import annotations

import pickle
from collections.abc import Hashable, Sequence
from functools import partial
from hashlib import blake2b
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from budgetron.learners.cuda.arrays import ROWS, SUPER, WALK, Arrays
from budgetron.learners.cuda.features import Features, Needs
from budgetron.learners.cuda.questions import Rule, rule_of
from budgetron.learners.mapped import Mapped
from budgetron.parts.features import pieces
from budgetron.parts.features.feature_map import FeatureMap
from budgetron.parts.tasks import Labels, Task
from budgetron.parts.vector_rules import Kalman

LIBRARIES, LANE = 2.0**27, 2.0**26
"""What libraries take: 32 MiB of work space for CuPy's handle of cuBLAS, 64 of code, loaded when used,
and 32 of recorded blocks; for each kind of walk 32 MiB for a handle, and 32 that we give it."""

State = dict[str, npt.NDArray[Any]]


class Drawn(NamedTuple):
    """What a map computes, and a digest that is equal if the features are the same numbers."""

    features: pieces.Features
    digest: bytes


class Maps:
    """Native maps, each read once. One that is drawn when it is needed is drawn now."""

    def __init__(self) -> None:
        # By the id of the map, which is kept with it: so no other map has that id.
        self._known = dict[int, tuple[Any, Drawn]]()

    def drawn(self, learner: Mapped, native: Any, n_features: int) -> Drawn:
        """What the map of a learner computes."""
        if id(native) not in self._known:
            assert isinstance(learner.features, FeatureMap)
            features = pieces.features_of(learner.features, native, n_features)
            self._known[id(native)] = native, Drawn(features, blake2b(pickle.dumps(features)).digest())
        return self._known[id(native)][1]

    def forget(self) -> None:
        """Read them again when they are asked for again."""
        self._known.clear()


class Expert:
    """One learner: its arrays, made from the state of the native one, and that state again.

    ``key`` is the same for learners of one kind whose features are the same numbers.
    """

    def __init__(self, arrays: Arrays, learner: Mapped, drawn: Drawn, task: Task) -> None:
        self.arrays, self.learner, self.outputs = arrays, learner, task.outputs
        self.features = drawn.features
        self.key: tuple[object, ...] = (type(self), drawn.digest)
        self.out = arrays.zeros(SUPER, self.outputs, dtype=np.float64)  # the scores of a run
        self.stopped = arrays.zeros(1, dtype=np.int64)

    def at(self, first: int, rows: int) -> Expert:
        """With ``scores``, where those of a block go."""
        self.scores = self.out[first : first + rows]
        return self

    def share(self, group: Group) -> None:  # noqa: ARG002
        """Take the arrays that learners with equal features share."""
        del self.features

    def predict(self, Z: Any) -> Any:
        """The scores of the columns of Z, rows x outputs."""
        raise NotImplementedError

    def state(self) -> State:
        """What learning has changed in the state of the native learner."""
        raise NotImplementedError


class Stepping(Expert):
    """Steps along z."""

    def __init__(self, arrays: Arrays, learner: Mapped, drawn: Drawn, task: Task, state: State) -> None:
        super().__init__(arrays, learner, drawn, task)
        limits = arrays.limits
        self.rule: Rule = rule_of(learner.rule, task, limits.largest, limits.largest_square)
        self._start = _weights(state, self.outputs)
        y_max = float(state["sgd.y_max"][0]) if "sgd.y_max" in state else 0.0
        now = [float(state["t"][0]), float(state["weights.divisor"][0]), y_max]
        self.counts = arrays.array(now, np.float64)
        self.norm2 = arrays.zeros(1, dtype=np.float64)

    def share(self, group: Group) -> None:
        super().share(group)
        place = group.experts.index(self)
        rows = slice(place * self.outputs, (place + 1) * self.outputs)
        self.W, self.F, self.A = group.W[rows], group.F[rows], group.A[rows]
        self.G, self.kxx, self.total = group.G, group.kxx, group.total[place]
        self.W[:] = self.arrays.array(self._start)
        del self._start

    def predict(self, Z: Any) -> Any:
        return (self.W @ Z).T / self.counts[1]

    def state(self) -> State:
        t, divisor, y_max = self.arrays.host(self.counts)
        found = {"t": np.array([t], dtype=np.uint64), "weights.divisor": np.array([divisor])}
        if self.rule.ball:
            found["sgd.y_max"] = np.array([y_max])
        return found | _saved(self.arrays.host(self.W))


class Filter(Expert):
    """A Kalman filter: P of the first weights, a variance of each of the others."""

    def __init__(self, arrays: Arrays, learner: Mapped, drawn: Drawn, task: Task, state: State) -> None:
        super().__init__(arrays, learner, drawn, task)
        rule: Any = learner.rule
        self.prior, self.drift, self.limits = float(rule.prior), float(rule.drift), arrays.limits
        self.labels = isinstance(task, Labels)
        self.W = arrays.array(_weights(state, self.outputs))
        self.t = int(state["t"][0])
        diagonal, self.P = _full_block(arrays, state)
        self.full = len(diagonal)
        self.variance = arrays.array(np.concatenate([diagonal, state["posterior.variance"]]))
        self.plain = self.drift == 0 and self.full == len(self.variance)
        self.key = *self.key, self.plain
        m, zeros = len(self.variance), arrays.zeros
        self.V, self.G, self.U = zeros(self.full, ROWS), zeros(ROWS, m), zeros(ROWS, self.full)
        self.F, self.D = zeros(self.outputs, ROWS), zeros(self.outputs, ROWS)
        self.S, self.T, self.R = zeros(WALK, WALK), zeros(WALK, WALK), zeros(WALK, WALK)
        self.before = zeros(self.full)  # the diagonal of P as it is in V
        self.diagonal = self.P.reshape(-1)[:: self.full + 1]
        rows = int(state["posterior.rows"][0])
        self.observed = arrays.array([rows, 0], np.int64)  # and repairs that the block asks for
        noise = [float(state.get(f"kalman.{name}", np.zeros(1))[0]) for name in ("noise", "weight")]
        self.noise = arrays.array(noise, np.float64)
        self._before = rows

    def share(self, group: Group) -> None:
        super().share(group)
        self.Z = group.Z
        self.walks = [self._walk(begin) for begin in range(0, ROWS, WALK)]

    def _walk(self, begin: int) -> SimpleNamespace:
        """The parts of the arrays that belong to a walk, and what is behind it."""
        own, rest = slice(begin, begin + WALK), slice(begin + WALK, ROWS)
        Z, V, full = self.Z, self.V, self.full
        numbers = self.arrays.zeros(WALK, ROWS - WALK - begin)
        return SimpleNamespace(
            Z=Z[:, own], V=V[:, own], D=self.D[:, own], G=self.G[own], U=self.U[own], numbers=numbers,
            Z_behind=Z[:, rest], Z_full=Z[:full, rest], V_behind=V[:, rest], F_behind=self.F[:, rest],
        )  # fmt: skip

    def predict(self, Z: Any) -> Any:
        scores = (self.W @ Z).T
        if not self.labels:
            return scores
        xp, full = self.arrays.xp, self.full
        var = self.diagonal if self.plain else self.variance
        S = (var[full:, None] * Z[full:] ** 2).sum(axis=0) + (Z[:full] * (self.P @ Z[:full])).sum(axis=0)
        least = self.limits.least * (var[:full, None] * Z[:full] ** 2).sum(axis=0)
        return scores / xp.sqrt(1 + np.pi / 8 * xp.maximum(S, least))[:, None]

    def products(self) -> None:
        """What the walks need."""
        if self.full:
            self.arrays.add_product(self.V, self.P, self.Z[: self.full])
        self.arrays.add_product(self.F, self.W, self.Z)
        if self.drift:
            self.before[:] = self.variance[: self.full]

    def columns(self, begin: int, first: int, rows: int) -> SimpleNamespace:
        """What NumPy's walk over some columns of a block sees."""
        here, walk = slice(begin, begin + rows), self.walks[begin // WALK]
        arrays = {name: getattr(self, name)[:, here] for name in ("Z", "V", "F")}
        arrays |= {"G": walk.G, "U": walk.U, "D": walk.D, "scores": self.out[first : first + rows]}
        return SimpleNamespace(**vars(self) | arrays)

    def before_walk(self, begin: int) -> None:
        if self.plain:
            walk = self.walks[begin // WALK]
            self.arrays.add_product(self.S, walk.Z, walk.V, of_A="T")

    def after_walk(self, begin: int, behind: bool) -> None:
        """The gains, and what they change in what the columns behind them have been promised."""
        walk, add = self.walks[begin // WALK], self.arrays.add_product
        if self.plain:
            add(walk.G, self.T, walk.V, of_B="T")
            add(walk.U, self.R, walk.V, of_B="T")
        if not behind:
            return
        add(walk.numbers, walk.G, walk.Z_behind)
        add(walk.F_behind, walk.D, walk.numbers, beta=1)
        if not self.full:
            return
        add(walk.numbers, walk.U, walk.Z_full)
        add(walk.V_behind, walk.U, walk.numbers, of_A="T", alpha=-1, beta=1)
        if self.drift:
            variance = self.variance[: self.full]
            gained = variance - (self.before - (walk.U * walk.U).sum(axis=0))
            walk.V_behind += gained[:, None] * walk.Z_full
            self.before[:] = variance

    def take_steps(self) -> None:
        add = self.arrays.add_product
        add(self.W, self.D, self.G, beta=1)
        if self.full:
            add(self.P, self.U, self.U, of_A="T", alpha=-1, beta=1)
        if self.plain:
            self.arrays.repair(self.diagonal, self.prior, self.observed)
            self.observed[1:] = 0
        else:
            self.diagonal[:] = self.variance[: self.full]

    def state(self) -> State:
        host, full = self.arrays.host, self.full
        seen = int(host(self.observed)[0])
        found = {
            "t": np.array([self.t + seen - self._before], dtype=np.uint64),
            "posterior.P": _packed(self.arrays, self.P),
            "posterior.pending": np.empty(0),
            "posterior.variance": host(self.variance)[full:].astype(np.float64),
            "posterior.rows": np.array([seen], dtype=np.uint64),
        }
        if not self.labels:
            noise = host(self.noise)
            found |= {"kalman.noise": noise[:1].copy(), "kalman.weight": noise[1:].copy()}
        return found | _saved(host(self.W))


def _weights(state: State, outputs: int) -> npt.NDArray[np.float64]:
    return np.array([state[f"weights.{c}"] for c in range(outputs)])


def _saved(W: npt.NDArray[Any]) -> State:
    return {f"weights.{c}": row.astype(np.float64) for c, row in enumerate(W)}


def _full_block(arrays: Arrays, state: State) -> tuple[npt.NDArray[np.float64], Any]:
    """The diagonal of the full block of P, and all of it, with what is pending in it taken up."""
    packed = state["posterior.P"]
    full = int((np.sqrt(8 * len(packed) + 1) - 1) / 2 + 0.5)
    diagonal = packed[np.cumsum(np.arange(1, full + 1)) - 1] if full else np.empty(0)
    P, there, columns = arrays.zeros(full, full), arrays.array(packed), arrays.xp.arange(full)
    for rows in _slices(full):
        low, high = columns[rows, None], columns[None]
        low, high = arrays.xp.minimum(low, high), arrays.xp.maximum(low, high)
        P[rows] = there[high * (high + 1) // 2 + low]
    if len(pending := state["posterior.pending"]):
        U = arrays.array(pending.reshape(-1, full))
        arrays.add_product(P, U, U, of_A="T", alpha=-1.0, beta=1.0)
        P.reshape(-1)[:: full + 1] = arrays.array(diagonal)
    return diagonal, P


def _packed(arrays: Arrays, P: Any) -> npt.NDArray[np.float64]:
    """The lower half of P, row by row, in memory."""
    columns = arrays.xp.arange(len(P))
    pieces = [arrays.host(P[rows][columns[None] <= columns[rows, None]]) for rows in _slices(len(P))]
    return np.concatenate([np.empty(0), *pieces]).astype(np.float64, copy=False)


def _slices(rows: int) -> list[slice]:
    """Rows of P that are looked at together: what is made of them for a while is small."""
    return [slice(first, min(first + ROWS, rows)) for first in range(0, rows, ROWS)]


class Group:
    """Learners of one kind whose features are the same: they share Z, and what is made of Z alone."""

    def __init__(self, arrays: Arrays, experts: Sequence[Expert]) -> None:
        self.arrays, self.experts = arrays, experts
        first = experts[0]
        self.features = Features(arrays, first.features)
        m, b, rows = self.features.size, ROWS, sum(expert.outputs for expert in experts)
        self.Z = arrays.zeros(m, b)
        self.steps = isinstance(first, Stepping)
        self.kind = "steps" if self.steps else "plain" if getattr(first, "plain", False) else "drifting"
        if self.steps:
            self.W, self.F, self.A = arrays.zeros(rows, m), arrays.zeros(rows, b), arrays.zeros(rows, b)
            self.G, self.kxx = arrays.zeros(b, b), arrays.zeros(b, dtype=np.float64)
            self.total = arrays.zeros(len(experts), 1, dtype=np.float64)
            self.total[:] = 1
        for expert in experts:
            expert.share(self)
        rules = [expert.rule for expert in experts if isinstance(expert, Stepping)]
        self.shrinks = any(rule.shrink != 1 or rule.ball for rule in rules)
        self.in_balls = [e for e in experts if isinstance(e, Stepping) and e.rule.ball]

    def look(self, X: Any) -> None:
        """The features of a block, and the products that do not depend on its labels."""
        self.features(X, self.Z[:, : len(X)])
        if len(X) < ROWS:
            self.Z[:, len(X) :] = 0
        if not self.steps:
            for expert in self.experts:
                expert.products()  # type: ignore[attr-defined]
            return
        for first in (0, ROWS // 2):  # of G, the walk looks at what is on the diagonal and right of it
            rest = slice(first, None)
            rows = slice(first, first + ROWS // 2)
            self.arrays.add_product(self.G[rows, rest], self.Z[:, rows], self.Z[:, rest], of_A="T")
        self.arrays.add_product(self.F, self.W, self.Z)
        self.kxx[:] = self.features.squared_norms(self.Z)
        for expert in self.in_balls:
            expert.norm2[:] = (expert.W.astype(np.float64) ** 2).sum()

    def learn(self) -> None:
        """Take the steps that the walk has decided."""
        if not self.steps:
            for expert in self.experts:
                expert.take_steps()  # type: ignore[attr-defined]
            return
        if self.shrinks:
            self.W *= self.arrays.xp.repeat(self.total, self.experts[0].outputs, axis=0).astype(
                self.W.dtype
            )
        self.arrays.add_product(self.W, self.A, self.Z, of_B="T", beta=1)


class Program:
    """Experts side by side on the same rows."""

    def __init__(self, arrays: Arrays, experts: Sequence[Expert], n_features: int) -> None:
        self.arrays, self.experts = arrays, list(experts)
        kinds: dict[Any, list[Expert]] = {}
        for expert in experts:
            kinds.setdefault(expert.key, []).append(expert)
        self.groups = [Group(arrays, members) for members in kinds.values()]
        filters = [expert for expert in self.experts if isinstance(expert, Filter)]
        rules = [expert for expert in self.experts if isinstance(expert, Stepping)]
        self.X = arrays.zeros(ROWS, n_features)
        self.y, self.weights = (arrays.zeros(SUPER, dtype=np.float64) for _ in range(2))
        self.first = arrays.zeros(1, dtype=np.int64)
        arrays.prepare(filters, rules)
        # What is learned side by side: each kind of walk, with the products around it.
        # The slowest is begun first.
        of_kind = {
            kind: [g for g in self.groups if g.kind == kind] for kind in ("drifting", "plain", "steps")
        }
        self._lanes = [(kind, groups) for kind, groups in of_kind.items() if groups]

    def run(self, X: Any, y: Any, weights: Any) -> tuple[list[npt.NDArray[np.float64]], list[int]]:
        """Learn up to SUPER rows; the scores of every expert, and how many rows each has learned."""
        n, arrays = len(X), self.arrays
        self.y[:n], self.weights[:n] = y, weights
        for expert in self.experts:
            expert.stopped[:] = -1
        for first in range(0, n, ROWS):
            rows = min(ROWS, n - first)
            self.X[:rows], self.first[:] = X[first : first + rows], first
            arrays.block(self, rows)
        arrays.finish()
        stops = [int(arrays.host(expert.stopped)[0]) for expert in self.experts]
        done = [n if stop < 0 else stop for stop in stops]
        return [arrays.host(expert.out[:n]) for expert in self.experts], done

    def block(self, rows: int) -> None:
        """Learn the rows of a block, in `X`. Nothing in it depends on numbers, so a card can record it."""
        self.arrays.side_by_side([partial(self._lane, kind, groups, rows) for kind, groups in self._lanes])

    def _lane(self, kind: str, groups: Sequence[Group], rows: int) -> None:
        """Learn the rows with groups of one kind."""
        for group in groups:
            group.look(self.X[:rows])
        if kind == "steps":
            self.arrays.walk_rules(self.y, self.weights, self.first, rows)
        else:
            self._walk_filters(
                [expert for group in groups for expert in group.experts], kind == "plain", rows
            )
        for group in groups:
            group.learn()

    def _walk_filters(self, filters: Sequence[Any], plain: bool, rows: int) -> None:
        for begin in range(0, ROWS, WALK):
            for expert in filters:
                expert.before_walk(begin)
            own = max(0, min(WALK, rows - begin))
            self.arrays.walk_filters(self.y, self.weights, self.first, begin, own, plain)
            for expert in filters:
                expert.after_walk(begin, rows > begin + WALK)

    def predict(self, X: Any) -> list[npt.NDArray[np.float64]]:
        """The scores of every expert, without learning."""
        scores: dict[int, Any] = {}
        for group in self.groups:
            Z = self.arrays.zeros(group.features.size, len(X))
            group.features(X, Z)
            for expert in group.experts:
                scores[id(expert)] = self.arrays.host(expert.predict(Z)).astype(np.float64)
        return [np.ascontiguousarray(scores[id(expert)]) for expert in self.experts]


def expert_of(arrays: Arrays, learner: Mapped, handle: Any, drawn: Drawn, task: Task) -> Expert:
    """A learner on the card, in the state of the native one."""
    kind = Filter if isinstance(learner.rule, Kalman) else Stepping
    return kind(arrays, learner, drawn, task, handle.state())


def needed_bytes(
    arrays: Arrays,
    members: Sequence[tuple[Mapped, Any]],
    maps: Sequence[Hashable],
    task: Task,
    n_features: int,
) -> float:
    """The most memory that learners take on the card, with what is there for a while while they work.

    ``maps`` are equal for learners that share a map.

    Blocks work in CuPy's pool and, recorded, in one of their own, so their work counts twice. Pools keep
    what is given back, and may not use it for another size, so all that is there for a while is counted.
    """
    each, C, known, kinds = arrays.real.itemsize, task.outputs, set[Any](), set[str]()
    total = LIBRARIES + SUPER * (8 * 4 + n_features * (2 * each + 8))  # rows, labels and weights of a run
    for (learner, handle), shared in zip(members, maps, strict=True):
        native, rule = handle.inner.map, learner.rule
        needs = Needs.of(learner.features, native, n_features)
        m, kind = needs.size, "steps"
        total += each * 4 * C * ROWS + 8 * SUPER * C  # F, D or A; scores
        if isinstance(rule, Kalman):
            full = min(m, rule.full(native) + m - native.size)
            kind = "plain" if rule.drift == 0 and full == m else "drifting"
            total += each * (full**2 + ROWS * (m + 2 * full) + (C + 4) * m)  # P; the gains, V and U; W
            total += each * full**2 / 2 + ROWS * full * (8 * 8 + 2 * each)  # to unpack and pack P
            total += each * ROWS * (5 * m + 4 * full)  # to predict; drift
        else:
            total += each * 3 * C * m + 32 * C * m  # W; its norm, if it stays in a ball
            total += 32 * ROWS * needs.others  # norms of features
        if (kind, shared) not in known:  # Z, also to predict, Z Z', the map
            total += each * (ROWS * (2 * m + ROWS + 3 * needs.work) + needs.kept)
        known.add((kind, shared))
        kinds.add(kind)
    return total + LANE * len(kinds)
