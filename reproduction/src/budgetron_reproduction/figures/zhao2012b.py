"""Figures 2 and 3 of Zhao & Hoi 2012: the runs of Table 3, along a pass."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from budgetron import plots
from budgetron.evaluate import Comparison
from budgetron_reproduction.claims import Claim, Group, place
from budgetron_reproduction.claims.zhao2012b import BDUOL, BDUOL_DRAWN
from budgetron_reproduction.figures.figure import Figure
from budgetron_reproduction.figures.panels import focus, multiples
from budgetron_reproduction.figures.runs import Plan, compared, last, recipe, seconds
from budgetron_reproduction.printed import table

ALGORITHMS = (
    *("rbp", "forgetron", "projectron", "projectron++"),
    *("bduol-removal", "bduol-nearest", "bduol-approximate"),
)

Budgets = Mapping[int, Comparison]
Shown = Mapping[str, Budgets]


def _plans(dataset: str) -> dict[int, Plan]:
    budgets = sorted({cell.budget for cell in table("zhao2012b", 3).of(dataset) if cell.budget})
    return {B: Plan("zhao2012b", 3, dataset, ALGORITHMS, 20, budget=B) for B in budgets}


def _recipe(dataset: str) -> object:
    return [recipe(plan) for plan in _plans(dataset).values()]


def _runs(dataset: str, n_jobs: int) -> Budgets:
    return {B: compared(plan, n_jobs) for B, plan in _plans(dataset).items()}


def _one(shown: Shown) -> Budgets:
    [budgets] = shown.values()
    return budgets


def _picture(shown: Shown) -> Any:
    [dataset] = shown
    panels = {f"{dataset}, B = {B}": plots.over_rows(each, "rate", 100) for B, each in _one(shown).items()}
    figure = multiples(panels, ALGORITHMS, "mistakes, % of rows")
    for ax, lines in zip(figure.axes, panels.values(), strict=False):
        focus(ax, lines)
    return figure


def _judged(claim: Claim) -> Claim:
    """Turn a claim about groups of results into one about the runs of a figure."""
    return Claim(claim.text, lambda shown: claim.check(_groups(shown)))


def _groups(shown: Shown) -> list[Group]:
    return [
        Group(f"{dataset} at B = {B}", place(B, list(budgets)), last(each), seconds(each), support={})
        for dataset, budgets in shown.items()
        for B, each in budgets.items()
    ]


def _figure(number: int, dataset: str) -> Figure:
    return Figure(
        "zhao2012b",
        number,
        f"Mistakes so far against rows on one half of {dataset}, at the three budgets of Table 3; C is "
        "searched for on the other half.",
        (
            "The data sets and budgets of the figures are lost; here each data set has one figure.",
            "BDUOL with exact projection is left out, because it takes minutes; Table 3 has it.",
            "The Forgetron is run in the reading of the authors' program, as in Table 3.",
        ),
        (dataset,),
        _recipe,
        _runs,
        _picture,
        tuple(map(_judged, (*BDUOL, BDUOL_DRAWN))),
    )


FIGURES = (_figure(2, "german"), _figure(3, "mushrooms"))
