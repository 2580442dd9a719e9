"""Where our runs of Lu et al. 2016, Tables 5, 7 and 9, differ from print: readings that explain it.

Each study prints ours | another reading | print, as mean and deviation over five orders. Readings marked
"program" are those of the programs that the authors published (github.com/jingcoco/Online-Kernel-Learning),
written anew. The others are settings that the paper leaves open, chosen because they come close to print.
The number of settings tried is given, since the nearest of many is near by choice. The settings were
searched on orders 0-9, so these studies run on orders 10-14; still, the choice saw the printed numbers.

bogd        program: the whole vector is scaled until max |alpha| <= cap eta; the definition clips each one.
            The tables run it: ``bogd(reading="program")``.
forgetron   program: the larger root of psi(phi) = slack; with classes, mu is the score of the oldest one's
            own class. The tables run it: ``forgetron(reading="program")``.
projectron  program: an explicit inverse, divided by |delta|^2 even if that is rounding (duplicate rows).
            Of 20 orders of w8a one fails (97 %, NaN); the others give 5.37 +- 1.18, with ++ 4.53 +- 1.41.
covtype     preparation, the nearest of nine tried: columns to [0, 1].
fogd        Table 7: steps of FOGD, the nearest of 7 to 10 tried for each data set; none fits all.
regression  Table 9: one step for each data set, shared by OGD, NOGD and BOGD as in the program (14 tried);
            NORMA eta 0.02 (nearest of 150 triples; nu and lam as in the program); FOGD 0.0006 D (program).
orders      the deviation of the Perceptron over 20 orders; the printed ones are too small for that.

Tried without success (mistakes in percent):
* Projectron++ on shuttle, ours 13.4, print 16.8 +- 0.5. Explicit inverse 13.4; U = 0, 10, 100, 1e9: 13.4,
  13.4, 13.8, 14.3; |delta|^2 for |delta| 13.4; 2 P for P 13.6; tau = 1 13.7; margin 2 12.0; B = 50, 200:
  13.4, 13.4; margin errors appended 13.3; columns to [0, 1] 20.8. Not explained.
* Perceptron and OGD on a9a, ours 21.09 and 16.55, print 20.9 +- 0.1 and 16.3 +- 0.1. Training part alone
  21.39, 16.93; test part alone 21.53, 17.51; OGD with eta 0.05, 0.1, 0.3, 0.5, 1: 18.2, 16.9, 16.6, 16.8,
  17.6. Of six other widths, 7 gives 20.95 and 16.33; the paper says 8, so that is only a fit.
* BOGD without rescaling: w8a 2.99, a9a 24.5, ijcnn1 9.6, cod-rna 14.6, all further from print.
* BPA-S needs no reading: over five orders ours agrees (C = 0.2, 0.5, 2, 10 fit worse on ijcnn1).
* FOGD on abalone, ours 0.0114, print 0.01169 +- 0.00005: 0.0006 D does not explain it.

Run ``python studies/readings.py [NAME]`` with BUDGETRON_DATA set to the folder of the data.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np
from sklearn.preprocessing import MaxAbsScaler, minmax_scale

import budgetron as b
from budgetron import datasets
from budgetron_reproduction import settings
from budgetron_reproduction.cases import Case
from budgetron_reproduction.printed import table as printed_table
from budgetron_reproduction.reproduction import maker

KERNEL = b.Gaussian.of_width(8)
GAMMA = 1 / 128
FIRST, FRESH = range(5), range(10, 15)


def load(name: str) -> tuple[np.ndarray, np.ndarray]:
    """The rows of a data set as the table has them: dense and prepared."""
    X, y = datasets.load(name)
    X = X.toarray()
    if name == "mnist":
        X = X / 255
    elif name == "covtype":
        X = minmax_scale(X)
    elif name == "shuttle":
        X = 2 * minmax_scale(X) - 1
    return X, y


def cells(text: str) -> list[list[str]]:
    """Split a list of cells into the words of each."""
    return [cell.split() for cell in text.split(",")]


def order(n: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).permutation(n)


def ours(learner: Any, X: Any, y: Any, seeds: Iterable[int]) -> list[float]:
    """Mistakes in percent in each order."""
    return [100 * float(np.mean(p != t)) for p, t in predicted(b.OnlineClassifier, learner, X, y, seeds)]


def loss(learner: Any, X: Any, y: Any, seeds: Iterable[int]) -> list[float]:
    """The mean squared loss in each order."""
    return [float(np.mean((p - t) ** 2)) for p, t in predicted(b.OnlineRegressor, learner, X, y, seeds)]


def predicted(estimator: Any, learner: Any, X: Any, y: Any, seeds: Iterable[int]) -> Iterable[Any]:
    for seed in seeds:
        i = order(len(y), seed)
        yield estimator(learner, random_state=seed).progressive_predict(X[i], y[i]), y[i]


def line(what: str, own: list[float], reading: list[float] | None, printed: str) -> None:
    def shown(v: list[float] | None) -> str:
        return "" if v is None else f"{np.mean(v):.5g} +- {np.std(v, ddof=1):.2g}"

    print(f"{what:<34}{shown(own):>20} |{shown(reading):>20} | {printed}", flush=True)


class Support:
    """At most B rows and the Gaussian kernel with them."""

    def __init__(self, B: int, columns: int) -> None:
        self.S, self.squares, self.n = np.zeros((B, columns)), np.zeros(B), 0

    def put(self, place: int, x: np.ndarray) -> None:
        self.S[place], self.squares[place] = x, x @ x
        self.n = max(self.n, place + 1)

    def k(self, x: np.ndarray) -> np.ndarray:
        return np.exp(-GAMMA * (x @ x + self.squares[: self.n] - 2 * (self.S[: self.n] @ x)))

    def gram(self) -> np.ndarray:
        S, q = self.S[: self.n], self.squares[: self.n]
        return np.exp(-GAMMA * (q[:, None] + q - 2 * S @ S.T))


def study_bogd() -> None:
    table = "german 31.6+-1.5, w8a 3.43+-0.08, a9a 27.9+-0.2, ijcnn1 11.67+-0.13, cod-rna 15.2+-0.1"
    for name, printed in cells(table):
        X, y = load(name)
        plain = partial(b.bogd, KERNEL, budget=100, eta=0.2, lam=1 / len(y) ** 2, cap=10)
        line(
            f"{name} BOGD", ours(plain(), X, y, FRESH), ours(plain(reading="program"), X, y, FRESH), printed
        )


def study_forgetron() -> None:
    table = "a9a 27.8+-0.4, ijcnn1 16.99+-0.32, mnist 43.9+-0.6, shuttle 34.1+-0.4, covtype 60.4+-0.4"
    for name, printed in cells(table):
        X, y = load(name)
        plain = partial(b.forgetron, KERNEL, budget=200 if name == "mnist" else 100)
        reading = ours(plain(reading="program"), X, y, FRESH)
        line(f"{name} Forgetron", ours(plain(), X, y, FRESH), reading, printed)


def projectron_inverse(X: np.ndarray, y: np.ndarray, seed: int, plus: bool, B: int = 100) -> float:
    U = np.sqrt((B + 1) / np.log(B + 1)) / 4
    support, alpha, mistakes, inverse = Support(B, X.shape[1]), np.zeros(B), 0, np.zeros((0, 0))
    for i in order(len(y), seed):
        k = support.k(X[i])
        f, n = alpha[: support.n] @ k, support.n
        loss = 1 - y[i] * f
        wrong = not (f >= 0 if y[i] > 0 else f < 0)  # no number is wrong
        mistakes += wrong
        if not wrong and not (plus and n and 0 < loss < 1):
            continue
        d = inverse @ k
        rest = 1 - k @ d
        if wrong and n < B:
            grown, v = np.zeros((n + 1, n + 1)), np.append(d, -1.0)
            grown[:n, :n] = inverse
            inverse = grown + np.outer(v, v) / rest
            support.put(n, X[i])
            alpha[n] = y[i]
        elif wrong:
            alpha += y[i] * d
        else:
            P = d @ support.gram() @ d
            tau = min(loss / P, 1)
            if tau * (2 * loss - tau * P - 2 * U * np.sqrt(max(rest, 0))) >= 0:
                alpha[:n] += y[i] * tau * d
    return 100 * mistakes / len(y)


def study_projectron() -> None:
    X, y = load("w8a")
    for make, printed in ((b.projectron, "5.42+-1.10"), (b.projectron_pp, "5.41+-3.30")):
        own = ours(make(KERNEL, budget=100), X, y, FIRST)
        reading = [projectron_inverse(X, y, seed, make is b.projectron_pp) for seed in FIRST]
        line(f"w8a {make.__name__}", own, reading, printed)


def study_covtype() -> None:
    raw, y = datasets.load("covtype")
    raw = raw.toarray()
    scaled = {"by max |x|": MaxAbsScaler().fit_transform(raw), "[-1, 1]": 2 * minmax_scale(raw) - 1}
    for make, printed in ((b.projectron, "41.1+-0.2"), (b.projectron_pp, "38.3+-0.2")):
        own = ours(make(KERNEL, budget=100), minmax_scale(raw), y, FRESH)
        for how, X in scaled.items():
            reading = ours(make(KERNEL, budget=100), X, y, FRESH)
            line(f"covtype {make.__name__}, {how}", own, reading, printed)


def study_fogd() -> None:
    table = (
        "dna 800 0.02 20.8+-0.7, mnist 800 0.001 11.8+-0.2, "
        "shuttle 400 0.2 15.6+-0.5, covtype 400 0.2 40.4+-0.1"
    )
    for name, D, step, printed in cells(table):
        X, y = load(name)
        one, other = (b.fogd(KERNEL, components=int(D), eta=e * int(D)) for e in (0.005, float(step)))
        line(f"{name} FOGD 0.005 | {step}", ours(one, X, y, FRESH), ours(other, X, y, FRESH), printed)


SHARED_STEP = {"housing": 0.4, "abalone": 0.25, "parkinsons": 0.1, "cadata": 0.35, "casp": 0.1}
OTHER_STEP = {"norma": 0.02, "fogd": 0.0006}


def study_regression() -> None:
    table = printed_table("lu2016", 9)
    for data in SHARED_STEP:
        X, y = (minmax_scale(part) for part in load(data))
        for cell in (cell for cell in table.of(data) if cell.algorithm in table.grid):
            found = settings.setting(table, cell, settings.stored(table))
            step = OTHER_STEP.get(cell.algorithm, SHARED_STEP[data])
            own, reading = (
                loss(maker(table, cell)(Case(cell, len(y), 30, found | {"eta": eta})), X, y, FRESH)
                for eta in (found["eta"], step)
            )
            line(f"{data} {cell.name} {found['eta']} | {step}", own, reading, f"{cell.value}+-{cell.sd}")


def study_orders() -> None:
    for name, printed in cells("w8a 3.47+-0.01, a9a 20.9+-0.1, ijcnn1 12.27+-0.01"):
        X, y = load(name)
        line(f"{name} Perceptron", ours(b.perceptron(KERNEL), X, y, range(20)), None, printed)


STUDIES = {name.removeprefix("study_"): f for name, f in globals().items() if name.startswith("study_")}


def main() -> None:
    """Print the studies named, or all."""
    names = sys.argv[1:] or list(STUDIES)
    if unknown := set(names) - set(STUDIES):
        sys.exit(f"readings: no study {', '.join(sorted(unknown))}; there are {', '.join(STUDIES)}.")
    print(f"{'':<34}{'ours':>20} |{'the other reading':>20} | print")
    for name in names:
        STUDIES[name]()


if __name__ == "__main__":
    with np.errstate(all="ignore"):  # the explicit inverse may divide by zero
        main()
