"""Costs, sets and intervals of served models, the metrics of rare classes, and which columns matter."""

import json

import numpy as np
import pytest

from budgetron import OnlineClassifier, OnlineRegressor, auto
from budgetron.client import Client
from budgetron.serve.tally import MOST_RANKED
from tests.helpers.cases import each
from tests.helpers.command import called
from tests.serve.conftest import ROWS, learn, until
from tests.serve.test_replica import following

COSTS = {"fraud": 20.0, ("ok", "fraud"): 2.0}


def rows(n=1200, seed=0, classes=("ok", "fraud")):
    """A rare class, about one row in twenty, that the columns tell with noise."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 2))
    y = np.array(classes)[(X[:, 0] + 0.5 * random.normal(size=n) > 1.9).astype(int)]
    pairs = zip(X.tolist(), y.tolist(), strict=True)
    return [{"x": {"a": a, "b": b}, "y": label} for (a, b), label in pairs]


def columns(many):
    return [row["x"] for row in many], [row["y"] for row in many]


def create(client, name="m", status=201, **settings):
    more = {"algorithm": "auto", "parameters": {"size": 5}} | settings
    answer = client.put(f"/v1/models/{name}", json=more)
    assert answer.status_code == status, answer.text
    return answer.json()


def test_predictions_follow_costs(client):
    X, y = columns(many := rows())
    given = [{"label": "fraud", "cost": 20}, {"label": "ok", "predicted": "fraud", "cost": 2}]
    assert create(client, costs=given)["costs"] == given
    online = learn(client, many, "/v1/models/m/learn")["predictions"]
    model, one_by_one = OnlineClassifier(auto(5), random_state=0, costs=COSTS), []
    for x, label in zip(X, y, strict=True):
        one_by_one.append(model.predict_one(x))
        model.learn_one(x, label)
    assert online[1:] == one_by_one[1:]
    body = [{"x": x} for x in X[:50]]
    expected = model.predict(X[:50]).tolist()
    assert client.post("/v1/models/m/predict", json=body).json()["predictions"] == expected
    alone = [client.post("/v1/models/m/predict", json=row).json()["predictions"] for row in body[:20]]
    assert [label for [label] in alone] == expected[:20]
    plain = OnlineClassifier(auto(5), random_state=0).partial_fit(X, y).predict(X[:50]).tolist()
    assert expected != plain


def test_words_of_costs_mean_texts_and_numbers(client):
    create(client, costs={"1": 9})
    learn(client, rows(classes=(0, 1)), "/v1/models/m/learn")
    answer = client.post("/v1/models/m/predict", json=[row | {"y": 0} for row in rows()]).json()
    shares = np.array(answer["probabilities"])[:, answer["classes"].index(1)]
    assert answer["predictions"] == (shares >= 0.1).astype(int).tolist()
    assert client.get("/v1/models/m/curve?label=1").json()["label"] == 1


def test_sets(client):
    X, y = columns(many := rows())
    assert create(client, coverage=0.8)["coverage"] == 0.8
    learn(client, many, "/v1/models/m/learn")
    model = OnlineClassifier(auto(5), random_state=0, coverage=0.8).partial_fit(X, y)
    expected = [labels.tolist() for labels in model.predict_set(X[:1100])]
    answer = client.post("/v1/models/m/predict", json=[{"x": x} for x in X[:1100]]).json()
    assert answer["sets"] == expected
    [one] = client.post("/v1/models/m/predict?keep=1", json={"x": X[7]}).json()["sets"]
    assert one == expected[7]
    assert client.get("/v1/models/m/model").json()["covered"] == model.covered_
    assert f'budgetron_covered{{model="m"}} {model.covered_!r}' in client.get("/metrics").text


def test_intervals(client):
    X, y = np.arange(40.0), np.arange(40.0) % 7
    create(client, task="regression", coverage=0.9)
    many = [{"x": {"a": a}, "y": b} for a, b in zip(X.tolist(), y.tolist(), strict=True)]
    body = [{"x": {"a": 3.0}}, {"x": {"a": 30.0}}]
    learn(client, many[:10], "/v1/models/m/learn")
    assert client.post("/v1/models/m/predict", json=body).json()["intervals"] == [[None, None]] * 2
    learn(client, many[10:], "/v1/models/m/learn")
    model = OnlineRegressor(auto(5), random_state=0, coverage=0.9).partial_fit(*columns(many))
    expected = model.predict_interval([row["x"] for row in body]).tolist()
    assert client.post("/v1/models/m/predict", json=body).json()["intervals"] == expected


@each(
    "settings, sentence",
    [
        ({"coverage": 1}, "coverage must be a number between 0 and 1"),
        ({"coverage": 0}, "coverage must be a number between 0 and 1"),
        ({"costs": {"x": -1}}, "costs: 'x' must be at least 0, got -1"),
        ({"costs": [{"label": 1, "cost": 1}, {"label": 1, "cost": 2}]}, "two costs for the same label"),
        ({"costs": [{"label": [1], "cost": 1}]}, "Expected `bool | int | float | str`, got `array`"),
        ({"costs": {"x": 1}, "task": "regression"}, "costs are those of labels"),
        (
            {"coverage": 0.9, "algorithm": "rbp", "parameters": {"kernel": "linear", "budget": 5}},
            "need a learner with probabilities, such as auto",
        ),
    ],
)
def test_settings_that_cannot_be(client, settings, sentence):
    assert sentence in create(client, status=400, **settings)["detail"]


def test_a_restart_and_a_reset_keep_them(inside):
    many = rows(300)
    with inside() as client:
        create(client, costs=[{"label": "fraud", "cost": 20}], coverage=0.8)
        learn(client, many, "/v1/models/m/learn")
        body = [{"x": row["x"]} for row in many[:30]]
        before = client.post("/v1/models/m/predict", json=body).json()
    with inside() as client:
        assert client.post("/v1/models/m/predict", json=body).json() == before
        client.post("/v1/models/m/reset").raise_for_status()
        learn(client, many, "/v1/models/m/learn")
        assert client.post("/v1/models/m/predict", json=body).json() == before | {"version": 601}


def test_files_of_models_without_them_are_as_before(client):
    learn(client)
    document = json.loads((client.folder / "model.json").read_text())
    assert not document.keys() & {"costs", "coverage"}


def test_flags(tmp_path, capsys):
    for flags in (["--cost", "x=3"], ["--coverage", "0.9"], ["--threshold", "x=0.5"]):
        assert "without --from" in called(capsys, "serve", tmp_path / "d", "--from", "m", *flags).err
    for flags in (["--coverage", "1"], ["--cost", "x=-1"], ["--threshold", "x=1"]):
        assert called(capsys, "serve", tmp_path / "d", *flags).code == 2
    small = ["--algorithm", "rbp", "--budget", "5", "--gamma", "1"]
    said = called(capsys, "serve", tmp_path / "d", *small, "--coverage", "0.9").err
    assert "need a learner with probabilities" in said


# ---- rare classes


def test_rare_classes_have_metrics(client):
    create(client)
    many = rows()
    online = learn(client, many, "/v1/models/m/learn")["predictions"]
    y = np.array([row["y"] for row in many])
    [rare] = client.get("/v1/models/m/model").json()["metrics"]["rare"]
    assert rare["label"] == "fraud"
    for over, part in (("running", slice(None)), ("window", slice(-1000, None))):
        says, is_fraud = np.array(online[part]) == "fraud", y[part] == "fraud"
        assert rare[over]["share"] == pytest.approx(is_fraud.mean())
        assert rare[over]["recall"] == pytest.approx(says[is_fraud].mean())
        assert rare[over]["precision"] == pytest.approx(is_fraud[says].mean())
        assert 0 < rare[over]["average_precision"] < 1
    line = 'budgetron_class_recall{model="m",class="fraud",over="running"} '
    assert line + repr(rare["running"]["recall"]) in client.get("/metrics").text
    curve = client.get("/v1/models/m/curve?label=fraud").json()
    assert curve["label"] == "fraud"
    assert curve["recall"][-1] == 1
    assert curve["precision"][-1] == pytest.approx((y == "fraud").mean())
    window = client.get("/v1/models/m/curve?label=fraud&over=window").json()
    assert window["precision"][-1] == pytest.approx((y[-1000:] == "fraud").mean())
    assert client.get("/v1/models/m/curve?label=x").status_code == 404


def test_many_classes_are_not_ranked(client):
    create(client, parameters={"size": 3})
    common = [{"x": {"a": 0.0}, "y": "ok"}] * 400
    learn(client, common, "/v1/models/m/learn")
    some = [{"x": {"a": float(i)}, "y": f"c{i}"} for i in range(12)] * 3
    learn(client, some, "/v1/models/m/learn")
    metrics = client.get("/v1/models/m/model").json()["metrics"]
    assert len(metrics["rare"]) == 10
    assert metrics["running"]["average_precision"] is not None
    more = [{"x": {"a": float(i)}, "y": f"c{i}"} for i in range(MOST_RANKED)] * 3
    learn(client, more, "/v1/models/m/learn")
    metrics = client.get("/v1/models/m/model").json()["metrics"]
    assert metrics["running"]["average_precision"] is None
    assert metrics["rare"][0]["running"]["recall"] is not None
    assert client.get("/v1/models/m/curve?label=ok").status_code == 404


def test_ten_equal_classes_are_not_rare(client):
    create(client, parameters={"size": 3})
    learn(client, [{"x": {"a": i % 7}, "y": i % 11} for i in range(110)], "/v1/models/m/learn")
    assert client.get("/v1/models/m/model").json()["metrics"]["rare"] == []


# ---- columns


def test_importances(client):
    create(client)
    path = "/v1/models/m/importances"
    assert client.get(path).status_code == 409
    X, y = columns(many := rows())
    learn(client, many[:600], "/v1/models/m/learn")
    answer = client.get(path).json()
    model = OnlineClassifier(auto(5), random_state=0).partial_fit(X[:600], y[:600])
    expected = dict(zip(("a", "b"), model.feature_importances_.tolist(), strict=True))
    assert answer["version"] == 600
    assert {each["column"]: each["share"] for each in answer["columns"]} == expected
    assert answer["columns"][0]["column"] == "a"
    learn(client, many[600:], "/v1/models/m/learn")  # computed again, but not at once
    until(lambda: client.get(path).json()["version"] == 1200)
    with Client(str(client.base_url), "m") as other:
        assert other.importances()["columns"][0]["column"] == "a"
        assert other.curve("fraud", windowed=True)["label"] == "fraud"


def test_learners_that_keep_no_rows_have_no_importances(client):
    learn(client)
    answer = client.get("/v1/importances")
    assert (answer.status_code, "needs the rows" in answer.json()["detail"]) == (404, True)
    assert len(ROWS) == answer.json().get("version", 12)


def test_a_replica_decides_as_its_leader(client, monkeypatch):
    monkeypatch.setattr("budgetron.serve.replica.WAIT", 1)
    create(client, costs={"fraud": 20}, coverage=0.8)
    many = rows(300)
    learn(client, many[:200], "/v1/models/m/learn")
    body = [{"x": row["x"]} for row in many[:30]]

    def answers(service):
        return service.post("/v1/models/m/predict", json=body).json()

    with following(str(client.base_url)) as replica:
        until(lambda: replica.get("/v1/models/m/model").is_success and answers(replica) == answers(client))
        learn(client, many[200:], "/v1/models/m/learn")
        until(lambda: answers(replica) == answers(client))
        assert answers(replica)["version"] == 300
        one, other = (each.get("/v1/models/m/model").json() for each in (replica, client))
        assert [one[name] for name in ("costs", "coverage", "covered")] == [
            other[name] for name in ("costs", "coverage", "covered")
        ]
        assert (
            replica.get("/v1/models/m/importances").json() == client.get("/v1/models/m/importances").json()
        )
