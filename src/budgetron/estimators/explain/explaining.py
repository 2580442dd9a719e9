"""Explain rows with a fitted model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from budgetron._util.rows import Matrix, is_sparse
from budgetron._util.text import shown
from budgetron.estimators.explain import shapley
from budgetron.estimators.explain.background import Slots, background_of, spread_out
from budgetron.estimators.explain.columns import Columns
from budgetron.estimators.explain.explanation import Explanation, Neighbour
from budgetron.learners.dated import names_of_experts
from budgetron.learners.learner import Floats
from budgetron.model.fitted import Fitted
from budgetron.model.labels import Scored

WALKS = 64
"""The orders of the columns that are tried for a row, if no number is given and there are few columns."""
ROWS = 4096
"""About so many rows are scored for one, if there are many columns."""
PAIRS = 2
"""Pairs of orders for each row compared with, at least: two, so that there is an error."""


@dataclass(frozen=True)
class Explainer:
    """Explains checked rows. ``background`` are checked rows to compare with; None takes those kept.

    ``answers`` turn scores into predictions.
    """

    fitted: Fitted
    answers: Any
    background: Matrix | None = None
    samples: int | str | None = None
    label: Any = None
    neighbours: int = 3
    threads: int = 1

    def __post_init__(self) -> None:
        """Refuse what cannot be explained."""
        if not (self.samples in (None, "exact") or _is_whole(self.samples, 4)):
            raise ValueError(
                f'explain: samples must be a whole number of at least 4, "exact" or None, got '
                f"{shown(self.samples)}."
            )
        if not _is_whole(self.neighbours, 0):
            raise ValueError(
                f"explain: neighbours must be a whole number of at least 0, got {shown(self.neighbours)}."
            )
        labels = self.fitted.labels
        if self.label is not None and (labels is None or self.label not in labels.labels.tolist()):
            known = (
                "a regressor has no labels" if labels is None else f"known are {labels.classes.tolist()}"
            )
            raise ValueError(f"explain: label {shown(self.label)} is not known: {known}.")

    def explain(self, X: Matrix) -> list[Explanation]:
        """Why each row of X got its score."""
        predictions = self.answers.predictions(self.fitted.scores(X, self.threads)).tolist()
        return [self._one(X[i : i + 1], predictions[i]) for i in range(X.shape[0])]

    def _one(self, x: Matrix, prediction: Any) -> Explanation:
        label = self._label_of(prediction)
        slots = Slots(x, self._compared_with(x))
        found, players = self._contributions(slots, label)
        contributions, errors = np.zeros(len(self.columns)), np.zeros(len(self.columns))
        contributions[players], errors[players] = found.values, found.errors
        return Explanation(
            score=found.score,
            baseline=found.baseline,
            columns=self.columns.names,
            values=self.columns.values(_dense(x)[0]),
            contributions=contributions,
            errors=errors,
            prediction=prediction,
            label=label,
            neighbours=self._near(x, label),
            experts=self._experts(x, label),
        )

    def _contributions(self, slots: Slots, label: Any) -> tuple[shapley.Values, list[int]]:
        """The contributions of the columns in which the row differs from the others, and their numbers."""
        x, background = slots.x, slots.background
        same = (background == x) | (np.isnan(background) & np.isnan(x))
        all_players = self.columns.players(slots.numbers, ~same.all(axis=0))
        numbers = [j for j, player in enumerate(all_players) if player]
        players = [all_players[j] for j in numbers]

        def score(values: Floats) -> Floats:
            return self._scores(slots.rows(values), label)

        if self._is_exact(len(players), len(background), len(x)):
            return shapley.exact(score, x, background, players), numbers
        pairs = max(PAIRS, self._walks(len(x)) // (2 * len(background)))
        return shapley.sampled(score, x, background, players, pairs, self.fitted.model.seed), numbers

    def _is_exact(self, players: int, background: int, width: int) -> bool:
        """Whether all coalitions are asked for, or cost no more than the orders."""
        if self.samples == "exact":
            if players > shapley.MOST_EXACT:
                raise ValueError(
                    f'explain: samples="exact" takes at most {shapley.MOST_EXACT} columns that differ from '
                    f"the rows compared with, got {players}: give a number of samples."
                )
            return True
        few = players <= shapley.MOST_EXACT
        return few and background * 2**players <= self._walks(width) * (players + 1)

    def _walks(self, width: int) -> int:
        """How many orders are tried for a row of so many slots."""
        if self.samples is None or isinstance(self.samples, str):
            return max(8, min(WALKS, ROWS // (width + 1)) // 4 * 4)
        return self.samples

    # ---- what is explained, and what it is compared with

    @cached_property
    def columns(self) -> Columns:
        """The columns of the model."""
        return Columns.of(self.fitted)

    @cached_property
    def _given(self) -> Matrix:
        return background_of(self.fitted, "explain") if self.background is None else self.background

    def _compared_with(self, x: Matrix) -> Matrix:
        """Rows to compare with: of those given or kept, so few that each gets two pairs of orders."""
        if self.background is None and is_sparse(x):
            return np.zeros((1, x.shape[1]))
        width = x.nnz if is_sparse(x) else x.shape[1]
        return spread_out(self._given, max(1, self._walks(width) // (2 * PAIRS)))

    def _label_of(self, prediction: Any) -> Any:
        if self.fitted.labels is None:
            return None
        return prediction if self.label is None else self.label

    def _scores(self, X: Matrix, label: Any) -> Floats:
        [piece] = self.fitted.scores(X, self.threads)
        return self._chosen(piece, label)

    def _chosen(self, piece: Scored, label: Any) -> Floats:
        """The scores of the label: of two, that of the first is the other's with the sign changed."""
        labels = self.fitted.labels
        if labels is None:
            return piece.scores[:, 0]
        code = labels.codes[label]
        return piece.scores[:, code] if piece.known > 2 else piece.scores[:, 0] * (1 if code else -1)

    # ---- experts and neighbours

    def _experts(self, x: Matrix, label: Any) -> dict[str, float]:
        shares = self.fitted.model.shares(x)[0]  # experts x outputs
        if not len(shares):
            return {}
        chosen = self._chosen(Scored(shares, self.fitted.n_labels), label).tolist()
        model = self.fitted.model
        return dict(zip(names_of_experts(model.learner, bool(model.aside)), chosen, strict=True))

    def _near(self, x: Matrix, label: Any) -> list[Neighbour]:
        near = self.fitted.model.nearest(x, self.neighbours) if self.neighbours else []
        return [self._neighbour(*each, label) for each in near]

    def _neighbour(
        self, distance: float, row: Any, number: float | None, shares: Sequence[float], label: Any
    ) -> Neighbour:
        full = np.zeros(self.fitted.model.n_features)
        full[: len(row)] = row[: len(full)]
        values = dict(zip(self.columns.names, self.columns.values(full), strict=True))
        known = self.fitted.labels
        its = number if known is None or number is None else known.labels.tolist()[int(number)]
        if not shares:
            return Neighbour(distance, values, its)
        share = self._chosen(Scored(np.array([shares]), self.fitted.n_labels), label)
        return Neighbour(distance, values, its, float(share[0]))


def _dense(X: Matrix) -> Floats:
    return np.asarray(X.toarray() if is_sparse(X) else X, dtype=np.float64)


def _is_whole(value: Any, least: int) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and bool(value >= least)
