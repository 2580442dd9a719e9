"""Figures 1, 2, 5 and 6 of Lu et al. 2016: the runs of Tables 7 and 9, along a pass."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from budgetron import plots
from budgetron.evaluate import Comparison
from budgetron_reproduction.claims import Claim
from budgetron_reproduction.figures import lu2016_budgets, lu2016_shares
from budgetron_reproduction.figures.figure import Figure
from budgetron_reproduction.figures.judges import ALL, MOST, Values, below, counted, numbers
from budgetron_reproduction.figures.panels import focus, multiples
from budgetron_reproduction.figures.runs import Plan, compared, last, recipe, seconds
from budgetron_reproduction.printed import table

OURS = ("fogd", "nogd")
"""The algorithms that the paper proposes."""
REMOVAL = ("rbp", "forgetron")
PROJECTRONS = ("projectron", "projectron++")
BUDGETED = (*OURS, *REMOVAL, *PROJECTRONS, "bpa-s", "bogd")
UNBOUNDED = ("perceptron", "ogd", "norma")
CLASSES = (*BUDGETED, "perceptron", "ogd")
TARGETS = (*OURS, *REMOVAL, "projectron", "bogd", *UNBOUNDED)
ORDERS = 5

Shown = Mapping[str, Comparison]


def _plan(dataset: str) -> Plan:
    labels = dataset in table("lu2016", 7).sources
    return Plan("lu2016", 7 if labels else 9, dataset, CLASSES if labels else TARGETS, ORDERS)


def _recipe(dataset: str) -> object:
    return recipe(_plan(dataset))


def _runs(dataset: str, n_jobs: int) -> Comparison:
    return compared(_plan(dataset), n_jobs)


def _errors(shown: Shown) -> Any:
    labels = next(iter(shown.values())).task == "classification"
    scale, label = (100.0, "mistakes, % of rows") if labels else (1.0, "mean squared error")
    panels = {name: plots.over_rows(each, "rate", scale) for name, each in shown.items()}
    figure = multiples(panels, CLASSES if labels else TARGETS, label)
    for ax, lines in zip(figure.axes, panels.values(), strict=False):
        focus(ax, lines)
    return figure


def _times(shown: Shown) -> Any:
    labels = next(iter(shown.values())).task == "classification"
    panels = {name: plots.over_rows(each, "seconds") for name, each in shown.items()}
    return multiples(panels, CLASSES if labels else TARGETS, "time", log=True)


def _alike(values: Values) -> tuple[bool, str]:
    f, n = values["fogd"], values["nogd"]
    return max(f, n) <= 1.15 * min(f, n), numbers(values, OURS)


def _raw(comparison: Comparison) -> Values:
    return last(comparison, 1.0)


FEWER = f"{ORDERS} random orders of the rows; the paper has 20."
POKER = "poker is a million hands that are drawn here, as in Table 7."
READING = "The Forgetron is run in the reading of the authors' program, as in Table 7."
SECONDS = "Seconds are processor time of our native code in one thread; the paper's are of MATLAB."
OTHERS = (*REMOVAL, *PROJECTRONS, "bpa-s", "bogd")


def _figure(number: int, of: int, caption: str, departs: tuple[str, ...], *claims: Claim) -> Figure:
    datasets = tuple(table("lu2016", of).sources)
    picture = _errors if number in (1, 5) else _times
    return Figure("lu2016", number, caption, departs, datasets, _recipe, _runs, picture, claims)


FIGURES = (
    _figure(
        1,
        7,
        "Mistakes so far against rows on data of several classes; budgets and settings of Table 7.",
        (FEWER, POKER, READING),
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
        (FEWER, POKER, READING, SECONDS),
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
        Claim(
            "In programs written in C++ it is NOGD that takes less time (Section 7.5).",
            counted(below(("nogd",), ("fogd",)), ALL, seconds),
        ),
    ),
    lu2016_shares.FIGURE,
    lu2016_budgets.FIGURE,
    _figure(
        5,
        9,
        "Mean squared error so far against rows, in regression; budget and settings of Table 9. Where "
        "lines meet, FOGD, NOGD and OGD hide each other, as do Projectron and Perceptron.",
        (FEWER,),
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
        (FEWER, SECONDS),
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
