"""Checks of claims, one group of results after the other.

A judge that asks for a row that a group does not have is not about that group.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from budgetron_reproduction.claims.groups import Group

ALIKE = 1.0
"""Results at most this many percentage points apart count as alike, comparable or close."""
ALL, ALMOST_ALL, MOST = 1.0, 2 / 3, 0.5001
"""The share of the groups in which a claim must hold: all, almost all, more than half."""
SIGNIFICANT = 0.05
"""The largest p of a t-test that counts as a difference."""

Judge = Callable[[Group], tuple[bool, str] | None]
"""Checks a claim on one group: (holds, the numbers in words), or None if the claim is not about it."""
UNITS = {"error": "{:.2f} %", "seconds": "{:.3g} s", "support": "{:,.0f}", "sd": "deviation {:.2f}"}


def over(judge: Judge, share: float = ALL) -> Callable[[Sequence[Group]], tuple[bool, str]]:
    """A check that passes if the judge agrees on at least a share of the groups that the claim is about."""

    def check(shown: Sequence[Group]) -> tuple[bool, str]:
        told = {group.name: about for group in shown if (about := _asked(judge, group)) is not None}
        agree = sum(holds for holds, _ in told.values())
        each = "; ".join(f"{name}{'' if holds else ' (not)'}: {why}" for name, (holds, why) in told.items())
        cases = "case" if len(told) == 1 else "cases"
        return bool(told) and agree >= share * len(told), f"{agree} of {len(told)} {cases}. {each}"

    return check


def _asked(judge: Judge, group: Group) -> tuple[bool, str] | None:
    try:
        return judge(group)
    except KeyError:
        return None


def below(one: str, other: str, what: str = "error", by: float = 1.0) -> Judge:
    """Whether one value is below another, by a factor."""

    def judge(group: Group) -> tuple[bool, str]:
        values = getattr(group, what)
        return by * values[one] < values[other], said(group, what, one, other)

    return judge


def all_below(
    some: Sequence[str],
    others: Sequence[str],
    what: str = "error",
    by: float = 1.0,
    within: float | None = None,
) -> Judge:
    """Whether the largest of some values is below the smallest of others, by a factor.

    With ``within``: at most so much above it.
    """

    def judge(group: Group) -> tuple[bool, str]:
        values = getattr(group, what)
        mine, theirs = max(some, key=values.__getitem__), min(others, key=values.__getitem__)
        less = by * values[mine] < values[theirs]
        holds = less if within is None else values[mine] <= values[theirs] + within
        return holds, said(group, what, mine, theirs)

    return judge


def best_near(some: Sequence[str], others: Sequence[str], within: float = 0.0) -> Judge:
    """Whether the smallest error of some rows is at most that of others, or at most ``within`` above."""

    def judge(group: Group) -> tuple[bool, str]:
        values = group.error
        mine, theirs = (min(names, key=values.__getitem__) for names in (some, others))
        return values[mine] <= values[theirs] + within, said(group, "error", mine, theirs)

    return judge


def near(one: str, other: str, within: float = ALIKE) -> Judge:
    """Whether two errors are alike."""

    def judge(group: Group) -> tuple[bool, str]:
        values = group.error
        return abs(values[one] - values[other]) <= within, said(group, "error", one, other)

    return judge


def first(
    some: Sequence[str], what: str = "error", most: bool = False, among: Sequence[str] | None = None
) -> Judge:
    """Whether one of some rows has the smallest (with ``most``, the largest) value, of all or ``among``."""

    def judge(group: Group) -> tuple[bool, str]:
        values, sign = getattr(group, what), -1 if most else 1
        names = [name for name in among or values if name in values]
        inside, outside = ([name for name in names if (name in some) is wanted] for wanted in (True, False))
        if not inside or not outside:
            raise KeyError
        mine, theirs = (min(each, key=lambda name: sign * values[name]) for each in (inside, outside))
        return sign * values[mine] < sign * values[theirs], said(group, what, mine, theirs)

    return judge


def significantly_below(one: str, other: str) -> Judge:
    """Whether one error is below another by a t-test (Welch's, one-sided)."""

    def judge(group: Group) -> tuple[bool, str]:
        from scipy.stats import ttest_ind_from_stats

        sides = ((group.error[name], group.sd[name], group.runs[name]) for name in (one, other))
        p = ttest_ind_from_stats(*next(sides), *next(sides), equal_var=False, alternative="less").pvalue
        return bool(p < SIGNIFICANT), f"{said(group, 'error', one, other)}, p {p:.1g}"

    return judge


def at(where: str, judge: Judge) -> Judge:
    """The judge, asked only at the largest or the smallest budget."""
    return lambda group: judge(group) if group.place == where else None


def on(datasets: Sequence[str], judge: Judge) -> Judge:
    """The judge, asked only about some data sets."""
    return lambda group: judge(group) if group.dataset in datasets else None


def only(ending: str, judge: Judge) -> Judge:
    """The judge, asked only about groups whose name ends so."""
    return lambda group: judge(group) if group.name.endswith(ending) else None


def said(group: Group, what: str, *names: str) -> str:
    """Some values of a group, in words."""
    values = getattr(group, what)
    unit = "{:.3g}" if what == "error" and not group.percent else UNITS[what]
    return ", ".join(f"{name} {unit.format(values[name])}" for name in names)
