"""Figures 1, 2, 5 and 6 of Lu et al. 2016: the runs of Tables 7 and 9, row by row."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from budgetron import plots
from budgetron.evaluate import Comparison
from budgetron.papers.figures import lu2016_sizes
from budgetron.papers.figures.figure import Claim, Figure
from budgetron.papers.figures.panels import multiples
from budgetron.papers.figures.runs import Plan, compared, last, least, seconds
from budgetron.papers.printed import table

OURS = ("fogd", "nogd")
"""The algorithms that the paper proposes."""
REMOVAL = ("rbp", "forgetron")
PROJECTRONS = ("projectron", "projectron++")
BUDGETED = (*OURS, *REMOVAL, *PROJECTRONS, "bpa-s", "bogd")
UNBOUNDED = ("perceptron", "ogd", "norma")
CLASSES = (*BUDGETED, "perceptron", "ogd")
TARGETS = (*OURS, *REMOVAL, "projectron", "bogd", *UNBOUNDED)
CAPS = {"covtype": 50_000, "acoustic": 50_000, "year": 50_000}

Shown = Mapping[str, Comparison]
Values = Mapping[str, float]
Judge = Callable[[Values], tuple[bool, str]]
"""From the values of a data set by algorithm to whether it agrees, and the numbers."""


def _classes(dataset: str, n_jobs: int) -> Comparison:
    return compared(Plan("lu2016", 7, dataset, CLASSES, 3, rows=CAPS.get(dataset)), n_jobs)


def _targets(dataset: str, n_jobs: int) -> Comparison:
    return compared(Plan("lu2016", 9, dataset, TARGETS, 5, rows=CAPS.get(dataset)), n_jobs)


def _errors(shown: Shown) -> Any:
    labels = next(iter(shown.values())).task == "classification"
    scale, label = (100.0, "mistakes, % of rows") if labels else (1.0, "mean squared error")
    panels = {name: plots.over_rows(each, "rate", scale) for name, each in shown.items()}
    figure = multiples(panels, CLASSES if labels else TARGETS, label)
    for ax, lines in zip(figure.axes, panels.values(), strict=False):
        late = np.concatenate([line.mean[len(line.mean) // 8 :] for line in lines])
        room = 0.08 * (late.max() - late.min())
        ax.set_ylim(late.min() - room, late.max() + room)
    return figure


def _times(shown: Shown) -> Any:
    labels = next(iter(shown.values())).task == "classification"
    panels = {name: plots.over_rows(each, "seconds") for name, each in shown.items()}
    return multiples(panels, CLASSES if labels else TARGETS, "seconds", log=True)


def counted(
    judge: Judge, share: float, values: Callable[[Comparison], Values]
) -> Callable[[Shown], tuple[bool, str]]:
    """Whether at least a share of the data sets agrees; those that cannot tell have no numbers."""

    def check(shown: Shown) -> tuple[bool, str]:
        judged = {name: judge(values(each)) for name, each in shown.items()}
        told = {name: each for name, each in judged.items() if each[1]}
        agree = sum(holds for holds, _ in told.values())
        said = "; ".join(
            f"{name}{'' if holds else ' (not)'}: {numbers}" for name, (holds, numbers) in told.items()
        )
        return bool(told) and agree >= share * len(told), f"{agree} of {len(told)} data sets. {said}"

    return check


def _numbers(values: Values, names: tuple[str, ...]) -> str:
    return ", ".join(f"{name} {values[name]:.3g}" for name in names if name in values)


def below(some: tuple[str, ...], others: tuple[str, ...], worst: bool = True, by: float = 1.0) -> Judge:
    """Whether all (or with ``worst=False`` the best) of some are below each of the others, by a factor."""

    def judge(values: Values) -> tuple[bool, str]:
        mine = [values[name] for name in some if name in values]
        theirs = [values[name] for name in others if name in values]
        if not mine or not theirs:
            return False, ""
        holds = by * (max(mine) if worst else min(mine)) < min(theirs)
        return holds, f"{_numbers(values, some)} against {_least(values, others)}"

    return judge


def _least(values: Values, names: tuple[str, ...]) -> str:
    name = least(values, names)
    return f"at least {values[name]:.3g} ({name})" if len(names) > 1 else f"{name} {values[name]:.3g}"


def _alike(values: Values) -> tuple[bool, str]:
    f, n = values["fogd"], values["nogd"]
    return max(f, n) <= 1.15 * min(f, n), _numbers(values, OURS)


def _raw(comparison: Comparison) -> Values:
    return last(comparison, 1.0)


ALL, MOST = 1.0, 0.5001
FEWER = "3 random orders of the rows where the paper has 20."
CAPPED = "covtype is capped at 50,000 random rows."
POKER = "poker is the training part, 25,010 rows; the paper has 1,000,000."
SECONDS = "Seconds are processor time of our native code, in one thread; the paper's are of MATLAB."
OTHERS = (*REMOVAL, *PROJECTRONS, "bpa-s", "bogd")


def _figure(number: int, of: int, caption: str, departs: tuple[str, ...], *claims: Claim) -> Figure:
    compute, datasets = (_classes if of == 7 else _targets), tuple(table("lu2016", of).sources)
    picture = _errors if number in (1, 5) else _times
    return Figure("lu2016", number, caption, departs, datasets, compute, picture, claims)


FIGURES = (
    _figure(
        1,
        7,
        "Mistakes so far against rows on data of several classes; budgets and settings of Table 7.",
        (FEWER, CAPPED, POKER),
        Claim(
            "Of the two without a budget, OGD makes fewer mistakes than the Perceptron.",
            counted(below(("ogd",), ("perceptron",)), ALL, last),
        ),
        Claim(
            "Projectron and Projectron++ make fewer mistakes than RBP and Forgetron.",
            counted(below(PROJECTRONS, REMOVAL), ALL, last),
        ),
        Claim(
            "FOGD or NOGD makes the fewest mistakes of all with a budget on most data sets.",
            counted(below(OURS, OTHERS, worst=False), MOST, last),
        ),
        Claim(
            "FOGD and NOGD are nearly alike (within 15 % of each other) on most data sets.",
            counted(_alike, MOST, last),
        ),
    ),
    _figure(
        2,
        7,
        "Seconds so far against rows, for the runs of Figure 1.",
        (FEWER, CAPPED, POKER, SECONDS),
        Claim(
            "Every algorithm with a budget takes less time than those without.",
            counted(below(BUDGETED, UNBOUNDED), ALL, seconds),
        ),
        Claim(
            "OGD takes more time than the Perceptron.",
            counted(below(("perceptron",), ("ogd",)), ALL, seconds),
        ),
        Claim(
            "RBP and Forgetron take less time than Projectron and Projectron++.",
            counted(below(REMOVAL, PROJECTRONS), ALL, seconds),
        ),
        Claim(
            "BPA-S is much slower (by half and more) than RBP, Forgetron and BOGD.",
            counted(below((*REMOVAL, "bogd"), ("bpa-s",), by=1.5), ALL, seconds),
        ),
        Claim(
            "FOGD and NOGD take less time than all others with a budget.",
            counted(below(OURS, OTHERS), ALL, seconds),
        ),
        Claim("FOGD takes less time than NOGD.", counted(below(("fogd",), ("nogd",)), ALL, seconds)),
    ),
    *lu2016_sizes.FIGURES,
    _figure(
        5,
        9,
        "Mean squared error so far against rows, in regression; budget and settings of Table 9.",
        ("5 random orders of the rows where the paper has 20.",),
        Claim(
            "Of RBP, Forgetron, BOGD and Projectron, the Projectron has the least error.",
            counted(below(("projectron",), (*REMOVAL, "bogd")), ALL, _raw),
        ),
        Claim(
            "FOGD or NOGD has the least error of all with a budget on most data sets.",
            counted(below(OURS, (*REMOVAL, "projectron", "bogd"), worst=False), MOST, _raw),
        ),
        Claim(
            "FOGD and NOGD are nearly alike (within 15 % of each other) on most data sets.",
            counted(_alike, MOST, _raw),
        ),
    ),
    _figure(
        6,
        9,
        "Seconds so far against rows, for the runs of Figure 5.",
        ("5 random orders of the rows where the paper has 20.", SECONDS),
        Claim(
            "Every algorithm with a budget takes less time than those without.",
            counted(below(TARGETS[:6], UNBOUNDED), ALL, seconds),
        ),
        Claim(
            "NORMA takes less time than OGD and the Perceptron.",
            counted(below(("norma",), ("ogd", "perceptron")), ALL, seconds),
        ),
        Claim(
            "FOGD takes the least time of all with a budget.",
            counted(below(("fogd",), ("nogd", *REMOVAL, "projectron", "bogd")), ALL, seconds),
        ),
    ),
)
