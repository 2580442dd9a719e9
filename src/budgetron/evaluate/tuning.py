"""tune: choose the parameters of an algorithm on the first rows of a stream, by successive halving."""

import math
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from budgetron._util import check, executors
from budgetron._util.jobs import run_jobs
from budgetron._util.progress import Progress
from budgetron._util.rows import Matrix
from budgetron._util.text import aligned, shown
from budgetron.estimators.online import begin, progressive
from budgetron.evaluate.candidates import Searched, drawn, template
from budgetron.evaluate.permutations import ESTIMATORS, task_of
from budgetron.evaluate.protocol import blocks_of, is_whole
from budgetron.evaluate.session import HEAD, parameters_from_rows
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
    X, y = read.X, np.asarray(read.y)
    task = task_of(y, task, "tune")
    targets = task == "regression"
    run = partial(Run, task=task, X=X, y=y, weights=read.weights, classes=classes, seed=seed)
    default = run(first.with_params({}))
    labels = () if targets else (np.unique(y) if classes is None else classes,)
    # A learner that cannot be built is an error; other candidates are only dropped.
    ESTIMATORS[task](default.learner).start(X[:HEAD], *labels)
    sample = Encoder().build().encode(X[:HEAD])[0] if isinstance(X, Table) else X[:HEAD]
    searched = Searched(first, regression=targets, X=sample)
    others = drawn(searched.ranges, count - 1, seed)
    values, runs = [{}, *others], [default, *(run(searched.learner(each)) for each in others)]
    order = _halved(runs, len(y), n_jobs, executors.checked("tune", executor))
    gap, gap_error = _gap(*(runs[i].losses for i in order[:2]))
    return Tuning(
        runs[order[0]].learner,
        first.python(values[order[0]]),
        first.shell(values[order[0]]),
        task,
        tuple(Candidate(values[i], len(runs[i].losses), runs[i].error) for i in order),
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
    if is_whole(data):
        X, y = data
        data = from_arrays(X, y, rows=rows)
    if not isinstance(data, Iterable):
        expected = "a stream, blocks, pairs (x, y) or a pair (X, y)"
        raise TypeError(f"tune: expected {expected}, got {shown(data)}.")
    blocks, read = list[Block](), 0
    for block in data if isinstance(data, Stream) else blocks_of(data):
        if block.y is None:
            raise DataError(f"tune: row {block.start} (the first is 0) has no label.")
        blocks.append(block)
        read += len(block)
        if read >= rows:
            break
    if not read:
        raise DataError("tune: the stream has no rows.")
    return joined(blocks).part(0, rows)


# ---- the runs


@dataclass
class Run:
    """A candidate and its predictions so far."""

    learner: Learner
    task: str
    X: Matrix
    y: Any
    weights: Any
    classes: Any
    seed: int
    losses: Floats = field(default_factory=lambda: np.empty(0))
    refused: Exception | None = None
    estimator: Any = None

    @property
    def error(self) -> float:
        """The mean loss so far; infinite if a row was refused."""
        return math.inf if self.refused is not None else float(self.losses.mean())

    def start(self) -> None:
        """Make the estimator, started as a `Session` starts it."""
        self.estimator = ESTIMATORS[self.task](self.learner, random_state=self.seed)
        labels = {} if self.classes is None or self.task == "regression" else {"classes": self.classes}
        if labels or parameters_from_rows(self.learner):
            self.estimator.start(self.X[:HEAD], **labels)
        if self.weights is not None:
            begin(self.estimator, self.X[:1], self.y[:1])

    def learn(self, end: int, advance: Callable[[int], None]) -> None:
        """Predict and learn the rows up to ``end``. If one is refused, the candidate is out."""
        rows = slice(len(self.losses), end)
        try:
            if self.estimator is None:
                self.start()
            y, weights = self.y[rows], None if self.weights is None else self.weights[rows]
            predicted = progressive(self.estimator, self.X[rows], y, sample_weight=weights)[0]
            # Clipped, so that the square of a prediction that diverges is finite.
            targets = self.task == "regression"
            losses = np.square(np.clip(predicted - y, -1e100, 1e100)) if targets else predicted != y
            self.losses = np.concatenate([self.losses, losses.astype(np.float64)])
        except ValueError as error:
            self.refused = error
        advance(end - rows.start)


def _learned(data: tuple[Any, Any, Any], run: Run, end: int) -> Run:
    """A candidate that has come without its rows, after it has learned up to ``end``."""
    run.X, run.y, run.weights = data
    run.learn(end, lambda _: None)
    return replace(run, X=None, y=None, weights=None)


def _learn_on(
    executor: Executor, runs: list[Run], alive: list[int], end: int, advance: Callable[[int], None]
) -> None:
    """Let the candidates learn up to ``end``; they travel without the rows."""
    data = (runs[0].X, runs[0].y, runs[0].weights)
    bare = [(replace(runs[i], X=None, y=None, weights=None), end) for i in alive]

    def finished(place: int, run: Run) -> None:
        i = alive[place]
        advance(end - len(runs[i].losses))
        runs[i] = replace(run, X=data[0], y=data[1], weights=data[2])

    executors.results(executor, _learned, data, bare, finished)


def _halved(runs: list[Run], rows: int, n_jobs: int, executor: Executor | None = None) -> list[int]:
    """Run the candidates; return their numbers, best first."""
    rounds = range(max(1, math.ceil(math.log2(len(runs)))))
    ends = [end for k in reversed(rounds) if (end := rows >> k) >= FEWEST] or [rows]
    alive = list(range(len(runs)))
    with Progress(_work(len(runs), ends)) as progress:
        for start, end in zip([0, *ends], ends, strict=False):
            progress.label = f"tuning, {len(alive)} candidates"
            if executor is not None:
                _learn_on(executor, runs, alive, end, progress.advance)
            else:
                jobs = [partial(runs[i].learn, end, progress.advance) for i in alive]
                run_jobs("tune", jobs, n_jobs)
            ranked = sorted((i for i in alive if runs[i].refused is None), key=lambda i: runs[i].error)
            if not ranked:
                refused = runs[alive[0]].refused
                why, where = str(refused).splitlines()[0], f"rows {start} to {end - 1} (the first is 0)"
                raise DataError(f"tune, {where}: every candidate refuses a row: {why}") from refused
            alive = ranked[: math.ceil(len(alive) / 2)]
            for i in set(range(len(runs))).difference(alive):
                runs[i].estimator = None  # frees the memory of its model
    places = [(run.refused is not None, -len(run.losses), run.error) for run in runs]
    return sorted(range(len(runs)), key=places.__getitem__)


def _work(alive: int, ends: list[int]) -> int:
    """The number of rows that all candidates learn together."""
    work, before = 0, 0
    for end in ends:
        work += alive * (end - before)
        alive, before = math.ceil(alive / 2), end
    return work
