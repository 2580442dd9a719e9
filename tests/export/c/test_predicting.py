"""Models in C predict as in Python."""

import datetime as dt
import shutil
import subprocess

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from budgetron import (
    Bins,
    Encoder,
    Gaussian,
    Kalman,
    Mapped,
    Neighbours,
    OnlineClassifier,
    OnlineRegressor,
    Stacked,
    Standardised,
    Tiles,
    auto,
    ogd,
    rbp,
)
from budgetron.export.c import to_c
from budgetron.records.reading import to_table
from tests.helpers import members
from tests.helpers.compiled import compiled, library, needs_compiler, predicted, predicting

TOLERANCE = {"float64": 1e-12, "float32": 2e-6}
ALL = members.exportable()

pytestmark = needs_compiler


@pytest.fixture(scope="module", params=TOLERANCE)
def everything(request, tmp_path_factory):
    """Every learner for every task: its model, and a library with all of them in C."""
    cases = ALL if request.param == "float64" else members.cases()
    models = {f"m{i}": (task, members.fitted(task, learner)) for i, (task, learner) in enumerate(cases)}
    headers = {name: to_c(model, name=name, dtype=request.param) for name, (_, model) in models.items()}
    functions = [predicting(name, model) for name, (_, model) in models.items()]
    return request.param, models, library(tmp_path_factory.mktemp("c"), headers, functions)


def test_every_learner_predicts_the_same(everything):
    dtype, models, functions = everything
    for name, (task, model) in models.items():
        X = members.data(task, 50, seed=1)[0].astype(np.float32).astype(np.float64)
        labels, scores, shares = predicted(functions, name, model, X, dtype)
        wanted = members.scores(model, X)
        scale = max(1, abs(wanted).max())
        assert abs(scores - wanted).max() <= TOLERANCE[dtype] * scale, (task, model.learner_)
        if labels is not None:
            assert (labels == model.predict(X)).all(), (task, model.learner_)
        if hasattr(model, "predict_proba"):
            assert abs(shares - model.predict_proba(X)).max() <= TOLERANCE[dtype]


def one(model, X, folder, dtype="float64"):
    functions = library(folder, {"one": to_c(model, name="one", dtype=dtype)}, [predicting("one", model)])
    return predicted(functions, "one", model, X, dtype)


def test_labels_in_the_order_of_their_appearance(tmp_path):
    X, y = members.data("multiclass", 60)
    names = np.array(['z"\\?/é', "a", "m"])[(y - y[0]) % 3]
    model = OnlineClassifier(auto(size=5), random_state=0).partial_fit(X, names)
    assert not model.fitted_.labels.is_sorted
    labels, scores, shares = one(model, X, tmp_path)
    assert (labels == model.predict(X)).all()
    assert abs(scores - model.decision_function(X)).max() <= 1e-12
    assert abs(shares - model.predict_proba(X)).max() <= 1e-12
    text = (tmp_path / "one.h").read_text()
    assert r'{"a", "m", "z\042\134\077/\303\251"}' in text


def test_two_labels_in_the_order_of_their_appearance(tmp_path):
    X, y = members.data("binary", 60)
    model = OnlineClassifier(auto(size=5), random_state=0).partial_fit(X, np.where(y == y[0], 5, -5))
    assert not model.fitted_.labels.is_sorted
    labels, scores, shares = one(model, X, tmp_path)
    assert (labels == model.predict(X)).all()
    assert abs(scores - model.decision_function(X)).max() <= 1e-12
    assert abs(shares - model.predict_proba(X)).max() <= 1e-12


def test_missing_values_and_columns_that_came_later(tmp_path):
    records = [{"a": 1.0 * i, "b": i % 3} for i in range(9)] + [
        {"b": 2, "late": 0.5},
        {"a": 3.0, "c": "*/"},
    ]
    model = OnlineRegressor(auto(size=5), random_state=0).partial_fit(records, np.arange(11.0))
    X = model.encoding_.encode(to_table(records), grow=False)[0]
    _, scores, _ = one(model, X, tmp_path)
    assert abs(scores - model.predict(records)).max() <= 1e-12
    assert " *   x[3]: c=* /\n" in (tmp_path / "one.h").read_text()


@pytest.mark.parametrize("task", members.TASKS)
def test_dates_are_seen_by_some_experts_only(task, tmp_path):
    X, y = members.data(task, 300, features=3)
    times = [f"2026-03-{1 + i % 28:02} {i % 24:02}:15" for i in range(300)]
    records = [{"a": a, "b": b, "when": time, "c": c} for (a, b, c), time in zip(X, times, strict=True)]
    kind = OnlineRegressor if task == "regression" else OnlineClassifier
    model = kind(auto(size=5), random_state=0).partial_fit(records, y)
    assert len(np.ravel(model.expert_weights_)) == 6  # the twelve together, and five that see the dates
    rows = model.encoding_.encode(to_table(records), grow=False)[0]
    scores = one(model, rows, tmp_path)[1]
    wanted = members.scores(model, records)
    assert abs(scores - wanted).max() <= 1e-12 * max(1, abs(wanted).max())


@pytest.mark.parametrize("task", members.TASKS)
def test_cells_and_neighbours_of_missing_values_and_late_columns(task, tmp_path):
    X, y = members.data(task, 120, features=4)
    X[:, 0] = np.round(3 * X[:, 0])  # whole numbers: each is a bin
    X[::3, 1] = np.nan
    rows = np.vstack([X, [[1e12, 1e100, -7.0, 0.0], [np.nan] * 4, [-1e18, 1e17, 0.5, np.nan]]])
    records = [{f"c{j}": v for j, v in enumerate(row) if v == v} for row in rows]
    local = [
        *(Mapped(cells, Kalman(drift=0.01)) for cells in members.CELLS),
        Neighbours(50),
        Neighbours(60, 7),
    ]
    local += [Standardised(Stacked(*local[:5])), Standardised(Standardised(local[0]))]
    kind, models = OnlineRegressor if task == "regression" else OnlineClassifier, {}
    for i, learner in enumerate(local):
        model = models[f"m{i}"] = kind(learner, random_state=0)
        early = y[:60] if task == "regression" else np.minimum(y[:60], 1)  # the third class comes late too
        model.partial_fit(
            [{name: r[name] for name in ("c0", "c1") if name in r} for r in records[:60]], early
        )
        model.partial_fit(records[60:120], y[60:])
    headers = {name: to_c(model, name=name, dtype="float64") for name, model in models.items()}
    functions = library(tmp_path, headers, [predicting(name, model) for name, model in models.items()])
    for name, model in models.items():
        encoded = model.encoding_.encode(to_table(records), grow=False)[0]
        _, scores, _ = predicted(functions, name, model, encoded, "float64")
        wanted = members.scores(model, records)
        assert abs(scores - wanted).max() <= 1e-12 * max(1, abs(wanted).max()), model.learner


def test_thresholds_in_float(tmp_path):
    """Rows of a model of float32 fall into the same cells in C with float."""
    X = np.random.default_rng(0).integers(1, 9, size=(300, 3)).astype(np.float32) / np.float32(10)
    y = (X[:, 0] > 0.45) ^ (X[:, 1] > 0.25)
    learner = Stacked(*(Mapped(cells, Kalman()) for cells in (Tiles(20, 5), Bins(8, 2, 3))))
    model = OnlineClassifier(learner, random_state=0).fit(X, y)
    _, scores, _ = one(model, X, tmp_path, "float32")
    assert abs(scores - model.decision_function(X)).max() <= 2e-6


def test_models_that_know_little(tmp_path):
    X = np.array([[0.0], [1.0]])
    empty = OnlineClassifier(rbp(Gaussian(1.0), budget=3)).start(X, classes=[0, 1])
    assert one(empty, X, tmp_path)[0].tolist() == empty.predict(X).tolist()
    alone = OnlineClassifier(auto(size=5), random_state=0).partial_fit(X[:1], ["only"])
    labels, _, shares = one(alone, X, tmp_path)
    assert labels.tolist() == ["only", "only"]
    assert (shares == 1).all()


def test_a_header_is_also_cpp(tmp_path):
    if shutil.which("c++") is None:
        pytest.skip("needs a C++ compiler")
    (tmp_path / "one.h").write_text(to_c(members.fitted("multiclass", "rbp"), learn=True))
    (tmp_path / "one.cpp").write_text('#include "one.h"\nint main() { return 0; }\n')
    command = ["c++", "-Wall", "-Wextra", "-Werror", "-pedantic", "one.cpp", "-o", "one"]
    subprocess.run(command, cwd=tmp_path, check=True)


def test_two_models_in_one_program(tmp_path):
    for name in ("door", "Door"):  # names differ in C if cases do
        (tmp_path / f"{name}.h").write_text(to_c(members.fitted("binary", "auto"), name=name))
    source = tmp_path / "main.c"
    call = "int main(void) { return door_features - Door_features; }\n"
    source.write_text('#include "door.h"\n#include "Door.h"\n#include "door.h"\n' + call)
    compiled(source, tmp_path / "main", "-lm")


def test_what_cannot_be_exported():
    model = members.fitted("binary", "rbp")
    with pytest.raises(
        TypeError, match=r"^Expected a fitted OnlineClassifier or OnlineRegressor to export, got 3"
    ):
        to_c(3)
    for name in ("", "9lives", "a-b", "int", "é", 3):
        with pytest.raises(ValueError, match=r"^name must be a C identifier that begins with a letter"):
            to_c(model, name=name)
    for dtype in ("float16", "int32", "nonsense", object):
        with pytest.raises(ValueError, match=r"^dtype must be float64 or float32, got"):
            to_c(model, dtype=dtype)
    huge = OnlineRegressor(ogd(Gaussian(1.0))).fit([[0.0], [1e50]], [0.0, 1.0])
    with pytest.raises(ValueError, match="which a float cannot hold"):
        to_c(huge)
    with pytest.raises(NotFittedError):
        to_c(OnlineClassifier())
    with pytest.raises(ValueError, match=r"^The model knows no label yet"):
        to_c(OnlineClassifier().start([[0.0]]))


def test_labels_at_the_ends_of_64_bits(tmp_path):
    X, y = members.data("binary", 30)
    model = OnlineClassifier(rbp(Gaussian(1.0), budget=9)).fit(X, np.where(y, 2**63 - 1, -(2**63)))
    assert (one(model, X, tmp_path)[0] == model.predict(X)).all()
    assert "{-9223372036854775807LL - 1, 9223372036854775807LL}" in (tmp_path / "one.h").read_text()
    model = OnlineClassifier(rbp(Gaussian(1.0), budget=9)).fit(
        X, np.where(y, 2**64 - 1, 0).astype(np.uint64)
    )
    with pytest.raises(ValueError, match=r"^Labels beyond 2\^63 cannot be exported"):
        to_c(model)


def test_labels_that_c_has_no_type_for():
    days = [dt.date(2020, 1, 1), dt.date(2020, 1, 2)]
    model = OnlineClassifier(auto(size=5), random_state=0).fit([[0.0], [1.0]], days)
    with pytest.raises(ValueError, match=r"^Labels of type date cannot be exported: use texts, or numbers"):
        to_c(model)


def test_records_with_hashed_values_predict(tmp_path):
    records = [{"city": f"c{i}", "n": float(i)} for i in range(40)]
    model = OnlineClassifier(
        Standardised(rbp(Gaussian("1/d"), budget=9)), encoder=Encoder(most_values=4), random_state=0
    ).partial_fit(records, [i % 2 for i in range(40)])
    X = model.encoding_.encode(to_table(records), grow=False)[0]
    labels, scores, _ = one(model, X, tmp_path)
    assert (labels == model.predict(records)).all()
    assert abs(scores - model.decision_function(records)).max() <= 1e-12


@pytest.mark.parametrize("language", [[], ["-trigraphs"], ["-std=gnu99"]], ids=["c99", "tri", "gnu99"])
def test_names_and_labels_with_the_signs_of_c(language, tmp_path):
    """Trigraphs, comments, quotes and line ends in names and labels are only text."""
    names = ["a??/", "???/", "*??/", "/**/", "*//*", "b\\", '"', "??=?", "new\nline"]
    labels = ["yes??/", "??='\\n\""]
    records = [dict.fromkeys(names, float(i)) for i in range(6)]
    model = OnlineClassifier(rbp(Gaussian(1.0), budget=3)).partial_fit(records, labels * 3)
    (tmp_path / "one.h").write_text(to_c(model, name="one"))
    source = tmp_path / "main.c"
    source.write_text(
        '#include <stdio.h>\n#include "one.h"\n'
        'int main(void) { return printf("%s\\n%s", one_labels[0], one_labels[1]) < 0; }\n'
    )
    compiled(source, tmp_path / "main", *language, "-lm")
    printed = subprocess.run([tmp_path / "main"], capture_output=True, text=True, check=True).stdout
    assert printed.split("\n", 1) == model.classes_.tolist()
