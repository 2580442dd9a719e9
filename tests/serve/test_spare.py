"""Learning on the model that was published before, instead of on a copy: the bits are the same."""

import pytest

from budgetron import Gaussian, OnlineClassifier, OnlineRegressor, Standardised, rbp
from budgetron.learners.automatic import Auto
from budgetron.serve import learning
from budgetron.serve.learning import Spare, learn_group
from budgetron.serve.limits import Limits
from budgetron.serve.problems import Problem
from budgetron.serve.rows import Rows
from tests.helpers.members import bits

MODELS = {
    "default": lambda: OnlineClassifier(Auto(size=3), random_state=0),
    "random": lambda: OnlineClassifier(Standardised(rbp(Gaussian(0.5), budget=5)), random_state=0),
    "coverage": lambda: OnlineClassifier(Auto(size=3), coverage=0.9, random_state=0),
    "balanced": lambda: OnlineClassifier(Auto(size=3), class_weight="balanced", random_state=0),
    "targets": lambda: OnlineRegressor(Auto(size=3), coverage=0.9, random_state=0),
}


@pytest.fixture
def cheap(monkeypatch):
    """Every copy takes longer than to learn."""
    learned = Spare.learned
    monkeypatch.setattr(Spare, "learned", lambda spare, lesson, _: learned(spare, lesson, -1.0))


@pytest.fixture
def copies(monkeypatch):
    """The models that were copied."""
    copied, copy = [], learning.copy
    monkeypatch.setattr(learning, "copy", lambda model: copied.append(1) or copy(model))
    return copied


def request(i, targets, rows=2):
    """Rows of which some bring a label, a column or a text."""
    given = [{"a": (i * 7 + k) % 5 / 3, "b": k - i % 3, f"c{i // 12}": 1.0} for k in range(rows)]
    if i % 5 == 4:
        given[0]["t"] = f"text {i // 15}"
    labels = [(i * k) % 3 * 0.5 if targets else f"label {(i + k) % 2 + i // 20}" for k in range(rows)]
    return Rows(given, labels)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.usefixtures("cheap")
def test_the_bits_are_those_of_copies(name, copies):
    published, spare, alone = MODELS[name](), Spare(), MODELS[name]()
    for i in range(40):
        requests = [request(i, name == "targets"), request(i + 1, name == "targets", 1)][: 1 + i % 2]
        published, outcomes = learn_group(published, requests, Limits(), 0, spare)
        assert not [outcome for outcome in outcomes if isinstance(outcome, Problem)]
        for each in requests:
            alone.partial_fit(each.X, each.y)
        assert bits(published) == bits(alone)
    assert len(copies) < 30


@pytest.mark.usefixtures("cheap")
def test_a_model_that_is_read_stays_as_it_is(copies):
    published, spare, read = MODELS["random"](), Spare(), []
    for i in range(12):
        published, _ = learn_group(published, [request(i, False)], Limits(), 0, spare)
        read.append((published, bits(published)))
    assert all(bits(model) == before for model, before in read)
    assert len(copies) == 12


@pytest.mark.usefixtures("cheap")
def test_what_is_not_published_is_forgotten():
    published, spare, alone = MODELS["default"](), Spare(), MODELS["default"]()
    for i in range(30):
        good, bad = request(i % 3, False), Rows([{"a": 1.0}, {"a": float("inf")}], ["label 0", "label 1"])
        learn_group(published, [request(i, False, 3)], Limits(), 0, spare)  # which could not be committed
        published, outcomes = learn_group(published, [good, bad, good], Limits(), 0, spare)
        assert [isinstance(outcome, Problem) for outcome in outcomes] == [False, True, False]
        alone.partial_fit(good.X * 2, good.y * 2)
        assert bits(published) == bits(alone)


def test_few_rows_are_not_learned_on_copies_of_a_large_model(copies):
    published, spare = OnlineClassifier(), Spare()
    for _ in range(60):
        published, _ = learn_group(published, [request(0, False)], Limits(), 0, spare)
    assert len(copies) < 20
