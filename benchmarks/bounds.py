"""The bounds of the papers beside what happened: the table of docs/papers/bounds.md, and its picture.

Run ``python -m benchmarks.bounds``: a few minutes. Every right side is the smallest over competitors of
several norms, each the best one of its ball.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize

from budgetron import (
    Gaussian,
    Hinge,
    Nystrom,
    RandomFourier,
    Squared,
    bduol,
    bogd,
    bogd_pp,
    bsgd,
    datasets,
    duol,
    fogd,
    ogd,
    projectron,
    sgd,
)
from budgetron.evaluate.ball import best_in_ball
from budgetron.learners.learner import Learner
from budgetron.model.model import Model
from budgetron.parts.tasks import Labels
from budgetron.plots import style

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "papers" / "bounds.md"
PICTURE = ROOT / "docs" / "pictures" / "bounds.png"
BEGIN, END = "<!-- bounds -->", "<!-- end of bounds -->"
RADII = (0.3, 1.0, 2.0, 4.0, 8.0)
DRAWS = 5
ROWS = 300

Row = tuple[str, str, float, float]
"""Theorem, what is on the left, left, right."""


@dataclass(frozen=True)
class Competitor:
    """The best function of a ball: norm, sum of absolute coefficients, and the loss of every row."""

    norm: float
    one_norm: float
    losses: np.ndarray


@dataclass(frozen=True)
class Rows:
    """Rows, labels of -1 and +1, and a kernel with k(x,x) = 1."""

    name: str
    X: np.ndarray
    y: np.ndarray
    kernel: Gaussian

    @property
    def T(self) -> int:
        return len(self.y)

    @cached_property
    def K(self) -> np.ndarray:
        return self.kernel(self.X)

    @cached_property
    def Z(self) -> np.ndarray:
        """Z Z' = K."""
        D, V = np.linalg.eigh(self.K)
        keep = 1e-10 * D[-1] < D
        return V[:, keep] * np.sqrt(D[keep])

    @cached_property
    def competitors(self) -> list[Competitor]:
        return [Competitor(0.0, 0.0, np.ones(self.T)), *map(self._best, RADII)]

    def _best(self, radius: float) -> Competitor:
        best = best_in_ball(self.Z, self.y, Hinge(), radius, 1e-2)
        alpha = np.linalg.lstsq(self.Z.T, best.w, rcond=1e-10)[0]
        return Competitor(float(np.linalg.norm(best.w)), float(np.abs(alpha).sum()), best.losses)

    def scores(self, learner: Learner, seed: int = 0) -> np.ndarray:
        """F before every row."""
        return self.model(learner, seed).learn(self.X, self.y)[:, 0]

    def model(self, learner: Learner, seed: int = 0) -> Model:
        return Model(learner, Labels(2), self.X.shape[1], np.float64, seed)

    def losses(self, learner: Learner, seed: int = 0) -> np.ndarray:
        return np.maximum(0, 1 - self.y * self.scores(learner, seed))

    def mistakes(self, learner: Learner) -> np.ndarray:
        return (self.scores(learner) >= 0) != (self.y > 0)


def streams() -> list[Rows]:
    """The first rows of the two Gaussians of the Projectron's paper, and of german."""
    (X, y), (german, labels) = datasets.load("synthetic"), datasets.load("german")
    return [
        Rows("synthetic", _dense(X[:ROWS]), _signs(y[:ROWS]), Gaussian(1.0)),
        Rows("german", _dense(german[:ROWS]), _signs(labels[:ROWS]), Gaussian.of_width(8)),
    ]


def _dense(X: Any) -> np.ndarray:
    return np.asarray(X.toarray() if hasattr(X, "toarray") else X, float)


def _signs(y: Any) -> np.ndarray:
    return np.where(np.asarray(y) == np.max(y), 1.0, -1.0)


def zhao2012(rows: Rows) -> list[Row]:
    T, eta, budget = rows.T, rows.T**-0.5, 100
    lam = 1 / (eta * T)
    descent = min((1 / eta) * g.norm**2 + g.losses.sum() for g in rows.competitors) + eta * T
    loss = rows.losses(ogd(rows.kernel, eta=eta, lam=lam)).sum()
    flat, strong = (
        {"budget": budget, "eta": eta, "lam": lam},
        {"budget": budget, "eta": eta, "lam": 1 / (budget * eta)},
    )
    sampled, price = _sampled(rows, bogd(rows.kernel, **flat, cap=1e9), uniform)
    weighted, lower = _sampled(rows, bogd_pp(rows.kernel, **flat | {"lam": 0.0}, cap=1e9), by_weight)
    regular, worst = 1 / eta + lam * T, ((budget / (budget - 1)) ** 2 + 1) * eta * T
    large = 1 / eta + strong["lam"] * T
    without = _sampled(rows, bogd(rows.kernel, **strong, cap=1.0), by_weight)[0]
    clipped = _sampled(rows, bogd(rows.kernel, **flat, cap=1.0), by_weight)[0]
    factor = (1 - lam * eta) ** 2 / eta
    any_g = [(g.norm**2 / 2, g.losses.sum()) for g in rows.competitors]
    return [
        ("Zhao et al. 2012, Theorem 1: `ogd`", "loss", loss, descent),
        (
            "Theorem 2: `bogd`, B = 100, no cap",
            "mean loss",
            sampled,
            min(regular * n + s for n, s in any_g) + eta * T + factor * price,
        ),
        ("Theorem 3: `bogd`, λη = 1/B, cap 1", "mean loss", without, _within(rows, eta, large) + worst),
        (
            "The same with λη = 1/T, where the cap acts",
            "mean loss",
            clipped,
            _within(rows, eta, regular) + worst,
        ),
        (
            "Theorem 4: `bogd_pp`, B = 100, λ = 0, no cap",
            "mean loss",
            weighted,
            min(n / eta + s for n, s in any_g) + eta * T + lower / eta,
        ),
    ]


def uniform(a: np.ndarray) -> np.ndarray:
    return np.full(len(a), 1 / len(a))


def by_weight(a: np.ndarray) -> np.ndarray:
    """Eq. 16 where k(x,x) = 1, as the library has it."""
    p = np.maximum(0, 1 - (len(a) - 1) * a / a.sum())
    return p / p.sum()


def _sampled(rows: Rows, learner: Learner, p_of: Callable[[np.ndarray], np.ndarray]) -> tuple[float, float]:
    """Means over draws: the loss, and the sum of p a^2 / (1 - p)^2 over the rounds that remove."""
    totals = np.zeros(2)
    for seed in range(DRAWS):
        model = rows.model(learner, seed)
        for t in range(rows.T):
            a = np.abs(model.dual_coef()[0])
            f = model.learn(rows.X[t : t + 1], rows.y[t : t + 1])[0, 0]
            loss = max(0.0, 1 - rows.y[t] * f)
            full = loss > 0 and len(a) == learner.budget.budget
            p = p_of(a) if full else np.zeros(1)
            totals += loss, float((p * a**2 / (1 - p) ** 2).sum()) if full else 0.0
    return float(totals[0]) / DRAWS, float(totals[1]) / DRAWS


def _within(rows: Rows, eta: float, regular: float) -> float:
    """The least regular |f|^2 / 2 + losses of f over some f with all coefficients between 0 and eta."""
    found = []
    for share in (0.0, 0.02, 0.05, 0.1, 0.3, 1.0):
        alpha = share * eta * rows.y
        f = rows.K @ alpha
        found.append(regular / 2 * (alpha @ f) + np.maximum(0, 1 - rows.y * f).sum())
    return float(min(found))


def orabona2008(rows: Rows) -> list[Row]:
    eta, U = 0.1, 4.0
    fixed = rows.mistakes(projectron(rows.kernel, eta=eta)).sum()
    return [
        (
            "Orabona et al. 2008, Theorem 2: `projectron`, η = 0.1",
            "mistakes",
            fixed,
            theorem_2(rows, eta)[-1],
        ),
        ("Theorem 3: the same", "mistakes", fixed, theorem_3(rows, eta)),
        (
            "Corollary 1: `projectron`, U = 4",
            "mistakes",
            rows.mistakes(projectron(rows.kernel, U=U)).sum(),
            min(2 * g.norm**2 + 4 * g.losses.sum() for g in rows.competitors if g.norm <= U),
        ),
    ]


def theorem_2(rows: Rows, eta: float) -> np.ndarray:
    """After every row, for the competitor that is best at the end."""
    allowed = [g for g in rows.competitors if 2 * eta * g.norm < 1]
    bounds = [(g.norm**2 + 2 * g.losses.cumsum()) / (1 - 2 * eta * g.norm) for g in allowed]
    return min(bounds, key=lambda bound: bound[-1])


def theorem_3(rows: Rows, eta: float) -> float:
    def bound(g: Competitor) -> float:
        left = 1 - eta * g.norm
        return ((g.norm + np.sqrt(g.norm**2 + 4 * left * g.losses.sum())) / (2 * left)) ** 2

    return float(min(bound(g) for g in rows.competitors if eta * g.norm < 1))


def lu2016(rows: Rows) -> list[Row]:
    T, eta, components, lam = rows.T, 2 * rows.T**-0.5, 2000, 0.01
    Z = RandomFourier(rows.kernel, components=components, random_state=0).fit(rows.X).transform(rows.X)
    eps = float(np.abs(Z @ Z.T - rows.K).max())
    fourier = min(
        (1 + eps) * g.one_norm**2 / (2 * eta) + eta * T / 2 + eps * T * g.one_norm + g.losses.sum()
        for g in rows.competitors
    )
    near = Nystrom(rows.kernel, landmarks=100, random_state=0).fit(rows.X).transform(rows.X)
    gap = float(np.linalg.norm(rows.K - near @ near.T, 2))
    return [
        (
            "Lu et al. 2016, Theorem 1: `fogd`, D = 2000",
            "loss",
            rows.losses(fogd(rows.kernel, components=components, eta=eta)).sum(),
            fourier,
        ),
        (
            "Lemma 1: Nyström, 100 landmarks, λ = 0.01",
            "P(f_N) - P(f*)",
            svm(near, rows.y, lam) - svm(rows.Z, rows.y, lam),
            gap / (2 * lam * T),
        ),
    ]


def svm(Z: np.ndarray, y: np.ndarray, lam: float) -> float:
    """The least lam |w|^2 / 2 + mean hinge loss, which is the largest value of the dual."""
    S, n = Z * y[:, None], len(y)

    def dual(a: np.ndarray) -> tuple[float, np.ndarray]:
        w = S.T @ a / lam
        return lam / 2 * float(w @ w) - float(a.sum()), S @ w - 1

    options = {"maxiter": 20_000, "maxfun": 40_000, "ftol": 1e-14, "gtol": 1e-9}
    bounds = [(0, 1 / n)] * n
    return -float(
        minimize(dual, np.zeros(n), jac=True, method="L-BFGS-B", bounds=bounds, options=options).fun
    )


def le2016(rows: Rows) -> list[Row]:
    lam, budget = 1.5, 100
    model = rows.model(sgd(rows.kernel, lam=lam, loss=Squared()))
    model.learn(rows.X, rows.y)
    a, S = model.dual_coef()[0], model.support_vectors()
    norm = float(np.sqrt(a @ rows.kernel(S) @ a))
    left, right = _gap(rows, budget, 0.01)
    return [
        (
            "Le et al. 2016, Theorem 2: `sgd`, squared loss, λ = 1.5",
            "norm of f",
            norm,
            (1 - 1 / (lam * rows.T)) / (lam - 1),
        ),
        ("Theorem 3: `bsgd`, B = 100, λ = 0.01; Q and W measured", "mean gap", left, right),
    ]


def _gap(rows: Rows, budget: int, lam: float) -> tuple[float, float]:
    """The mean of f_t(w_t) - f_t(g), and the right side summed over the rounds."""
    model, places = (
        rows.model(bsgd(rows.kernel, budget=budget, lam=lam)),
        {x.tobytes(): i for i, x in enumerate(rows.X)},
    )
    g = best_in_ball(rows.Z, rows.y, Hinge(), 5.0, 1e-3).w
    w, total, Q, W, removed = np.zeros_like(g), 0.0, 0.0, float(g @ g), 0.0
    for t, (z, y) in enumerate(zip(rows.Z, rows.y, strict=True)):
        loss, other = max(0.0, 1 - y * (w @ z)), max(0.0, 1 - y * (g @ z))
        total += lam / 2 * (w @ w - g @ g) + loss - other
        full = model.size == budget and loss > 0
        taken = min(float(np.abs(model.dual_coef()[0]).min()) * t * lam, 1.0) if full else 0.0
        Q = max(Q, (float(np.linalg.norm(lam * w - y * (loss > 0) * z)) + taken) ** 2)
        removed += taken
        model.learn(rows.X[t : t + 1], rows.y[t : t + 1])
        w = model.dual_coef()[0] @ rows.Z[[places[s.tobytes()] for s in model.support_vectors()]]
        W = max(W, float(((w - g) ** 2).sum()))
    T = rows.T
    return total / T, Q * (np.log(T) + 1) / (2 * lam * T) + np.sqrt(W) * removed / T


def zhao2012b(rows: Rows) -> list[Row]:
    C = 1.0
    least = min(g.norm**2 / 2 + C * g.losses.sum() for g in rows.competitors)
    found = []
    for name, learner in (
        ("`duol`", duol(rows.kernel, C=C)),
        ("`bduol`, B = 100", bduol(rows.kernel, budget=100, C=C)),
    ):
        model = rows.model(learner)
        mistakes = ((model.learn(rows.X, rows.y)[:, 0] >= 0) != (rows.y > 0)).sum()
        right = 2 * least - 2 * float(model.state()["dual.ascents"][0])
        found.append(
            (
                f"{'Zhao & Hoi 2012, Lemma 2' if name == '`duol`' else 'Theorem 2'}: {name}, C = 1",
                "mistakes",
                mistakes,
                right,
            )
        )
    return found


PAPERS = (zhao2012, orabona2008, lu2016, le2016, zhao2012b)


def table(all_rows: list[Rows]) -> str:
    """The table in Markdown."""
    lines = [
        "| theorem and learner | left side | stream | left | right | right / left |",
        "|---|---|---|---:|---:|---:|",
    ]
    for paper in PAPERS:
        sides = [paper(rows) for rows in all_rows]
        for each in zip(*sides, strict=True):
            for rows, (theorem, what, left, right) in zip(all_rows, each, strict=True):
                numbers = (_number(left), _number(right), f"{right / left:.1f}")
                lines.append("| " + " | ".join((theorem, what, rows.name, *numbers)) + " |")
    return "\n".join(lines)


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def picture(rows: Rows) -> Any:
    """Left: regret of OGD and its bound. Right: mistakes of the Projectron and their bound."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.6, 3.6), layout="constrained")
    t, eta = np.arange(1, rows.T + 1), rows.T**-0.5
    lam = 1 / (eta * rows.T)
    g = min(rows.competitors, key=lambda g: g.norm**2 / eta + g.losses.sum())
    regret = (rows.losses(ogd(rows.kernel, eta=eta, lam=lam)) - g.losses).cumsum()
    left.plot(
        t,
        (lam * t + 1 / eta) / 2 * g.norm**2 + eta * t,
        "--",
        color=style.COLOURS[1],
        label="bound, Theorem 1",
    )
    left.plot(t, regret, color=style.COLOURS[0], label="regret")
    left.set_title(f"ogd, against the best f of norm {g.norm:.1f}", loc="left", fontsize=11)
    right.plot(t, theorem_2(rows, 0.1), "--", color=style.COLOURS[1], label="bound, Theorem 2")
    right.plot(
        t,
        rows.mistakes(projectron(rows.kernel, eta=0.1)).cumsum(),
        color=style.COLOURS[0],
        label="mistakes",
    )
    right.set_title("projectron, η = 0.1", loc="left", fontsize=11)
    for ax in (left, right):
        style.axes(ax)
        ax.set_xlabel("rows")
        ax.set_ylim(bottom=0)
        ax.legend(frameon=False)
    return figure


def main() -> None:
    """Write the table into the page, and draw the picture."""
    all_rows = streams()
    text = PAGE.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}\n\n{table(all_rows)}\n\n{END}{rest.split(END)[1]}", encoding="utf-8")
    figure = picture(all_rows[0])
    figure.savefig(PICTURE, dpi=110, metadata={"Software": None})
    plt.close(figure)


if __name__ == "__main__":
    main()
