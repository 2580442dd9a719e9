"""The labels that a classifier knows, and their codes. A new label gets the next code."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import exp, isfinite
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.utils.multiclass import check_classification_targets, unique_labels

from budgetron._util import check
from budgetron.learners.learner import Floats
from budgetron.model.label_kinds import are_numbers, joined, kind_of, of_kind

Codes = npt.NDArray[np.intp]

_DOUBLE = np.dtype(np.float64)  # quicker to compare with than the type


class Scored(NamedTuple):
    """Scores of consecutive rows, one column per output, made when this many labels were known."""

    scores: Floats
    known: int


class AnyTarget:
    """The answers of a model of targets: every finite number is one. `KnownLabels` are the other kind."""

    def __len__(self) -> int:
        return 0

    def number(self, y: Any) -> float | None:
        """What the core takes for a target; None if it is not a finite number."""
        try:
            return float(y) if isfinite(y) else None
        except (OverflowError, TypeError):
            return None

    def number_of(self, y: Any) -> float | None:
        """The same for an array of one target that would pass every check."""
        return self.number(y.item()) if y.dtype == _DOUBLE else None

    def quick_codes(self, y: Any) -> Floats | None:
        """The targets if they would pass every check as they are; else None."""
        plain = y.dtype == _DOUBLE and y.flags.c_contiguous and y.flags.aligned
        return y if plain and bool(np.isfinite(y).all()) else None

    def prediction(self, scores: list[float]) -> float:
        """The predicted target of one row."""
        return scores[0]

    def predictions(self, pieces: list[Scored]) -> Floats:
        """The predicted target of every row."""
        if len(pieces) != 1:
            return np.concatenate([piece.scores.ravel() for piece in pieces])
        return pieces[0].scores.ravel()


@dataclass(frozen=True)
class KnownLabels:
    """The labels in the order of their codes. If they are ``fixed``, others are refused."""

    labels: npt.NDArray[Any]
    fixed: bool = True

    def __post_init__(self) -> None:
        """Give texts the width of the longest: that of their array depends on how rows are cut."""
        if self.labels.dtype.kind == "U" and len(self.labels):
            object.__setattr__(self, "labels", np.array(self.labels.tolist()))

    def __len__(self) -> int:
        return len(self.labels)

    def __reduce__(self) -> tuple[Any, ...]:  # without what is cached
        return KnownLabels, (self.labels, self.fixed)

    @cached_property
    def order(self) -> Codes:
        """The codes in the order of the sorted labels."""
        return np.argsort(self.labels, kind="stable")

    @cached_property
    def classes(self) -> npt.NDArray[Any]:
        """The labels, sorted."""
        return self.labels[self.order]

    @cached_property
    def codes(self) -> dict[Any, int]:
        """The code of every label."""
        return {label: code for code, label in enumerate(self._names)}

    @cached_property
    def core_numbers(self) -> dict[Any, float]:
        """What the core takes for every label: -1 or +1 of two, else the code."""
        binary = len(self) <= 2
        return {label: 2.0 * code - 1 if binary else float(code) for label, code in self.codes.items()}

    def number_of(self, y: Any) -> float | None:
        """What the core takes for an array of one label, if that is known and would pass every check."""
        same_kind = y.dtype.kind == self.labels.dtype.kind in "iufbU"
        return self.core_numbers.get(y.item()) if same_kind else None

    @cached_property
    def _names(self) -> list[Any]:
        return list(self.labels.tolist())

    @cached_property
    def is_sorted(self) -> bool:
        """Whether codes and sorted places are the same."""
        return bool((self.order == np.arange(len(self))).all())

    def first(self, n: int) -> KnownLabels:
        """The first n labels."""
        return self if n == len(self) else replace(self, labels=self.labels[:n])

    def quick_codes(self, y: npt.NDArray[Any]) -> Codes | None:
        """The codes of labels of the same type as the known ones; None if a type or label differs."""
        kind = y.dtype.kind
        if kind != self.labels.dtype.kind or kind not in "iufbU" or not len(self):
            return None
        if len(y) == 1:
            code = self.codes.get(y.item())
            return None if code is None else np.array([code], dtype=np.intp)
        places = np.searchsorted(self.classes, y)
        if (self.classes[np.minimum(places, len(self) - 1)] != y).any():
            return None
        return places if self.is_sorted else self.order[places]

    def extended(self, y: npt.NDArray[Any]) -> tuple[KnownLabels, Codes, list[int]]:
        """The labels with the new ones of y, the codes of y, and the row in which each new one appears."""
        codes = self.quick_codes(y)
        if codes is not None:
            return self, codes, []
        by_name = dict(self.codes)
        self._refuse_other_kind(y)
        different, first, places = np.unique(y, return_index=True, return_inverse=True)
        names, rows = different.tolist(), list[int]()
        for i in np.argsort(first):
            if names[i] not in by_name:
                if self.fixed:
                    raise ValueError(
                        f"y contains {names[i]!r}, which is not among the classes {self.classes.tolist()}."
                    )
                by_name[names[i]] = len(by_name)
                rows.append(int(first[i]))
        codes = np.array([by_name[name] for name in names], dtype=np.intp)[places.reshape(-1)]
        if not rows:
            return self, codes, rows
        new = y[rows]
        return replace(self, labels=joined(self.labels, new) if len(self) else new), codes, rows

    def alike(self, y: npt.NDArray[Any], row: int = 0) -> npt.NDArray[Any]:
        """Labels of the kind of the known ones; if none is known, of the kind of that in ``row``.

        The first label that is learned decides whether labels are bools, integers or floats. True, 1 and
        1.0 are one label. So types do not depend on how rows are cut into batches.
        """
        return of_kind(kind_of(self.labels if len(self) else y[row:]), y)

    def _refuse_other_kind(self, y: npt.NDArray[Any]) -> None:
        if not len(self) or not len(y):
            return
        known, got = self.labels[:1].tolist()[0], y[:1].tolist()[0]
        try:
            known < got  # noqa: B015
        except TypeError:
            kinds = {str: "texts", bool: "numbers", int: "numbers", float: "numbers"}
            kind = kinds.get(type(known), "of another type")
            raise ValueError(
                f"y contains {got!r}, but the known labels are {kind}, such as {known!r}."
            ) from None

    # ---- from scores to labels

    def _refuse_none(self) -> None:
        if not len(self):
            raise ValueError("No label is known yet: learn a row first.")

    def prediction(self, scores: list[float]) -> Any:
        """The predicted label of one row, the same as `predictions` gives."""
        names = self._names
        if len(names) <= 2:
            self._refuse_none()
            return names[len(names) == 2 and scores[0] >= 0]
        return names[scores.index(max(scores))]

    def probabilities(self, scores: list[float]) -> dict[Any, float]:
        """The probability of each label for one row."""
        self._refuse_none()
        if len(self) <= 2:
            half = scores[0] / 2
            scores = [-half, half] if len(self) == 2 else [0.0]
        most = max(scores)
        shares = [exp(score - most) for score in scores]
        total = sum(shares)
        return {self._names[code]: shares[code] / total for code in self.order.tolist()}

    def predictions(self, pieces: list[Scored]) -> npt.NDArray[Any]:
        """The predicted label of every row: that of the best score, on ties the one known longest.

        Of two labels the second is predicted if its score is 0.
        """
        self._refuse_none()
        one = len(pieces) == 1
        best = _best(*pieces[0]) if one else np.concatenate([_best(*piece) for piece in pieces])
        predictions: npt.NDArray[Any] = self.labels[best]
        return predictions

    def decisions(self, scores: Floats) -> Floats:
        """The scores in the order of the sorted labels; for two labels, the score of the second."""
        if len(self) > 2:
            return scores if self.is_sorted else scores[:, self.order]
        return scores.ravel() if self.is_sorted else -scores.ravel()

    def score_table(self, pieces: list[Scored]) -> Floats:
        """One column of scores for each sorted label, -inf where the label was not known."""
        return self._table([_by_label(*piece) for piece in pieces])

    def log_probabilities(self, pieces: list[Scored]) -> Floats:
        """One column for each sorted label: the logarithm of its probability, -inf if it was not known."""
        self._refuse_none()
        shares = [_log_shares(*piece) for piece in pieces]
        whole = len(shares) == 1 and pieces[0].known == len(self) and self.is_sorted
        return shares[0] if whole else self._table(shares)

    def _table(self, tables: list[Floats]) -> Floats:
        """Tables whose columns are in the order of codes, in one of sorted labels."""
        table = np.full((sum(map(len, tables)), len(self)), -np.inf)
        start = 0
        for each in tables:
            table[start : start + len(each), : each.shape[1]] = each
            start += len(each)
        return table if self.is_sorted else table[:, self.order]


def _best(scores: Floats, known: int) -> Codes:
    """The code of the predicted label of each row."""
    if known <= 2:
        return (scores[:, 0] >= 0).astype(np.intp) if known == 2 else np.zeros(len(scores), dtype=np.intp)
    best: Codes = scores.argmax(axis=1)
    return best


def _by_label(scores: Floats, known: int) -> Floats:
    """The scores with a column for each known label."""
    if known <= 2:
        return np.hstack([-scores, scores]) if known == 2 else np.zeros((len(scores), 1))
    return scores


def _log_shares(scores: Floats, known: int) -> Floats:
    """The logarithms of the probabilities: the bits of SciPy's ``logsumexp``, in a fraction of its time."""
    if known <= 2:
        if known < 2:
            return np.zeros((len(scores), 1))
        shares = np.hstack([-scores, scores]) / 2
        top = np.abs(scores) / 2
        shares -= np.log1p(np.exp(-2 * top)) + top
        return shares
    top = scores.max(axis=1, keepdims=True)
    best = scores == top
    ties = best.sum(axis=1, keepdims=True)
    rest = np.exp(scores - top)
    rest[best] = 0
    sums = np.log1p(rest.sum(axis=1, keepdims=True) / ties) + np.log(ties) + top
    return np.asarray(scores - sums)


def selected(pieces: list[Scored], rows: npt.NDArray[np.bool_]) -> list[Scored]:
    """The pieces with these of their rows."""
    cuts = np.cumsum([len(piece.scores) for piece in pieces])[:-1]
    masks = np.split(rows, cuts)
    return [Scored(piece.scores[mask], piece.known) for piece, mask in zip(pieces, masks, strict=True)]


def core_codes(codes: Codes, known: int) -> Floats:
    """Codes as the core reads them: -1 and +1 for at most two labels, else the code."""
    numbers = codes.astype(np.float64)
    return 2 * numbers - 1 if known <= 2 else numbers


def as_known_before(scores: Floats, before: int, after: int) -> Scored:
    """Scores of a model for ``after`` labels, as the model for ``before`` labels would have given them.

    Before the first label is known, the first label is all that can be predicted.
    """
    if after > 2 >= before:
        return Scored(scores[:, 1:2] - scores[:, :1], max(before, 1))
    return Scored(scores[:, :before] if after > 2 else scores, max(before, 1))


def given_classes(classes: Any) -> KnownLabels:
    """The classes that a caller gives, checked and sorted."""
    if np.size(classes) == 0:
        raise ValueError("classes is empty: expected all labels of the stream.")
    check.one_kind("classes", classes)
    labels = np.asarray(check.label_column("classes", classes))
    labels = of_kind(kind_of(labels), labels)
    return KnownLabels(unique(checked_labels(labels, "classes")))


def checked_labels(y: npt.NDArray[Any], name: str = "y") -> npt.NDArray[Any]:
    """The labels, checked as scikit-learn does, but without its slow path for whole numbers and texts.

    Python objects may be of any type that can be sorted, such as dates.
    """
    if _are_objects(y):
        y = _sortable(y, name)
        if y.dtype == object:
            return y
    check.told_apart(name, y)
    whole = y.dtype.kind in "iub" or (y.dtype.kind == "f" and bool((y == np.rint(y)).all()))
    if not ((whole or y.dtype.kind in "UO") and y.ndim == 1):  # texts are classes, however many there are
        check_classification_targets(y)
    return y


def _are_objects(y: npt.NDArray[Any]) -> bool:
    """Whether labels are Python objects other than texts."""
    return y.dtype == object and y.ndim == 1 and not all(isinstance(label, str) for label in y)


def _sortable(y: npt.NDArray[Any], name: str) -> npt.NDArray[Any]:
    """Labels that are Python objects; numbers among them become an array of numbers."""
    if are_numbers(y):
        numbers = np.array(y.tolist())
        return numbers if numbers.dtype != object else y
    for row, label in enumerate(y):
        if check.is_missing(label):
            raise check.no_label(name, label, row)
    try:
        sorted(y)
        set(y)
    except TypeError:
        kinds = ", ".join(sorted({type(label).__name__ for label in y}))
        raise ValueError(f"{name} must hold labels of one type that can be sorted, got {kinds}.") from None
    return y


def unique(y: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The different labels in y, sorted."""
    if _are_objects(y):
        return np.unique(y)
    if y.dtype.kind not in "iubf":
        return np.asarray(unique_labels(y))
    ends = np.array([y.min(), y.max()])
    two = bool(((y == ends[0]) | (y == ends[1])).all())  # the common case, found without sorting y
    return np.unique(ends if two else y)
