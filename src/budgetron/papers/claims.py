"""What a paper's text says of a table, checked on ours: the yardstick where the numbers are lost."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from budgetron.papers.reproduction import Reproduction, Result

Group = dict[str, Result]
"""The results of a data set at one budget, by algorithm."""


@dataclass(frozen=True)
class Claim:
    """A sentence, in our words, and whether it holds in a group of results; None where it says nothing."""

    text: str
    holds: Callable[[Group, str], bool | None]


@dataclass(frozen=True)
class Verdict:
    """In how many groups a claim holds, and in which it does not."""

    claim: Claim
    held: int
    of: int
    against: tuple[str, ...]


def verdicts(done: Reproduction) -> list[Verdict]:
    """Every claim about a table, checked."""
    return [_verdict(claim, done) for claim in CLAIMS.get((done.table.key, done.table.number), ())]


def groups(done: Reproduction) -> Iterator[tuple[str, str, Group]]:
    """The results of each data set and budget: its name, which of its budgets it is, and the group."""
    found: dict[tuple[str, int | None], Group] = {}
    for each in done.results:
        found.setdefault((each.cell.dataset, each.cell.budget), {})[each.cell.algorithm] = each
    for (dataset, budget), group in found.items():
        budgets = sorted(b for name, b in found if name == dataset and b is not None)
        place = "largest" if budget in budgets[-1:] else "smallest" if budget in budgets[:1] else ""
        yield dataset + (f" at B = {budget}" if budget else ""), place, group


def _verdict(claim: Claim, done: Reproduction) -> Verdict:
    said = [(name, claim.holds(group, place)) for name, place, group in groups(done)]
    told = [(name, answer) for name, answer in said if answer is not None]
    against = tuple(name for name, answer in told if not answer)
    return Verdict(claim, len(told) - len(against), len(told), against)


def _fewer(one: str, other: str, slack: float = 0.0) -> Callable[[Group, str], bool | None]:
    """Mistakes of one at most those of the other, give or take so many points."""
    return lambda group, _: group[one].value <= group[other].value + slack


def _at(place: str, test: Callable[[Group, str], bool | None]) -> Callable[[Group, str], bool | None]:
    return lambda group, where: test(group, where) if where == place else None


def _longer(one: str, other: str) -> Callable[[Group, str], bool | None]:
    return lambda group, _: group[one].seconds > group[other].seconds


def _near(one: str, other: str, points: float) -> Callable[[Group, str], bool | None]:
    return lambda group, _: abs(group[one].value - group[other].value) <= points


def _best(one: str) -> Callable[[Group, str], bool | None]:
    return lambda group, _: group[one].value <= min(each.value for each in group.values())


def _as_good_as_removal(group: Group, _: str) -> bool:
    least = min(group["rbp"].value, group["forgetron"].value)
    return group["bduol-removal"].value <= least + 1


def _larger(group: Group, _: str) -> bool:
    return (group["duol"].support or 0) > (group["perceptron"].support or 0)


CLAIMS = {
    ("zhao2012b", 2): (
        Claim("DUOL makes fewer mistakes than the Perceptron.", _fewer("duol", "perceptron")),
        Claim("DUOL keeps more support vectors than the Perceptron.", _larger),
        Claim("DUOL takes longer than the Perceptron.", _longer("duol", "perceptron")),
    ),
    ("zhao2012b", 3): (
        Claim("RBP and Forgetron are much alike (here: within 2 points).", _near("rbp", "forgetron", 2)),
        Claim("Projectron++ makes fewer mistakes than Projectron.", _fewer("projectron++", "projectron")),
        Claim(
            "Removal is as good as RBP and Forgetron at large budgets (here: at most 1 point worse).",
            _at("largest", _as_good_as_removal),
        ),
        Claim("Exact projection makes the fewest mistakes of all.", _best("bduol-projection")),
        Claim(
            "Exact projection is slower than RBP, Forgetron and the other ways to keep the budget.",
            lambda group, _: all(
                group["bduol-projection"].seconds > each.seconds
                for name, each in group.items()
                if name != "bduol-projection"
            ),
        ),
        Claim(
            "Approximate projection makes fewer mistakes than the nearest neighbour (german, mushrooms).",
            _fewer("bduol-approximate", "bduol-nearest"),
        ),
        Claim(
            "Approximate projection is slower than the nearest neighbour.",
            _longer("bduol-approximate", "bduol-nearest"),
        ),
        Claim(
            "At large budgets the nearest neighbour is close to exact projection (here: within 2 points).",
            _at("largest", _near("bduol-nearest", "bduol-projection", 2)),
        ),
    ),
}
