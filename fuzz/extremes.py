"""Fuzz learners with numbers of every size: finite rows must never make a model non-finite.

An input is a learner with random parameters and a few batches of random rows. Numbers range from 5e-324 to
1.7e308. The properties are:

* if a row is learned, every number of the model is finite;
* if a row is refused, the error is one sentence, and the model is unchanged, bit for bit;
* the model can be saved and loaded, and ordinary rows have finite scores or are refused;
* if the model is widened, by columns or classes, the scores of old rows do not change.

An input depends only on its number: ``python -m fuzz.extremes --first 7 --count 1`` repeats number 7, and
``--show`` prints it. ``--minutes`` sets the time.
"""

from __future__ import annotations

import argparse
import dataclasses
import faulthandler
import random
import re
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

import budgetron
from budgetron import algorithms, load
from budgetron.learners.double_updating import DualMaintenance
from budgetron.learners.learner import Learner
from budgetron.model.labels import KnownLabels
from budgetron.parts.budgets import Budget
from budgetron.parts.features import CellMap, FeatureMap
from budgetron.parts.kernels import Kernel
from budgetron.parts.losses import Loss
from budgetron.parts.rules import Rule
from budgetron.parts.vector_rules import VectorRule
from tests.helpers import members

SECONDS = 60  # limit for one input
REFUSED_ROWS = 6  # after this many refused rows, the rest of a batch is skipped
CLASSES = {"binary": 2, "multiclass": 3}
SPECIAL = [0.0, 5e-324, 2.3e-308, 1e-160, 1e-154, 1e-100, 1.0, 1e75, 1e100, 1e150, 1e154, 1.7e308]
REFUSALS = re.compile(
    r"^[A-Z]\w*: |finite|too large|defined for"
)  # messages that refuse a learner or a row


class Found(AssertionError):
    """The fuzzer has found a failure."""


# ---- random inputs


def exported(base: type) -> list[type]:
    """The concrete subclasses of a base class."""
    found = [getattr(budgetron, name) for name in dir(budgetron)]
    return [t for t in found if isinstance(t, type) and issubclass(t, base) and dataclasses.is_dataclass(t)]


def positive(draw: random.Random) -> float:
    """A random number of any size, most often an ordinary one."""
    kind = draw.random()
    if kind < 0.5:
        return 10 ** draw.uniform(-3, 3)
    if kind < 0.65:
        return draw.choice(SPECIAL)
    reach = draw.choice([20, 75, 160, 323])
    return float(10 ** np.float64(draw.uniform(-reach, min(reach, 308))))


def one_of(base: type, draw: random.Random) -> Any:
    """A random object of a subclass of that base class."""
    return described(draw.choice(exported(base)), draw)


def described(cls: Any, draw: random.Random) -> Any:
    """An object of that class with random parameters."""
    if cls is budgetron.Stack:
        return cls(*[one_of(FeatureMap, draw) for _ in range(draw.choice([1, 2]))])
    if cls is budgetron.Stacked:
        experts = [learner(draw, wrapped=False) for _ in range(draw.choice([1, 2, 3]))]
        return cls(*experts, prior=positive(draw), drift=draw.choice([0.0, 3e-5, positive(draw)]))
    values = {}
    for field in dataclasses.fields(cls):
        if field.default is dataclasses.MISSING or draw.random() < 0.6:
            values[field.name] = value(field.name, str(field.type), draw)
    return cls(**values)


MAINTAINED = [budgetron.Merge, budgetron.ProjectSmallest, budgetron.RemoveSmallest]
NAMED: dict[str, Callable[[random.Random], Any]] = {
    "budget": lambda draw: draw.choice([1, 2, 3, 5, 9]),
    "neighbours": lambda draw: draw.choice([1, 2, 4]),
    "rank": lambda draw: draw.choice([1, 2, 4]),
    "landmarks": lambda draw: draw.choice([1, 2, 5, 12]),
    "k": lambda draw: draw.choice([1, 2, 5]),
    "window": lambda draw: draw.choice([5, 20]),
    "components": lambda draw: draw.choice([1, 3, 8]),
    "at_once": lambda draw: draw.choice([1, 2, 10]),
    "degree": lambda draw: draw.choice([1, 2, 3, 7, 200]),
    "random_state": lambda draw: draw.randrange(100),
    "suffix": lambda draw: draw.choice([0.1, 0.5, 1.0]),
    "nu": lambda draw: draw.choice([0.0, 0.5, 1.0]),
    "rho": lambda draw: draw.choice([0.0, 0.2]),
    "covariance": lambda draw: draw.choice(["full", "full", "diagonal"]),
    "selection": lambda draw: draw.choice(["first", "steps", "uniform", "leverage"]),
    "size": lambda draw: draw.choice([1, 2, 5]),
    "wide": lambda draw: draw.choice([0, 0, 3]),
    "gamma": lambda draw: draw.choice(
        ["scale", "auto", "0.25/d", positive(draw), positive(draw), positive(draw)]
    ),
    "coef0": lambda draw: draw.choice([0.0, 1.0, 1.0, positive(draw), -positive(draw)]),
    "loss": lambda draw: None if draw.random() < 0.3 else one_of(Loss, draw),
    "inner": lambda draw: described(draw.choice(MAINTAINED), draw),
    "maintenance": lambda draw: one_of(DualMaintenance, draw),
    "features": lambda draw: one_of(FeatureMap, draw),
    "count": lambda draw: draw.choice([1, 3, 9]),
    "depth": lambda draw: draw.choice([1, 2, 5]),
    "pairs": lambda draw: draw.choice([0, 1, 3]),
    "side": lambda draw: draw.choice([2, 5]),
    "every": lambda draw: draw.choice([1, 7]),
    "narrow": lambda draw: draw.choice([0.0, 0.5, 1.0]),
    "share": lambda draw: draw.choice([0.0, 0.5, 1.0]),
    "cells": lambda draw: draw.choice([2**8, 2**16]),
    "memory": lambda _: 2**22,  # entries that become one would change scores
    "columns": lambda draw: draw.choice([1, 2, 5, 1024]),
    "scale": lambda draw: draw.choice(["1/sqrt(d)", 1.0, positive(draw)]),
    "beside": lambda draw: described(budgetron.Stacked, draw),
    "learner": lambda draw: (
        described(budgetron.Stacked, draw) if draw.random() < 0.3 else learner(draw, wrapped=False)
    ),
}


def value(name: str, kind: str, draw: random.Random) -> Any:
    """A random value of one parameter."""
    if "Budget" in kind and name == "budget":
        return one_of(Budget, draw)
    if name == "features" and "Tiles" in kind:
        kinds = (budgetron.Tiles, budgetron.RandomFourier, budgetron.SparseFourier)
        return described(draw.choice(kinds), draw)
    if name == "features" and "CellMap" in kind and draw.random() < 0.3:
        return one_of(CellMap, draw)
    if name == "kernel" and kind == "Laplacian":
        return described(budgetron.Laplacian, draw)
    if name in NAMED:
        return NAMED[name](draw)
    if name == "kernel":
        if "Gaussian" in kind and draw.random() < 0.8:
            return described(budgetron.Gaussian, draw)
        return one_of(Kernel, draw)
    if name == "rule":
        return one_of(draw.choice([Rule, VectorRule]) if "VectorRule" in kind else Rule, draw)
    if "bool" in kind:
        return draw.random() < 0.5
    assert "float" in kind, (name, kind)
    return positive(draw)


WRAPPERS = (
    budgetron.Averaged,
    budgetron.Dated,
    budgetron.Ranged,
    budgetron.Stacked,
    budgetron.Standardised,
)


def learner(draw: random.Random, *, wrapped: bool = True) -> Learner:
    """A random learner: an algorithm, or a random combination of parts."""
    if draw.random() < 0.3:
        name = draw.choice(algorithms.__all__)
        floats = members.parameters(name) & {"eta", "lam", "C", "cap", "epsilon", "beta", "U"}
        told: dict[str, Any] = {key: positive(draw) for key in sorted(floats) if draw.random() < 0.5}
        if "budget" in members.parameters(name):
            told["budget"] = draw.choice([1, 2, 5, 10])
        if "loss" in members.parameters(name) and draw.random() < 0.5:
            told["loss"] = one_of(Loss, draw)
        return members.described(name, one_of(Kernel, draw), **told)
    kinds = [t for t in exported(Learner) if wrapped or t not in WRAPPERS]
    made: Learner = described(draw.choice(kinds), draw)
    return made


@dataclasses.dataclass
class Batch:
    """The rows of one ``partial_fit`` call."""

    X: Any
    y: Any
    weights: Any
    classes: int | None = None  # that the model is widened to before it learns them


@dataclasses.dataclass
class Input:
    """The input that belongs to a seed."""

    task: str
    learner: Learner
    batches: list[Batch]


def drawn(seed: int) -> Input:
    """The input number ``seed``."""
    draw = random.Random(seed)
    rng = np.random.default_rng(seed)
    task = draw.choice(members.TASKS)
    made = learner(draw)
    wide = draw.random() < 0.1 and "'full'" not in repr(made)  # a full covariance would take minutes
    features = 3000 if wide else draw.choice([1, 2, 2, 3, 9, 40])
    dtype = np.float32 if draw.random() < 0.3 else np.float64
    csr = wide or draw.random() < 0.3
    batches = []
    for _ in range(draw.choice([1, 2, 3])):
        n = draw.choice([1, 5, 20, 20, 60, 300])
        X = rows(draw, rng, n, features, wide).astype(dtype)
        X[~np.isfinite(X)] = np.finfo(dtype).max / 7
        y = targets(draw, rng, n) if task == "regression" else rng.integers(0, CLASSES[task], n)
        weights = np.abs(sizes(draw, rng, (n,))) if draw.random() < 0.3 else None
        batches.append(Batch(sparse.csr_array(X) if csr else X, y, weights))
    grow(random.Random(-1 - seed), task, batches)
    return Input(task, made, batches)


def grow(draw: random.Random, task: str, batches: list[Batch]) -> None:
    """Give the rows of some later batches more columns, and their labels more classes."""
    more, classes, rng = 0, CLASSES.get(task), np.random.default_rng(draw.randrange(2**31))
    for batch in batches[1:]:
        if draw.random() < 0.4:
            more += draw.choice([0, 1, 3, 70])
            batch.classes = classes = classes and classes + draw.choice([0, 0, 1, 2])
        new = (
            sizes(draw, rng, (batch.X.shape[0], more))
            if draw.random() < 0.5
            else rng.normal(size=(len(batch.y), more))
        )
        new = np.clip(new, -1e18, 1e18).astype(batch.X.dtype)
        stack = sparse.hstack if sparse.issparse(batch.X) else np.hstack
        batch.X = (
            sparse.csr_array(stack([batch.X, new])) if sparse.issparse(batch.X) else stack([batch.X, new])
        )
        if classes:
            batch.y = np.where(
                rng.random(len(batch.y)) < 0.3, rng.integers(0, classes, len(batch.y)), batch.y
            )


def sizes(draw: random.Random, rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    """Numbers of both signs: all of one magnitude, of a range of magnitudes, or of any."""
    kind = draw.randrange(4)
    if kind == 0:
        exponents = np.zeros(shape)
    elif kind == 1:
        exponents = np.full(shape, np.log10(max(positive(draw), 5e-324)))
    elif kind == 2:
        ends = [np.log10(max(positive(draw), 5e-324)) for _ in range(2)]
        exponents = rng.uniform(min(ends), max(ends), shape)
    else:
        reach = draw.choice([20, 75, 160, 323])
        exponents = rng.uniform(-reach, min(reach, 308), shape)
    with np.errstate(over="ignore"):
        out = rng.normal(size=shape) * 10.0**exponents
    return np.clip(out, -1.7e308, 1.7e308)


def targets(draw: random.Random, rng: np.random.Generator, n: int) -> Any:
    """Targets of any magnitude, most often of one."""
    return rng.normal(size=n) if draw.random() < 0.5 else sizes(draw, rng, (n,))


def rows(draw: random.Random, rng: np.random.Generator, n: int, features: int, wide: bool) -> Any:
    """Rows of any magnitude, including zero, duplicate and constant rows."""
    kind = draw.randrange(5)
    if kind == 0:
        X = rng.normal(size=(n, features))
    elif kind == 1:
        X = sizes(draw, rng, (n, features))
    elif kind == 2:
        X = rng.normal(size=(n, features)) * np.abs(sizes(draw, rng, (n, 1)))
    elif kind == 3:  # huge, then tiny, or the reverse
        scales = np.where(np.arange(n) < n // 2, positive(draw), positive(draw))
        X = rng.normal(size=(n, features)) * scales[:, None]
    else:
        X = rng.normal(size=(n, features)) * np.abs(sizes(draw, rng, (1, features)))
    X = np.clip(X, -1.7e308, 1.7e308)
    if draw.random() < 0.8:  # make the squares finite in both precisions
        limit = draw.choice([1e18, 1e18, 1e70, 1e70, 1e150])
        X = np.clip(X, -limit, limit)
    if wide or draw.random() < 0.3:
        X *= rng.random((n, features)) < (0.003 if wide else 0.5)
    if draw.random() < 0.2:
        X[:] = X[rng.integers(0, max(1, n // 4), n)]
    if draw.random() < 0.1:
        X[:] = X[:, :1]
    return X


# ---- one input


def said(refusal: Exception) -> str:
    """The message of a refusal, checked to be one clear sentence."""
    sentence = str(refusal)
    if "\n" in sentence.strip() or not REFUSALS.search(sentence):
        raise refusal
    return sentence


def finite(model: Any) -> None:
    """Check that every number of the model is finite."""
    for name, array in model.fitted_.model.state().items():
        array = np.asarray(array)
        if name.endswith("neighbours.distance") and array.size == 1:
            continue  # infinite for a single support vector, which has no neighbour
        if name.endswith(("scaled.least", "scaled.largest")):
            array = np.where(np.isinf(array), 0, array)  # a new column has no range yet
        if name.endswith(("known.low", "known.high", "tiles.thresholds")):
            array = np.where(np.isinf(array), 0, array)  # nor has a test without a threshold
        if name.endswith("recent.rows"):
            array = np.nan_to_num(array, nan=0.0, posinf=np.inf, neginf=-np.inf)  # missing values
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise Found(f"{name} = {array.ravel()[~np.isfinite(array.ravel())][:3]}, of {array.size}")


class Run:
    """Teach one model all batches of an input."""

    def __init__(self, task: str, made: Learner) -> None:
        self.task = task
        self.model = members.estimator(task, made)
        self.counts: Counter[str] = Counter()

    def fit(self, model: Any, batch: Batch) -> None:
        """Call ``partial_fit``, with ``classes`` if it is the first call."""
        if hasattr(model, "fitted_"):
            model.partial_fit(batch.X, batch.y, sample_weight=batch.weights)
            return
        members.start(model, self.task, batch.X, batch.y, sample_weight=batch.weights)

    def take(self, batch: Batch) -> None:
        """Learn the batch. Skip refused rows and continue after them."""
        for _ in range(REFUSED_ROWS):
            if batch.X.shape[0] == 0:
                return
            twin = self.copy() if self.begun else members.estimator(self.task, self.model.learner)
            try:
                self.fit(self.model, batch)
            except (ValueError, TypeError) as refusal:
                self.counts["refused"] += 1
                rest = self.refused(said(refusal), batch, twin)
                if rest is None:
                    return
                batch = rest
            else:
                self.counts["learned"] += 1
                finite(self.model)
                return

    def widen(self, columns: int, classes: int | None) -> None:
        """Widen the model. Check that the scores of old rows stay, and that a refusal changes nothing."""
        model, before = self.model.fitted_.model, members.bits(self.model)
        X = np.random.default_rng(1).normal(size=(3, model.n_features)).astype(model.dtype)
        old = model.scores(X)
        try:
            model.widen(columns, classes)
        except ValueError as refusal:
            said(refusal)
            if members.bits(self.model) != before:
                raise Found(f"a refused widening has changed the model: {refusal}") from refusal
            classes = None
            model.widen(columns)
        self.counts["widened"] += 1
        if classes:
            self.model.fitted_ = dataclasses.replace(
                self.model.fitted_, labels=KnownLabels(np.arange(classes))
            )
        new = model.scores(np.hstack([X, np.zeros((3, columns - X.shape[1]), dtype=X.dtype)]))
        if old.shape[1] == 1 and new.shape[1] > 1:  # halves of the smallest numbers are rounded
            same = np.allclose(new[:, 1] - new[:, 0], old[:, 0], rtol=1e-9, atol=1e-250, equal_nan=True)
        else:
            same = np.array_equal(new[:, : old.shape[1]], old, equal_nan=True)
        if not same:
            raise Found(f"widening to {columns}, {classes} has changed scores: {old} {new}")

    def refused(self, sentence: str, batch: Batch, twin: Any) -> Batch | None:
        """Check that the model has learned the rows before the refused one. Returns the rows after it."""
        learned = re.match(r"Row (\d+) gives", sentence)
        if learned and (done := int(learned[1])):
            self.fit(twin, self.part(batch, slice(0, done)))
        if self.begun and hasattr(twin, "fitted_"):
            finite(self.model)
            ours, other = members.bits(self.model), members.bits(twin)
            if differ := [name for name in ours if ours[name] != other[name]]:
                raise Found(f"a refused row has changed {differ}: {sentence}")
        if learned:
            return self.part(batch, slice(done + 1, None))
        too_large = re.match(r"Row (\d+) of X", sentence)
        if too_large is None:
            return None
        return self.part(batch, np.arange(batch.X.shape[0]) != int(too_large[1]))

    @property
    def begun(self) -> bool:
        """Whether there is a model yet."""
        return hasattr(self.model, "fitted_")

    @staticmethod
    def part(batch: Batch, which: Any) -> Batch:
        """A slice of a batch."""
        weights = None if batch.weights is None else batch.weights[which]
        return Batch(batch.X[which], batch.y[which], weights)

    def copy(self) -> Any:
        """The model after saving and loading it."""
        with tempfile.TemporaryDirectory() as folder:
            self.model.save(f"{folder}/model")
            loaded = load(f"{folder}/model")
        if members.bits(loaded) != members.bits(self.model):
            raise Found("the file holds another model")
        return loaded

    def score(self) -> None:
        """Check that ordinary rows have finite scores or are refused."""
        features = self.model.n_features_in_
        X = np.random.default_rng(0).normal(size=(3, features)).astype(self.model.fitted_.model.dtype)
        try:
            scores = members.scores(self.model, X)
        except ValueError as refusal:
            said(refusal)
            return
        if not np.isfinite(scores).all():
            raise Found(f"scores {scores}")


def work(seed: int) -> Counter[str]:
    """Run one input. Returns the numbers of batches learned and refused."""
    made = drawn(seed)
    try:
        run = Run(made.task, made.learner.resolved(made.batches[0].X))
    except (ValueError, TypeError) as refusal:
        return Counter({"refused": bool(said(refusal))})
    for batch in made.batches:
        if run.begun:
            run.widen(batch.X.shape[1], batch.classes)
        elif batch is not made.batches[0]:
            break  # all rows were refused, so there is no model to widen
        if hasattr(run.model, "classes_"):
            batch.y = np.minimum(batch.y, len(run.model.classes_) - 1)  # if new classes were refused
        run.take(batch)
        if run.begun:
            run.copy()
            run.score()
    return run.counts


def campaign(first: int, count: int, deadline: float, *, show: bool = False) -> list[int]:
    """Run inputs until the time is up. Returns the numbers of the failing inputs."""
    warnings.simplefilter("ignore")
    faulthandler.enable()
    counts: Counter[str] = Counter()
    found, seed = [], first
    while seed < first + count and time.time() < deadline:
        if show:
            print(drawn(seed))
        faulthandler.dump_traceback_later(SECONDS, exit=True)
        try:
            counts += work(seed)
        except Exception as error:
            found.append(seed)
            where = "" if isinstance(error, Found) else traceback.format_exc()
            made = drawn(seed)
            print(f"--- input {seed}: {made.task}, {made.learner}\n{error}\n{where}", flush=True)
        faulthandler.cancel_dump_traceback_later()
        seed += 1
    print(f"inputs {first} to {seed - 1}: batches {dict(counts)}, found: {found}")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=0, help="the number of the first input")
    parser.add_argument("--count", type=int, default=10**9)
    parser.add_argument("--minutes", type=float, default=1e6)
    parser.add_argument("--show", action="store_true", help="print the inputs")
    args = parser.parse_args()
    deadline = time.time() + 60 * args.minutes
    return 1 if campaign(args.first, args.count, deadline, show=args.show) else 0


if __name__ == "__main__":
    sys.exit(main())
