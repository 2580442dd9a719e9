"""Which metrics are meant by a list of names."""

from collections.abc import Iterable
from typing import Any

from budgetron._util.choices import LABELS, TARGETS
from budgetron._util.text import nearest, shown
from budgetron.evaluate.metrics.one_class import OneClass
from budgetron.evaluate.metrics.residuals import name_of

DEFAULT_LABELS = ("accuracy", "balanced_accuracy", "f1", "kappa", "kappa_temporal", "auc", "log_loss")
DEFAULT_TARGETS = ("mae", "rmse", "r2")


def checked(names: Any, targets: bool) -> tuple[str, ...]:
    """The names in their normal form, each once; None gives the default ones."""
    if names is None:
        return DEFAULT_TARGETS if targets else DEFAULT_LABELS
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise TypeError(f"metrics must be a list of names, got {shown(names)}.")
    return tuple(dict.fromkeys(_checked(name, targets) for name in names))


def quantile_of(name: str) -> float | None:
    """The quantile of a name such as "pinball:0.9"; None if it is no such name."""
    word, colon, number = name.partition(":")
    try:
        quantile = float(number) if colon else 0.5
    except ValueError:
        return None
    return quantile if word == "pinball" and 0 < quantile < 1 else None


def _checked(name: Any, targets: bool) -> str:
    known, named = TARGETS if targets else LABELS, isinstance(name, str)
    if named and (name in known or (not targets and OneClass.named(name) is not None)):
        return str(name)
    if named and targets and (quantile := quantile_of(name)) is not None:
        return name_of(quantile)
    also = ", pinball:QUANTILE" if targets else ", precision_at:K, recall:CLASS and others of one class"
    what = "targets" if targets else "labels"
    near = nearest(name, known, otherwise="") if named else ""
    rest = near or f"expected {', '.join(known)}{also}."
    raise ValueError(f"{shown(name)} is no metric of {what}: {rest}")
