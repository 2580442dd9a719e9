"""Figure 4 of Lu et al. 2016: mistakes and time against the budget."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from budgetron.evaluate import Comparison
from budgetron_reproduction.claims import Claim
from budgetron_reproduction.figures.figure import Figure
from budgetron_reproduction.figures.panels import grid, legend, logarithmic, panel
from budgetron_reproduction.figures.runs import Numbers, Plan, compared, last, over_sizes, recipe, seconds
from budgetron_reproduction.printed import table

BUDGETS = (50, 100, 200, 400)
BEST = ("fogd", "nogd", "projectron", "projectron++")
NAMES = (*BEST[:2], "rbp", "forgetron", *BEST[2:], "bpa-s", "bogd")
ROWS = 15_000

Sizes = Mapping[int, Comparison]
"""The runs for each budget."""
Shown = Mapping[str, Sizes]


def _plans(dataset: str) -> dict[int, Plan]:
    number = 7 if dataset in table("lu2016", 7).sources else 5
    plan = Plan("lu2016", number, dataset, NAMES, 2, rows=ROWS, points=1)
    return {budget: replace(plan, budget=budget) for budget in BUDGETS}


def _recipe(dataset: str) -> object:
    return [recipe(plan) for plan in _plans(dataset).values()]


def _runs(dataset: str, n_jobs: int) -> Sizes:
    return {budget: compared(plan, n_jobs) for budget, plan in _plans(dataset).items()}


def _picture(shown: Shown) -> Any:
    figure, axes = grid(2, len(shown), height=2.9)
    for column, (dataset, sizes) in zip(axes.T, shown.items(), strict=True):
        for ax, of in zip(column, (last, seconds), strict=True):
            ax.set_xscale("log", base=2)
            panel(ax, [over_sizes(sizes, name, of, name) for name in NAMES], NAMES, marked=True)
            ax.set_xticks(BUDGETS, [str(each) for each in BUDGETS])
            ax.minorticks_off()
        logarithmic(column[1])
        column[0].set_title(dataset, loc="left", fontsize="medium")
    axes[0, 0].set_ylabel("mistakes, % of rows")
    axes[1, 0].set_ylabel("time")
    for ax in axes[1]:
        ax.set_xlabel("budget")
    legend(figure, axes[0, 0], NAMES)
    return figure


def _larger(of: Numbers, sign: int) -> Callable[[Shown], tuple[bool, str]]:
    def check(shown: Shown) -> tuple[bool, str]:
        against, cases = [], 0
        for dataset, sizes in shown.items():
            small, large = of(sizes[BUDGETS[0]]), of(sizes[BUDGETS[-1]])
            cases += len(small)
            against += [f"{dataset}, {name}" for name in small if sign * large[name] >= sign * small[name]]
        said = f"not for {'; '.join(against)}" if against else "without exception"
        return len(against) <= cases / 10, f"{cases - len(against)} of {cases} cases, {said}"

    return check


def _limited(shown: Shown) -> tuple[bool, str]:
    gains = []
    for sizes in shown.values():
        errors = [last(sizes[budget]) for budget in BUDGETS]
        gains += [[a[name] - b[name] for a, b in pairwise(errors)] for name in errors[0]]
    means = np.mean(gains, axis=0)
    said = ", ".join(f"{gain:.2f}" for gain in means)
    return bool(means[-1] < means[0]), f"points gained by each doubling, in the mean over all: {said}"


def _best(shown: Shown) -> tuple[bool, str]:
    winners = [
        (dataset, budget, min(errors, key=errors.__getitem__))
        for dataset, sizes in shown.items()
        for budget, errors in ((budget, last(each)) for budget, each in sizes.items())
    ]
    among = sum(name in BEST for *_, name in winners)
    others = [f"{name} on {dataset} at {budget}" for dataset, budget, name in winners if name not in BEST]
    return among > len(winners) / 2, f"{among} of {len(winners)} cases" + (
        f", not: {'; '.join(others)}" if others else ""
    )


def _faster(shown: Shown) -> tuple[bool, str]:
    ratios = {
        (dataset, budget): seconds(each)["projectron"] / seconds(each)["fogd"]
        for dataset, sizes in shown.items()
        for budget, each in sizes.items()
    }
    said = "; ".join(
        f"{dataset} {', '.join(f'{ratios[dataset, budget]:.2f}' for budget in BUDGETS)}"
        for dataset in shown
    )
    return min(ratios.values()) > 1, f"times as long as FOGD at B = {', '.join(map(str, BUDGETS))}: {said}"


FIGURE = Figure(
    "lu2016",
    4,
    "Mistakes and seconds of one pass against the budget, on two data sets of two classes and two of more.",
    (
        f"2 random orders of at most {ROWS:,} rows.",
        "The step of FOGD is that of the tables, which is for features that are not divided by √D. For "
        "features that are, it grows with D = 4 B.",
        "The Forgetron, and BOGD on two classes, are run in the reading of the authors' program.",
        "The four data sets of the figure are lost.",
    ),
    ("a9a", "codrna", "dna", "letter"),
    _recipe,
    _runs,
    _picture,
    (
        Claim("A larger budget gives fewer mistakes for nearly all algorithms.", _larger(last, 1)),
        Claim("A larger budget takes more time for nearly all algorithms.", _larger(seconds, -1)),
        Claim("The larger the budget is, the less a larger one gains.", _limited),
        Claim("The best is mostly a Projectron, FOGD or NOGD.", _best),
        Claim("The Projectron takes longer than FOGD at every budget.", _faster),
    ),
)
