"""Figures 3 and 4 of Lu et al. 2016: what more features, a higher rank or a larger budget buy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from budgetron.algorithms import fogd, nogd
from budgetron.evaluate import Comparison
from budgetron.learners import Learner
from budgetron.papers.figures.figure import Claim, Figure
from budgetron.papers.figures.panels import grid, legend, logarithmic, panel
from budgetron.papers.figures.runs import Plan, compared, last, run, seconds, stream
from budgetron.papers.lu2016 import K
from budgetron.papers.printed import table
from budgetron.plots import Line

B = 200
FEATURES = (1, 2, 3, 4, 5, 6, 8, 10)
RANKS = (0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.6, 0.8)
BUDGETS = (50, 100, 200, 400)
BEST = ("fogd", "nogd", "projectron", "projectron++")
NAMES = ("fogd", "nogd", "rbp", "forgetron", "projectron", "projectron++", "bpa-s", "bogd")
ROWS = 15_000
LABELS = {"fogd": "ρ_f = D / B", "nogd": "ρ_n = rank / B"}

Sizes = Mapping[float, Comparison]
"""A share of the budget, or a budget, to the runs with it."""
Shown = Mapping[str, Any]
Numbers = Callable[[Comparison], dict[str, float]]


def _shares(dataset: str, n_jobs: int) -> dict[str, Sizes]:
    plan = Plan("lu2016", 7, dataset, (), 2, budget=B, rows=5000, points=1)
    rows, steps = stream(plan), table("lu2016", 7).settings

    def runs(name: str, learners: Mapping[float, Learner]) -> Sizes:
        named = {str(share): learner for share, learner in learners.items()}
        comparison = run(named, rows, plan, n_jobs)
        return {share: _only(comparison, str(share), name) for share in learners}

    features = {
        rho: fogd(K, components=rho * B, eta=rho * B * steps["fogd"]["eta"]) for rho in FEATURES
    }
    ranks = {rho: nogd(K, budget=B, rank=round(rho * B), eta=steps["nogd"]["eta"]) for rho in RANKS}
    return {"fogd": runs("fogd", features), "nogd": runs("nogd", ranks)}


def _only(comparison: Comparison, name: str, called: str) -> Comparison:
    """One of its learners, under another name."""
    learners, records = {called: comparison.learners[name]}, {called: comparison.records[name]}
    return replace(comparison, learners=learners, records=records)


def _budgets(dataset: str, n_jobs: int) -> Sizes:
    number = 7 if dataset in table("lu2016", 7).sources else 5
    plan = Plan("lu2016", number, dataset, NAMES, 2, rows=ROWS, points=1)
    return {budget: compared(replace(plan, budget=budget), n_jobs) for budget in BUDGETS}


def _line(sizes: Sizes, name: str, of: Numbers, label: str) -> Line:
    values = np.array([of(comparison)[name] for comparison in sizes.values()])
    return Line(label, np.array(list(sizes)), values, np.zeros(len(values)))


def _shares_picture(shown: Shown) -> Any:
    figure, axes = grid(2, 2, height=2.9)
    names = list(shown)
    for column, name in zip(axes.T, ("fogd", "nogd"), strict=True):
        for ax, of, what in zip(column, (last, seconds), ("mistakes, % of rows", "seconds"), strict=True):
            panel(ax, [_line(shown[each][name], name, of, each) for each in names], names, marked=True)
            ax.xaxis.set_major_formatter("{x:g}")
            ax.set_ylabel(what)
        logarithmic(column[1])
        column[0].set_title(name, loc="left", fontsize="medium")
        column[1].set_xlabel(LABELS[name])
    legend(figure, axes[0, 0], names)
    return figure


def _budgets_picture(shown: Shown) -> Any:
    figure, axes = grid(2, len(shown), height=2.9)
    for column, (dataset, sizes) in zip(axes.T, shown.items(), strict=True):
        for ax, of in zip(column, (last, seconds), strict=True):
            ax.set_xscale("log", base=2)
            panel(ax, [_line(sizes, name, of, name) for name in NAMES], NAMES, marked=True)
            ax.set_xticks(BUDGETS, [str(each) for each in BUDGETS])
            ax.minorticks_off()
        logarithmic(column[1])
        column[0].set_title(dataset, loc="left", fontsize="medium")
    axes[0, 0].set_ylabel("mistakes, % of rows")
    axes[1, 0].set_ylabel("seconds")
    figure.supxlabel("budget", fontsize="medium")
    legend(figure, axes[0, 0], NAMES)
    return figure


def _ends(of: Numbers, sign: int) -> Callable[[Shown], tuple[bool, str]]:
    """Whether the largest share gives less (or with ``sign`` -1 more) than the smallest, everywhere."""

    def check(shown: Shown) -> tuple[bool, str]:
        holds, said = True, []
        for dataset, both in shown.items():
            for name in ("fogd", "nogd"):
                values = [of(each)[name] for each in both[name].values()]
                holds &= sign * values[-1] < sign * values[0]
                said.append(f"{dataset}, {name} {values[0]:.3g} to {values[-1]:.3g}")
        return holds, "; ".join(said)

    return check


def _levels_off(name: str, at: float) -> Callable[[Shown], tuple[bool, str]]:
    def check(shown: Shown) -> tuple[bool, str]:
        holds, said = True, []
        for dataset, both in shown.items():
            errors = {share: last(each)[name] for share, each in both[name].items()}
            first, *_, end = errors.values()
            before, after = first - errors[at], errors[at] - end
            holds &= after < before / 2
            said.append(f"{dataset} {before:.2f} points up to there, {after:.2f} beyond")
        return holds, "; ".join(said) + " (less than half asked for)"

    return check


def _linear_time(shown: Shown) -> tuple[bool, str]:
    said, ratios = [], []
    for dataset, both in shown.items():
        for name, half, whole in (("fogd", 5, 10), ("nogd", 0.4, 0.8)):
            ratios.append(seconds(both[name][whole])[name] / seconds(both[name][half])[name])
            said.append(f"{dataset}, {name} {ratios[-1]:.2f}")
    near = all(1.6 <= ratio <= 2.4 for ratio in ratios)
    return near, f"times longer at twice the share: {'; '.join(said)} (1.6 to 2.4 asked for)"


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
        gains += [[a[name] - b[name] for a, b in zip(errors, errors[1:], strict=False)] for name in errors[0]]
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
        f"{dataset} {', '.join(f'{ratios[dataset, budget]:.2f}' for budget in BUDGETS)}" for dataset in shown
    )
    return min(ratios.values()) > 1, f"times as long as FOGD at B = {', '.join(map(str, BUDGETS))}: {said}"


FIGURES = (
    Figure(
        "lu2016",
        3,
        "Mistakes and seconds of one pass at B = 200, over the number of Fourier features D = ρ_f B and the "
        "rank ρ_n B.",
        ("2 random orders of at most 5,000 rows.", "Which of its data sets the figure has is lost."),
        ("dna", "mnist", "letter", "shuttle"),
        _shares,
        _shares_picture,
        (
            Claim("A larger share gives fewer mistakes.", _ends(last, 1)),
            Claim("A larger share takes more time.", _ends(seconds, -1)),
            Claim("Beyond ρ_f = 5 FOGD gains little.", _levels_off("fogd", 5)),
            Claim("Beyond ρ_n = 0.1 NOGD gains little.", _levels_off("nogd", 0.1)),
            Claim("The time goes on growing linearly.", _linear_time),
        ),
    ),
    Figure(
        "lu2016",
        4,
        "Mistakes and seconds of one pass against the budget, on two data sets of two classes and two of more.",
        (
            f"2 random orders of at most {ROWS:,} rows.",
            "Which four data sets the paper drew is lost; these were chosen before any result was seen.",
        ),
        ("a9a", "codrna", "dna", "letter"),
        _budgets,
        _budgets_picture,
        (
            Claim("A larger budget gives fewer mistakes for nearly all algorithms.", _larger(last, 1)),
            Claim("A larger budget takes more time for nearly all algorithms.", _larger(seconds, -1)),
            Claim("The larger the budget is, the less a larger one gains.", _limited),
            Claim("The best is mostly a Projectron, FOGD or NOGD.", _best),
            Claim("The Projectron takes longer than FOGD at every budget.", _faster),
        ),
    ),
)
