"""Model files: nothing is lost."""

import json
import os

import numpy as np
import pandas as pd
import pytest

import budgetron
from budgetron import (
    OGD,
    Averaged,
    Gaussian,
    Kernelized,
    Logistic,
    ModelFileError,
    OnlineClassifier,
    OnlineRegressor,
    SaveError,
    Swap,
    load,
    model_files,
)
from budgetron.parts.budgets import Budget
from tests.helpers.cases import each
from tests.helpers.members import bits, cases, data, estimator, fitted, make, same_state, scores, start

# ---- nothing is lost


@each("dtype", [np.float32, np.float64])
@each(("task", "name"), cases())
def test_a_loaded_model_goes_on_as_if_never_stopped(task, name, dtype, path):
    X, y = data(task)
    X = X.astype(dtype)
    model = start(estimator(task, name), task, X[:50], y[:50])
    before = bits(model)
    model.save(path)
    assert bits(model) == before
    other = load(path)
    assert type(other) is type(model)
    assert other.get_params() == model.get_params()
    assert other.learner_ == model.learner_
    assert same_state(other, model)
    model.partial_fit(X[50:], y[50:])
    other.partial_fit(X[50:], y[50:])
    assert same_state(other, model)
    assert bits(model) != before
    assert scores(other, X).tobytes() == scores(model, X).tobytes()


@each(("task", "name"), cases())
def test_the_same_model_is_the_same_bytes(task, name, path):
    model = fitted(task, name)
    written = []
    for kept in (model, model, load_after(model, path), fitted(task, name)):
        kept.save(path, extra={"b": 1, "a": np.arange(3)})
        written.append(path.read_bytes())
    assert len(set(written)) == 1
    model.save(path, extra={"a": np.arange(3), "b": 1})
    assert path.read_bytes() == written[0]


def load_after(model, path):
    model.save(path)
    return load(path)


def test_averages_go_on(path):
    X, y = data("multiclass")
    model = fitted("multiclass", Averaged(make("bpa_nn"), suffix=0.5))
    other = load_after(model, path)
    assert same_state(model.partial_fit(X, y), other.partial_fit(X, y))


@pytest.mark.parametrize("random_state", [None, 7, np.int64(7)])
def test_parameters_come_back(random_state, path):
    """Those of the estimator as the user wrote them, those of the model as numbers."""
    X, y = data("binary")
    learner = Kernelized(Gaussian("scale"), OGD(eta=0.2, loss=Logistic()), Swap(budget=np.int64(5)))
    model = OnlineClassifier(learner, epochs=2, shuffle=True, random_state=random_state).fit(X, y)
    other = load_after(model, path)
    assert other.get_params() == model.get_params()
    assert other.learner == learner
    assert other.learner_ == model.learner_
    assert other.gamma_ == model.gamma_ == other.learner_.kernel.gamma
    np.testing.assert_array_equal(other.predict_proba(X), model.predict_proba(X))
    model.set_params(learner=None, epochs=3)
    other = load_after(model, path)
    assert other.learner is None
    assert other.epochs == 3
    assert same_state(other, model)


LABELS = {
    "int8": np.array([-3, 5], np.int8),
    "int64": np.array([2**53, 2**53 + 1, 2**60]),
    "uint64": np.array([1, 2**64 - 1], np.uint64),
    "bool": np.array([False, True]),
    "float32": np.array([-2.0, 7.0], np.float32),
    "text": np.array(["a", "naïve", "日本", "😀😀"]),
    "empty text": np.array(["", "x"]),
    "object": np.array(["cat", "dog", "longer than the others"], dtype=object),
}


@each("kind", LABELS)
def test_labels_keep_their_dtype(kind, path):
    classes = np.sort(LABELS[kind])
    y = classes[np.arange(30) % len(classes)]
    X = np.random.default_rng(0).normal(size=(30, 2))
    model = OnlineClassifier(make("bpa_s")).fit(X, y)
    other = load_after(model, path)
    assert other.classes_.dtype == model.classes_.dtype
    assert other.classes_.tolist() == model.classes_.tolist()
    np.testing.assert_array_equal(other.predict(X), model.predict(X))
    assert same_state(other.partial_fit(X, y), model.partial_fit(X, y))


def test_names_of_features_come_back(path):
    X, y = data("regression")
    frame = pd.DataFrame(X, columns=["a", "b c", "日"])
    model = OnlineRegressor(make("nogd")).fit(frame, y)
    other = load_after(model, path)
    assert other.feature_names_in_.dtype == object
    assert other.feature_names_in_.tolist() == ["a", "b c", "日"]
    assert other.n_features_in_ == 3
    np.testing.assert_array_equal(other.predict(frame), model.predict(frame))
    with pytest.warns(UserWarning, match="valid feature names"):
        other.predict(X)


def test_extra_comes_back(path):
    extra = {
        "offset": 2**70,
        "share": 0.1,
        "worst": [float("inf"), -float("inf"), None, True, "text \ud800"],
        "scaler": {"mean": np.arange(3.0), "n": np.array(4), "none": np.empty((0, 2), np.float32)},
        "checksum": "sha256:" + 64 * "0",
        "mask": np.array([[True, False]]).T,
    }
    fitted().save(path, extra=extra)
    back = model_files.read(path).extra
    assert set(back) == set(extra)
    for name in ("offset", "share", "worst", "checksum"):
        assert back[name] == extra[name]
    for one, other in [(back["mask"], extra["mask"])] + [
        (back["scaler"][name], extra["scaler"][name]) for name in extra["scaler"]
    ]:
        assert one.dtype == other.dtype
        assert one.shape == other.shape
        np.testing.assert_array_equal(one, other)
    fitted().save(path, extra={"loss": float("nan")})
    assert np.isnan(model_files.read(path).extra["loss"])
    fitted().save(path)
    assert model_files.read(path).extra == {}


def test_other_programs_can_read_the_arrays(path):
    safetensors = pytest.importorskip("safetensors")
    numpy = pytest.importorskip("safetensors.numpy")
    model = fitted("multiclass", "bpa_p")
    model.save(path, extra={"mean": np.arange(3.0), "few": np.arange(5, dtype=np.uint8)})
    arrays = numpy.load_file(path)
    for name, array in model_files.read(path).arrays.items():
        assert arrays.pop(name).tobytes() == array.tobytes()
    assert not arrays
    with safetensors.safe_open(path, "np") as file:
        assert file.metadata()["format"] == "budgetron model"
        assert json.loads(file.metadata()["description"])["fitted"]["n_features_in"] == 3


def test_arrays_are_aligned(path):
    fitted().save(path, extra={"a": np.arange(3, dtype=np.uint8), "b": np.arange(3, dtype=np.float32)})
    file = path.read_bytes()
    size = int.from_bytes(file[:8], "little")
    assert size % 8 == 0
    header = json.loads(file[8 : 8 + size])
    for name, entry in header.items():
        if name != "__metadata__":
            width = {"F64": 8, "U64": 8, "I64": 8, "F32": 4, "U8": 1}[entry["dtype"]]
            assert entry["data_offsets"][0] % width == 0


# ---- what cannot be saved


class Mine(Budget):
    """A budget of the user's own."""


class MyClassifier(OnlineClassifier):
    """An estimator of the user's own."""


def test_what_a_file_cannot_hold_is_refused_in_a_sentence(path):
    model = fitted()
    model.save(path)
    kept = path.read_bytes()
    for change, sentence in [
        ({"random_state": np.random.RandomState(0)}, "^random_state is RandomState.*None.$"),
        ({"learner": Kernelized(Gaussian(1.0), OGD(), Mine())}, "^learner.budget is a Mine, .* name it.$"),
        ({"learner": Kernelized(Gaussian(float("nan")), OGD(), Swap(3))}, "^learner.kernel.gamma is nan"),
        ({"learner": Kernelized(Gaussian({1, 2}), OGD(), Swap(3))}, r"^learner.kernel.gamma is {1, 2}"),
        ({"learner": Kernelized(Gaussian(1.0), OGD(), Swap)}, "^learner.budget is <class"),
    ]:
        with pytest.raises(TypeError, match=sentence):
            fitted().set_params(**change).save(path)
    for extra in ({"f": print}, {"a": np.array(["x"])}, {"$array": 1}, {1: 2}, {"a": (1,)}, {"a": 1j}):
        with pytest.raises(TypeError, match=r"^extra"):
            model.save(path, extra=extra)
    with pytest.raises(TypeError, match="two arrays"):
        model.save(path, extra={"a/b": np.ones(1), "a": {"b": np.ones(1)}})
    mine = fitted()
    mine.note = "precious"
    with pytest.raises(TypeError, match="attribute 'note' has no place"):
        mine.save(path)
    with pytest.raises(TypeError, match="MyClassifier is not one"):
        MyClassifier(make("rbp")).fit([[0.0], [1.0]], [0, 1]).save(path)
    with pytest.raises(ValueError, match="is not fitted yet"):
        OnlineClassifier().save(path)
    assert path.read_bytes() == kept
    assert os.listdir(path.parent) == [path.name]


def test_exported_names():
    assert budgetron.load is load
    assert issubclass(ModelFileError, ValueError)
    assert issubclass(SaveError, OSError)
