"""Figure 2 of Le et al. 2016: the size of models along a pass, and against beta."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from time import thread_time
from typing import Any

import numpy as np

from budgetron import plots
from budgetron.estimators import OnlineClassifier
from budgetron.learners.algorithms import nbsgd
from budgetron.learners.learner import Learner
from budgetron.plots import style
from budgetron_reproduction.claims import Claim
from budgetron_reproduction.figures.figure import Figure
from budgetron_reproduction.figures.le2016_settings import (
    LAM,
    NAMES,
    ORDERS,
    POINTS,
    SETTINGS,
    Floats,
    K,
    learners,
    line,
    over_orders,
    recipe,
    rows_of,
    said_of,
)
from budgetron_reproduction.figures.panels import grid
from budgetron_reproduction.preparation import Rows

ROWS = 12_000
BETAS = (1e-9, 0.1, 0.2, 0.3, 0.4, 0.5, 4 / 7, 0.6, 5 / 7, 0.8, 0.9, 1.0)
"""Values of beta, divided by the number of rows."""


@dataclass(frozen=True)
class Sizes:
    """Size and seconds along a pass, by learner; size and accuracy at the end of a pass, by beta / rows."""

    along: Mapping[str, Floats]
    by_beta: Floats


def _recipe(dataset: str) -> object:
    return recipe(dataset, ROWS), [_of_beta(share, ROWS) for share in BETAS]


def _sizes(dataset: str, n_jobs: int) -> Sizes:
    def sizes(order: int) -> Sizes:
        training, testing = rows_of(dataset, order, ROWS)
        passes = {
            name: _pass(learner, training, order) for name, learner in learners(len(training[1])).items()
        }
        return Sizes(passes, np.array([_end(share, training, testing, order) for share in BETAS]))

    orders = over_orders(sizes, n_jobs)
    along = {name: np.mean([each.along[name] for each in orders], axis=0) for name in NAMES}
    return Sizes(along, np.mean([each.by_beta for each in orders], axis=0))


def _pass(learner: Any, training: Rows, seed: int) -> Floats:
    (X, y), spent, walked = training, 0.0, []
    model = OnlineClassifier(learner, random_state=seed)
    ends = np.linspace(0, len(y), POINTS + 1).astype(int)
    for start, end in pairwise(ends):
        began = thread_time()
        model.partial_fit(X[start:end], y[start:end], classes=np.unique(y))
        spent += thread_time() - began
        walked.append([end, model.n_support_, spent])
    return np.array(walked)


def _of_beta(share: float, n: int) -> Learner:
    return nbsgd(K, budget=n // 10, beta=max(1.0, share * n), lam=LAM)


def _end(share: float, training: Rows, testing: Rows, seed: int) -> list[float]:
    learner = _of_beta(share, len(training[1]))
    model = OnlineClassifier(learner, random_state=seed).fit(*training)
    X, y = testing
    return [share, model.n_support_, 100 * float(np.mean(model.predict(X) == y))]


def _sizes_picture(shown: Mapping[str, Sizes]) -> Any:
    [sizes] = shown.values()
    figure, axes = grid(2, 2, height=2.7)
    for ax, column, label in zip(axes[:, 0], (1, 2), ("support vectors", "seconds"), strict=True):
        lines = [line(name, each[:, 0], each[:, column]) for name, each in sizes.along.items()]
        plots.curves(lines, ax, from_zero=True)
        ax.set(xlabel="rows", ylabel=label)
    for ax, column, label in zip(axes[:, 1], (1, 2), ("support vectors", "accuracy, %"), strict=True):
        plots.curves(
            [line("nbsgd", sizes.by_beta[:, 0], sizes.by_beta[:, column])], ax, marked=True, named=False
        )
        ax.get_lines()[-1].set_color(style.COLOURS[2])
        ax.set(xlabel="β / rows", ylabel=label)
        ax.xaxis.set_major_formatter("{x:g}")
    axes[0, 1].set_ylim(bottom=0)
    for ax in axes[0]:
        ax.yaxis.set_major_formatter("{x:,.0f}")
    return figure


def _falls(column: int, what: str, digits: str) -> Any:
    """Whether the values fall with beta: from end to end, and with a rank correlation of at most -0.8."""

    def check(shown: Mapping[str, Sizes]) -> tuple[bool, str]:
        [sizes] = shown.values()
        values = sizes.by_beta[:, column]
        ranks = np.argsort(np.argsort(values))
        rho = float(np.corrcoef(np.arange(len(ranks)), ranks)[0, 1])
        said = f"{what} from {values[0]:{digits}} at β = 1 to {values[-1]:{digits}} at β = rows"
        return values[-1] < values[0] and rho <= -0.8, f"{said}, rank correlation {rho:.2f}"

    return check


def _middle(shown: Mapping[str, Sizes]) -> tuple[bool, str]:
    [sizes] = shown.values()
    share, size, accuracy = sizes.by_beta.T
    inside = (share >= 4 / 7 - 1e-9) & (share <= 5 / 7 + 1e-9)
    lost = float(accuracy.max() - accuracy[inside].min())
    part = float(size[inside].max() / size.max())
    said = (
        f"at most {lost:.2f} points below the best accuracy, at most {100 * part:.0f} % of the largest size"
    )
    return lost <= 1.5 and part <= 0.5, said + " (1.5 points and half required)"


def _slower_growth(shown: Mapping[str, Sizes]) -> tuple[bool, str]:
    [sizes] = shown.values()
    ends = {name: each[-1] for name, each in sizes.along.items()}
    holds = all(ends["nbsgd"][i] < ends["sgd"][i] / 2 for i in (1, 2))
    return holds, (
        f"support vectors {said_of({name: end[1] for name, end in ends.items()}, ',.0f')}; "
        f"seconds {said_of({name: end[2] for name, end in ends.items()})}"
    )


FIGURE = Figure(
    "le2016",
    2,
    "Left: support vectors and seconds as rows pass. Right: support vectors and accuracy against β. "
    f"{SETTINGS}",
    (
        "The paper has 70,000 rows of SenseIT Vehicle; their file is missing.",
        f"{ORDERS} random orders of {ROWS:,} training rows of a9a; accuracy on its test part.",
    ),
    ("a9a",),
    _recipe,
    _sizes,
    _sizes_picture,
    (
        Claim("A larger β gives a smaller model.", _falls(1, "support vectors", ",.0f")),
        Claim("A larger β gives a lower accuracy.", _falls(2, "accuracy in %", ".2f")),
        Claim("β between 4/7 and 5/7 of the rows is small and still accurate.", _middle),
        Claim(
            "SGD grows with the rows in size and time, NBSGD stays well below it (less than half).",
            _slower_growth,
        ),
    ),
)
