"""Checks of claims about the order of algorithms, data set by data set."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from budgetron.evaluate import Comparison
from budgetron_reproduction.figures.runs import UNITS, least

ALL, MOST = 1.0, 0.5001
"""Shares of the data sets: all, and more than half."""

Shown = Mapping[str, Comparison]
Values = Mapping[str, float]
Judge = Callable[[Values], tuple[bool, str]]
"""Checks a claim on the values of one data set: (holds, the numbers in words)."""


def counted(
    judge: Judge, share: float, values: Callable[[Comparison], Values]
) -> Callable[[Shown], tuple[bool, str]]:
    """A check that passes if the judge agrees on at least a share of the data sets.

    Data sets for which the judge returns no numbers are not counted.
    """

    def check(shown: Shown) -> tuple[bool, str]:
        judged = {name: judge(values(each)) for name, each in shown.items()}
        told = {name: each for name, each in judged.items() if each[1]}
        agree = sum(holds for holds, _ in told.values())
        said = "; ".join(f"{name}{'' if holds else ' (not)'}: {why}" for name, (holds, why) in told.items())
        unit = f", in {UNITS[values]}" if values in UNITS else ""
        return bool(told) and agree >= share * len(told), f"{agree} of {len(told)} data sets{unit}. {said}"

    return check


def below(some: tuple[str, ...], others: tuple[str, ...], worst: bool = True, by: float = 1.0) -> Judge:
    """Whether all of some algorithms (with ``worst=False``, the best) are below all others, by a factor."""

    def judge(values: Values) -> tuple[bool, str]:
        mine = [values[name] for name in some if name in values]
        theirs = [values[name] for name in others if name in values]
        if not mine or not theirs:
            return False, ""
        holds = by * (max(mine) if worst else min(mine)) < min(theirs)
        return holds, f"{numbers(values, some)} against {_least(values, others)}"

    return judge


def _least(values: Values, names: tuple[str, ...]) -> str:
    name = least(values, names)
    return f"at least {values[name]:.3g} ({name})" if len(names) > 1 else f"{name} {values[name]:.3g}"


def numbers(values: Values, names: tuple[str, ...]) -> str:
    """Some of the values, in words."""
    return ", ".join(f"{name} {values[name]:.3g}" for name in names if name in values)
