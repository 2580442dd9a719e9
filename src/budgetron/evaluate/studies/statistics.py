"""Tests of several learners over several data sets, as in Demšar (2006)."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import stats

from budgetron._util import check

Floats = npt.NDArray[np.float64]
LEVEL = 0.05
FEWEST = 6
"""Of fewer differences, the p-value of Wilcoxon's test (two-sided) cannot be below 0.05."""
COUNTED = 13
"""The largest number of differences of which all signs are counted."""


@dataclass(frozen=True)
class Pair:
    """A test of two learners.

    Attributes
    ----------
    first, second : str
        The learners.
    statistic : float
        z of the difference of ranks, or the smaller sum of signed ranks.
    p_value, adjusted : float
        The p-value, and that with Holm's correction for all pairs of the same call.

    Examples
    --------
    >>> from budgetron.evaluate import Ranks
    >>> ranks = Ranks(("a", "b"), ("1", "2", "3", "4", "5", "6"), [[0.1 * i, 0.2 * i] for i in range(1, 7)])
    >>> [pair] = ranks.wilcoxon()
    >>> pair.first, pair.second, pair.statistic, pair.p_value
    ('a', 'b', 0.0, 0.03125)
    """

    first: str
    second: str
    statistic: float
    p_value: float
    adjusted: float


@dataclass(frozen=True)
class Friedman:
    """Friedman's test that all learners have the same rank.

    Attributes
    ----------
    chi2, p_value : float
        The statistic, and its p-value by the chi-squared distribution.
    F, F_p_value : float
        The statistic of Iman and Davenport, which is less conservative, and its p-value.

    Examples
    --------
    >>> from budgetron.evaluate import Ranks
    >>> ranks = Ranks(("a", "b", "c"), tuple("123456"), [[1, 2, 3]] * 5 + [[2, 1, 3]])
    >>> round(ranks.friedman().chi2, 3)
    10.333
    """

    chi2: float
    p_value: float
    F: float
    F_p_value: float


@dataclass(frozen=True)
class Ranks:
    """The ranks of learners over data sets, and the tests of Demšar (2006).

    On each data set the learner with the smallest error has rank 1; equal errors share the mean of their
    ranks. The data sets are what varies, so the tests say how other data would turn out, as far as these
    data sets are a sample of them. A test over fewer than 6 data sets warns.

    Parameters
    ----------
    learners, datasets : sequence of str
        The names.
    errors : array (data sets, learners)
        The error of each learner on each data set.

    Examples
    --------
    >>> from budgetron.evaluate import Ranks
    >>> errors = [[0.1, 0.2, 0.3], [0.2, 0.1, 0.3], [0.1, 0.3, 0.3], [0.1, 0.2, 0.4], [0.2, 0.3, 0.5]]
    >>> ranks = Ranks(("a", "b", "c"), ("v", "w", "x", "y", "z"), errors)
    >>> ranks.mean
    {'a': 1.2, 'b': 1.9, 'c': 2.9}
    """

    learners: Sequence[str]
    datasets: Sequence[str]
    errors: Any

    def __post_init__(self) -> None:
        errors = np.asarray(self.errors, dtype=np.float64)
        if errors.shape != (len(self.datasets), len(self.learners)) or not np.isfinite(errors).all():
            raise ValueError(
                f"Ranks: errors must be finite numbers, a row for each of the {len(self.datasets)} data "
                f"sets and a column for each of the {len(self.learners)} learners, got {errors.shape}."
            )
        if errors.shape[0] < 2 or errors.shape[1] < 2:
            raise ValueError(
                "Ranks: ranks need at least two data sets and two learners, "
                f"got {errors.shape[0]} and {errors.shape[1]}."
            )
        object.__setattr__(self, "errors", errors)

    @cached_property
    def table(self) -> Floats:
        """The rank of each learner on each data set."""
        return np.asarray(stats.rankdata(self.errors, axis=1))

    @cached_property
    def mean(self) -> Mapping[str, float]:
        """The mean rank of each learner."""
        means = self.table.mean(axis=0)
        return {name: float(rank) for name, rank in zip(self.learners, means, strict=True)}

    def friedman(self, ties: bool = True) -> Friedman:
        """Friedman's test, and that of Iman and Davenport.

        ``ties`` corrects the statistic for equal ranks, as ``scipy.stats.friedmanchisquare`` does; Demšar's
        formula does not.
        """
        self._warn_if_few("Friedman's test")
        (n, k), means = self.errors.shape, self.table.mean(axis=0)
        chi2 = 12 * n / (k * (k + 1)) * float(np.sum((means - (k + 1) / 2) ** 2))
        chi2 /= self._share_untied() if ties and chi2 else 1.0
        left = n * (k - 1) - chi2
        F = (n - 1) * chi2 / left if left > 1e-9 * n * k else np.inf
        p = stats.chi2.sf(chi2, k - 1), stats.f.sf(F, k - 1, (k - 1) * (n - 1))
        return Friedman(chi2, float(p[0]), float(F), float(p[1]))

    def critical_difference(self, level: float = LEVEL) -> float:
        """Nemenyi's: mean ranks that differ by more are significantly different."""
        k = len(self.learners)
        q = stats.studentized_range.ppf(1 - check.share("Ranks", "level", level), k, np.inf) / np.sqrt(2)
        return float(q * self._standard_error)

    def nemenyi(self) -> Floats:
        """The p-value of every pair of learners by Nemenyi's test, in the order of `learners`."""
        self._warn_if_few("Nemenyi's test")
        means = np.array(list(self.mean.values()))
        q = np.abs(means[:, None] - means) / self._standard_error * np.sqrt(2)
        p = np.asarray(stats.studentized_range.sf(q, len(means), np.inf))
        np.fill_diagonal(p, 1.0)
        clipped: Floats = np.minimum(p, 1.0)
        return clipped

    def groups(self, level: float = LEVEL) -> list[tuple[str, ...]]:
        """The largest groups of learners whose ranks do not differ significantly, by Nemenyi's test."""
        names = sorted(self.mean, key=lambda name: self.mean[name])
        most = self.critical_difference(level)
        found: list[tuple[str, ...]] = []
        for i, first in enumerate(names):
            near = [name for name in names[i:] if self.mean[name] - self.mean[first] <= most]
            if len(near) > 1 and not (found and set(near) <= set(found[-1])):
                found.append(tuple(near))
        return found

    def holm(self, control: str | None = None) -> list[Pair]:
        """Every learner against a control by the difference of ranks, with Holm's correction.

        By default the control is the learner with the lowest rank. The smallest p-value comes first.
        """
        self._warn_if_few("the test of ranks")
        control = self._known(control)
        others = [name for name in self.learners if name != control]
        z = [(self.mean[name] - self.mean[control]) / self._standard_error for name in others]
        p = [2 * float(stats.norm.sf(abs(each))) for each in z]
        return _corrected([(control, name) for name in others], z, p)

    def wilcoxon(self, control: str | None = None) -> list[Pair]:
        """Wilcoxon's signed-rank test of the errors, with Holm's correction; by default of every pair.

        With a control, only its pairs. Equal errors are left out. The smallest p-value comes first.
        """
        self._warn_if_few("Wilcoxon's test")
        errors = {name: self.errors[:, i] for i, name in enumerate(self.learners)}
        return wilcoxon(errors, None if control is None else self._known(control))

    @property
    def _standard_error(self) -> float:
        """Of the difference of two mean ranks."""
        n, k = self.errors.shape
        return float(np.sqrt(k * (k + 1) / (6 * n)))

    def _share_untied(self) -> float:
        n, k = self.errors.shape
        tied = sum(
            float(np.sum(counts**3 - counts))
            for counts in (np.unique(row, return_counts=True)[1] for row in self.table)
        )
        return float(1 - tied / (n * k * (k * k - 1)))

    def _known(self, control: str | None) -> str:
        best = min(self.learners, key=lambda name: self.mean[name])
        if control is not None and control not in self.learners:
            known = ", ".join(self.learners)
            raise ValueError(f"Ranks: control must be one of {known}, got {control!r}.")
        return best if control is None else control

    def _warn_if_few(self, what: str) -> None:
        warn_if_few(what, len(self.datasets), "data sets")


def wilcoxon(errors: Mapping[str, Any], control: str | None = None) -> list[Pair]:
    """Wilcoxon's test of the errors of all pairs, or those with a control, with Holm's correction."""
    pairs = list(combinations(errors, 2))
    if control is not None:
        pairs = [(control, name) for name in errors if name != control]
    tested = [signed_ranks(errors[first], errors[second]) for first, second in pairs]
    return _corrected(pairs, [w for w, _ in tested], [p for _, p in tested])


def signed_ranks(a: Any, b: Any) -> tuple[float, float]:
    """The smaller sum of signed ranks, and the p-value of Wilcoxon's test; 1 if nothing differs."""
    a, b = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    difference = a - b
    difference[np.abs(difference) <= 1e-12 * np.maximum(np.abs(a), np.abs(b))] = 0.0  # rounding
    difference = difference[difference != 0]
    if not len(difference):
        return 0.0, 1.0
    if len(difference) <= COUNTED:
        return _counted(difference)
    result = stats.wilcoxon(difference)
    return float(result.statistic), float(result.pvalue)


def _counted(difference: Floats) -> tuple[float, float]:
    """The same of few differences, by counting all signs that they could have.

    SciPy does that, too, if there are ties, but takes half a second for 13 differences.
    """
    n, ranks = len(difference), stats.rankdata(np.abs(difference))
    sums = ((np.arange(2**n)[:, None] >> np.arange(n)) & 1) @ ranks
    positive = float(ranks[difference > 0].sum())
    p = 2 * min(np.mean(sums <= positive), np.mean(sums >= positive))
    return min(positive, float(ranks.sum()) - positive), min(1.0, float(p))


def holm(p_values: Sequence[float]) -> list[float]:
    """P-values with Holm's correction, in the same order.

    >>> from budgetron.evaluate.studies.statistics import holm
    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    adjusted, largest = [0.0] * len(p_values), 0.0
    for place, i in enumerate(np.argsort(p_values, kind="stable")):
        largest = max(largest, min(1.0, (len(p_values) - place) * p_values[i]))
        adjusted[i] = largest
    return adjusted


def warn_if_few(what: str, count: int, of: str) -> None:
    """Warn of a test over so few values that it cannot show much."""
    if count < FEWEST:
        warnings.warn(
            f"{what} over {count} {of} says little: expected at least {FEWEST}; below that, Wilcoxon's "
            f"test cannot be significant at {LEVEL}.",
            stacklevel=4,
        )


def _corrected(pairs: Sequence[tuple[str, str]], values: Sequence[float], p: Sequence[float]) -> list[Pair]:
    adjusted = holm(p)
    tested = [
        Pair(*names, float(value), each, more)
        for names, value, each, more in zip(pairs, values, p, adjusted, strict=True)
    ]
    return sorted(tested, key=lambda pair: pair.p_value)
