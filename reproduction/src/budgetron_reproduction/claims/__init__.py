"""What the papers' texts say of their tables, checked on our results and on the printed numbers.

Where the printed numbers are lost, these claims are all there is to compare with. A claim about both a
table and a figure is written once, with one threshold, so the two cannot be judged differently.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module

from budgetron_reproduction.claims.claim import Claim, Verdict
from budgetron_reproduction.claims.groups import Group, ours, place, printed
from budgetron_reproduction.reproduction import Reproduction

__all__ = ["Claim", "Group", "Verdict", "about", "place", "verdicts"]


def about(key: str, number: int) -> tuple[Claim, ...]:
    """The claims about a table."""
    claims: dict[int, tuple[Claim, ...]] = import_module(f"budgetron_reproduction.claims.{key}").CLAIMS
    return claims.get(number, ())


def verdicts(done: Reproduction, others: Sequence[Reproduction] = ()) -> list[Verdict]:
    """Check every claim about a table. ``others`` are other tables, for claims about two of a paper."""
    if not done.results:
        return []
    shown, in_print = list(ours(done, others)), list(printed(done.table))
    return [claim.verdict(shown, in_print) for claim in about(done.table.key, done.table.number)]
