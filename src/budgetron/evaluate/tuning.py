"""tune: choose the parameters of an algorithm on the first rows of a stream, by successive halving."""

import math
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from budgetron._util import check, executors
from budgetron._util.jobs import run_jobs
from budgetron._util.progress import Progress
from budgetron._util.text import aligned
from budgetron.evaluate.candidates import Searched, drawn, template
from budgetron.evaluate.comparison import ESTIMATORS, task_of
from budgetron.evaluate.progressive import HEAD, Learned, predict_learn, start
from budgetron.evaluate.protocol import blocks_of, is_whole
from budgetron.learners.learner import Learner
from budgetron.parts.kernels import Kernel
from budgetron.records.encoder import Encoder
from budgetron.records.table import Table
from budgetron.streams import Block, DataError, Stream, from_arrays
from budgetron.streams.stream import joined

Floats = npt.NDArray[np.float64]
FEWEST = 100
"""The least number of rows of the first round; fewer say little about a learner."""


@dataclass(frozen=True)
class Candidate:
    """A candidate of `tune`: what it sets, the number of rows it learned, and its error on them.

    ``error`` is the share of mistakes, or the mean squared error. It is infinite if a row was refused.
    ``parameters`` is empty for the learner as it was given.

    Examples
    --------
    >>> from budgetron import datasets, evaluate
    >>> found = evaluate.tune("rbp", datasets.synthetic(300, seed=0), budget=20, candidates=4)
    >>> best, *others = found.candidates
    >>> best.rows, all(other.rows <= best.rows for other in others)
    (300, True)
    """

    parameters: Mapping[str, float]
    rows: int
    error: float


@dataclass(frozen=True)
class Tuning:
    """The result of `tune`.

    Attributes
    ----------
    learner : Learner
        The winner.
    python : str
        The winner as a line of Python.
    shell : str or None
        The winner as a command, with FILE for the rows. None if no command describes it.
    task : str
        "classification" or "regression".
    candidates : tuple of Candidate
        All candidates, best first: by the number of rows, then by error.
    gap, gap_error : float
        How much larger the error of the runner-up is on the rows that both learned, and the standard error
        of that difference. A gap below twice its standard error says that the two are about equal.

    Examples
    --------
    >>> from budgetron import OnlineClassifier, datasets, evaluate
    >>> found = evaluate.tune("rbp", datasets.synthetic(300, seed=0), budget=20, candidates=4)
    >>> len(found.candidates)
    4
    >>> model = OnlineClassifier(found.learner, random_state=0)
    """

    learner: Learner
    python: str
    shell: str | None
    task: str
    candidates: tuple[Candidate, ...]
    gap: float
    gap_error: float

    def table(self) -> str:
        """A table of all candidates, best first."""
        names = list(dict.fromkeys(name for each in self.candidates for name in each.parameters))
        head = [*names, "rows", "mse" if self.task == "regression" else "mistakes %"]
        return "\n".join(aligned([head, *(self._cells(each, names) for each in self.candidates)], left=0))

    def confidence(self) -> str:
        """A sentence about the gap to the runner-up."""
        if len(self.candidates) < 2 or math.isinf(self.candidates[1].error):
            return "There is no runner-up."
        rows = self.candidates[1].rows
        unit = "" if self.task == "regression" else " points"
        gap = f"{self._shown(self.gap)} ± {self._shown(self.gap_error)}{unit}"
        what = f"The error of the runner-up is {gap} higher, on {rows} rows"
        sure = self.gap > 2 * self.gap_error
        return f"{what}." if sure else f"{what}: the two are about equal."

    def _cells(self, each: Candidate, names: list[str]) -> list[str]:
        values = [f"{each.parameters[name]:g}" if each.parameters else "default" for name in names]
        return [*values, str(each.rows), self._shown(each.error)]

    def _shown(self, error: float) -> str:
        return f"{error:.4g}" if self.task == "regression" else f"{100 * error:.2f}"


def tune(
    learner: str | Callable[..., Learner] | Learner,
    data: Stream | Iterable[Block] | tuple[Any, Any],
    *,
    kernel: Kernel | str = "gaussian",
    scaling: str | None = None,
    rows: int = 10_000,
    candidates: int = 32,
    task: str | None = None,
    classes: Any = None,
    seed: int = 0,
    n_jobs: int = -1,
    executor: Executor | None = None,
    encoder: Encoder | None = None,
    **given: Any,
) -> Tuning:
    """Choose the parameters of an algorithm on the first rows of a stream, by successive halving.

    All candidates predict and learn the first rows. The worse half is dropped. The others go on learning
    until they have seen twice as many rows, and so on, until one is left or the rows end. An error is that
    of the predictions made before learning, over all rows so far.

    Every part of a learner states which of its parameters are searched, and where (``ranges``): gamma
    within a factor of 32 of gamma="scale", steps and regularisers over some decades. Budgets and numbers of
    features are not searched, since more is always better: give them. Values are spread evenly over the
    logarithm of each range (a Latin hypercube). The learner with its own values is always a candidate.

    Parameters
    ----------
    learner : str, function or Learner
        The name of an algorithm, its function, or a learner. Parameters that are ``given`` to an algorithm
        are not searched, nor is a gamma that the kernel has as a number. Of a learner, all parameters that
        have a range are searched.
    data : Stream, iterable of blocks or of pairs (x, y), or pair (X, y)
        The rows. At most ``rows`` of them are read, once, and kept in memory.
    kernel : Kernel or str
        The kernel of an algorithm.
    scaling : {"standardise", "min-max"}, optional
        The scaling inside the model, :class:`~budgetron.Standardised` or :class:`~budgetron.Ranged`.
    rows : int
        The largest number of rows to learn.
    candidates : int
        The number of candidates at the start.
    task : "classification" or "regression", optional
        By default, strings and whole numbers are class labels, and other numbers are targets.
    classes : array, optional
        All labels of the stream. Without them, a label is known from the first row that has it.
    seed : int
        The seed of the values drawn and of all candidates.
    n_jobs : int
        The number of threads; -1 means one per processor. It does not change the result.
    executor : concurrent.futures.Executor, optional
        Where candidates learn instead of ``n_jobs`` threads, see `compare`. It does not change the result.
    encoder : Encoder, optional
        How records become rows of numbers.
    **given
        Further arguments of the algorithm, such as ``budget=100``.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from budgetron import evaluate
    >>> found = evaluate.tune("bpa_nn", load_digits(return_X_y=True), budget=100, candidates=16)
    >>> print(found.python)
    bpa_nn(Gaussian(gamma=0.00204), budget=100, C=8.3)
    >>> print(found.shell)
    budgetron run bpa_nn FILE --gamma 0.00204 --budget 100 --C 8.3
    >>> [(each.rows, round(each.error, 3)) for each in found.candidates[:3]]
    [(1797, 0.041), (1797, 0.048), (898, 0.135)]
    """
    rows, count = check.count("tune", "rows", rows), check.count("tune", "candidates", candidates)
    seed = check.natural("tune", "seed", seed)
    first = template(learner, kernel, scaling, given)
    read = _first_rows(data, rows)
    task = task_of(read.y, task, "tune")
    targets = task == "regression"
    labels = None if targets else np.unique(read.y) if classes is None else classes
    default = first.with_params({})
    # A learner that cannot be built is an error; other candidates are only dropped.
    start(ESTIMATORS[task](default, encoder=encoder), read.X[:HEAD], read.y[:HEAD], labels, begin=True)
    sample = read.X[:HEAD]
    if isinstance(sample, Table):
        sample = (encoder or Encoder()).build().encode(sample)[0]
    searched = Searched(first, regression=targets, X=sample)
    others = [Trial(values, searched.learner(values)) for values in drawn(searched.ranges, count - 1, seed)]
    course = Course(read, task, None if targets else classes, seed, encoder)
    trials = _halved(course, [Trial({}, default), *others], n_jobs, executors.checked("tune", executor))
    gap, gap_error = _gap(*(trial.losses for trial in trials[:2]))
    return Tuning(
        trials[0].learner,
        first.python(trials[0].parameters),
        first.shell(trials[0].parameters),
        task,
        tuple(Candidate(trial.parameters, len(trial.losses), trial.error) for trial in trials),
        gap,
        gap_error,
    )


def _gap(best: Floats, *others: Floats) -> tuple[float, float]:
    """How much larger the mean loss of the runner-up is on the rows of both, and its standard error."""
    differences = [losses[: len(best)] - best[: len(losses)] for losses in others if len(losses)]
    if not differences:
        return math.inf, 0.0
    return float(differences[0].mean()), float(differences[0].std() / math.sqrt(len(differences[0])))


def _first_rows(data: Any, rows: int) -> Block:
    blocks, read = list[Block](), 0
    for block in blocks_of("tune", from_arrays(data[0], data[1], rows) if is_whole(data) else data):
        if block.y is None:
            raise DataError(f"tune: row {block.start} (the first is 0) has no label.")
        blocks.append(block)
        read += len(block)
        if read >= rows:
            break
    if not read:
        raise DataError("tune: the stream has no rows.")
    first = joined(blocks).part(0, rows)
    return replace(first, y=np.asarray(first.y))


@dataclass(eq=False)
class Trial:
    """A candidate and its losses so far."""

    parameters: Mapping[str, float]
    learner: Learner
    losses: Floats = field(default_factory=lambda: np.empty(0))
    refused: Exception | None = None
    estimator: Any = None

    @property
    def error(self) -> float:
        """The mean loss so far; infinite if a row was refused."""
        return math.inf if self.refused is not None else float(self.losses.mean())


@dataclass
class Course:
    """The rows that all candidates learn."""

    rows: Block
    task: str
    classes: Any
    seed: int
    encoder: Encoder | None = None

    def learn(self, trial: Trial, end: int, advance: Callable[[int], None] = lambda _: None) -> Trial:
        """Predict and learn the rows up to ``end``. If one is refused, the candidate is out."""
        begun = len(trial.losses)
        try:
            if trial.estimator is None:
                trial.estimator = ESTIMATORS[self.task](
                    trial.learner, random_state=self.seed, encoder=self.encoder
                )
                weighted = self.rows.weights is not None
                start(trial.estimator, self.rows.X, self.rows.y, self.classes, begin=weighted)
            learned = predict_learn(trial.estimator, self.rows.part(begun, end))
            trial.losses = np.concatenate([trial.losses, self._losses(learned)])
        except ValueError as error:
            trial.refused = error
        advance(end - begun)
        return trial

    def _losses(self, learned: Learned) -> Floats:
        """0 or 1, or squared errors; clipped, so that they are finite also if predictions diverge."""
        if self.task != "regression":
            return np.asarray(learned.predicted != learned.y, dtype=np.float64)
        return np.asarray(np.square(np.clip(learned.predicted - learned.y, -1e100, 1e100)))

    def learn_all(
        self, trials: list[Trial], end: int, n_jobs: int, executor: Executor | None, progress: Progress
    ) -> None:
        """Let the candidates learn up to ``end``, in threads or on an executor."""
        if executor is None:
            run_jobs(
                "tune", [partial(self.learn, trial, end, progress.advance) for trial in trials], n_jobs
            )
            return
        rows = end - len(trials[0].losses)

        def finished(place: int, trial: Trial) -> None:
            progress.advance(rows)
            trials[place].__dict__ = vars(trial)  # it may come from another process

        executors.results(executor, Course.learn, self, [(trial, end) for trial in trials], finished)


def _halved(course: Course, trials: list[Trial], n_jobs: int, executor: Executor | None) -> list[Trial]:
    """Run the candidates; return them, best first."""
    rows, alive = len(course.rows), trials
    halvings = range(max(1, math.ceil(math.log2(len(trials)))))
    ends = [end for k in reversed(halvings) if (end := rows >> k) >= FEWEST] or [rows]
    rounds = list(pairwise([0, *ends]))
    work = sum(math.ceil(len(trials) / 2**k) * (end - start) for k, (start, end) in enumerate(rounds))
    with Progress(work) as progress:
        for start, end in rounds:
            progress.label = f"tuning, {len(alive)} candidates"
            course.learn_all(alive, end, n_jobs, executor, progress)
            ranked = sorted(alive, key=lambda trial: trial.error)
            if (refused := ranked[0].refused) is not None:
                why, where = str(refused).splitlines()[0], f"rows {start} to {end - 1} (the first is 0)"
                raise DataError(f"tune, {where}: every candidate refuses a row: {why}") from refused
            alive = [trial for trial in ranked[: math.ceil(len(ranked) / 2)] if trial.refused is None]
            for trial in set(ranked).difference(alive):
                trial.estimator = None  # frees the memory of its model
    return sorted(trials, key=lambda trial: (trial.refused is not None, -len(trial.losses), trial.error))
