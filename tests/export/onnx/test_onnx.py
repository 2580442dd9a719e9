"""ONNX graphs predict as the models that they were made of."""

import datetime as dt
import os
from dataclasses import dataclass

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

from budgetron import (
    AROW,
    OGD,
    AdaGrad,
    Bins,
    Encoder,
    FeatureMap,
    Gaussian,
    Hashed,
    Identity,
    Kalman,
    Kernelized,
    Laplacian,
    Mapped,
    Neighbours,
    Nystrom,
    OnlineClassifier,
    OnlineRegressor,
    RandomFourier,
    Ranged,
    RemoveOldest,
    SparseFourier,
    Stack,
    Stacked,
    Standardised,
    Tiles,
    auto,
    ogd,
    rbp,
)
from tests.helpers import members

pytest.importorskip("onnx", reason="needs onnx")

from onnx.reference import ReferenceEvaluator

from budgetron.export.onnx import to_onnx

ALL = members.exportable()
PLAIN = (
    "Abs Add And ArgMax BitShift BitwiseXor Cast Clip Concat Div Equal Exp Expand Floor Gather Greater "
    "GreaterOrEqual Identity IsNaN Log MatMul Max Mod Mul Neg Or Pow ReduceSum Reshape Shape Sin Slice "
    "Softmax Sqrt Squeeze Sub Sum Tanh TopK Unsqueeze Where"
)


each = pytest.mark.parametrize(
    ("task", "learner"), ALL, ids=[f"{task}-{learner}"[:80] for task, learner in ALL]
)


def answers(graph, rows):
    """The outputs of a graph by name, from onnx's own evaluator."""
    names = [output.name for output in graph.graph.output]
    return dict(zip(names, ReferenceEvaluator(graph).run(None, rows), strict=True))


def is_local(learner):
    """Whether it has cells or neighbours, whose operators on whole numbers differ between runtimes."""
    return any(f"{kind.__name__}(" in repr(learner) for kind in (Neighbours, *map(type, members.CELLS)))


def compare(model, found, X, tolerance):
    """The outputs are those of the model."""
    if not hasattr(model, "classes_"):
        wanted = {"prediction": model.predict(X)}
    else:
        wanted = {"label": model.predict(X), "scores": model.decision_function(X)}
        if hasattr(model, "predict_proba"):
            wanted["probabilities"] = model.predict_proba(X)
    assert found.keys() == wanted.keys()
    for name, values in wanted.items():
        assert found[name].shape == values.shape
        if name == "label":
            assert (found[name] == values).all()
        else:
            assert abs(found[name] - values).max() <= tolerance * max(1, abs(values).max()), name


@each
def test_every_learner(task, learner):
    model = members.fitted(task, learner)
    X = members.data(task, 50, seed=1)[0].astype(np.float32).astype(np.float64)
    graph = to_onnx(model)
    compare(model, answers(graph, {"X": X}), X, 1e-12)
    assert {node.op_type for node in graph.graph.node} <= {*PLAIN.split()}
    assert {node.domain for node in graph.graph.node} == {""}
    single = answers(to_onnx(model, np.float32), {"X": X.astype(np.float32)})
    assert {output.dtype for name, output in single.items() if name != "label"} == {np.dtype(np.float32)}
    single.pop("label", None)
    for name, values in single.items():
        exact = answers(graph, {"X": X})[name]
        assert abs(values - exact).max() <= 1e-5 * max(1, abs(exact).max())


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_every_named_and_local_learner_with_onnxruntime(dtype):
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # it is read when the package is imported
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime, of 68 MB, is not installed")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1
    local = [(task, learner) for task, learner in members.combinations() if is_local(learner)]
    for task, learner in [*members.cases(), *(local if dtype is np.float64 else [])]:
        model, X = members.fitted(task, learner), members.data(task, 50, seed=1)[0].astype(np.float32)
        graph = to_onnx(model, dtype).SerializeToString()
        session = runtime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
        names = [output.name for output in session.get_outputs()]
        found = dict(zip(names, session.run(None, {"X": X.astype(dtype)}), strict=True))
        compare(model, found, X.astype(np.float64), 1e-12 if dtype is np.float64 else 1e-5)


@pytest.mark.parametrize("features", members.parts(FeatureMap), ids=lambda features: str(features)[:60])
def test_every_feature_map(features):
    X = members.data("binary", 30)[0]
    fitted = features.fit(X)
    found = answers(to_onnx(fitted), {"X": X})["features"]
    assert abs(found - fitted.transform(X)).max() <= 1e-12


# ---- models of odd shapes


def grown(learner):
    """A model whose columns and labels came one after the other."""
    rng, model = np.random.default_rng(0), OnlineClassifier(learner, random_state=0)
    for columns, labels in ((2, ["no", "yes"]), (3, ["no", "yes"]), (5, ["maybe", "no", "yes"])):
        records = [{f"c{j}": v for j, v in enumerate(row)} for row in rng.normal(size=(20, columns))]
        model.partial_fit(records, rng.choice(labels, 20))
    return model, {f"c{j}": rng.normal(size=(20, 1)) for j in range(5)}


@pytest.mark.parametrize(
    "learner",
    [
        auto(size=6),
        *(Mapped(cells, Kalman(drift=0.01)) for cells in members.CELLS),
        Standardised(Mapped(members.CELLS[2], OGD())),
        Standardised(Stacked(Mapped(Bins(pairs=1), AROW()), Standardised(Mapped(Tiles(9, 3), AdaGrad())))),
        Neighbours(20),
        Standardised(Neighbours(50, k=9)),
        Standardised(Stacked(rbp(Gaussian(0.3), budget=9), Mapped(Identity(), Kalman()))),
        Standardised(Mapped(Stack(Identity(), RandomFourier(Gaussian(0.3), 4), Identity(2.0)), OGD())),
        Standardised(
            Mapped(Stack(Stack(Identity(constant=False), SparseFourier(4)), Identity()), Kalman())
        ),
        Standardised(Mapped(Nystrom(Gaussian(0.3), 9), OGD())),
    ],
    ids=lambda learner: str(learner)[:75],
)
def test_columns_and_labels_that_came_later(learner):
    model, columns = grown(learner)
    records = [dict(zip(columns, row, strict=True)) for row in np.hstack([*columns.values()])]
    compare(model, answers(to_onnx(model), columns), records, 1e-12)


def test_labels_in_the_order_of_their_appearance():
    X, y = members.data("multiclass", 60)
    for labels in ((y - y[0]) % 3, np.array(["z", "a", "m"])[(y - y[0]) % 3], 5.0 - (y == y[0]), y != y[0]):
        model = OnlineClassifier(auto(size=5), random_state=0).partial_fit(X, labels)
        compare(model, answers(to_onnx(model), {"X": X}), X, 1e-12)
    assert not OnlineClassifier(random_state=0).partial_fit(X, 5.0 - (y != y[0])).fitted_.labels.is_sorted


def test_models_that_know_little():
    X = np.array([[0.0], [1.0], [2.0]])
    for learner in (rbp(Gaussian(1.0), budget=3), Mapped(Nystrom(Gaussian(1.0), 3), OGD()), None):
        model = OnlineClassifier(learner, random_state=0).start(X, classes=[0, 1])
        compare(model, answers(to_onnx(model), {"X": X}), X, 1e-12)
    model = OnlineClassifier(random_state=0).partial_fit(X[:1], ["only"])
    compare(model, answers(to_onnx(model), {"X": X}), X, 1e-12)
    with pytest.raises(ValueError, match=r"^The model knows no label yet"):
        to_onnx(OnlineClassifier().start(X))


def test_missing_values_and_sparse_rows():
    X, y = members.data("regression", 60)
    model = OnlineRegressor(auto(size=5), random_state=0).fit(sparse.csr_matrix(X), y)
    compare(model, answers(to_onnx(model), {"X": X}), X, 1e-12)
    X[::3, 1] = np.nan
    model = OnlineRegressor(auto(size=5), random_state=0).fit(X, y)
    compare(model, answers(to_onnx(model), {"X": X}), X, 1e-12)


def test_cells_and_neighbours_of_missing_values():
    X, y = members.data("multiclass", 120)
    X[:, 0] = np.round(3 * X[:, 0])  # whole numbers: each is a bin
    X[::3, 1] = np.nan
    rows = np.vstack([X, [[1e12, np.inf, -7.0], [np.nan, np.nan, np.nan], [-1e18, 1e17, 0.5]]])
    rows[np.isinf(rows)] = 1e100
    for learner in (*(Mapped(cells, Kalman()) for cells in members.CELLS), Neighbours(50), auto(size=5)):
        model = OnlineClassifier(learner, random_state=0).fit(X, y)
        compare(model, answers(to_onnx(model), {"X": rows}), rows, 1e-12)


def test_of_equally_near_rows_the_later_counts():
    X, y = np.tile([[0.0], [1.0], [2.0]], (9, 1)), np.random.default_rng(0).normal(size=27)
    model = OnlineRegressor(Neighbours(20, k=4)).fit(X, y, sample_weight=np.arange(27.0))
    rows = np.array([[0.0], [0.5], [1.0], [1.5], [7.0]])
    compare(model, answers(to_onnx(model), {"X": rows}), rows, 1e-12)


def test_thresholds_in_float32():
    """Rows of a model of float32 fall into the same cells in a graph of float32."""
    X = np.random.default_rng(0).integers(1, 9, size=(300, 3)).astype(np.float32) / np.float32(10)
    y = (X[:, 0] > 0.45) ^ (X[:, 1] > 0.25)
    for cells in (Tiles(20, 5), Bins(8, 2, 3)):
        model = OnlineClassifier(Mapped(cells, Kalman()), random_state=0).fit(X, y)
        assert model.fitted_.model.dtype == np.float32
        compare(model, answers(to_onnx(model, np.float32), {"X": X}), X, 1e-5)


def test_wide_rows_are_hashed():
    X, y = members.data("binary", 60, features=30)
    for features in (RandomFourier(Gaussian(0.1), 5), Stack(Identity(), RandomFourier(Gaussian(0.1), 5))):
        model = OnlineClassifier(Mapped(Hashed(features, columns=7), OGD()), random_state=0).fit(X, y)
        compare(model, answers(to_onnx(model), {"X": X}), X, 1e-12)


def test_columns_that_were_constant():
    X, y = members.data("regression", 60)
    X[:, 1] = 3.0
    for scaled in (Standardised, Ranged):
        model = OnlineRegressor(scaled(ogd(Gaussian(0.5))), random_state=0).fit(X, y)
        compare(model, answers(to_onnx(model), {"X": X}), X, 1e-12)


def test_rows_far_from_zero_in_float32():
    """Distances are computed near the support vectors, so their common part does not take the digits."""
    X, y = members.data("binary", 60)
    far = X + 1000
    model = OnlineClassifier(rbp(Gaussian(0.5), budget=20), random_state=0).fit(far, y)
    found = answers(to_onnx(model, np.float32), {"X": far.astype(np.float32)})["scores"]
    assert abs(found - model.decision_function(far.astype(np.float32).astype(float))).max() <= 1e-3


@pytest.mark.parametrize("features", [False, True], ids=["support vectors", "landmarks"])
def test_rows_far_from_each_other(features):
    """Products of numbers much larger than the kernel is wide would take its digits."""
    X, y = members.data("binary", 80)
    far = (X + np.repeat([0.0, 300.0, -300.0, 1000.0], 20)[:, None]).astype(np.float32).astype(float)
    mixed = np.random.default_rng(0).permutation(80)
    kernel = Gaussian(0.5)
    learner = Mapped(Nystrom(kernel, 20), OGD()) if features else rbp(kernel, budget=40)
    model = OnlineClassifier(learner, random_state=0).fit(far[mixed], y[mixed])
    compare(model, answers(to_onnx(model), {"X": far}), far, 1e-12)
    single = answers(to_onnx(model, np.float32), {"X": far.astype(np.float32)})
    compare(model, single, far, 1e-5)


# ---- records

# No two dates have sines that differ by rounding only: cells would tell them apart.
DAYS = [dt.datetime(2020, 1, 1, 3) + dt.timedelta(hours=7 * i, minutes=11 * i) for i in range(40)]
RECORDS = [
    {
        "amount": float(i % 7),
        "country": ["DE", "FR", "IT"][i % 3],
        "when": DAYS[i],
        "mixed": [1.5, "x"][i % 2],
    }
    for i in range(40)
]


def seconds(moment):
    return moment.replace(tzinfo=dt.UTC).timestamp()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_records(dtype):
    model = OnlineClassifier(auto(size=6), random_state=0, encoder=Encoder(decide_after=20))
    model.partial_fit(RECORDS, ["ok", "bad", "ok", "odd"] * 10)
    records = [*RECORDS, {"amount": 3.0}, {"country": "unknown"}, {"when": dt.datetime(1960, 5, 5)}]
    columns = {
        "amount": [record.get("amount", np.nan) for record in records],
        "country": [record.get("country", "") for record in records],
        "when": [seconds(record["when"]) if "when" in record else np.nan for record in records],
        "mixed": [m if isinstance(m := record.get("mixed"), float) else np.nan for record in records],
        "mixed (text)": [m if isinstance(m := record.get("mixed"), str) else "" for record in records],
    }
    types = {"amount": dtype, "mixed": dtype, "when": np.float64}
    arrays = {name: np.array(values, types.get(name, object))[:, None] for name, values in columns.items()}
    tolerance = 1e-12 if dtype is np.float64 else 1e-3  # float32 rounds a date to two minutes
    compare(model, answers(to_onnx(model, dtype), arrays), records, tolerance)


def test_records_with_onnxruntime():
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime, of 68 MB, is not installed")
    records = [{"amount": record["amount"], "country": record["country"]} for record in RECORDS]
    model = OnlineClassifier(auto(size=6), random_state=0).partial_fit(records, ["no", "yes"] * 20)
    session = runtime.InferenceSession(
        to_onnx(model).SerializeToString(), providers=["CPUExecutionProvider"]
    )
    arrays = {name: np.array([[record[name]] for record in records]) for name in ("amount", "country")}
    found = session.run(["label", "scores", "probabilities"], arrays)
    compare(model, dict(zip(("label", "scores", "probabilities"), found, strict=True)), records, 1e-12)


def test_hashed_values_are_refused_by_name():
    records = [{"city": f"c{i}"} for i in range(9)]
    model = OnlineClassifier(auto(size=3), encoder=Encoder(most_values=4)).partial_fit(
        records, [0, 1, 1] * 3
    )
    with pytest.raises(
        ValueError, match=r"^The encoder hashes values of 'city', which no ONNX operator can: "
    ):
        to_onnx(model)


@pytest.mark.parametrize("name", ["label", "scores", "", "/mul_3"])
def test_names_that_no_input_can_have(name):
    model = OnlineRegressor(auto(size=3)).fit([{name: 1.0}, {name: 2.0}], [0.0, 1.0])
    with pytest.raises(ValueError, match=rf"^No input of the graph can have the name '{name}', which is"):
        to_onnx(model)


def test_columns_of_any_other_name():
    records = [{'a"b\n*/': 1.0 * i, "ü": ["x", "y\nz"][i % 2], "X": 2.0 * i} for i in range(20)]
    model = OnlineClassifier(auto(size=4), random_state=0).partial_fit(records, [0, 1] * 10)
    types = {"ü": object}
    arrays = {
        name: np.array([[record[name]] for record in records], types.get(name, float))
        for name in records[0]
    }
    compare(model, answers(to_onnx(model), arrays), records, 1e-12)


# ---- what is refused


@dataclass
class OwnKernel(Gaussian):
    """A kernel that the exporter does not know."""


@dataclass
class OwnLearner(Kernelized):
    """A learner of a user, which is one of ours."""


def test_what_cannot_be_exported_is_refused_by_name():
    X, y = members.data("binary", 20)
    model = OnlineClassifier(rbp(OwnKernel(1.0), budget=9)).fit(X, y)
    with pytest.raises(ValueError, match=r"^The kernel OwnKernel cannot be exported\.$"):
        to_onnx(model)
    own = OnlineClassifier(OwnLearner(Laplacian(1.0), OGD(), RemoveOldest(9))).fit(X, y)
    compare(own, answers(to_onnx(own), {"X": X}), X, 1e-12)
    with pytest.raises(
        TypeError, match=r"^Expected a fitted OnlineClassifier or OnlineRegressor to export, got"
    ):
        to_onnx("model")
    with pytest.raises(NotFittedError):
        to_onnx(OnlineClassifier())
    with pytest.raises(
        ValueError, match=r"^Expected a fitted feature map to export, got .*: call fit first\.$"
    ):
        to_onnx(RandomFourier())
    for dtype in ("float16", "int64", "nonsense"):
        with pytest.raises(ValueError, match=r"^dtype must be float64 or float32, got"):
            to_onnx(own, dtype)
    days = OnlineClassifier(random_state=0).fit(X[:2], [dt.date(2020, 1, 1), dt.date(2020, 1, 2)])
    with pytest.raises(
        ValueError, match=r"^Labels of type date cannot be exported: use texts, or numbers of 64 bits\.$"
    ):
        to_onnx(days)


def test_numbers_that_float32_cannot_hold():
    model = OnlineRegressor(ogd(Gaussian(1.0))).fit([[0.0], [1e50]], [0.0, 1.0])
    with pytest.raises(ValueError, match=r"^The model has the number 1e\+50, which float32 cannot hold"):
        to_onnx(model, np.float32)
    to_onnx(model)
