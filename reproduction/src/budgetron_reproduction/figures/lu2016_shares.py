"""Figure 3 of Lu et al. 2016: mistakes and time against the number of Fourier features and the rank."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from budgetron.evaluate import Comparison
from budgetron.learners.algorithms import fogd, nogd
from budgetron.learners.learner import Learner
from budgetron_reproduction.claims import Claim
from budgetron_reproduction.figures.figure import Figure
from budgetron_reproduction.figures.panels import grid, legend, logarithmic, panel
from budgetron_reproduction.figures.runs import (
    UNITS,
    Numbers,
    Plan,
    last,
    over_sizes,
    recipe,
    run,
    seconds,
    stream,
)
from budgetron_reproduction.learners.lu2016 import K
from budgetron_reproduction.printed import table

B = 200
FEATURES = (1, 2, 3, 4, 5, 6, 8, 10)
RANKS = (0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.6, 0.8)
TICKS = (15, 20, 30, 50, 80)
LABELS = {"fogd": r"$\rho_f$ = D / B", "nogd": r"$\rho_n$ = rank / B"}

Sizes = Mapping[float, Comparison]
"""The runs for each share of the budget."""
Shown = Mapping[str, Mapping[str, Sizes]]


def _plan(dataset: str) -> Plan:
    return Plan("lu2016", 7, dataset, (), 2, budget=B, rows=5000, points=1)


def _learners() -> dict[str, Mapping[float, Learner]]:
    """The learners by their share of the budget."""
    steps = table("lu2016", 7).settings
    features = {
        float(rho): fogd(K, components=rho * B, eta=rho * B * steps["fogd"]["eta"]) for rho in FEATURES
    }
    ranks = {rho: nogd(K, budget=B, rank=round(rho * B), eta=steps["nogd"]["eta"]) for rho in RANKS}
    return {"fogd": features, "nogd": ranks}


def _recipe(dataset: str) -> object:
    return recipe(_plan(dataset)), _learners()


def _runs(dataset: str, n_jobs: int) -> dict[str, Sizes]:
    plan = _plan(dataset)
    rows = stream(plan)

    def runs(name: str, learners: Mapping[float, Learner]) -> Sizes:
        named = {str(share): learner for share, learner in learners.items()}
        comparison = run(named, rows, plan, n_jobs)
        return {share: _only(comparison, str(share), name) for share in learners}

    return {name: runs(name, learners) for name, learners in _learners().items()}


def _only(comparison: Comparison, name: str, called: str) -> Comparison:
    """The comparison with only one of its learners, under another name."""
    learners, records = {called: comparison.learners[name]}, {called: comparison.records[name]}
    return replace(comparison, learners=learners, records=records)


def _picture(shown: Shown) -> Any:
    figure, axes = grid(2, 2, height=2.9)
    names = list(shown)
    for column, name in zip(axes.T, ("fogd", "nogd"), strict=True):
        for ax, of, what in zip(column, (last, seconds), ("mistakes, % of rows", "time"), strict=True):
            panel(ax, [over_sizes(shown[each][name], name, of, each) for each in names], names, marked=True)
            ax.xaxis.set_major_formatter("{x:g}")
            ax.set_ylabel(what)
        column[0].set_yscale("log")
        column[0].set_yticks(TICKS, [str(tick) for tick in TICKS])
        column[0].minorticks_off()
        logarithmic(column[1])
        column[0].set_title(name, loc="left", fontsize="medium")
        column[1].set_xlabel(LABELS[name])
    legend(figure, axes[0, 0], names)
    return figure


def _ends(of: Numbers, sign: int) -> Callable[[Shown], tuple[bool, str]]:
    """Whether the largest share gives less (with ``sign=-1``, more) than the smallest on all data sets."""

    def check(shown: Shown) -> tuple[bool, str]:
        holds, said = True, []
        for dataset, both in shown.items():
            for name in ("fogd", "nogd"):
                values = [of(each)[name] for each in both[name].values()]
                holds &= sign * values[-1] < sign * values[0]
                said.append(f"{dataset}, {name} {values[0]:.3g} to {values[-1]:.3g}")
        return holds, f"in {UNITS[of]}: {'; '.join(said)}"

    return check


def _levels_off(name: str, at: float) -> Callable[[Shown], tuple[bool, str]]:
    def check(shown: Shown) -> tuple[bool, str]:
        holds, said = True, []
        for dataset, both in shown.items():
            errors = {share: last(each)[name] for share, each in both[name].items()}
            first, *_, end = errors.values()
            before, after = first - errors[at], errors[at] - end
            holds &= after < max(before / 2, 1)
            said.append(f"{dataset} {before:.2f} points up to there, {after:.2f} beyond")
        return holds, "; ".join(said) + " (less than half, or than a point, required)"

    return check


def _linear_time(shown: Shown) -> tuple[bool, str]:
    said, ratios = [], []
    for dataset, both in shown.items():
        for name, half, whole in (("fogd", 5, 10), ("nogd", 0.4, 0.8)):
            ratios.append(seconds(both[name][whole])[name] / seconds(both[name][half])[name])
            said.append(f"{dataset}, {name} {ratios[-1]:.2f}")
    near = all(1.6 <= ratio <= 2.4 for ratio in ratios)
    return near, f"times longer at twice the share: {'; '.join(said)} (1.6 to 2.4 required)"


FIGURE = Figure(
    "lu2016",
    3,
    "Mistakes and seconds of one pass at B = 200, over the number of Fourier features D = ρ_f B and the "
    "rank ρ_n B.",
    (
        "2 random orders of at most 5,000 rows.",
        "The data sets of the figure are lost.",
        "The step of FOGD is that of Table 7, which is for features that are not divided by √D. For "
        "features that are, it grows with D.",
    ),
    ("dna", "mnist", "letter", "shuttle"),
    _recipe,
    _runs,
    _picture,
    (
        Claim("A larger share gives fewer mistakes.", _ends(last, 1)),
        Claim("A larger share takes more time.", _ends(seconds, -1)),
        Claim("Beyond ρ_f = 5 FOGD gains little.", _levels_off("fogd", 5)),
        Claim("Beyond ρ_n = 0.1 NOGD gains little.", _levels_off("nogd", 0.1)),
        Claim("The time goes on growing linearly.", _linear_time),
    ),
)
