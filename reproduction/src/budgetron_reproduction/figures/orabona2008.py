"""Figures 1 to 3 of Orabona, Keshet & Caputo 2008: the runs of Table 1 with B = 1500, along a pass."""

from __future__ import annotations

from typing import Any

import numpy as np

from budgetron import plots
from budgetron.evaluate import Comparison
from budgetron.plots import Line
from budgetron_reproduction.claims import Claim
from budgetron_reproduction.figures.figure import Figure
from budgetron_reproduction.figures.panels import grid, legend
from budgetron_reproduction.figures.runs import Plan, compared, last, recipe

B = 1500
BOUNDED = ("forgetron", "rbp")
PROJECTRONS = ("projectron", "projectron++")
ALGORITHMS = ("perceptron", "pa-1", *PROJECTRONS, *BOUNDED, "stoptron")
EARLY = 1000
"""Errors before this many rows are noise, and not compared."""
SHOWN = (17, 27)
"""The range of percentages that is drawn; the Stoptron's deviation exceeds it."""

Shown = dict[str, Comparison]


def _plan(dataset: str) -> Plan:
    return Plan("orabona2008", 1, dataset, ALGORITHMS, permutations=3, budget=B, points=60)


def _recipe(dataset: str) -> object:
    return recipe(_plan(dataset))


def _runs(dataset: str, n_jobs: int) -> Comparison:
    return compared(_plan(dataset), n_jobs)


def _one(shown: Shown) -> Comparison:
    [comparison] = shown.values()
    return comparison


def _lines(shown: Shown, what: str, scale: float = 1.0) -> dict[str, Line]:
    return {line.name: line for line in plots.over_rows(_one(shown), what, scale)}


def _error(shown: Shown) -> Any:
    figure, [[ax]] = grid(1, 1, height=4.6)
    ax.set_ylim(*SHOWN)
    plots.error_against_rows(_one(shown), ax)
    return figure


def _size(shown: Shown) -> Any:
    figure, [[ax]] = grid(1, 1, height=4.6)
    plots.support_vectors_against_rows(_one(shown), ax)
    return figure


def _error_of_size(shown: Shown) -> Any:
    figure, [[ax]] = grid(1, 1, height=4.6)
    errors, sizes = _lines(shown, "rate", 100), _lines(shown, "support_vectors")
    lines = [Line(name, sizes[name].mean, errors[name].mean, np.zeros(0)) for name in errors]
    ax.set_xscale("log")
    ax.set_ylim(*SHOWN)
    plots.curves(lines, ax, named=False)
    ax.set(xlabel="support vectors", ylabel="mistakes, % of rows")
    ax.set_xticks([100, 200, 500, 1000, 2000, 5000, 10000], minor=False)
    ax.minorticks_off()
    legend(figure, ax, ALGORITHMS)
    return figure


def _tracks(shown: Shown) -> tuple[bool, str]:
    errors = _lines(shown, "rate", 100)
    late = errors["perceptron"].x >= EARLY
    apart = np.abs(errors["projectron"].mean - errors["perceptron"].mean)[late].max()
    return apart <= 0.5, f"after {EARLY:,} rows they are at most {apart:.2f} points apart (0.5 required)"


def _full(line: Line) -> int:
    """The index of the first record with a full budget."""
    return int(np.argmax(line.mean >= B)) if (line.mean >= B).any() else len(line.mean) - 1


def _fills(shown: Shown) -> tuple[bool, str]:
    sizes = _lines(shown, "support_vectors")
    at = {name: int(sizes[name].x[_full(sizes[name])]) for name in BOUNDED}
    said = ", ".join(f"{name} at {rows:,}" for name, rows in at.items())
    return all(6000 <= rows <= 9000 for rows in at.values()), f"{said} rows (6,000 to 9,000 required)"


def _stops_improving(shown: Shown) -> tuple[bool, str]:
    errors, sizes = _lines(shown, "rate", 100), _lines(shown, "support_vectors")
    said, holds = [], True
    for name in BOUNDED:
        start = _full(sizes[name])
        fell, other = (
            float(errors[each].mean[start] - errors[each].mean[-1]) for each in (name, "perceptron")
        )
        holds &= fell < other / 2
        said.append(f"{name} gains {fell:.2f} points from there on, the Perceptron {other:.2f}")
    return holds, "; ".join(said) + " (less than half required)"


def _near_pa(shown: Shown) -> tuple[bool, str]:
    end = last(_one(shown))
    pp, p, pa = end["projectron++"], end["perceptron"], end["pa-1"]
    return pa < pp < p, f"PA-I {pa:.2f} %, Projectron++ {pp:.2f} %, Perceptron {p:.2f} %"


def _growth(line: Line) -> float:
    """Growth over the second half of the rows, divided by growth over the first half."""
    half = float(np.interp(line.x[-1] / 2, line.x, line.mean))
    return float((line.mean[-1] - half) / half)


def _linear(shown: Shown) -> tuple[bool, str]:
    sizes = _lines(shown, "support_vectors")
    shares = {name: _growth(sizes[name]) for name in ("perceptron", "pa-1")}
    return min(shares.values()) >= 0.8, _shares(shares) + " (at least 0.8 required)"


def _sublinear(shown: Shown) -> tuple[bool, str]:
    sizes = _lines(shown, "support_vectors")
    shares = {name: _growth(sizes[name]) for name in PROJECTRONS}
    return max(shares.values()) < 0.8, _shares(shares) + " (less than 0.8 required)"


def _shares(shares: dict[str, float]) -> str:
    said = ", ".join(f"{name} {share:.2f}" for name, share in shares.items())
    return f"growth over the second half of the rows as a share of that over the first: {said}"


def _slower_and_slower(shown: Shown) -> tuple[bool, str]:
    sizes, holds, said = _lines(shown, "support_vectors"), True, []
    for name in PROJECTRONS:
        line = sizes[name]
        marks = np.interp(line.x[-1] * np.linspace(0, 1, 5), np.append(0, line.x), np.append(0, line.mean))
        grown = np.diff(marks)
        holds &= bool((np.diff(grown) < 0).all())
        said.append(f"{name} {', '.join(f'{each:.0f}' for each in grown)}")
    return holds, "new support vectors by quarters of the rows: " + "; ".join(said)


def _smaller_and_better(shown: Shown) -> tuple[bool, str]:
    errors, sizes = _lines(shown, "rate", 100), _lines(shown, "support_vectors")
    holds, said = True, []
    for name in PROJECTRONS:
        size, error = float(sizes[name].mean[-1]), float(errors[name].mean[-1])
        other = float(np.interp(size, sizes["perceptron"].mean, errors["perceptron"].mean))
        holds &= error < other
        said.append(f"at {size:,.0f} support vectors {name} {error:.2f} %, the Perceptron {other:.2f} %")
    return holds, "; ".join(said)


FEWER = "3 random orders of the rows; the paper does not say how many the figure has."


def _figure(number: int, caption: str, picture: Any, *claims: Claim) -> Figure:
    return Figure("orabona2008", number, caption, (FEWER,), ("adult9",), _recipe, _runs, picture, claims)


FIGURES = (
    _figure(
        1,
        "Mistakes so far against rows on the training part of a9a, B = 1500, Gaussian of variance 25.",
        _error,
        Claim("The Projectron closely tracks the Perceptron.", _tracks),
        Claim("Forgetron and RBP have used up their budget after about 7,500 rows.", _fills),
        Claim("From there on Forgetron and RBP stop improving.", _stops_improving),
        Claim("Projectron++ is better than the Perceptron and comes closer to PA-I.", _near_pa),
    ),
    _figure(
        2,
        "Support vectors against rows, for the runs of Figure 1.",
        _size,
        Claim("For PA-I and the Perceptron the growth is linear.", _linear),
        Claim("For Projectron and Projectron++ it is less than linear.", _sublinear),
        Claim(
            "Projectron and Projectron++ will stop growing: they grow ever more slowly.", _slower_and_slower
        ),
    ),
    _figure(
        3,
        "Mistakes so far against support vectors so far, for the runs of Figure 1.",
        _error_of_size,
        Claim(
            "Projectron and Projectron++ make fewer mistakes than the Perceptron of the same size.",
            _smaller_and_better,
        ),
    ),
)
