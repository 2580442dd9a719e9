"""Every learner of the library passes all of river's own checks, and none is skipped."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("river")

from river import checks

from budgetron import (
    AROW,
    Gaussian,
    Identity,
    Kalman,
    Mapped,
    Neighbours,
    RandomFourier,
    Stack,
    Stacked,
    Standardised,
)
from budgetron.river import BudgetClassifier, BudgetRegressor, FourierFeatures
from tests.helpers import members

COMPOSED = {
    "AROW on a stack": Mapped(Stack(RandomFourier(Gaussian(0.5), 5), Identity()), AROW()),
    "Kalman on inputs": Standardised(Mapped(Identity(), Kalman())),
    "Neighbours": Standardised(Neighbours(100)),
    "Stacked": Stacked(members.make("rbp"), Mapped(Identity(), Kalman())),
}
MODELS: dict[str, Any] = {
    "FourierFeatures": FourierFeatures(components=5),
    **{f"{name} classifies": BudgetClassifier(members.make(name)) for name in members.classifiers()},
    **{f"{name} regresses": BudgetRegressor(members.make(name)) for name in members.regressors()},
    **{f"{name} classifies": BudgetClassifier(learner) for name, learner in COMPOSED.items()},
}


EXPECTED = {  # earlier versions of river do not have all of them
    "check_learn_one",
    "check_emerging_features",
    "check_learn_many_matches_learn_one",
    "check_bounded_memory_growth",
}


@pytest.fixture(autouse=True)
def _quick_collections() -> Iterator[None]:
    """River's checks of memory collect garbage; what is there before them need not be looked through."""
    gc.freeze()
    yield
    gc.unfreeze()


QUICK = {  # one of each kind of learner: what the checks look at is in the wrapper
    "FourierFeatures",
    *[f"{name} classifies" for name in ("auto", "rbp", "fogd", "duol", "Neighbours", "Stacked")],
    *[f"{name} regresses" for name in ("auto", "nogd")],
}


def test_the_quick_ones_are_there() -> None:
    assert set(MODELS) >= QUICK


@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in MODELS]
)
def test_all_checks_pass(name: str) -> None:
    model = MODELS[name]
    assert model._unit_test_skips() == set()
    passed = []
    for check in checks.yield_checks(model):
        check(model.clone())
        passed.append(check.__name__)
    if not isinstance(model, FourierFeatures):
        assert EXPECTED & set(dir(checks.common)) <= set(passed)
    if isinstance(model, BudgetClassifier):
        assert passed.count("check_learn_one") == (3 if model._multiclass else 2)  # streams
