"""The labels of several classifiers: their union, and models that know them in the same order."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy

from budgetron.model.labels import KnownLabels
from budgetron.model.model import Model


def union(labels: Sequence[KnownLabels]) -> KnownLabels:
    """All labels, in the order of the first model, then of the second, and so on."""
    known = labels[0]
    for each in labels[1:]:
        if known.fixed and not set(each.codes) <= set(known.codes):
            known = KnownLabels(known.labels, fixed=False)
        if len(each):
            known = known.extended(each.labels)[0] if len(known) else each
    return KnownLabels(known.labels, all(each.fixed for each in labels))


def in_order(model: Model, labels: KnownLabels, known: KnownLabels) -> Model:
    """The model with an output for every known label, in the order of these."""
    classes = max(2, len(known))
    if classes > max(2, len(labels)):
        model = copy(model)
        model.widen(model.n_features, classes)
    places = [known.codes[label] for label in labels.codes]
    order = [*places, *(place for place in range(classes) if place not in places)]
    return model if order == sorted(order) else model.reordered(order)
