"""The engine whose rows are learned on a card, and the native learner beside it, its twin.

The twin is built from the same description with the same seed, so that frequencies, scales and the order of
everything are its own. What runs on the card takes up the named state of the twin's learners. Whatever is
not learning or scoring rows (states, files, widening, explanations) first brings the arrays back and then
asks the twin; so a model has one state, wherever it learned.

In a stack, the twin goes on learning what has no form on the card, with the filter on top. The scores of
the others are given to it, a few thousand rows at a time, while the card learns the next.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Hashable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix

from budgetron import _core
from budgetron._util.rows import Compressed, is_sparse, views, whole
from budgetron._util.threads import Turns
from budgetron.learners.cuda.arrays import MOST_OUTPUTS, SUPER, Arrays
from budgetron.learners.cuda.card import Card
from budgetron.learners.cuda.experts import Drawn, Maps, Program, expert_of, needed_bytes
from budgetron.learners.cuda.questions import LOSSES, RULES
from budgetron.learners.learner import Floats, Learner
from budgetron.learners.mapped import Mapped
from budgetron.learners.scaled import Scaled
from budgetron.learners.stacked import Stacked
from budgetron.parts.features.fourier import (
    HadamardFourier,
    OrthogonalFourier,
    RandomFourier,
    SobolFourier,
    SparseFourier,
)
from budgetron.parts.features.hashing import Hashed
from budgetron.parts.features.nystrom import Nystrom
from budgetron.parts.features.pieces import KERNELS
from budgetron.parts.features.stack import Identity, Stack
from budgetron.parts.tasks import Labels, Task
from budgetron.parts.vector_rules import Kalman

ARRAYS: Callable[[npt.DTypeLike], Arrays] = Card
"""What makes the arrays; tests take NumPy's."""
MAPS = (RandomFourier, OrthogonalFourier, SobolFourier, HadamardFourier, SparseFourier, Identity)
BEGINNING = 64  # rows that the twin learns: first, since ties are common then; and while a map still learns
ENOUGH = 256  # rows to be scored for which a model goes to the card


def runs(learner: Any) -> bool:
    """Whether a learner has a form on the card."""
    if type(learner) is not Mapped or not _is_known(learner.features):
        return False
    rule: Any = learner.rule
    if type(rule) is Kalman:
        return bool(rule.prior <= 1e30)
    return type(rule) in RULES and type(getattr(rule, "loss", None)) in (type(None), *LOSSES)


def _is_known(features: Any) -> bool:
    if type(features) is Hashed:
        return _is_known(features.features)
    if type(features) is Stack:
        return all(map(_is_known, features.maps))
    if type(features) is Nystrom:
        return type(features.kernel_) in KERNELS
    return type(features) in MAPS


def _put_outside(learner: Learner, twin: Any) -> tuple[Any, list[tuple[Any, Any]]]:
    """The twin, and its learners whose rows are learned on the card, with their descriptions."""
    core, scaled = inner(learner), isinstance(learner, Scaled)
    if isinstance(core, Stacked):
        stack = twin.inner if scaled else twin
        parts = enumerate(core.learners)
        return twin, [(part, stack.put_outside(i)) for i, part in parts if runs(part)]
    handle = twin.put_outside() if scaled else _core.Outside(twin)
    return twin if scaled else handle, [(core, handle)]


def inner(learner: Learner) -> Learner:
    """The learner of the rows as they are when they have been scaled."""
    return learner.learner if isinstance(learner, Scaled) else learner


def check(learner: Learner, task: Task) -> None:
    """Refuse a learner of which nothing can run on a card."""
    core = inner(learner)
    some = any(map(runs, core.learners)) if isinstance(core, Stacked) else runs(core)
    if some and task.outputs <= MOST_OUTPUTS:
        return
    if task.outputs > MOST_OUTPUTS:
        raise ValueError(
            f'device="cuda" takes at most {MOST_OUTPUTS} classes, got {task.outputs}: use "cpu".'
        )
    raise ValueError(
        'device="cuda" runs Mapped with Fourier features, Identity, Nystrom, Hashed or a Stack of these, '
        "and with OGD, Perceptron, PA, SGD or Kalman; also inside Standardised, Ranged and Stacked, as in "
        f'auto(); got {learner!r}: use device="cpu".'
    )


class Block:
    """Rows first .. last of a caller's X: an array for the card, and a native view for the twin."""

    def __init__(self, X: Any, native: Callable[[slice], _core.Rows], first: int, last: int) -> None:
        self.X, self._native, self.first, self.last = X, native, first, last

    @property
    def size(self) -> int:
        return self.last - self.first

    def cut(self, first: int, last: int) -> Block:
        """Some of the rows."""
        return Block(self.X, self._native, self.first + first, self.first + last)

    def native(self) -> _core.Rows:
        return self._native(slice(self.first, self.last))

    def array(self) -> Any:
        """The rows as a dense array, here or on the card."""
        X = self.X[self.first : self.last]
        return X.toarray() if is_sparse(X) else X


class Ahead(NamedTuple):
    """What the card has learned of rows first .. last: the scores of each expert, and how many rows."""

    first: int
    last: int
    scores: list[Floats]
    done: list[int]

    @property
    def stopped(self) -> bool:
        """Whether an expert has refused a row."""
        return min(self.done) < self.last - self.first


class CardEngine:
    """An `Engine`: see the text of the module. ``make`` makes the arrays, of the card."""

    def __init__(
        self, learner: Learner, twin: Any, task: Task, n_features: int, dtype: npt.DTypeLike
    ) -> None:
        check(learner, task)
        self.arrays = ARRAYS(dtype)
        self.learner, self.task, self.n_features = learner, task, n_features
        self._start(*_put_outside(learner, twin))

    def _start(self, twin: Any, members: list[tuple[Any, Any]]) -> None:
        self.twin, self.members, self._read = twin, members, Maps()
        self._lock = Turns()
        self._pool = ThreadPoolExecutor(1)
        self._ahead = deque[Ahead]()  # what the card has learned, and the twin has not
        self._program: Program | None = None  # the experts on the card, if they are up to date
        self._scaler: tuple[Any, Any] | None = None  # scales rows ahead of the twin, for the card
        self._fresh = True  # whether the twin is up to date
        self._forked = False
        self._lost: BaseException | None = None
        self._require_memory()

    @property
    def alike(self) -> Hashable:
        """Engines of which this is equal scale rows alike, and can learn them together."""
        scale: tuple[Any, ...] = ()
        if isinstance(self.learner, Scaled):
            how = {k: v for k, v in self.learner.get_params(deep=False).items() if k != "learner"}
            state = [(k, v.tobytes()) for k, v in sorted(self._scale().items())]
            scale = type(self.learner), *how.items(), *state
        return self.arrays.real.name, self.n_features, self.task, scale

    def _scale(self) -> dict[str, Any]:
        """The state with which rows are scaled."""
        return {k: v for k, v in self.twin.state().items() if k.startswith("scaled.")}

    # ---- what the twin answers

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        with self._lock:
            self._freshen()
            found = getattr(self.twin.inner if self._takes_scores else self.twin, name)
        return partial(self._held, found) if callable(found) else found

    def _held(self, call: Callable[..., Any], *arguments: Any) -> Any:
        """A call of the twin, while no other thread learns."""
        with self._lock:
            self._freshen()
            return call(*arguments)

    @property
    def _takes_scores(self) -> bool:
        """Whether the twin itself is learned on the card, so that it needs no rows."""
        return isinstance(self.twin, _core.Outside)

    @property
    def outputs(self) -> int:
        return int(self.twin.outputs)

    @property
    def rows_done(self) -> int:
        return int(self.twin.rows_done)

    @property
    def size(self) -> int:
        return int(self.twin.size)

    @property
    def memory_bytes(self) -> int:
        return int(self.twin.memory_bytes)

    @property
    def has_deviations(self) -> bool:
        return bool(self.twin.has_deviations)

    @property
    def has_novelty(self) -> bool:
        return bool(self.twin.has_novelty)

    def begin(self) -> None:
        self.twin.begin()

    def widen(self, features: int, outputs: int) -> None:
        with self._lock:
            task = self.task if outputs == self.task.outputs else Labels(outputs)
            check(self.learner, task)
            self._native().widen(features, outputs)
            self.n_features, self.task = features, task
            self._require_memory()

    def restore(self, state: dict[str, Any]) -> None:
        with self._lock:
            self._native().restore(state)

    def deviations(self, rows: Block, threads: int = 1) -> Any:
        return self._asked("deviations", rows, threads)

    def novelty(self, rows: Block, threads: int = 1) -> Any:
        return self._asked("novelty", rows, threads)

    def shares(self, rows: Block) -> Any:
        return self._asked("shares", rows)

    def nearest(self, rows: Block, most: int) -> Any:
        return self._asked("nearest", rows, most)

    def _asked(self, name: str, rows: Block, *more: Any) -> Any:
        with self._lock:
            self._freshen()
            return getattr(self.twin, name)(rows.native(), *more)

    def hold(self) -> None:
        self._lock.acquire()
        if self._lost is None:
            self._freshen()
        self.twin.hold()

    def release(self) -> None:
        self.twin.release()
        self._lock.release()

    def renew(self) -> None:
        """No card can be used in a process that forked, so the twin goes on alone."""
        self.twin.renew()
        self._lock, self._program, self._scaler, self._forked = Turns(), None, None, True

    # ---- rows

    def views(self, X: Any) -> Callable[[slice], Block]:
        """A function that takes a slice of rows and returns them as `run` and `scores` take them."""
        if isinstance(X, Compressed):
            X = csr_matrix((X.data, X.indices, X.indptr), shape=X.shape)
        if is_sparse(X) or isinstance(X, np.ndarray):
            native = views(X)
        else:

            def native(cut: slice) -> _core.Rows:
                return whole(self.arrays.host(X[cut]))

        return lambda cut: Block(X, native, cut.start, cut.stop)

    def learn_one(self, x: npt.NDArray[Any], y: float, scores: Floats | None, weight: float = 1.0) -> bool:
        row, out = self.views(x.reshape(1, -1))(slice(0, 1)), np.empty((1, self.outputs))
        weights = None if weight == 1.0 else np.array([weight])
        learned = self.run(row, np.array([y], dtype=np.float64), weights, out) == 1
        if learned and scores is not None:
            scores.reshape(1, -1)[:] = out
        return learned

    def score_one(self, x: npt.NDArray[Any], scores: Floats) -> bool:
        scores[:] = self.scores(self.views(x.reshape(1, -1))(slice(0, 1)))[0]
        return bool(np.isfinite(scores).all())

    def learn_record(self, *_: Any) -> bool:
        """False: records are read as rows."""
        return False

    def score_record(self, *_: Any) -> None:
        """None: the same."""

    def run(self, rows: Block, y: Floats, weights: Floats | None, scores: Floats, threads: int = 1) -> int:
        """Learn the rows; the number learned is smaller if one is refused."""
        done, goes_on = 0, True
        while done < rows.size and goes_on:
            rest = rows.cut(done, rows.size), y[done:], None if weights is None else weights[done:]
            with self._lock:
                self._refuse_lost()
                learn = self._on_card if self._ready() else self._natively
                learned, goes_on = learn(*rest, scores[done:], threads)
            done += learned
            if self._lock.waiting:
                time.sleep(1e-3)  # others take the lock
        return done

    def scores(self, rows: Block, threads: int = 1) -> Floats:
        """The scores of the rows."""
        with self._lock:
            self._refuse_lost()
            if self._program is None and (rows.size < ENOUGH or not self._ready()):
                self._freshen()
                return np.asarray(self.twin.scores(rows.native(), threads))
            program, out = self._lifted(), np.empty((rows.size, self.outputs))
            for first in range(0, rows.size, ENOUGH):
                piece = rows.cut(first, min(first + ENOUGH, rows.size))
                X = self._scaled(piece)
                with self.arrays.use():
                    found = program.predict(self._uploaded(X))
                try:
                    self._give(found)
                    out[first : first + piece.size] = self.twin.scores(self._view(piece), 1)
                except BaseException:
                    self._take_back()
                    raise
            return out

    # ---- on the card, or natively

    def _refuse_lost(self) -> None:
        if self._lost is not None:
            raise RuntimeError(
                "The card failed, and what it had learned is lost: load a saved model."
            ) from self._lost

    def _ready(self) -> bool:
        """Whether rows can be learned on the card: maps that learn from rows begin with the twin."""
        if self._program is not None:
            return True
        begun = self.rows_done >= BEGINNING and not self._forked
        return begun and not any(handle.inner.map.learns for _, handle in self.members)

    def _natively(
        self, rows: Block, y: Floats, weights: Floats | None, scores: Floats, threads: int
    ) -> tuple[int, bool]:
        n = rows.size if self._forked else min(rows.size, BEGINNING)
        cut = rows.cut(0, n).native(), y[:n], None if weights is None else weights[:n]
        learned = int(self._native().run(*cut, scores[:n], threads))
        return learned, learned == n

    def _on_card(
        self, rows: Block, y: Floats, weights: Floats | None, scores: Floats, threads: int
    ) -> tuple[int, bool]:
        """Learn rows on the card, and with the twin behind it, until an expert on the card refuses one.

        Also until somebody else waits for the model.
        """
        self._lifted()
        self._fresh = False
        before, work = self.rows_done, deque[Future[None]]()

        def begin(first: int) -> None:
            last = min(first + SUPER, rows.size)
            work.append(self._pool.submit(self._learn_ahead, rows, y, weights, first, last))

        def follow() -> bool:
            ahead = self._ahead[0]
            cut = slice(ahead.first, ahead.last)
            if self.rows_done - before == ahead.first:  # it has not followed before an interrupt
                w = None if weights is None else weights[cut]
                self._follow(ahead, rows.cut(ahead.first, ahead.last), y[cut], w, scores[cut], threads)
            self._ahead.popleft()
            return self.rows_done - before == ahead.last

        goes_on = True
        try:
            begin(0)
            while work:
                work.popleft().result()
                ahead = self._ahead[0]
                if not ahead.stopped and ahead.last < rows.size and not self._lock.waiting:
                    begin(ahead.last)
                goes_on = follow()
        except BaseException:
            self._pool.submit(int).result()  # waits for what was begun: the twin must follow it
            while self._ahead and self._lost is None:
                follow()
            raise
        return self.rows_done - before, goes_on

    def _follow(
        self, ahead: Ahead, rows: Block, y: Floats, weights: Floats | None, scores: Floats, threads: int
    ) -> None:
        """Let the twin learn what the card has learned."""
        if ahead.stopped and self._program is not None:
            self._bring_back()
            self._program = self._scaler = None
        self._give([found[:n] for found, n in zip(ahead.scores, ahead.done, strict=True)])
        self.twin.run(self._view(rows, ahead.stopped), y, weights, scores, threads)

    def _learn_ahead(self, rows: Block, y: Floats, weights: Floats | None, first: int, last: int) -> None:
        """Learn rows on the card, in a thread of its own, which no interrupt reaches."""
        try:
            w = None if weights is None else weights[first:last]
            learned = self._learned(rows.cut(first, last), y[first:last], w)
            if learned is None:  # the twin learns these with all experts
                none = [np.empty((0, self.outputs)) for _ in self.members]
                learned = none, [0] * len(none)
            self._ahead.append(Ahead(first, last, *learned))
        except BaseException as error:
            self._lost = error
            raise

    def _learned(
        self, rows: Block, y: Floats, weights: Floats | None
    ) -> tuple[list[Floats], list[int]] | None:
        """The scores of every expert, and how many rows each has learned; None if numbers are too large."""
        program, limit = self._program, self.arrays.limits.input
        assert program is not None
        scaled = self._scaled(rows, y, weights)
        if scaled is None:
            return None
        X, y, w = scaled
        with self.arrays.use():
            for numbers in (X, y, *(() if w is None else (w,))):
                if not float(abs(numbers).max()) <= limit:
                    return None
            return program.run(self._uploaded(X), *self.arrays.labels(y, w))

    def _scaled(self, rows: Block, y: Floats | None = None, weights: Floats | None = None) -> Any:
        """Rows as the experts learn them, with labels and weights; or rows to be scored."""
        if self._scaler is None:
            X = rows.array()
            return X if y is None else (X, y, weights)
        scaler, aside = self._scaler
        if y is None:
            scaler.scores(rows.native())
            return aside.take()[0]
        if scaler.run(rows.native(), y, weights, np.empty((rows.size, 1)), 2) < rows.size:
            return None
        return aside.take()

    def _uploaded(self, X: Any) -> Any:
        return self.arrays.array(X) if isinstance(X, np.ndarray) else self.arrays.taken(X)

    def _view(self, rows: Block, needed: bool = False) -> _core.Rows:
        """The rows for the twin. If it only takes scores, rows on the card need not come."""
        if needed or isinstance(rows.X, np.ndarray) or is_sparse(rows.X) or not self._takes_scores:
            return rows.native()
        return whole(csr_matrix((rows.size, self.n_features)))

    def _give(self, scores: list[Floats]) -> None:
        for (_, handle), found in zip(self.members, scores, strict=True):
            handle.give(np.ascontiguousarray(found))

    def _take_back(self) -> None:
        """Scores that were given and not taken, because an interrupt or an error came between."""
        self._give([np.empty((0, self.outputs))] * len(self.members))

    def _lifted(self) -> Program:
        """The experts on the card."""
        if self._program is None:
            with self.arrays.use():
                experts = [
                    expert_of(
                        self.arrays, learner, handle, self._drawn(learner, handle.inner.map), self.task
                    )
                    for learner, handle in self.members
                ]
                program = Program(self.arrays, experts, self.n_features)
            self._read.forget()
            if isinstance(self.learner, Scaled):
                aside = _core.Aside(self.n_features)
                scaler: Any = self.learner.around(aside, self.task, self.n_features)
                scaler.restore(self._scale())
                self._scaler = scaler, aside
            self._ahead.clear()
            self._program = program
        return self._program

    def _freshen(self) -> None:
        """Bring back what the card has learned."""
        self._refuse_lost()
        if not self._fresh:
            self._bring_back()

    def _bring_back(self) -> None:
        assert self._program is not None
        with self.arrays.use():
            states = [expert.state() for expert in self._program.experts]
        for (_, handle), state in zip(self.members, states, strict=True):
            handle.restore(handle.state() | state)
        self._take_back()
        self._fresh = True

    def _native(self) -> Any:
        """The twin, up to date, to be changed."""
        self._freshen()
        self._program = self._scaler = None
        return self.twin

    def _drawn(self, learner: Mapped, native: Any) -> Drawn:
        return self._read.drawn(learner, native, self.n_features)

    def _maps(self) -> list[Hashable]:
        """Equal for learners that share a map. It must not be drawn, since it may be too large."""
        maps = [handle.inner.map for _, handle in self.members]
        return [id(native) for native in maps]

    def _require_memory(self) -> None:
        """Refuse a learner that is too large for the card, before anything is learned."""
        most = self.arrays.most_features
        for learner, handle in self.members:
            rule: Any = learner.rule
            walks = type(rule) is Kalman and (
                rule.drift or rule.full(handle.inner.map) < handle.inner.map.size
            )
            if walks and handle.inner.map.size > most:
                raise ValueError(
                    f'device="cuda" takes at most {most:.0f} features in a filter with drift or '
                    f"part of its covariance on this card, got {handle.inner.map.size}."
                )
        known = self.arrays, self.members, self._maps(), self.task, self.n_features
        self.needed_bytes = need = needed_bytes(*known)
        if need > (free := self.arrays.free_bytes):
            gib = 2.0**30
            raise MemoryError(
                f'device="cuda" needs {need / gib:.1f} GiB on the card for this learner, and '
                f'{free / gib:.1f} GiB are free: take fewer features, dtype="float32", or another device.'
            )
