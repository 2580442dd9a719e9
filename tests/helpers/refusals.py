"""Checks of bad input: the error is one clear sentence, and the model is unchanged."""

import copy
from contextlib import contextmanager

import numpy as np
import pytest

from tests.helpers.members import bits, data, estimator, scores, start


@contextmanager
def refused(*culprits, ours=True):
    """Expects a ValueError or TypeError whose message contains the culprits; if ours, one sentence."""
    with pytest.raises((ValueError, TypeError)) as caught:
        yield caught
    sentence = str(caught.value)
    for culprit in culprits:
        assert culprit in sentence
    if ours:
        assert "\n" not in sentence
        assert sentence.endswith((".", "?"))
        assert "np." not in sentence


def everything(model):
    """All attributes of a fitted estimator, to compare later."""
    rest = {name: repr(value) for name, value in vars(model).items() if name != "fitted_"}
    return rest, bits(model)


@contextmanager
def untouched(model, task):
    """Checks that the block does not change the model: its attributes, scores and further learning."""
    X, y = data(task)
    before, twin = everything(model), copy.deepcopy(model)
    yield
    assert everything(model) == before
    np.testing.assert_array_equal(scores(model, X), scores(twin, X))
    model.partial_fit(X, y)
    assert bits(model) == bits(twin.partial_fit(X, y))


def fitted(task):
    """A fitted estimator."""
    return start(estimator(task, "forgetron"), task, *data(task))


def learn(model, method, X, y, sample_weight=None):
    """Call a method that learns."""
    return getattr(model, method)(X, y, sample_weight=sample_weight)
