"""The rows of a table: draws, orders, cuts and scales."""

from dataclasses import replace

import numpy as np
import pytest

from budgetron_reproduction import settings
from budgetron_reproduction.preparation import prepared
from budgetron_reproduction.printed import Source
from made_up import example


def seen(X):
    return {round(float(x)) for x in np.asarray(X.todense() if hasattr(X, "todense") else X)[:, 0]}


def test_rows_are_drawn_before_they_are_ordered():
    rows = prepared(example(), Source("synthetic", "synthetic"))
    first, second, third = (rows.order(i) for i in range(3))
    assert not np.array_equal(np.sort(first[0], axis=0), np.sort(second[0], axis=0))  # another draw
    assert np.array_equal(np.sort(first[0], axis=0), np.sort(third[0], axis=0))  # another order of it
    assert not np.array_equal(first[0], third[0])


@pytest.mark.usefixtures("numbered")
def test_no_test_row_is_learnt_or_searched_on():
    table = replace(example(), protocol="batch", draws=1, search={"rows": 1000, "folds": 2})
    rows = prepared(table, Source("numbered", "numbered", train=400))
    test = seen(rows.testing[0])
    assert len(test) == 100
    few = prepared(table, Source("numbered", "numbered", train=400, test=30))
    assert len(seen(few.testing[0])) == 30
    assert seen(few.testing[0]) < test
    for i in range(5):
        assert seen(rows.order(i)[0]) == set(range(1, 501)) - test
    assert not seen(settings._first(rows, 1000, 1000)[0]) & test


@pytest.mark.usefixtures("numbered")
def test_rows_of_the_search_are_not_in_the_stream():
    rows = prepared(replace(example(), draws=1), Source("numbered", "numbered", half=True))
    assert len(seen(rows.order(0)[0])) == 250
    assert seen(rows.order(0)[0]) | seen(rows.tuning[0]) == set(range(1, 501))
    assert seen(settings._first(rows, 1000, 1000)[0]) == seen(rows.tuning[0])


@pytest.mark.usefixtures("numbered")
def test_test_rows_are_scaled_as_the_training_rows_are():
    """A test row can lie outside the range of the scaled training rows."""
    table = replace(example(), protocol="batch", draws=1)
    raw = prepared(table, Source("numbered", "numbered", train=20))
    rows = prepared(table, Source("numbered", "numbered", train=20, prepare="columns to [0, 1]"))
    low, high = min(seen(raw.training[0][0])), max(seen(raw.training[0][0]))
    X, other = rows.training[0][0], np.asarray(rows.testing[0])
    assert (X.min(), X.max()) == (0, 1)
    np.testing.assert_allclose(other[:, 0], (raw.testing[0][:, 0] - low) / (high - low))
