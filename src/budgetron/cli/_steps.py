"""What rows pass through on their way to a learner, from flags, and from what a model file says."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from scipy import sparse

from budgetron._rows import Matrix
from budgetron.cli._parser import whole
from budgetron.streams import Block, MinMax, ShuffleBuffer, Standardise, Step


class Dense(Step):
    """Sparse rows as dense ones, so that scales are those of dense rows."""

    def learn_transform(self, block: Block) -> Block:
        """The same rows, dense."""
        return Block(self.transform(block.X), block.y, block.start)

    def transform(self, X: Matrix) -> Matrix:
        """The same rows, dense."""
        return X.toarray() if sparse.issparse(X) else X

    def state(self) -> dict[str, Any]:
        """Nothing is learned."""
        return {}

    def restore(self, state: dict[str, Any]) -> None:
        """Nothing was learned."""


KINDS: dict[str, Any] = {
    "ShuffleBuffer": ShuffleBuffer,
    "Dense": Dense,
    "Standardise": Standardise,
    "MinMax": MinMax,
}


def add_arguments(group: Any) -> None:
    """What may be done to the rows."""
    group.add_argument(
        "--shuffle", type=whole(1), metavar="SIZE", help="shuffle within a buffer of so many rows"
    )
    group.add_argument(
        "--dense", action="store_true", help="sparse rows as dense ones, which can be centred"
    )
    scaling = group.add_mutually_exclusive_group()
    scaling.add_argument(
        "--standardise",
        action="store_true",
        help="scale each row to mean 0, variance 1 by the rows before it",
    )
    scaling.add_argument(
        "--min-max", action="store_true", help="scale each row to 0 .. 1 by the rows before it"
    )


def from_flags(args: Namespace) -> list[Step]:
    """The steps, the first of them first."""
    steps: list[Step] = [] if args.shuffle is None else [ShuffleBuffer(args.shuffle, args.seed)]
    chosen = {"Dense": args.dense, "Standardise": args.standardise, "MinMax": args.min_max}
    return steps + [KINDS[name]() for name, wanted in chosen.items() if wanted]


def described(step: Step) -> dict[str, Any]:
    """What a step is, without what it has learned."""
    own = {"size": step.size, "seed": step.seed} if isinstance(step, ShuffleBuffer) else {}
    return {"type": type(step).__name__} | own


def revived(said: dict[str, Any]) -> Step:
    """The step that was described."""
    own = {key: value for key, value in said.items() if key != "type"}
    step: Step = KINDS[said["type"]](**own)
    return step
