"""Why a row got its score, as a value."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from budgetron._util.text import aligned, printable
from budgetron.learners.learner import Floats

SHOWN = 10
"""The columns and experts in a printed table."""


@dataclass(frozen=True)
class Neighbour:
    """One of the kept rows, or of the support vectors, that are nearest to a row.

    ``label`` is its label or target, where the model keeps it. ``share`` is what a support vector adds to
    the score. Distances are those of the learner: between scaled rows, or in the feature space of the
    kernel.
    """

    distance: float
    values: dict[str, Any]
    label: Any = None
    share: float | None = None


@dataclass(frozen=True, eq=False)
class Explanation:
    """Why a row got its score.

    Attributes
    ----------
    score : float
        What is explained: the score of ``label``, or the predicted target.
    baseline : float
        The mean score of the rows compared with. ``baseline + contributions.sum()`` is ``score``.
    columns, values : list
        The names of the columns, and what the row has in each.
    contributions : array
        What each column adds to the score.
    errors : array
        The standard error of each contribution; 0 where it is exact.
    prediction : object
        The predicted label or target.
    label : object
        The label whose score is explained; None for targets.
    neighbours : list of Neighbour
        The nearest kept rows or support vectors, where the model has some.
    experts : dict
        What each expert of a stack adds to the score. The rest is the part of a bias.

    Examples
    --------
    >>> from budgetron import OnlineRegressor
    >>> model = OnlineRegressor().fit([[0.0, 1.0], [1.0, 1.0], [2.0, 1.0]] * 20, [0.0, 1.0, 2.0] * 20)
    >>> why = model.explain_one([2.0, 1.0])
    >>> bool(abs(why.baseline + why.contributions.sum() - why.score) < 1e-9), why.columns
    (True, ['x0', 'x1'])
    """

    score: float
    baseline: float
    columns: list[str]
    values: list[Any]
    contributions: Floats
    errors: Floats
    prediction: Any
    label: Any = None
    neighbours: list[Neighbour] = field(default_factory=list)
    experts: dict[str, float] = field(default_factory=dict)

    @property
    def order(self) -> list[int]:
        """The columns by the size of their contributions, from the largest."""
        return [int(j) for j in np.argsort(-np.abs(self.contributions), kind="stable")]

    def as_dict(self, most: int | None = None) -> dict[str, Any]:
        """The same as plain data for JSON, with the ``most`` largest contributions, or all."""
        columns = [
            {
                "column": self.columns[j],
                "value": _plain(self.values[j]),
                "contribution": float(self.contributions[j]),
                "error": float(self.errors[j]),
            }
            for j in self.order[:most]
        ]
        label = {} if self.label is None else {"label": _plain(self.label)}
        near = [
            {"distance": each.distance, "values": {name: _plain(v) for name, v in each.values.items()}}
            | ({} if each.label is None else {"label": _plain(each.label)})
            | ({} if each.share is None else {"share": each.share})
            for each in self.neighbours
        ]
        rest = float(self.contributions[self.order[most:]].sum()) if most is not None else 0.0
        return {
            "prediction": _plain(self.prediction),
            **label,
            "score": self.score,
            "baseline": self.baseline,
            "columns": columns,
            "other_columns": rest,
            "neighbours": near,
            "experts": self.experts,
        }

    def frame(self) -> Any:
        """The columns as a frame of pandas, from the largest contribution."""
        import pandas as pd

        names = ("column", "value", "contribution", "error")
        return pd.DataFrame([{name: row[name] for name in names} for row in self.as_dict()["columns"]])

    def __str__(self) -> str:
        of = "prediction" if self.label is None else f"score of {printable(str(self.label))}"
        lines = [["", "value", of, "+-"]]
        lines += [["rows compared with", "", f"{self.baseline:+.4g}", ""]]
        lines += [self._line(j) for j in self.order[:SHOWN]]
        if rest := self.order[SHOWN:]:
            lines += [[f"{len(rest)} more columns", "", f"{self.contributions[rest].sum():+.4g}", ""]]
        text = "\n".join(aligned([*lines, ["this row", "", f"{self.score:+.4g}", ""]]))
        return "\n\n".join([text, *self._of_experts(), *self._of_neighbours()])

    def _line(self, j: int) -> list[str]:
        sure = f"{self.errors[j]:.1g}" if self.errors[j] else ""
        return [printable(self.columns[j]), _short(self.values[j]), f"{self.contributions[j]:+.4g}", sure]

    def _of_experts(self) -> list[str]:
        if not self.experts:
            return []
        by_size = sorted(self.experts.items(), key=lambda each: -abs(each[1]))[:SHOWN]
        return ["\n".join(aligned([["expert", "share"], *([name, f"{v:+.4g}"] for name, v in by_size)]))]

    def _of_neighbours(self) -> list[str]:
        if not self.neighbours:
            return []
        lines = [["nearest", "distance", "label or share"]]
        for i, near in enumerate(self.neighbours):
            what = _short(near.label) if near.share is None else f"{near.share:+.4g}"
            lines.append([str(i + 1), f"{near.distance:.4g}", what])
        return ["\n".join(aligned(lines))]


def _short(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.6g}" if isinstance(value, float) else printable(str(value))[:40]


def _plain(value: Any) -> Any:
    """A value of NumPy as one of Python; others as JSON can hold them."""
    value = value.item() if isinstance(value, np.generic) else value
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)
