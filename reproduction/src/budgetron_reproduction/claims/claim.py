"""A claim of a text, and the verdict on it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

NO_CASES = "0 of 0"


@dataclass(frozen=True)
class Claim:
    """A claim in our words, and a function that checks it: results to (holds, the numbers in words)."""

    text: str
    check: Callable[[Any], tuple[bool, str]]

    def verdict(self, shown: Any, printed: Any = None) -> Verdict:
        """Check the claim on some results, and on the printed numbers if there are any."""
        holds, numbers = self.check(shown)
        in_print, cases = self.check(printed) if printed else (False, NO_CASES)
        if cases.startswith(NO_CASES):
            return Verdict(self.text, bool(holds), numbers)
        return Verdict(self.text, bool(holds), numbers, cases.partition(". ")[0], bool(in_print))


@dataclass(frozen=True)
class Verdict:
    """A claim, whether it holds for our results, and the numbers in words.

    ``printed`` says in how many cases it holds in print, and ``in_print`` whether that is enough; they are
    empty if the printed numbers are lost.
    """

    claim: str
    holds: bool
    numbers: str
    printed: str = ""
    in_print: bool | None = None
