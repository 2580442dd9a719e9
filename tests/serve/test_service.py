"""Models, events, metrics, the Open Inference Protocol, OpenAPI, replicas, fsck and the client."""

import asyncio
import json
import re
import sqlite3
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import numpy as np
import pytest

from budgetron import Auto, OnlineClassifier, load
from budgetron._util.errors import DataError
from budgetron.cli import main
from budgetron.client import Client, ServiceError
from budgetron.serve import app, openapi, snapshot
from budgetron.serve.endpoints import ENDPOINTS
from budgetron.serve.limits import Limits
from budgetron.serve.problems import TITLES
from budgetron.serve.rows import MEDIA
from budgetron.serve.tokens import ROLES
from tests.helpers.command import called
from tests.helpers.served import served
from tests.serve.conftest import ROWS, learn, until

# ---- models


def test_models_are_created_listed_and_kept(inside):
    with inside() as client:
        wanted = {
            "algorithm": "rbp",
            "parameters": {"budget": 5, "kernel": {"type": "Gaussian", "gamma": 0.5}},
        }
        made = client.put("/v1/models/other", json=wanted)
        assert (made.status_code, made.json()["learner"]["type"]) == (201, "Kernelized")
        assert client.put("/v1/models/other", json=wanted).json()["type"] == "urn:budgetron:exists"
        assert client.put("/v1/models/target", json={"task": "regression"}).status_code == 201
        assert learn(client, path="/v1/models/other/learn")["first"] == 0
        assert learn(client, path="/v1/models/other/learn")["first"] == 12
    with inside() as client:
        said = client.get("/v1/models").json()["models"]
        assert said == [
            {"name": n, "version": v, "frozen": False}
            for n, v in (("default", 0), ("other", 24), ("target", 0))
        ]
        assert client.get("/v1/models/other/model").json()["support_vectors"] <= 5


@pytest.mark.parametrize(
    ("name", "body", "words"),
    [
        ("A", {}, "a-z"),
        ("a" * 65, {}, "a-z"),
        ("a", {"algorithm": "rpb"}, "did you mean rbp?"),
        ("a", {"algorithm": "rbp"}, "kernel"),
        (
            "a",
            {"algorithm": "rbp", "parameters": {"kernel": {"type": "Gaussian"}, "budget": 3}},
            "gamma='scale'",
        ),
        ("a", {"algorithm": "auto", "parameters": {"size": -1}}, "size"),
        ("a", {"algorithm": "auto", "parameters": {"sice": 1}}, "has no parameter 'sice'"),
        ("a", {"task": "ranking"}, "task must be one of"),
        ("a", {"learner": {"type": "os.system"}}, "does not have"),
        ("a", {"learner": {"type": "Gaussian", "gamma": 1}}, "learner must describe a learner"),
        ("a", {"seed": -1}, "seed"),
        ("a", {"colour": 1}, "unknown field"),
    ],
)
def test_models_that_cannot_be_created(client, name, body, words):
    answer = client.put(f"/v1/models/{name}", json=body)
    assert (answer.status_code, answer.json()["type"]) == (400, "urn:budgetron:malformed")
    assert words in answer.json()["detail"]
    assert len(client.get("/v1/models").json()["models"]) == 1


def test_a_service_begins_with_a_saved_model(tmp_path):
    model = OnlineClassifier(Auto(size=10), random_state=0).partial_fit([{"a": 1}, {"a": 2}], ["x", "y"])
    model.save(tmp_path / "m")
    with served(tmp_path / "d", "--from", tmp_path / "m") as server:
        said = httpx.post(server.url + "/v1/predict", json={"x": {"a": 1.4}}).json()
        assert said["probabilities"][0] == list(model.predict_proba_one({"a": 1.4}).values())
        httpx.post(server.url + "/v1/learn", json={"x": {"a": 3}, "y": "x"}).raise_for_status()
        model.partial_fit([{"a": 3}], ["x"])
        (tmp_path / "n").write_bytes(httpx.get(server.url + "/v1/model/file").content)
        assert load(tmp_path / "n").predict_proba_one({"a": 1}) == model.predict_proba_one({"a": 1})


def test_folders_that_are_none_of_a_service(tmp_path, capsys):
    (tmp_path / "d").mkdir()
    (tmp_path / "d/thesis.tex").touch()
    assert "is not empty" in called(capsys, "serve", tmp_path / "d").err
    assert called(capsys, "serve").code == 2
    assert "--follow" in called(capsys, "serve", "x", "--follow", "http://y").err
    assert "scale" in called(capsys, "serve", tmp_path / "e", "--algorithm", "rbp", "--budget", "5").err


def test_folders_of_other_versions_are_refused_with_a_sentence(inside):
    with inside() as client:
        learn(client)
    settings = client.folder / "model.json"
    said = json.loads(settings.read_text())
    settings.write_text(json.dumps(said | {"format": 2}))
    with (
        pytest.raises(DataError, match=r"has format 2, written by budgetron .*: update budgetron"),
        inside(),
    ):
        pass
    settings.write_text(json.dumps(said))
    with sqlite3.connect(client.folder / "log.sqlite") as db:
        db.execute("pragma user_version=7")
    db.close()
    with pytest.raises(DataError, match="has log format 7, this version reads 3"), inside():
        pass


# ---- restarts


def test_metrics_and_model_go_on_after_a_restart_as_if_it_had_not_happened(inside, tmp_path):
    many = [{"x": {"a": i / 7, "b": i % 5}, "y": "no" if i % 3 else "yes"} for i in range(60)]
    with inside(tmp_path / "once", learner=Auto(size=10)) as client:
        learn(client, many)
        expected = client.get("/v1/model").json()["metrics"], client.get("/v1/model/file").content
    for at in range(0, 60, 20):
        with inside(tmp_path / "often", learner=Auto(size=10), snapshot_rows=15) as client:
            learn(client, many[at : at + 10])
            learn(client, many[at + 10 : at + 20])
    with inside(tmp_path / "often", learner=Auto(size=10)) as client:
        assert (client.get("/v1/model").json()["metrics"], client.get("/v1/model/file").content) == expected


def test_a_damaged_snapshot_is_replaced_by_the_one_before_it(inside):
    for _ in range(3):
        with inside() as client:
            learn(client)
            file = client.get("/v1/model/file").content
    newest = max(client.folder.glob("snapshot-*"))
    newest.write_bytes(newest.read_bytes()[:-1] + b"\0")
    with inside() as client:
        assert client.get("/v1/model/file").content == file
    for path in client.folder.glob("snapshot-*"):
        path.write_bytes(b"")
    with inside() as client:  # those that are kept are there as well
        assert client.get("/v1/model/file").content == file
    for path in client.folder.glob("**/snapshot-*"):
        path.write_bytes(b"")
    with pytest.raises(DataError, match="no snapshot of 12 or more rows can be read"), inside():
        pass


def damage(folder, first):
    with sqlite3.connect(folder / "log.sqlite") as db:
        db.execute("update log set body = replace(body, '0.3', '0.4') where first = ?", (first,))
    db.close()


def test_a_damaged_request_refuses_the_start_and_fsck_cuts_it(inside, tmp_path, capsys):
    with inside() as client:
        for row in ROWS:
            learn(client, row)
        [model] = client.service.models.by_name.values()
        model.trouble = "a test: no snapshot at the end"
    root = tmp_path / "models"
    assert called(capsys, "fsck", root).code == 0
    damage(client.folder, 7)
    with pytest.raises(DataError, match="the request of row 7 is damaged"), inside():
        pass
    checked = called(capsys, "fsck", root)
    assert checked.code == 1
    assert "default: BAD: " in checked.out
    cut = called(capsys, "fsck", root, "--cut")
    assert (cut.code, "it ends at row 7 now" in cut.out) == (0, True)
    with inside() as client:
        assert client.get("/v1/model").json()["version"] == 7
    assert called(capsys, "fsck", root).code == 0
    (client.folder / "log.sqlite").unlink()
    with (
        pytest.raises(DataError, match=r"log\.sqlite: is missing, so acknowledged requests are lost"),
        inside(),
    ):
        pass
    assert called(capsys, "fsck", root).code == 1
    assert called(capsys, "fsck", tmp_path / "nothing").code == 3


# ---- predictions and learning at the same time


def test_predictions_are_of_one_version_while_rows_are_learned(inside):
    with inside(learner=Auto(size=20)) as client:
        learn(client)
        model, seen = client.service.models.get("default"), {}
        with ThreadPoolExecutor(4) as pool:
            learning = [pool.submit(learn, client, ROWS * 20) for _ in range(4)]
            while not seen or not all(each.done() for each in learning):  # at least once
                said = client.post("/v1/predict", json={"x": ROWS[0]["x"]}).json()
                assert seen.setdefault(said["version"], said) == said
        assert (model.published.version - 12) % 240 == 0
        assert {(version - 12) % 240 for version in seen} == {0}  # never a part of a request


# ---- events


def events(client, count, after=None):
    """The next events."""
    found, headers = [], {"Accept": "text/event-stream"}
    headers |= {} if after is None else {"Last-Event-ID": str(after)}
    with client.stream("GET", "/v1/events", headers=headers) as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        assert stream.headers["x-accel-buffering"] == "no"
        kind = {}
        for line in stream.iter_lines():
            name, _, value = line.partition(": ")
            kind[name] = value
            if not line and "data" in kind:
                found.append((kind["event"], kind.get("id"), json.loads(kind["data"])))
                kind = {}
            if len(found) == count:
                return found
    raise AssertionError("the stream ended")


def test_events_go_on_where_a_client_was(client):
    learn(client)
    [notice, (kind, number, point)] = events(client, 2)
    assert notice[2]["what"] == "new class"
    assert (kind, number, point["version"]) == ("progress", "12", 12)
    assert set(point["baselines"]) == {"last", "frequent"}
    with ThreadPoolExecutor() as pool:
        later = pool.submit(events, client, 1, after=12 + 1)
        time.sleep(0.3)
        learn(client)
        assert later.result()[0][1] == "24"
    bad = {"Accept": "text/event-stream", "Last-Event-ID": "x"}
    assert client.get("/v1/events", headers=bad).status_code == 400


def test_history_is_thinned_and_slow_readers_are_dropped():

    from budgetron.serve.events import POINTS, Events

    async def check():
        made = Events(Limits(events_behind=10, event_readers=2))
        streams = [await made.stream(0), await made.stream(0)]
        first = await anext(streams[0])
        assert first == b"retry: 1000\n\n"
        with pytest.raises(Exception, match="too many clients"):
            await made.stream(0)
        for i in range(5 * POINTS):
            made.progress(i, {"version": i})
        assert len(made.history) <= POINTS
        assert made.history[0][0] == 0
        assert made.history[-1][0] == 5 * POINTS - 1
        assert not made.readers
        left = [event async for event in streams[0]]
        assert left == []

    asyncio.run(check())


# ---- metrics, OIP, OpenAPI


def test_metrics_are_prometheus_text(client):
    learn(client)
    client.post("/v1/predict", json=ROWS[:3] and [{"x": row["x"]} for row in ROWS[:3]]).raise_for_status()
    client.post("/v1/learn", content=b"").raise_for_status  # noqa: B018
    text = client.get("/metrics").text
    values = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    assert values['budgetron_rows_learned_total{model="default"}'] == "12"
    assert values['budgetron_predictions_total{model="default"}'] == "3"
    assert values['budgetron_rejected_total{model="default",reason="media-type"}'] == "1"
    assert values['budgetron_commit_seconds_count{model="default"}'] == "1"
    assert values['budgetron_commit_seconds_bucket{model="default",le="+Inf"}'] == "1"
    for name in (
        "error_window",
        "support_vectors",
        "model_bytes",
        "queue_rows",
        "log_bytes",
        "snapshot_age_seconds",
    ):
        assert float(values[f'budgetron_{name}{{model="default"}}']) >= 0
    named = {line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")}
    assert {line.split("{")[0].split()[0] for line in values} <= {
        name + end for name in named for end in ("", "_bucket", "_sum", "_count")
    }


def test_the_open_inference_protocol(inside):
    with inside(learner=Auto(size=10)) as client:
        assert client.get("/v2").json()["name"] == "budgetron"
        assert client.get("/v2/health/live").json() == {"live": True}
        assert client.get("/v2/health/ready").json() == {"ready": True}
        rows = [{"x": {"a": i, "c": "DE" if i % 2 else "FR"}, "y": i % 2} for i in range(6)]
        learn(client, rows)
        said = client.get("/v2/models/default").json()
        assert said["versions"] == ["6"]
        assert [(i["name"], i["datatype"]) for i in said["inputs"]] == [("a", "FP64"), ("c", "BYTES")]
        inputs = [
            {"name": "a", "shape": [2], "datatype": "FP64", "data": [1, 2]},
            {"name": "c", "shape": [2, 1], "datatype": "BYTES", "data": ["DE", "FR"]},
        ]
        answer = client.post("/v2/models/default/infer", json={"id": "7", "inputs": inputs}).json()
        own = client.post(
            "/v1/predict", json=[{"x": {"a": 1, "c": "DE"}}, {"x": {"a": 2, "c": "FR"}}]
        ).json()
        assert (answer["id"], answer["model_version"]) == ("7", "6")
        labels, shares = answer["outputs"]
        assert (labels["datatype"], labels["data"]) == ("INT64", own["predictions"])
        np.testing.assert_allclose(np.reshape(shares["data"], shares["shape"]), own["probabilities"])
        one = {"inputs": inputs, "outputs": [{"name": "predict"}]}
        assert len(client.post("/v2/models/default/infer", json=one).json()["outputs"]) == 1
        assert client.get("/v2/models/none").status_code == 404


@pytest.mark.parametrize(
    "tensor",
    [
        {"shape": [2], "datatype": "FP64", "data": [1]},
        {"shape": [-1], "datatype": "FP64", "data": [1]},
        {"shape": [10**12, 10**12], "datatype": "FP64", "data": [1]},
        {"shape": [1], "datatype": "COMPLEX", "data": [1]},
        {"shape": [1], "datatype": "BYTES", "data": [1]},
        {"shape": [1], "datatype": "FP64", "data": ["x"]},
        {"shape": [], "datatype": "FP64", "data": []},
        {"shape": [1, 1, 1], "datatype": "FP64", "data": [1]},
    ],
    ids=str,
)
def test_inputs_that_do_not_fit(client, tensor):
    learn(client)
    answer = client.post("/v2/models/default/infer", json={"inputs": [{"name": "a"} | tensor]})
    assert (answer.status_code, answer.json()["type"]) == (400, "urn:budgetron:malformed")


def test_an_array_of_the_open_inference_protocol(client):
    learn(client, [{"x": [1.0, 2.0], "y": True}, {"x": [2.0, 1.0], "y": False}])
    tensor = {"name": "x", "shape": [3, 2], "datatype": "FP32", "data": [1, 2, 2, 1, 0, 0]}
    nested = tensor | {"data": [[1, 2], [2, 1], [0, 0]]}
    both = [client.post("/v2/models/default/infer", json={"inputs": [t]}).json() for t in (tensor, nested)]
    assert both[0] == both[1]
    assert both[0]["outputs"][0]["datatype"] == "BOOL"
    assert client.get("/v2/models/default").json()["inputs"][0]["shape"] == [-1, 2]


def test_openapi_describes_every_route_and_problem(client):
    document = client.get("/openapi.json").json()
    assert document["openapi"] == "3.1.0"
    routes = {route.path for route in app.application(client.service).routes}
    assert routes == set(document["paths"]) | set(app.PAGES)
    described = sum(len(set(path) - {"parameters"}) for path in document["paths"].values())
    assert sum(len(each.paths) for each in ENDPOINTS) == described  # none hides another
    problems = {str(status) for status, _ in TITLES.values()} - {"500"}
    for endpoint in ENDPOINTS:
        for path in endpoint.paths:
            operation = document["paths"][path][endpoint.method.lower()]
            assert problems | {str(endpoint.status)} <= set(operation["responses"])
            assert operation["summary"]
            assert endpoint.role in ("", *ROLES)
    refs = set(re.findall(r'"#/components/schemas/(\w+)"', json.dumps(document)))
    assert refs == set(document["components"]["schemas"])


def test_openapi_describes_what_is_sent_and_answered(inside):
    document = openapi.document(Limits())
    learn = document["paths"]["/v1/learn"]["post"]
    names = [each["name"] for each in learn["parameters"]]
    ack, _, key = [each["schema"] for each in learn["parameters"]]
    assert names == ["ack", "label", "Idempotency-Key"]
    assert ack == {"enum": ["durable", "received"], "default": "durable"}
    assert key == {"type": "string", "maxLength": 255}
    assert list(learn["requestBody"]["content"]) == list(MEDIA)
    assert learn["security"] == [{}, {"token": ["learn"]}]
    assert {"202", "200"} <= set(learn["responses"])
    infer = document["paths"]["/v2/models/{model}/versions/{version}/infer"]
    assert [each["name"] for each in infer["parameters"]] == ["model", "version"]
    with inside(learner=Auto(size=10)) as client:
        answers = {
            "LearnAnswer": client.post("/v1/learn", json=ROWS).json(),
            "PredictAnswer": client.post("/v1/predict?keep=1&explain=1&novelty=1", json=ROWS).json(),
            "ProblemDocument": client.post("/v1/learn", json={"rows": [{"x": {}}]}).json(),
        }
    answers["PredictAnswer"] |= {"sets": [], "intervals": []}  # those of models with a coverage
    for name, answer in answers.items():
        assert set(answer) == set(document["components"]["schemas"][name]["properties"]), name


def test_every_problem_is_in_the_contract():
    from pathlib import Path

    page = (Path(__file__).parents[2] / "docs" / "service.md").read_text()
    missing = [name for name in TITLES if f"`{name}`" not in page and name != "internal"]
    assert missing == []


def test_models_are_closed_even_if_the_curves_failed(inside, monkeypatch):
    async def failing(_):
        raise ValueError

    monkeypatch.setattr("budgetron.serve.app._draw", failing)
    with inside() as client:
        learn(client)
        writer = client.service.models.by_name["default"].writer
        assert writer.is_alive()
    assert not writer.is_alive()


# ---- the client


def test_the_client(client):
    with Client(str(client.base_url)) as own:
        assert own.learn({"a": 1.0}, "no")["first"] == 0
        assert own.learn([{"a": 1.0}, {"a": -1.0}], ["no", "yes"])["version"] == 3
        assert own.predict({"a": 1.0})["predictions"] == ["no"]
        ids = own.predict([{"a": 1.0}, {"a": -1.0}], keep=True)["ids"]
        assert own.label(ids, ["no", "yes"])["version"] == 5
        assert own.label(own.predict({"a": 0.0}, keep=True)["ids"][0], "no")["version"] == 6
        stream = (({"a": i / 100}, "no") for i in range(25))
        assert [answer["rows"] for answer in own.learn_stream(stream, batch=10)] == [10, 10, 5]
        assert own.describe()["version"] == 31
        assert own.file() == client.get("/v1/model/file").content
        with pytest.raises(ServiceError, match="has no value for 'a'") as refused:
            own.learn([{"a": 1.0}, {}], ["no", "no"])
        assert (refused.value.status, refused.value.row) == (422, 1)
        with pytest.raises(ValueError, match="2 rows"):
            own.learn([{"a": 1.0}, {}], ["no"])


def test_the_client_waits_as_asked_and_gives_up_in_the_end(monkeypatch):
    import budgetron.client

    waits, answers = [], [(503, {"Retry-After": "3"}), (502, {}), (200, {})]
    monkeypatch.setattr(budgetron.client.time, "sleep", waits.append)
    keys = []

    def answer(request):
        keys.append(request.headers.get("Idempotency-Key"))
        status, headers = answers.pop(0)
        return httpx.Response(status, headers=headers, json={})

    with Client("http://nowhere", transport=httpx.MockTransport(answer)) as own:
        own.learn({"a": 1}, 1)
    assert len(set(keys)) == 1
    assert 1.5 <= waits[0] <= 3
    assert waits[1] <= 0.2

    def gone(_):
        raise httpx.ConnectError("no route")

    with (
        Client("http://nowhere", transport=httpx.MockTransport(gone), retries=2) as own,
        pytest.raises(ServiceError, match="cannot be reached"),
    ):
        own.predict({"a": 1})
    assert len(waits) == 4


def test_snapshots_when_they_are_due(inside):
    with inside(snapshot_seconds=0.2) as client:
        learn(client)
        until(lambda: list(snapshot.versions(client.folder)) == [12])
    assert main(["fsck", str(client.folder.parent)]) == 0


# ---- why, and how unlike


def test_predictions_are_explained_and_ranked(inside):
    with inside(learner=Auto(size=10)) as client:
        learn(client)
        body = {"rows": [{"x": row["x"]} for row in ROWS[:2]]}
        plain = client.post("/v1/predict", json=body).json()
        answer = client.post("/v1/predict?explain=1&novelty=1", json=body).json()
        kept = client.post("/v1/predict?explain=1&keep=1", json=body).json()
    assert answer["predictions"] == plain["predictions"]
    assert plain.keys() == answer.keys() - {"explanations", "novelty"}
    assert all(0 <= rank <= 1 for rank in answer["novelty"])
    for why, prediction in zip(answer["explanations"], answer["predictions"], strict=True):
        assert why["prediction"] == why["label"] == prediction
        total = why["baseline"] + why["other_columns"] + sum(c["contribution"] for c in why["columns"])
        assert total == pytest.approx(why["score"])
    assert len(kept["ids"]) == len(kept["explanations"]) == 2


def test_explanations_are_bounded_and_refused_in_words(client):
    learn(client)
    answer = client.post("/v1/predict?explain=1", json={"rows": [{"x": ROWS[0]["x"]}] * 101})
    assert (answer.status_code, answer.json()["type"]) == (413, "urn:budgetron:too-large")
    assert "rows a request to be explained" in answer.json()["detail"]
    for wanted in ("explain", "novelty"):
        answer = client.post(f"/v1/predict?{wanted}=1", json=ROWS[0])
        assert answer.status_code == 422
        assert "keeps" in answer.json()["detail"]
