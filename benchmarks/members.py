"""What does each expert of the default bring? It runs without one of them at a time.

``python -m benchmarks.members`` takes the first 20,000 rows of the 28 streams of benchmarks.streams.whole,
about 20 s for each expert; ``--rows 600000`` takes all rows. For each expert it prints the error without it
divided by the error with it: the geometric mean over the streams, that over the streams that were not made
on purpose, and the streams on which the expert helps most and least. Above 1, it helps. The other experts
keep their random features.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

import numpy.typing as npt

from benchmarks.streams.data import Stream
from benchmarks.streams.ours import follow
from benchmarks.streams.pictures import EXPERTS
from benchmarks.streams.whole import sources
from benchmarks.streams.whole.results import measured
from benchmarks.streams.whole.table import error, mean
from budgetron import Stacked, Standardised, _core, auto
from budgetron._util.spec import seed_of_part
from budgetron.learners.learner import Learner, Wrapping
from budgetron.parts.tasks import Task


@dataclass
class Placed(Wrapping):
    """A learner with the random features of a place in the stack, wherever it stands."""

    learner: Learner
    place: int = 0

    def build(self, task: Task, n_features: int, dtype: npt.DTypeLike, seed: int) -> _core.Learner:
        """The native learner, with the seed of the place."""
        del seed
        return self.learner.build(task, n_features, dtype, seed_of_part(0, self.place))


def without(member: int | None) -> Standardised:
    """The default without a member, or whole."""
    stack = auto().composition().learner.learner
    kept = [Placed(each, i) for i, each in enumerate(stack.learners) if i != member]
    return Standardised(Stacked(*kept, drift=stack.drift))


def errors(member: int | None, rows: int) -> dict[str, float]:
    """The error on every stream."""
    found = {}
    for name in sources.names("whole"):
        stream = sources.available(name)
        if stream is not None:
            cut = Stream(name, stream.X[:rows], stream.y[:rows], stream.classes)
            found[name] = error(measured(cut, "", follow(without(member), cut))) or 0.0
    return found


def main() -> None:
    """Print a line for each member."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.members", description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000, help="the first rows of each stream (20,000)")
    parser.add_argument("--members", type=int, nargs="+", default=range(len(EXPERTS)), help="which, from 0")
    given = parser.parse_args()
    whole = errors(None, given.rows)
    print("| without | error | not made on purpose | helps most | helps least |")
    print("|---|---:|---:|---|---|")
    for member in given.members:
        ratios = {name: value / whole[name] for name, value in errors(member, given.rows).items()}
        order = sorted(ratios, key=ratios.__getitem__)
        means = [mean(ratios.values())[0], mean(v for n, v in ratios.items() if n not in sources.MADE)[0]]
        ends = [f"{name} {ratios[name]:.3f}" for name in (order[-1], order[0])]
        print(
            f"| {EXPERTS[member]} | {means[0]:.3f} | {means[1]:.3f} | {ends[0]} | {ends[1]} |", flush=True
        )


if __name__ == "__main__":
    main()
