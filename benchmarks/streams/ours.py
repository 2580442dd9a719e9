"""Our learners: ``auto`` in three sizes, and the best budgeted algorithm of the papers in hindsight."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from importlib import metadata
from time import process_time
from typing import Any

import numpy as np
from scipy.special import softmax

from benchmarks.streams.data import Stream
from benchmarks.streams.results import Run
from budgetron import DivergedError, Gaussian, Merge, Standardised, algorithms, auto
from budgetron.learners.learner import Learner
from budgetron.model.model import Model
from budgetron.parts.tasks import Labels, Targets

SEED = 0
SIZES = (50, 100, 400)
BUDGET, COMPONENTS, RANK = 200, 400, 40
WIDTHS = ("4/d", "1/d", "0.25/d")
"""The gammas of the papers' algorithms. Standardised rows are sqrt(2 d) apart on average."""
STEPS = (0.03, 0.1, 0.3, 1.0)
GRID: dict[str, tuple[str, tuple[float, ...], dict[str, Any]]] = {
    "rbp": ("", (), {"budget": BUDGET}),
    "forgetron": ("", (), {"budget": BUDGET}),
    "projectron": ("", (), {"budget": BUDGET}),
    "bogd_pp": ("eta", STEPS, {"budget": BUDGET}),
    "bpa_s": ("C", STEPS, {"budget": BUDGET}),
    "bpa_nn": ("C", STEPS, {"budget": BUDGET}),
    "bpa_p": ("C", STEPS, {"budget": BUDGET}),
    "bsgd": ("lam", (1e-5, 1e-4, 1e-3, 1e-2), {"budget": BUDGET, "maintenance": Merge}),
    "nogd": ("eta", STEPS, {"budget": BUDGET, "rank": RANK}),
    "fogd": ("eta", STEPS, {"components": COMPONENTS}),
}
"""For each algorithm the name of its step, the steps to try, and the other parameters."""
VERSION = f"budgetron {metadata.version('budgetron')}"


def follow(learner: Learner, stream: Stream, setting: str = "") -> Run:
    """Predict and learn every row in one call. The scores are those from before each update."""
    task = Labels(stream.classes) if stream.classes else Targets()
    model = Model(learner.resolved(stream.X[:1]), task, stream.X.shape[1], np.float64, SEED)
    y = np.where(stream.y > 0, 1.0, -1.0) if stream.classes == 2 else stream.y.astype(np.float64)
    began = process_time()
    scores = model.learn(stream.X, y)
    seconds = process_time() - began
    P = None
    if stream.classes:
        scores = np.hstack([-scores / 2, scores / 2]) if stream.classes == 2 else scores
        predictions = np.where(scores[:, 1] >= 0, 1, 0) if stream.classes == 2 else scores.argmax(axis=1)
        P = softmax(scores, axis=1) if learner.probabilistic else None
    else:
        predictions = scores.ravel()
    return Run(predictions, P, seconds, model.memory_bytes, VERSION, setting)


def papers(stream: Stream) -> Run:
    """The run with the lowest error of all settings in the grid, on standardised rows."""
    runs = []
    for setting, learner in settings():
        try:
            runs.append(follow(learner, stream, setting))
        except DivergedError:  # a step too large for this stream
            continue
    return min(runs, key=lambda run: _error(run, stream))


def settings() -> Iterator[tuple[str, Learner]]:
    """All learners of the grid, with a description of each."""
    for name, (step, steps, others) in GRID.items():
        for gamma in WIDTHS:
            make = partial(getattr(algorithms, name), Gaussian(gamma), **others)
            for value in steps or (None,):
                chosen = {} if value is None else {step: value}
                words = [f"gamma = {gamma}", *(f"{k} = {v:g}" for k, v in chosen.items())]
                yield f"{name}, {', '.join(words)}", Standardised(make(**chosen))


def _error(run: Run, stream: Stream) -> float:
    if stream.classes:
        return float(np.mean(run.predictions != stream.y))
    return float(np.mean((run.predictions - stream.y) ** 2))


def name(size: int) -> str:
    """The name of ``auto`` of a size in the table."""
    return f"auto {size}"


RUNS: dict[str, Callable[[Stream], Run]] = {
    **{name(size): partial(follow, auto(size)) for size in SIZES},
    "papers": papers,
}
