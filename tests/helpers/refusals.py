"""Checks of bad input: the error is one clear sentence, and the model is unchanged."""

import copy
from contextlib import contextmanager

import numpy as np
import pytest

from tests.helpers.members import bits, data, estimator, scores, start


@contextmanager
def refused(*culprits, ours=True):
    """What is inside raises a ValueError or TypeError that names the culprits; ours in one sentence."""
    with pytest.raises((ValueError, TypeError)) as caught:
        yield caught
    sentence = str(caught.value)
    for culprit in culprits:
        assert culprit in sentence
    if ours:
        assert "\n" not in sentence
        assert sentence.endswith(".")
        assert "np." not in sentence


def everything(model):
    """All that a fitted estimator is, to be compared later."""
    rest = {name: repr(value) for name, value in vars(model).items() if name != "_model"}
    return rest, bits(model)


@contextmanager
def untouched(model, task):
    """What is inside leaves the model as it was: to look at, to predict with and to teach."""
    X, y = data(task)
    before, twin = everything(model), copy.deepcopy(model)
    yield
    assert everything(model) == before
    np.testing.assert_array_equal(scores(model, X), scores(twin, X))
    model.partial_fit(X, y)
    assert bits(model) == bits(twin.partial_fit(X, y))


def fitted(task):
    """A model in mid-stream."""
    return start(estimator(task, "forgetron"), task, *data(task))


def learn(model, method, X, y, sample_weight=None):
    """Any of the methods that learn, on a fitted model."""
    return getattr(model, method)(X, y, sample_weight=sample_weight)
