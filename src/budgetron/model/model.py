"""An engine with the description that it was built from."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from time import perf_counter
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from budgetron._util.errors import ROW, DivergedError, note_rows
from budgetron._util.rows import Matrix, views
from budgetron._util.threads import watch
from budgetron.learners.engine import Engine
from budgetron.learners.learner import Floats, Learner
from budgetron.model.whole_calls import WholeCalls
from budgetron.parts.tasks import Labels, Task

DEVICES = "cpu", "cuda"
_FIRST = "widened.from"  # in the state of a model that was widened


class Learned(NamedTuple):
    """The scores of the rows that were learned, each from before its update, and what ended it early."""

    scores: Floats
    error: BaseException | None = None

    def checked(self) -> Floats:
        """The scores of all rows; raises what ended it early."""
        if self.error is not None:
            raise self.error
        return self.scores


class Model:
    """An engine, which learns, and a copy of the description it was built from.

    The engine is what ``Learner.build`` returns; `Engine` says what it offers. ``built_for`` is the number
    of columns and the task with which it was built, before it was widened. ``aside`` are columns of
    dates, if that matters to the learner. On the ``device`` "cuda" it is the engine of `learners.cuda`,
    around that one; there dates are columns like others.

    Rows are passed on in blocks that take about a tenth of a second, so that an interrupt is handled soon.
    The size of the blocks does not change the model by one bit.
    """

    def __init__(
        self,
        learner: Learner,
        task: Task,
        n_features: int,
        dtype: npt.DTypeLike,
        seed: int,
        device: str = "cpu",
    ) -> None:
        self.learner = copy.deepcopy(learner)
        self.task = task
        self.n_features = n_features
        self.dtype = np.dtype(dtype)
        self.seed, self.device = seed, device
        self.built_for = n_features, task
        self.aside: tuple[int, ...] = ()
        self.engine = self._engine(task, n_features)
        self.engine.begin()
        watch(self)

    def learn(self, X: Matrix, y: Floats, weights: Floats | None = None, threads: int = 1) -> Floats:
        """Learn the rows of X one after the other; the scores made before each update."""
        return self.run(X, y, weights, threads=threads).checked()

    def run(
        self, X: Matrix, y: Floats, weights: Floats | None = None, first: int = 0, threads: int = 1
    ) -> Learned:
        """The same, as far as the rows can be learned; errors number the rows from ``first``.

        The experts of a stack learn in up to so many ``threads``. The model does not depend on that.
        """
        scores = np.empty((X.shape[0], self.engine.outputs))
        before = self.engine.rows_done
        try:
            for cut, rows in self._blocks(X):
                w = None if weights is None else weights[cut]
                done = self.engine.run(rows, y[cut], w, scores[cut], threads)
                if done < cut.stop - cut.start:
                    raise _diverged(first + cut.start + done)
        except BaseException as error:
            return Learned(scores[: self.engine.rows_done - before], error)
        return Learned(scores)

    def scores(self, X: Matrix, threads: int = 1) -> Floats:
        """f(x) for every row, one column per output."""
        scores = np.empty((X.shape[0], self.engine.outputs))
        for cut, rows in self._blocks(X):
            scores[cut] = self.engine.scores(rows, threads)
        return scores

    def learn_row(self, x: Floats, y: float, scores: Floats | None, weight: float = 1.0) -> bool:
        """Learn one row with little overhead; its scores from before go into ``scores``, if given.

        Returns False, with nothing changed, if the row is refused. An interrupt has ``rows_learned``.
        """
        engine, row = self.engine, x if x.dtype == self.dtype else self._as_row(x)
        before = engine.rows_done
        try:
            return engine.learn_one(row, y, scores, weight)
        except BaseException as error:
            note_rows(error, engine.rows_done - before)
            raise

    def score_row(self, x: Floats, scores: Floats) -> bool:
        """Score one row with little overhead; False if a score is not finite or x is too large."""
        return self.engine.score_one(x if x.dtype == self.dtype else self._as_row(x), scores)

    def _as_row(self, x: Floats) -> npt.NDArray[Any]:
        with np.errstate(over="ignore"):  # infinity is refused
            return x.astype(self.dtype)

    def widen(self, n_features: int, n_classes: int | None = None, aside: Iterable[int] = ()) -> None:
        """Take more columns, or more classes, from now on; scores of old rows do not change by a bit.

        New columns were 0 in all rows so far, or missing if the learner accepts missing values. A new class
        has the score 0. The one score f of two classes becomes the scores -f/2 and f/2. What was computed
        from the number of columns when the model was built stays as it is.

        If memory runs out, the model cannot be used any more. So a model that others read is copied first.
        ``aside`` are columns that are parts of dates.
        """
        task = self._wider_task(n_classes)
        if not isinstance(n_features, (int, np.integer)) or n_features < self.n_features:
            raise ValueError(
                f"widen: n_features must be a whole number of at least {self.n_features}, the features "
                f"that the model has, got {n_features!r}."
            )
        if (n_features, task) == (self.n_features, self.task):
            return
        if task.outputs > self.task.outputs == 1:
            self.learner.check(Labels(3))  # raises if it takes two classes
        dates = tuple(column for column in aside if self.n_features <= column < n_features)
        if dates and self.device == "cpu" and self.engine.set_aside(list(dates)):
            self.aside += dates
        self.engine.widen(int(n_features), task.outputs)
        self.n_features, self.task = int(n_features), task

    def _wider_task(self, n_classes: int | None) -> Task:
        if n_classes is None:
            return self.task
        if not isinstance(self.task, Labels):
            raise ValueError("widen: a model of targets has no classes, so n_classes must be None.")
        if not isinstance(n_classes, (int, np.integer)) or n_classes < self.task.n_classes:
            raise ValueError(
                f"widen: n_classes must be a whole number of at least {self.task.n_classes}, the classes "
                f"that the model has, got {n_classes!r}."
            )
        return Labels(int(n_classes))

    def _blocks(self, X: Matrix) -> Iterator[tuple[slice, Any]]:
        """X cut into blocks of about a tenth of a second; the time of a block sets the size of the next.

        All of X for a card, whose engine cuts it by itself and answers an interrupt in between.
        """
        if X.shape[1] != self.n_features:
            raise ValueError(f"The model was built for {self.n_features} features, X has {X.shape[1]}.")
        if self.dtype == np.float32:
            X = X.astype(np.float32, copy=False)  # read as such, also where kernels are in double
        view, start = getattr(self.engine, "views", views)(X), 0
        cuts = self.device != "cpu" and not self.learner.in_python
        size = max(1, X.shape[0]) if cuts else 64
        while start < X.shape[0]:
            cut = slice(start, min(start + size, X.shape[0]))
            began = perf_counter()
            yield cut, view(cut)
            took = perf_counter() - began
            size = 2 * size if took < 0.05 else max(1, size // 2) if took > 0.1 else size
            start = cut.stop

    def _engine(self, task: Task, n_features: int) -> Engine:
        """The engine of the description."""
        if self.device != "cpu":
            from budgetron.learners.cuda.engine import CardEngine  # it imports CuPy, if it is there
            from budgetron.learners.dated import with_all_columns  # it imports scikit-learn

            learner = with_all_columns(self.learner)
            twin = learner.build(task, n_features, self.dtype, self.seed)
            engine: Any = CardEngine(learner, twin, task, n_features, self.dtype)
        else:
            engine = self.learner.build(task, n_features, self.dtype, self.seed)
        return WholeCalls(engine) if self.learner.in_python else engine

    @property
    def size(self) -> int:
        """The number of support vectors."""
        return int(self.engine.size)

    @property
    def memory_bytes(self) -> int:
        """The native memory that the model holds."""
        return int(self.engine.memory_bytes)

    def deviations(self, X: Matrix, threads: int = 1) -> Floats:
        """The standard deviation of the prediction of every row."""
        if not self.engine.has_deviations:
            raise ValueError(
                "return_std needs a learner that knows its deviation, such as auto() or Stacked(learner), "
                f"got {self.learner!r}."
            )
        deviations = np.empty(X.shape[0])
        for cut, rows in self._blocks(X):
            deviations[cut] = self.engine.deviations(rows, threads)
        return deviations

    def kept_rows(self) -> Floats:
        """The newest rows that the learner keeps, or its support vectors, or its mean row; maybe none.

        Columns that it does not keep are 0.
        """
        kept = self.engine.kept_rows()
        missing = self.n_features - kept.shape[1]
        return np.pad(kept, ((0, 0), (0, missing))) if missing > 0 else kept[:, : self.n_features]

    def nearest(self, X: Matrix, most: int) -> list[tuple[float, Any, float | None, list[float]]]:
        """The kept rows nearest to one row: distance, row, label if known, and share in each score."""
        [(_, view)] = self._blocks(X)
        return self.engine.nearest(view, most)

    def novelty(self, X: Matrix, threads: int = 1) -> Floats:
        """How unlike the learned rows each row is."""
        return np.concatenate([self.engine.novelty(rows, threads) for _, rows in self._blocks(X)])

    def shares(self, X: Matrix) -> Floats:
        """The share of each expert in the scores: rows x experts x outputs."""
        return np.concatenate([self.engine.shares(rows) for _, rows in self._blocks(X)])

    def support_vectors(self) -> Matrix:
        """The support vectors, oldest first, in the scale in which they were learned."""
        return self._part("support_vectors", self.n_features).astype(self.dtype, copy=False)

    def dual_coef(self) -> Floats:
        """The coefficients, one row per output, oldest support vector first."""
        return self._part("dual_coef")

    def coef(self) -> Floats:
        """The weights of the explicit features, one row per output."""
        return self._part("coef")

    def expert_weights(self) -> Floats:
        """The weight of every expert."""
        return self._part("expert_weights")

    def expert_losses(self) -> Floats:
        """The mean loss of every expert so far."""
        return self._part("expert_losses")

    def _part(self, name: str, *args: int) -> Floats:
        """What the engine, or the one inside, has by that name."""
        engine: Any = self.engine
        while not hasattr(engine, name) and hasattr(engine, "inner"):
            engine = engine.inner
        if not hasattr(engine, name):
            raise AttributeError(f"A model with the learner {type(self.learner).__name__} has no {name}_.")
        part: Floats = getattr(engine, name)(*args)
        return part

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Everything that learning changed, as named arrays."""
        return self.state_and_rows()[0]

    def state_and_rows(self) -> tuple[dict[str, npt.NDArray[Any]], int]:
        """The state, and what `rows_done` was at that moment."""
        state, rows = self.engine.state_and_rows()
        return dict(sorted((state | self._first_field()).items())), rows

    def _first_field(self) -> dict[str, npt.NDArray[Any]]:
        features, task = self.built_for
        if (features, task) == (self.n_features, self.task):
            return {}
        return {_FIRST: np.array([features, getattr(task, "n_classes", 0), *self.aside], dtype=np.uint64)}

    def merged_fields(self) -> dict[str, str]:
        """How each field of the state is merged with those of other models, as its part says it."""
        return self.engine.merged_fields()

    def reordered(self, places: Sequence[int]) -> Self:
        """The same model with its classes in another order: class c becomes class ``places[c]``.

        A stack centres logits over as many of the first classes as it was built for. If it was widened,
        its scores may change a little.
        """
        if list(places) == sorted(places):
            return copy.copy(self)
        outputs = list(places) if self.task.outputs > 1 else [0]  # the score of two classes changes sign
        return self.in_state(self.engine.reordered_state(outputs) | self._first_field())

    @property
    def rows_done(self) -> int:
        """The number of rows learned, or scored at weight 0, since this object was made."""
        return int(self.engine.rows_done)

    def in_state(self, state: Mapping[str, npt.NDArray[Any]]) -> Self:
        """A model of the same description, in another state."""
        return self.restored(
            self.learner, self.task, self.n_features, self.dtype, self.seed, state, self.device
        )

    def on(self, device: str) -> Self:
        """The same model on another device; this one, if it is there."""
        if device == self.device:
            return self
        state = self.state()
        return self.restored(self.learner, self.task, self.n_features, self.dtype, self.seed, state, device)

    def unlearned(self) -> Model:
        """The model as it was built."""
        features, task = self.built_for
        return Model(self.learner, task, features, self.dtype, self.seed, self.device)

    def restore(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        """Take up a state of a model of the same description."""
        fields: dict[str, Any] = dict(state)
        saved = fields.pop(_FIRST, None)
        features, task = built_for = self._built_for(None if saved is None else saved[:2])
        aside = () if saved is None else self._set_aside(features, saved[2:])
        if aside and self.device != "cpu":
            raise ValueError('The model has met dates in its records, and goes on with device="cpu" only.')
        engine = self._engine(task, features)
        if aside and not engine.set_aside(list(aside)):
            raise ValueError(f"model state: the field {_FIRST} does not fit the model.")
        if built_for != (self.n_features, self.task):
            engine.widen(self.n_features, self.task.outputs)
        engine.restore(fields)
        self.engine, self.built_for, self.aside = engine, built_for, aside

    def _set_aside(self, first: int, saved: npt.NDArray[Any]) -> tuple[int, ...]:
        """The columns of dates of a saved model, which was built for the first columns."""
        aside = tuple(map(int, saved))
        if all(a < b for a, b in pairwise((first - 1, *aside, self.n_features))):
            return aside
        raise ValueError(f"model state: the field {_FIRST} does not fit the model.")

    def _built_for(self, saved: npt.NDArray[Any] | None) -> tuple[int, Task]:
        """The number of features and the task with which a model was built; saved if it was widened."""
        if saved is None:
            return self.n_features, self.task
        classes = getattr(self.task, "n_classes", 0)
        if saved.dtype == np.uint64 and saved.shape == (2,):
            features, n = map(int, saved)
            if features <= self.n_features and min(2, classes) <= n <= classes:
                return features, Labels(n) if isinstance(self.task, Labels) else self.task
        raise ValueError(f"model state: the field {_FIRST} does not fit the model.")

    @classmethod
    def restored(
        cls,
        learner: Learner,
        task: Task,
        n_features: int,
        dtype: npt.DTypeLike,
        seed: int,
        state: Mapping[str, npt.NDArray[Any]],
        device: str = "cpu",
    ) -> Self:
        """The model of a description in that state; the state alone decides how much memory it takes."""
        model = cls.__new__(cls)
        description: dict[str, Any] = {"learner": learner, "task": task, "n_features": n_features}
        description |= {"seed": seed, "dtype": np.dtype(dtype), "device": device}
        model.__setstate__(description | {"state": state})
        return model

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + self.memory_bytes

    def __getstate__(self) -> dict[str, Any]:
        description = {k: v for k, v in vars(self).items() if k not in ("engine", "built_for", "aside")}
        return description | {"state": self.state()}

    def __setstate__(self, description: dict[str, Any]) -> None:
        vars(self).update({k: v for k, v in description.items() if k != "state"})
        self.restore(description["state"])
        watch(self)


def run_together(
    models: Sequence[Model], X: Matrix, y: Floats, weights: Floats | None = None, threads: int = 1
) -> list[Learned]:
    """`Model.run` of models on a card, which learn the same rows at the same time.

    Nobody else may have the models. If the card fails, they cannot be used any more.
    """
    from budgetron.learners.cuda.together import Scores, Together  # it imports CuPy, if it is there

    engines: list[Any] = [model.engine for model in models]
    together: Any = Together(engines)
    scores = [np.empty((X.shape[0], engine.outputs)) for engine in engines]
    before, error = [model.rows_done for model in models], None
    try:
        for cut, rows in models[0]._blocks(X):
            w = None if weights is None else weights[cut]
            if together.run(rows, y[cut], w, Scores(scores)[cut], threads) < cut.stop - cut.start:
                break
    except KeyboardInterrupt as interrupt:
        error = interrupt
    together.end()
    done = [model.rows_done - start for model, start in zip(models, before, strict=True)]
    return [
        Learned(own[:n], error or (_diverged(n) if n < X.shape[0] else None))
        for own, n in zip(scores, done, strict=True)
    ]


def _diverged(row: int) -> DivergedError:
    return DivergedError(
        f"Row {ROW} gives a score that is not finite, so learning stopped before it: scale the features, "
        "or take a smaller step (eta, C or 1/lam).",
        row,
    )
