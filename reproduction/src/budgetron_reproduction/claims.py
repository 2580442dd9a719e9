"""What a paper's text says of its results, checked on our numbers.

Where the printed numbers are lost, these claims are all there is to compare with. A claim about both a
table and a figure is written once, with one threshold, so the two cannot be judged differently.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from budgetron_reproduction.reproduction import Reproduction

ALIKE = 1.0
"""Results at most this many percentage points apart count as alike, comparable or close."""
ALL, ALMOST_ALL = 1.0, 2 / 3
"""The share of the groups in which a claim must hold."""


@dataclass(frozen=True)
class Claim:
    """A claim in our words, and a function that checks it: results to (holds, the numbers in words)."""

    text: str
    check: Callable[[Any], tuple[bool, str]]

    def verdict(self, shown: Any) -> Verdict:
        """Check the claim on some results."""
        holds, numbers = self.check(shown)
        return Verdict(self.text, bool(holds), numbers)


@dataclass(frozen=True)
class Verdict:
    """A claim, whether it holds for our results, and the numbers in words."""

    claim: str
    holds: bool
    numbers: str


@dataclass(frozen=True)
class Group:
    """The results of a data set at one budget, by algorithm.

    ``place`` is "largest" or "smallest" if the budget is that among those of the data set, else "".
    """

    name: str
    place: str
    mistakes: Mapping[str, float]
    seconds: Mapping[str, float]
    support: Mapping[str, float]


Judge = Callable[[Group], tuple[bool, str] | None]
"""Checks a claim on one group: (holds, the numbers in words), or None if the claim is not about it."""


def verdicts(done: Reproduction) -> list[Verdict]:
    """Check every claim about a table."""
    about = CLAIMS.get((done.table.key, done.table.number), ()) if done.results else ()
    return [claim.verdict(list(groups(done))) for claim in about]


def groups(done: Reproduction) -> Iterator[Group]:
    """Group the results of a table by data set and budget."""
    found: dict[tuple[str, int | None], list[Any]] = {}
    for each in done.results:
        found.setdefault((each.cell.dataset, each.cell.budget), []).append(each)
    for (dataset, budget), results in found.items():
        budgets = [b for name, b in found if name == dataset and b is not None]
        yield Group(
            dataset + (f" at B = {budget}" if budget else ""),
            place(budget, budgets),
            {each.cell.algorithm: each.value for each in results},
            {each.cell.algorithm: each.seconds for each in results},
            {each.cell.algorithm: each.support or 0.0 for each in results},
        )


def place(budget: int | None, budgets: Sequence[int]) -> str:
    """Which of the budgets it is: "largest", "smallest", or "" for neither."""
    if budget is None:
        return ""
    return "largest" if budget == max(budgets) else "smallest" if budget == min(budgets) else ""


def over(judge: Judge, share: float = ALL) -> Callable[[Sequence[Group]], tuple[bool, str]]:
    """A check that passes if the judge agrees on at least a share of the groups that the claim is about."""

    def check(shown: Sequence[Group]) -> tuple[bool, str]:
        told = {group.name: said for group in shown if (said := judge(group)) is not None}
        agree = sum(holds for holds, _ in told.values())
        each = "; ".join(f"{name}{'' if holds else ' (not)'}: {why}" for name, (holds, why) in told.items())
        cases = "case" if len(told) == 1 else "cases"
        return bool(told) and agree >= share * len(told), f"{agree} of {len(told)} {cases}. {each}"

    return check


def _below(one: str, other: str, what: str = "mistakes") -> Judge:
    def judge(group: Group) -> tuple[bool, str]:
        values = getattr(group, what)
        return values[one] < values[other], _said(group, what, one, other)

    return judge


def _near(one: str, other: str) -> Judge:
    def judge(group: Group) -> tuple[bool, str]:
        values = group.mistakes
        return abs(values[one] - values[other]) <= ALIKE, _said(group, "mistakes", one, other)

    return judge


def _at(where: str, judge: Judge) -> Judge:
    return lambda group: judge(group) if group.place == where else None


def _removal(helps: bool) -> Judge:
    """Compare BDUOL with removal to the better of RBP and Forgetron.

    With ``helps``: it is at most `ALIKE` points worse. Without: it is not better.
    """

    def judge(group: Group) -> tuple[bool, str]:
        values = group.mistakes
        other = min(("rbp", "forgetron"), key=values.__getitem__)
        mine, theirs = values["bduol-removal"], values[other]
        holds = mine <= theirs + ALIKE if helps else mine >= theirs
        return holds, _said(group, "mistakes", "bduol-removal", other)

    return judge


def _first(some: Sequence[str], what: str = "mistakes", most: bool = False) -> Judge:
    """Whether one of some algorithms has the smallest (with ``most``, the largest) value of all."""

    def judge(group: Group) -> tuple[bool, str]:
        values, sign = getattr(group, what), -1 if most else 1
        mine, theirs = (
            min((name for name in values if (name in some) is inside), key=lambda name: sign * values[name])
            for inside in (True, False)
        )
        return sign * values[mine] < sign * values[theirs], _said(group, what, mine, theirs)

    return judge


UNITS = {"mistakes": "{:.2f} %", "seconds": "{:.3g} s", "support": "{:,.0f}"}


def _said(group: Group, what: str, *names: str) -> str:
    values = getattr(group, what)
    return ", ".join(f"{name} {UNITS[what].format(values[name])}" for name in names)


BDUOL = (
    Claim(
        "RBP and Forgetron are very similar (here: within a point).",
        over(_near("rbp", "forgetron")),
    ),
    Claim(
        "Projectron++ makes fewer mistakes than Projectron for almost all budgets (here: two in three).",
        over(_below("projectron++", "projectron"), ALMOST_ALL),
    ),
    Claim(
        "With removal, BDUOL is comparable to RBP and Forgetron or better at a large budget (here: at most "
        "a point worse).",
        over(_at("largest", _removal(helps=True))),
    ),
    Claim(
        "With removal, BDUOL does not improve on RBP and Forgetron at a very small budget.",
        over(_at("smallest", _removal(helps=False))),
    ),
    Claim(
        "Approximate projection makes fewer mistakes than the nearest neighbour on german and mushrooms.",
        over(_below("bduol-approximate", "bduol-nearest")),
    ),
    Claim(
        "Approximate projection takes more time than the nearest neighbour.",
        over(_below("bduol-nearest", "bduol-approximate", "seconds")),
    ),
)
"""Zhao & Hoi on their Table 3, and on the figures of the same runs."""

BDUOL_DRAWN = Claim(
    "A BDUOL makes the fewest mistakes of all that are drawn.",
    over(_first(("bduol-removal", "bduol-nearest", "bduol-approximate"))),
)
"""About the figures only: they do not show exact projection."""

CLAIMS = {
    ("zhao2012b", 2): (
        Claim("DUOL makes fewer mistakes than the Perceptron.", over(_below("duol", "perceptron"))),
        Claim(
            "DUOL keeps more support vectors than the Perceptron.",
            over(_below("perceptron", "duol", "support")),
        ),
        Claim("DUOL takes longer than the Perceptron.", over(_below("perceptron", "duol", "seconds"))),
    ),
    ("zhao2012b", 3): (
        *BDUOL,
        Claim(
            "Exact projection makes the fewest mistakes of all in most cases (here: two in three).",
            over(_first(("bduol-projection",)), ALMOST_ALL),
        ),
        Claim(
            "Exact projection is slower than RBP, Forgetron and the other ways to keep the budget.",
            over(_first(("bduol-projection",), "seconds", most=True)),
        ),
        Claim(
            "At large budgets the nearest neighbour is close to exact projection (here: within a point).",
            over(_at("largest", _near("bduol-nearest", "bduol-projection"))),
        ),
    ),
}
"""The claims about each table."""
