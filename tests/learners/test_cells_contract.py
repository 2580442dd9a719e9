"""What learners on cells promise: growth within their memory, raw rows, hard rows, and clear refusals."""

import numpy as np
import pytest
from scipy import sparse

from budgetron import (
    AROW,
    PA,
    Averaged,
    Bins,
    CellMap,
    CoinBetting,
    Gaussian,
    Hashed,
    Identity,
    Kalman,
    Kernelized,
    Mapped,
    OnlineClassifier,
    OnlineNewton,
    OnlineRegressor,
    RandomFourier,
    Stack,
    Stacked,
    Standardised,
    Tiles,
    rbp,
)
from budgetron._util.exports import exported
from budgetron.model.model import Model
from budgetron.parts.tasks import Labels
from tests.helpers import members
from tests.helpers.cases import each
from tests.helpers.trajectories import native_scores, stream


def test_every_map_is_among_the_members():
    named = {name for name in exported(CellMap) if name != "CellMap"} | {"Recruited"}
    assert {type(cells).__name__ for cells in members.CELLS} == named


# ---- a table of bounded size


def test_a_further_class_takes_no_more_memory():
    """If entries must become fewer, neighbours become one: the first that has learned."""
    X, y = stream("binary", 300, 0)
    model = Model(Mapped(Tiles(50, 8, memory=2**14), Kalman(3.0)), Labels(2), 5, np.float64, 0)
    model.learn(X, y.astype(float))
    before, bytes_before = model.state(), model.memory_bytes
    model.widen(5, 7)
    after = model.state()
    w, P = before["cells.weights.0"], before["cells.state"]
    assert (len(w), len(after["cells.weights.0"])) == (50 * 2**5 + 1, 50 * 2**3 + 1)
    assert model.memory_bytes < bytes_before + 2**14
    assert after["cells.weights.1"][0] == w[0] / 2
    for i, (four_w, four_P) in enumerate(zip(w[1:].reshape(-1, 4), P[1:].reshape(-1, 4), strict=True)):
        learned = np.flatnonzero((four_w != 0) | (four_P != 3))
        kept = learned[0] if len(learned) else 0
        assert after["cells.weights.1"][1 + i] == np.float32(four_w[kept]) / 2
        assert after["cells.weights.0"][1 + i] == -np.float32(four_w[kept]) / 2
        assert after["cells.state"][1 + i] == four_P[kept]
    assert not after["cells.weights.6"].any()
    model.learn(X, np.arange(300) % 7.0)
    restored = Model.restored(model.learner, model.task, 5, model.dtype, 0, model.state())
    assert np.array_equal(restored.scores(X), model.scores(X))


def test_thousands_of_classes_leave_one_entry():
    X = np.random.default_rng(0).normal(size=(300, 3))
    model = OnlineClassifier(Mapped(Tiles(20, 4, memory=1024), PA()), random_state=0)
    model.partial_fit(X, np.arange(300), classes=np.arange(1000))
    assert len(model.fitted_.model.state()["cells.weights.0"]) == 2  # the constant, and the cells
    assert np.isfinite(model.decision_function(X)).all()


def test_a_table_has_no_more_entries_than_the_map_has_cells():
    X, y = stream("binary", 300, 0)
    for cells, entries in [
        (Tiles(50, 8), 50 * 2**8),
        (Tiles(50, 14, cells=1000), 1000),  # hashed
        (Bins(16, pairs=4, side=3), 4 * 4**2 + 5 * 17),
        (Bins(16, pairs=4, side=3, memory=1024), -(-(4 * 4**2 + 5 * 17) // 2)),  # of 8 bytes
    ]:
        model = Model(Mapped(cells, Kalman(3.0)), Labels(2), 5, np.float64, 0)
        model.learn(X, y.astype(float))
        assert len(model.state()["cells.weights.0"]) == 1 + entries


@each("pairs", [0, 10])
def test_codes_far_apart_have_bins_of_their_own(pairs):
    """40 codes of which any two differ by hundreds, beside a column that says nothing."""
    rng = np.random.default_rng(0)
    codes, value = 1000 * np.arange(40) + rng.integers(0, 500, 40), rng.normal(size=40)
    at = rng.integers(0, 40, 4000)
    X = np.column_stack([codes[at], rng.normal(size=4000)]).astype(float)
    model = OnlineRegressor(Mapped(Bins(pairs=pairs), Kalman(10.0)), random_state=0)
    model.fit(X, value[at])
    assert np.abs(model.predict(X) - value[at]).max() < 0.3  # values differ by about 1


# ---- rows


@each("cells", [Tiles(20, 6), Bins(16, 3, 4)], ids=repr)
def test_scaling_changes_nothing(cells):
    X, y = stream("binary", 600, 2)
    learner = Mapped(cells, Kalman(3.0))
    plain, _ = native_scores("binary", learner, X, y)
    for scaled in (Standardised(learner), Standardised(Standardised(learner))):
        assert np.array_equal(native_scores("binary", scaled, X, y)[0], plain)


def test_codes_are_categories_whatever_their_sign():
    codes = np.random.default_rng(0).integers(-20, 20, 4000)
    value = np.random.default_rng(1).normal(size=40)
    model = OnlineRegressor(Mapped(Bins(pairs=0), Kalman(10.0)), random_state=0)
    model.fit(codes[:, None].astype(float), value[codes + 20])
    X = np.arange(-20.0, 20)[:, None]
    assert np.abs(model.predict(X) - value).max() < 0.1
    assert np.isfinite(model.predict([[1e150], [-1e150], [np.nan], [0.5]])).all()


def test_columns_beyond_the_first_1024_are_not_seen():
    rng = np.random.default_rng(0)
    X = sparse.random_array((300, 3000), density=0.01, rng=rng, format="csr")
    y = rng.integers(0, 2, 300)
    for cells in members.CELLS:
        model = OnlineClassifier(Mapped(cells, Kalman(3.0)), random_state=0).fit(X, y)
        cut = X.tolil()
        cut[:, 1024:] = 0
        assert np.array_equal(model.decision_function(sparse.csr_array(cut)), model.decision_function(X))


@each("cells", members.CELLS, ids=repr)
def test_hard_rows(cells):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(700, 4))
    X[:, 1] = 5  # constant
    X[::7] = X[0]  # duplicates
    X[::11, 2] *= 1e150
    X[::13, 3] = np.nan
    y = (X[:, 0] > 0).astype(int)
    model = OnlineClassifier(Mapped(cells, Kalman(3.0)), random_state=0).fit(X, y)
    assert np.isfinite(model.decision_function(X)).all()
    single = OnlineClassifier(Mapped(cells, Kalman(3.0)), random_state=0)
    single.partial_fit(X[:1], y[:1], classes=[0, 1])
    assert np.isfinite(single.decision_function(X)).all()
    none = OnlineClassifier(Mapped(cells, Kalman(3.0)), random_state=0)
    none.partial_fit(X, y, classes=[0, 1], sample_weight=np.zeros(len(X)))
    assert not none.decision_function(X).any()


@each("rule", [Kalman(3.0), AROW(), PA(C=1e99)], ids=repr)
def test_steps_that_do_not_fit_are_refused(rule):
    model = OnlineRegressor(Mapped(Tiles(9, 3), rule), random_state=0)
    model.partial_fit([[0.0], [1.0]], [0.0, 1.0])
    before = members.bits(model)
    with pytest.raises(ValueError, match=r"Row 0 gives"):
        model.partial_fit([[0.5]], [1e99])
    assert members.bits(model) == before


# ---- forged files


FORGED = {
    "tiles.columns": [0, np.uint64(2**63)],
    "tiles.thresholds": [0, np.nan],
    "tiles.ranks": [0, np.nan],
    "tiles.generation": [0, np.uint64(2**40)],
    "recent.learned": [0, np.uint64(2**64 - 1)],
    "recent.rows": [0, np.inf],
    "cells.state": [3, np.float32(-1.0)],
    "cells.weights.0": [3, np.float32(np.inf)],
    "known.low": [0, np.nan],
}


@each("name", FORGED)
def test_a_forged_number_is_refused(name):
    model = members.fitted("binary", Mapped(Tiles(9, 3), Kalman(3.0))).fitted_.model
    state = {field: array.copy() for field, array in model.state().items()}
    at, value = FORGED[name]
    state[name][at] = value
    with pytest.raises(ValueError, match="do not fit together"):
        model.in_state(state)


def test_forged_labels_are_refused():
    model = members.fitted("binary", Mapped(Tiles(9, 3), Kalman(3.0))).fitted_.model
    for name in ("recent.labels.0", "recent.weights"):
        with pytest.raises(ValueError, match="do not fit together"):
            model.in_state(model.state() | {name: np.zeros(0)})


# ---- refusals


REFUSED = [
    (Mapped(Tiles(), OnlineNewton()), "OnlineNewton is not defined for cells"),
    (Mapped(Tiles(), CoinBetting()), "CoinBetting is not defined for cells"),
    (Mapped(Tiles(), Kalman(prior=1e40)), "prior must be at most 1e30 on cells"),
    (Averaged(Mapped(Tiles(), PA())), "learner must have an f to average"),
    (Averaged(Standardised(Mapped(Bins(), PA()))), "learner must have an f to average"),
    (
        Averaged(Stacked(Mapped(Tiles(), PA()), rbp(Gaussian(1.0), budget=5))),
        "learner must have an f to average",
    ),
    (Mapped(Stack(Tiles(), Identity()), PA()), "must be a FeatureMap"),
    (Mapped(Hashed(Tiles()), PA()), "features must be a FeatureMap"),
    (Mapped(Tiles(depth=25), PA()), "depth must be from 1 to 24, got 25"),
    (Mapped(Tiles(memory=100), PA()), "memory must be from 1024"),
    (Mapped(Bins(side=65), PA()), "side must be from 2 to 64"),
    (Kernelized(Tiles(), PA(), 5), "kernel must be a Kernel"),
    (Mapped(RandomFourier(Gaussian(1.0), 3), Tiles()), "rule must be a Rule"),
]


@each(("learner", "sentence"), REFUSED, ids=lambda case: repr(case)[:60])
def test_refused(learner, sentence):
    for refuse in (
        lambda: learner.check(Labels(2)),
        lambda: OnlineClassifier(learner).fit([[0.0], [1.0]], [0, 1]),
    ):
        with pytest.raises((ValueError, TypeError), match=sentence) as error:
            refuse()
        assert str(error.value).count(". ") == 0


def test_what_such_a_model_has_not():
    model = members.fitted("binary", Mapped(Tiles(9, 3), Kalman(3.0)))
    assert model.n_support_ == 0
    for name in ("coef_", "dual_coef_", "support_vectors_"):
        with pytest.raises(AttributeError, match=f"A model with the learner Mapped has no {name}"):
            getattr(model, name)
