"""Models that grow: more columns, more classes, and what must not change."""

from __future__ import annotations

import pickle
import threading
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

import budgetron as bt
from budgetron.learners.learner import Learner
from budgetron.model.model import Model
from budgetron.parts.tasks import Labels, Targets, Task
from tests.helpers import members
from tests.helpers.cases import each

KERNEL = bt.Gaussian(0.5)
INPUTS = bt.Stack(
    bt.Identity("1/sqrt(d)"), bt.RandomFourier(bt.Gaussian("4/d"), 5), bt.Identity(constant=False)
)
MORE: list[Learner] = [
    *[bt.Mapped(INPUTS, rule) for rule in members.parts(bt.VectorRule)],
    *[
        bt.Mapped(bt.Identity(), rule)
        for rule in (bt.Kalman(covariance="diagonal"), bt.Kalman(drift=0.01), bt.OGD())
    ],
    bt.Mapped(bt.Stack(bt.Nystrom(KERNEL, 8, 4), bt.Identity()), bt.Kalman()),
    bt.Mapped(bt.Stack(bt.Nystrom(KERNEL, 200), bt.Identity()), bt.AROW()),
    bt.Mapped(bt.Stack(INPUTS, bt.Hashed(bt.Identity(), columns=2)), bt.Kalman()),
    *[
        bt.Mapped(kind(law, 6), bt.OGD())
        for kind, law in [
            (bt.OrthogonalFourier, KERNEL),
            (bt.SobolFourier, bt.Laplacian(0.5)),
            (bt.SobolFourier, bt.Spectrum(radius=bt.Law("gamma", (1.5,)))),
            (bt.RandomFourier, bt.Spectrum(radius=bt.Law("gamma", (1.5,)))),
            (bt.HadamardFourier, KERNEL),
        ]
    ],
    bt.Averaged(bt.Mapped(INPUTS, bt.OGD()), 0.5),
    bt.Averaged(bt.Kernelized(KERNEL, bt.OGD(), bt.RemoveOldest(10))),
    bt.Standardised(
        bt.Stacked(
            *[bt.Mapped(INPUTS, bt.Kalman(prior=prior)) for prior in (1, 10)],
            bt.algorithms.rbp(KERNEL, budget=10),
        )
    ),
    bt.Standardised(bt.Mapped(bt.Stack(bt.SparseFourier(9), bt.Identity()), bt.Kalman())),
    bt.Mapped(bt.Stack(bt.Recruited(bt.SparseFourier(9), every=5), bt.Identity()), bt.Kalman()),
    bt.Ranged(bt.Mapped(INPUTS, bt.AdaGrad())),
    bt.Stacked(bt.Mapped(INPUTS, bt.CoinBetting()), bt.Mapped(INPUTS, bt.OnlineNewton())),
]


def tasks() -> list[tuple[str, Learner]]:
    """Every algorithm, every exported part in a learner, and combinations that have inputs as features."""
    named = [(task, members.make(name)) for task, name in members.cases()]
    mine = [(task, learner) for learner in MORE for task in members.TASKS]
    return named + members.combinations() + mine


CASES = tasks()
all_cases = each(("task", "learner"), CASES)
labelled = each(
    ("task", "learner"),
    [(task, m) for task, m in CASES if task != "regression" and members._defined("multiclass", m)],
)
LAYOUTS = ("dense", "csr", "wide")


def native_task(task: str) -> Task:
    return Targets() if task == "regression" else Labels(2 if task == "binary" else 3)


def rows(task: str, n: int = 60, seed: int = 0, features: int = 3) -> tuple[Any, Any]:
    """Rows and labels as the core reads them."""
    X, y = members.data(task, n, seed=seed, features=features)
    y = y.astype(float)
    return X, 2 * y - 1 if task == "binary" else y


def padded(X: Any, columns: int, fill: float = 0.0) -> Any:
    """X with more columns."""
    return np.hstack([X, np.full((X.shape[0], columns - X.shape[1]), fill, dtype=X.dtype)])


def learned(task: str, learner: Learner, X: Any, y: Any) -> Model:
    dense = X.toarray() if sparse.issparse(X) else X
    model = Model(learner.resolved(dense), native_task(task), X.shape[1], X.dtype, seed=3)
    model.learn(X, y)
    return model


def bits(model: Model) -> dict[str, bytes]:
    return {name: a.tobytes() for name, a in model.state().items()}


def clone(model: Model) -> Model:
    copied: Model = pickle.loads(pickle.dumps(model))
    return copied


def as_layout(X: Any, layout: str) -> Any:
    return X if layout == "dense" else sparse.csr_array(X)


@all_cases
def test_new_columns_change_no_score(task: str, learner: Learner) -> None:
    X, y = rows(task)
    for layout in ("dense", "csr"):
        for dtype in (np.float64, np.float32):
            Z = as_layout(X.astype(dtype), layout)
            model = learned(task, learner, Z, y)
            before = model.scores(Z)
            model.widen(11)
            fill = np.nan if learner.accepts_missing and layout == "dense" else 0.0
            assert_array_equal(model.scores(as_layout(padded(X.astype(dtype), 11, fill), layout)), before)
            assert model.n_features == 11


@each("dtype", [np.float64, np.float32])
@each("name", ["bpa_nn", "forgetron", "projectron", "bduol"])
def test_new_columns_of_wide_rows_change_no_score(name: str, dtype: Any) -> None:
    X, y = rows("binary", features=3000)
    X = sparse.csr_array((X * (np.random.default_rng(0).random(X.shape) < 0.01)).astype(dtype))
    model = learned("binary", members.make(name), X, y)
    before = model.scores(X)
    model.widen(5000)
    wider = sparse.csr_array((X.data, X.indices, X.indptr), shape=(X.shape[0], 5000))
    assert_array_equal(model.scores(wider), before)
    more = sparse.random_array(
        (30, 5000), density=0.01, rng=np.random.default_rng(1), format="csr", dtype=dtype
    )
    model.learn(more, np.resize([1.0, -1.0], 30))
    assert np.isfinite(model.scores(more)).all()


@labelled
def test_new_classes_keep_the_differences_of_scores(task: str, learner: Learner) -> None:
    X, y = rows(task)
    model = learned(task, learner, X, y)
    before = model.scores(X)
    wider = 3 if task == "binary" else 5
    model.widen(3, wider)
    after = model.scores(X)
    assert after.shape == (60, wider)
    assert model.task == Labels(wider)
    if task == "binary":
        assert_array_equal(after[:, 1], before[:, 0] / 2)
        assert_array_equal(after[:, 0], -before[:, 0] / 2)
        assert_array_equal(after[:, 1] - after[:, 0], before[:, 0])
    else:
        assert_array_equal(after[:, :3], before)
    if not isinstance(learner, bt.Stacked | bt.Standardised | bt.Auto):
        assert not after[:, 2 if task == "binary" else 3 :].any()


@all_cases
def test_learning_goes_on_and_a_state_holds_the_model(task: str, learner: Learner) -> None:
    X, y = rows(task)
    classes = {"binary": 4, "multiclass": 5}.get(task) if members._defined("multiclass", learner) else None
    wide, _ = rows(task, 80, seed=1, features=9)
    label = (
        np.random.default_rng(0).integers(0, classes, 80).astype(float)
        if classes
        else rows(task, 80, seed=1)[1]
    )
    model = learned(task, learner, X, y)
    model.widen(9, classes)
    copied = clone(model)
    assert bits(copied) == bits(model)
    assert (copied.n_features, copied.task) == (9, model.task)
    assert_array_equal(copied.scores(wide), model.scores(wide))
    scores = model.learn(wide, label)
    assert np.isfinite(scores).all()
    assert np.isfinite(model.scores(wide)).all()
    pieces = [copied.learn(wide[:7], label[:7])]
    copied = clone(copied)
    pieces += [copied.learn(wide[i : i + 1], label[i : i + 1]) for i in range(7, 20)]
    pieces.append(copied.learn(wide[20:], label[20:]))
    assert_array_equal(np.vstack(pieces), scores)
    assert bits(copied) == bits(model)
    restored = Model.restored(model.learner, model.task, 9, model.dtype, 3, model.state())
    assert_array_equal(restored.scores(wide), model.scores(wide))


@all_cases
def test_twice_is_once_and_nothing_is_nothing(task: str, learner: Learner) -> None:
    X, y = rows(task)
    more = members._defined("multiclass", learner) and task != "regression"
    once, wide = learned(task, learner, X, y), rows(task, 40, seed=2, features=20)[0]
    start = bits(once)
    once.widen(3, None if task == "regression" else once.task.n_classes)  # type: ignore[union-attr]
    assert bits(once) == start
    twice = clone(once)
    once.widen(20, 6 if more else None)
    twice.widen(5)
    twice.widen(12, 4 if more else None)
    twice.widen(20, 6 if more else None)
    assert bits(once) == bits(twice)
    label = np.resize(np.arange(6.0), 40) if more else rows(task, 40, seed=2)[1]
    assert_array_equal(once.learn(wide, label), twice.learn(wide, label))
    assert bits(once) == bits(twice)


@pytest.mark.parametrize("task", members.TASKS)
def test_a_model_file(task: str, tmp_path: Any) -> None:
    estimator = members.fitted(
        task, bt.Standardised(bt.Stacked(*MORE[:2], bt.algorithms.rbp(KERNEL, budget=10)))
    )
    estimator.fitted_.model.widen(7)
    estimator.save(tmp_path / "model")
    loaded = bt.load(tmp_path / "model")
    X, y = members.data(task, 30, seed=5, features=7)
    for model in (estimator, loaded):
        members.start(model, task, X, y)
    assert members.same_state(estimator, loaded)
    assert_array_equal(members.scores(estimator, X), members.scores(loaded, X))


def test_a_new_column_is_learned() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 6))
    y = np.sign(X[:, 5])
    for features in (
        bt.Identity(),
        bt.RandomFourier(bt.Gaussian(0.3), 50),
        bt.SparseFourier(50),
        bt.HadamardFourier(KERNEL, 50),
    ):
        model = learned("binary", bt.Mapped(features, bt.Kalman()), X[:50, :2].copy(), y[:50])
        model.widen(6)
        model.learn(X[50:], y[50:])
        assert np.mean(np.sign(model.scores(X)[:, 0]) == y) > 0.8, features


def test_probabilities_keep_their_ratio() -> None:
    X, y = rows("binary")
    for learner in (
        bt.Mapped(INPUTS, bt.Kalman()),
        bt.Stacked(bt.algorithms.rbp(KERNEL, budget=10), bt.Mapped(INPUTS, bt.Kalman())),
    ):
        model = learned("binary", learner, X, y)
        logit = model.scores(X)[:, 0]
        model.widen(3, 3)
        p = np.exp(model.scores(X))
        np.testing.assert_allclose(np.log(p[:, 1] / p[:, 0]), logit, rtol=1e-12, atol=1e-14)


def test_what_is_refused_changes_nothing() -> None:
    X, y = rows("binary")
    model = learned("binary", members.make("bduol", maintenance=bt.DualProjection), X, y)
    before = bits(model)
    for arguments, sentence in [
        ((2,), r"^widen: n_features must be a whole number of at least 3, .* got 2\.$"),
        ((3.5,), r"^widen: n_features must be .* got 3\.5\.$"),
        ((4, 1), r"^widen: n_classes must be a whole number of at least 2, .* got 1\.$"),
        ((4, "many"), r"^widen: n_classes must be .* got 'many'\.$"),
        ((4, 3), r"^DualProjection is defined for two classes; for more take .*\.$"),
    ]:
        with pytest.raises(ValueError, match=sentence):
            model.widen(*arguments)
        assert bits(model) == before
        assert (model.n_features, model.task) == (3, Labels(2))
    with pytest.raises(ValueError, match=r"has no classes"):
        learned("regression", members.make("rbp"), *rows("regression")).widen(4, 3)


def test_a_failure_on_the_way_leaves_the_estimator_as_it_was() -> None:
    """Rows that bring a column are learned by a copy: nobody sees the model that could not be widened."""

    class Coordinate:
        fails = False

        def __call__(self, p: Any) -> Any:
            if self.fails:
                raise RuntimeError("no more")
            return p

    records = [{"a": float(i)} for i in range(9)]
    model = bt.OnlineRegressor(
        bt.Mapped(bt.Stack(bt.Identity(), bt.RandomFourier(bt.Spectrum(Coordinate()), 4)), bt.OGD())
    )
    model.partial_fit(records, range(9))
    before, scores, columns = bits(model.fitted_.model), model.predict(records), model.encoding_.columns
    Coordinate.fails = True
    with pytest.raises(RuntimeError, match="no more") as caught:
        model.partial_fit([{"a": 1.0, "b": 1.0}], [1.0])
    Coordinate.fails = False
    assert caught.value.rows_learned == 0  # type: ignore[attr-defined]
    assert (bits(model.fitted_.model), model.encoding_.columns) == (before, columns)
    assert_array_equal(model.predict(records), scores)
    assert model.partial_fit([{"a": 1.0, "b": 1.0}], [1.0]).n_features_in_ == 2


def test_rows_of_the_old_width_are_refused() -> None:
    X, y = rows("binary")
    model = learned("binary", members.make("rbp"), X, y)
    model.widen(5)
    with pytest.raises(ValueError, match="built for 5 features, X has 3"):
        model.scores(X)
    model.n_features = 3  # as a reader in another thread that has just checked
    with pytest.raises(ValueError, match="widened to 5 features, X has 3"):
        model.scores(X)
    with pytest.raises(ValueError, match="widened to 5 features, X has 3"):
        model.learn(X, y)


@each("first", [[4, 2], [3, 3], [3, 0], [3, 1], [3], [3, 2, 2], [2**63, 2]])
def test_a_hostile_file(first: list[int]) -> None:
    X, y = rows("binary")
    model = learned("binary", members.make("rbp"), X, y)
    state = model.state() | {"widened.from": np.array(first, dtype=np.uint64)}
    with pytest.raises(ValueError, match=r"widened\.from does not fit"):
        Model.restored(model.learner, model.task, 3, model.dtype, 3, state)
    if first == [3, 2, 2]:
        state["widened.from"] = np.array([2.0, 2.0])
        with pytest.raises(ValueError, match=r"widened\.from does not fit"):
            Model.restored(model.learner, model.task, 3, model.dtype, 3, state)


def test_never_widened_has_the_fields_of_before() -> None:
    model = learned("binary", members.make("rbp"), *rows("binary"))
    assert "widened.from" not in model.state()
    model.widen(4)
    assert model.state()["widened.from"].tolist() == [3, 2]


@each(
    "features",
    [bt.Identity(), INPUTS, bt.HadamardFourier(KERNEL, 4), bt.Nystrom(KERNEL, 8), bt.SparseFourier(4)],
)
def test_a_file_that_claims_many_columns_takes_no_memory(features: Any) -> None:
    X, y = rows("binary")
    model = learned("binary", bt.Standardised(bt.Mapped(features, bt.Kalman())), X[:, :1].copy(), y)
    state = model.state() | {"widened.from": np.array([1, 2], dtype=np.uint64)}
    with pytest.raises(ValueError, match="do not fit together"):
        Model.restored(model.learner, model.task, 2**31 - 1, model.dtype, 3, state)


def test_readers_in_other_threads_meet_the_old_model_or_the_new_one() -> None:
    X, y = rows("multiclass")
    model = learned(
        "multiclass", bt.Stacked(bt.algorithms.rbp(KERNEL, budget=10), bt.Mapped(INPUTS, bt.Kalman())), X, y
    )
    expected, stop, wrong = model.scores(X), threading.Event(), []

    def read() -> None:
        while not stop.is_set():
            try:
                scores = model.scores(padded(X, model.n_features))
            except ValueError as refusal:
                if "features, X has" not in str(refusal):
                    wrong.append(refusal)
            else:
                if not np.array_equal(scores, expected):
                    wrong.append(scores)

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for columns in range(4, 60):
        model.widen(columns)
    stop.set()
    for reader in readers:
        reader.join()
    assert not wrong
    assert_array_equal(model.scores(padded(X, 59)), expected)
