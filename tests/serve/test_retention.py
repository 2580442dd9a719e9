"""Rows that are kept for labels: by ids of one's own, for weeks, within the limits that are set."""

import json

import pytest

from budgetron.client import Client
from budgetron.serve import retention
from tests.helpers.cases import each
from tests.helpers.served import SMALL, logged, served
from tests.serve.conftest import ROWS, learn

X = [row["x"] for row in ROWS]


def predict(client, x, query=""):
    return client.post(f"/v1/predict{query}", json=x)


def label(client, *pairs):
    return client.post("/v1/label", json=[{"id": key, "y": y} for key, y in pairs])


def refused(answer):
    return answer.status_code, answer.json()["type"].removeprefix("urn:budgetron:")


def test_a_label_finds_its_row_by_ones_own_id(client):
    learn(client)
    assert predict(client, {"x": X[0]}, "?id=order-17").json()["ids"] == ["order-17"]
    assert predict(client, [{"x": X[1], "id": "a/b"}, {"x": X[2], "id": "c, d"}]).json()["ids"] == [
        "a/b",
        "c, d",
    ]
    assert predict(client, {"x": X[3], "id": "one"}).json()["ids"] == ["one"]
    numbered = predict(client, {"x": X[4]}, "?keep=1").json()["ids"]
    answer = label(client, ("order-17", "yes"), ("c, d", "no"), (numbered[0], "yes")).raise_for_status()
    assert (answer.json()["first"], answer.json()["rows"]) == (12, 3)
    assert refused(label(client, ("order-17", "no"))) == (404, "unknown-id")
    [*_, request] = client.service.models.by_name["default"].log.requests(12)
    rows = [json.loads(line) for line in request.body.splitlines()]
    assert [(row["x"], row["y"]) for row in rows] == [(X[0], "yes"), (X[2], "no"), (X[4], "yes")]
    assert client.get("/v1/model").json()["metrics"]["late"]["rows"] == 3


def test_the_newest_row_has_the_id(client):
    learn(client)
    predict(client, {"x": X[0]}, "?id=a").raise_for_status()
    predict(client, {"x": X[1]}, "?id=a").raise_for_status()
    predict(client, [{"x": X[2], "id": "b"}, {"x": X[3], "id": "b"}]).raise_for_status()
    assert client.get("/v1/retention").json()["rows"] == 2
    label(client, ("a", "no"), ("b", "no")).raise_for_status()
    [*_, request] = client.service.models.by_name["default"].log.requests(12)
    assert [json.loads(line)["x"] for line in request.body.splitlines()] == [X[1], X[3]]


def test_an_id_is_labelled_alike_again_when_it_has_another_row(inside):
    with inside() as client:
        learn(client)
        for first in (12, 13):
            predict(client, {"x": X[first - 12]}, "?id=a").raise_for_status()
            for _ in range(2):  # the second is a retry, which gets the answer of its row
                assert label(client, ("a", "no")).json()["first"] == first
        assert client.get("/v1/retention").json()["rows"] == 0
    with inside() as client:
        [*_, last] = client.service.models.by_name["default"].log.requests(13)
        assert json.loads(last.body)["x"] == X[1]
        assert label(client, ("a", "no")).json()["first"] == 13
        predict(client, {"x": X[2]}, "?id=a").raise_for_status()
        keyed = [
            client.post("/v1/label", json={"id": "a", "y": "no"}, headers={"Idempotency-Key": "k"}).json()
            for _ in range(2)
        ]
        assert keyed[0] == keyed[1]


def test_rows_that_a_new_limit_drops_are_told(client):
    learn(client)
    predict(client, [{"x": x} for x in X[:5]], "?keep=1").raise_for_status()
    assert client.put("/v1/retention", json={"rows": 2}).json()["dropped"] == 3
    [told] = client.get("/v1/events?what=rows dropped").json()["events"]
    assert told["dropped"] == 3


def test_a_limit_is_not_set_after_learning_has_stopped(client):
    learn(client)
    model = client.service.models.by_name["default"]
    commits = model.log.state.commits
    model.trouble = "Learning has stopped."
    assert refused(client.put("/v1/retention", json={"rows": 2})) == (503, "learning-stopped")
    assert model.log.state.commits == commits


def test_a_row_gets_one_label_whatever_it_is_called(client):
    learn(client)
    predict(client, {"x": X[0]}, "?id=a").raise_for_status()
    number = client.service.models.by_name["default"].log.kept_row("a")[0]
    assert refused(label(client, ("a", "no"), (number, "yes"))) == (404, "unknown-id")
    label(client, (number, "yes")).raise_for_status()
    assert refused(label(client, ("a", "no"))) == (404, "unknown-id")


@each(
    ("body", "query", "why"),
    [
        ([{"x": X[0], "id": "a"}, {"x": X[1]}], "", "bad-row"),
        ([{"x": X[0]}, {"x": X[1]}], "?id=a", "malformed"),
        ({"x": X[0], "id": "b"}, "?id=a", "malformed"),
        ({"x": X[0]}, "?id=", "malformed"),
        ({"x": X[0]}, "?id=%ff", "malformed"),
        ({"x": X[0]}, "?id=a&id=b", "malformed"),
        ({"x": X[0], "id": ""}, "", "malformed"),
        ({"x": X[0], "id": "x" * 256}, "", "malformed"),
        ({"x": X[0], "id": 7}, "", "malformed"),
        ({"x": [[1.0, 2.0], [3.0, 4.0]], "id": "a"}, "", "malformed"),
        ({"columns": ["a", "b"], "x": [[1.0, 2.0]], "id": "a"}, "", "malformed"),
        ({"rows": [{"x": X[0]}], "id": "a"}, "", "malformed"),
    ],
)
def test_bad_ids_are_refused(client, body, query, why):
    learn(client)
    assert refused(predict(client, body, query))[1] == why
    assert client.get("/v1/retention").json()["rows"] == 0


def test_rows_to_be_learned_have_no_ids(client):
    assert refused(client.post("/v1/learn", json={"x": X[0], "y": "no", "id": "a"})) == (422, "bad-row")
    learn(client)
    assert refused(client.post("/v1/label", json={"id": "", "y": "no"})) == (400, "malformed")
    assert refused(client.post("/v1/label", json={"id": "?", "y": "no"})) == (404, "unknown-id")


def test_the_client_has_ids_events_and_retention(client):
    learn(client)
    with Client(str(client.base_url)) as other:
        assert other.predict(X[0], ids="one")["ids"] == ["one"]
        assert other.predict(X[:2], ids=["two", "three"])["ids"] == ["two", "three"]
        assert other.label("one", "no")["rows"] == 1
        assert other.label(["two", "three"], ["no", "yes"])["version"] == 15
        with pytest.raises(ValueError, match="zip"):
            other.predict(X[:2], ids=["two"])
        assert [event["what"] for event in other.events()] == ["new class"]
        assert list(other.events("drift")) == []
        assert other.retain(rows=5, days=7)["limits"] == {"rows": 5, "bytes": 512 * 2**20, "days": 7.0}
        assert other.retention()["limits"]["rows"] == 5


def test_what_is_dropped_is_counted_and_said(inside):
    with inside() as client:
        learn(client)
        client.put("/v1/retention", json={"rows": 100}).raise_for_status()
        for i in range(30):
            predict(client, [{"x": X[0], "id": f"{i}-{j}"} for j in range(5)]).raise_for_status()
        kept = client.get("/v1/retention").json()
        assert 98 <= kept["rows"] <= 100
        assert kept["rows"] + kept["dropped"] == 150
        assert client.get("/v1/model").json()["kept"] == kept
        assert f'kept_dropped_total{{model="default"}} {kept["dropped"]}' in client.get("/metrics").text
        told = client.get("/v1/events", params={"what": "rows dropped"}).json()["events"]
        assert [len(str(event["dropped"])) for event in told] == [1, 2]
        gone = label(client, ("0-0", "no"))
        assert refused(gone) == (404, "unknown-id")
        assert f"{kept['dropped']} rows were dropped" in gone.json()["detail"]
        label(client, ("29-4", "no")).raise_for_status()


def test_retention_is_of_the_model_and_survives_a_restart(tmp_path):
    with served(tmp_path / "d", *SMALL, "--kept-rows", "50", "--kept-days", "3") as server:
        learn(server.http)
        assert server.http.get("/v1/retention").json()["limits"] == {
            "rows": 50,
            "bytes": 512 * 2**20,
            "days": 3.0,
        }
        server.http.put("/v1/models/other", json={}).raise_for_status()
        predict(server.http, [{"x": x, "id": f"{i}"} for i, x in enumerate(X)]).raise_for_status()
        kept = server.http.put("/v1/retention", json={"rows": 4, "bytes": 10**6}).json()
        assert (kept["rows"], kept["dropped"]) == (4, 8)
        server.kill()
    with served(tmp_path / "d", *SMALL) as server:
        limits = {"rows": 4, "bytes": 10**6, "days": 60.0}
        assert server.http.get("/v1/retention").json() == kept | {"limits": limits}
        assert server.http.get("/v1/models/other/retention").json()["limits"]["rows"] == 2_000_000
        label(server.http, ("11", "no")).raise_for_status()
        bad = [{"rows": -1}, {"rows": 2.5}, {"days": float(2**60)}, {"hours": 3}, []]
        for body in bad:
            assert server.http.put("/v1/retention", json=body).status_code == 400
        assert server.stop() == 0
    (tmp_path / "d/default" / retention.FILE).write_text("{")
    with (
        pytest.raises(RuntimeError, match=r"retention.json: cannot be read"),
        served(tmp_path / "d", *SMALL),
    ):
        pass


def test_age_is_days_that_the_service_ran(inside):
    with inside() as client:
        learn(client)
        predict(client, {"x": X[0]}, "?id=old").raise_for_status()
        log = client.service.models.by_name["default"].log
        log._ran += 9 * retention.DAY
        predict(client, {"x": X[1]}, "?id=new").raise_for_status()
        kept = client.put("/v1/retention", json={"days": 8}).json()
        assert (kept["rows"], kept["dropped"]) == (1, 1)
        label(client, ("new", "no")).raise_for_status()


def joined_after(folder, others, size, *flags):
    """Label two rows after so many other predictions; returns the bytes on disk by then."""
    with served(folder, *SMALL, *flags) as server:
        learn(server.http)
        first = predict(server.http, {"x": X[0]}, "?id=order-17").json()
        second = predict(server.http, {"x": X[1]}, "?keep=1").json()["ids"][0]
        assert first["ids"] == ["order-17"]
        rows = [{"x": {"a": i / size, "b": 0.5}} for i in range(size)]
        lines = "\n".join(map(json.dumps, rows)).encode()
        for _ in range(others // size):
            headers = {"Content-Type": "application/x-ndjson"}
            server.http.post("/v1/predict?keep=1", content=lines, headers=headers).raise_for_status()
        assert server.http.get("/v1/retention").json()["rows"] == others + 2
        server.kill()
    with served(folder, *SMALL, *flags) as server:
        answer = label(server.http, ("order-17", "yes"), (second, "no")).raise_for_status().json()
        assert answer["rows"] == 2
        size = server.http.get("/v1/model").json()["log_bytes"]
        assert server.stop() == 0
    [*_, request] = logged(folder / "default")
    assert [json.loads(line) for line in request.body.splitlines()] == [
        {"x": X[0], "y": "yes"},
        {"x": X[1], "y": "no"},
    ]
    return size


def test_labels_join_after_100_000_other_predictions(tmp_path):
    assert joined_after(tmp_path / "d", 100_000, 10_000) < 100_000 * 150


@pytest.mark.slow
def test_labels_join_after_a_million_other_predictions(tmp_path):
    assert joined_after(tmp_path / "d", 1_000_000, 20_000) < 1_000_000 * 150


def test_disk_is_bounded_as_set(tmp_path):
    with served(tmp_path / "d", *SMALL, "--kept-bytes", "50000") as server:
        learn(server.http)
        sizes = []
        for _ in range(20):
            rows = [{"x": {"a": i / 500, "b": 0.5}} for i in range(500)]
            predict(server.http, rows, "?keep=1").raise_for_status()
            assert server.http.get("/v1/retention").json()["bytes"] <= 50_000
            sizes.append((tmp_path / "d/default/log.sqlite").stat().st_size)
        assert server.http.get("/v1/retention").json()["dropped"] > 4000
    assert max(sizes) < 1_500_000
