"""What requests may look like, what is refused, and that a refused request changes nothing."""

import io
import json
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from budgetron import Linear, OnlineClassifier, OnlineRegressor, algorithms, load, model_files
from budgetron.estimators.online import progressive
from budgetron.learners.automatic import Auto
from budgetron.serve.limits import Limits
from budgetron.serve.problems import Problem
from budgetron.serve.rows import parse
from tests.helpers.served import JSON, LINES, as_lines, learn
from tests.serve.conftest import ROWS

ARROW = {"Content-Type": "application/vnd.apache.arrow.stream"}


def file(client):
    return client.get("/v1/model/file").content


def expected(client, rows=ROWS):
    """The model file after these rows, made without the service."""
    model = client.service.models.get("default").settings.estimator()
    model.partial_fit([row["x"] for row in rows], [row["y"] for row in rows])
    return b"".join(model_files.encoded(model))


# ---- forms of bodies


def test_all_forms_of_rows_give_the_same_model(inside, tmp_path):
    columns = {"columns": ["a", "b"], "x": [list(row["x"].values()) for row in ROWS]}
    columns["y"] = [row["y"] for row in ROWS]
    forms = [(row, JSON) for row in ROWS], [(ROWS, JSON)], [({"rows": ROWS}, JSON)], [(columns, JSON)]
    forms = [*forms, [(as_lines(ROWS), LINES)], [(as_lines(ROWS[:5]), LINES), (ROWS[5:], JSON)]]
    for i, parts in enumerate(forms):
        with inside(tmp_path / str(i)) as client:
            for body, headers in parts:
                learn(client, body, headers).raise_for_status()
            assert file(client) == expected(client)


@pytest.mark.parametrize("text", ["plain", "{", '{"b": 1}'])
def test_objects_inside_are_flattened_in_every_form(text):
    flat, nested = {"a": 1.0, "t": text}, {"a": {"b": 2.0, "c": {}}, "t": text}
    forms = {
        "line": lambda rows: (LINES["Content-Type"], as_lines(rows)),
        "list": lambda rows: (JSON["Content-Type"], json.dumps(rows).encode()),
        "rows": lambda rows: (JSON["Content-Type"], json.dumps({"rows": rows}).encode()),
    }
    for form in forms.values():
        for given in ([flat], [nested], [flat, nested], [nested, flat, flat]):
            parsed = parse(*form([{"x": x, "y": 1} for x in given]), Limits(), labelled=True)
            assert [{"a.b": 2.0, "t": text} if x is nested else x for x in given] == parsed.X
    [one] = parse(JSON["Content-Type"], json.dumps({"x": nested}).encode(), Limits(), labelled=False).X
    assert one == {"a.b": 2.0, "t": text}


@pytest.mark.parametrize("row", [{"a" * 41: 1}, {"a": "b" * 41}, dict.fromkeys("abcd", 1)])
def test_names_texts_and_columns_are_bounded_in_every_form(row):
    long, limits = {"x": row, "y": 1}, Limits(text=40, columns=3)
    short = {"x": {"a": 1}, "y": 1}
    forms = {JSON["Content-Type"]: [long], LINES["Content-Type"]: [short, long]}
    for media, rows in forms.items():
        body = as_lines(rows) if media == LINES["Content-Type"] else json.dumps(rows).encode()
        with pytest.raises(Problem, match=f"row {len(rows) - 1} has"):
            parse(media, body, limits, labelled=True)


def test_arrow_streams(inside):
    pa = pytest.importorskip("pyarrow")
    table = pa.table(
        {"a": [r["x"]["a"] for r in ROWS], "b": [r["x"]["b"] for r in ROWS], "z": [r["y"] for r in ROWS]}
    )
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=5)
    with inside() as client:
        answer = learn(client, sink.getvalue(), ARROW)
        assert (answer.status_code, answer.json()["detail"]) == (
            400,
            "there is no column 'y' for the labels; ?label=NAME names one.",
        )
        assert learn(client, sink.getvalue(), ARROW, "?label=z").json()["rows"] == 12
        assert file(client) == expected(client)
        bad = learn(client, sink.getvalue()[:-300], ARROW, "?label=z")
        assert bad.status_code == 400
    with inside() as client:  # replayed from the log
        assert file(client) == expected(client)


def test_lists_of_numbers_and_missing_values(inside):
    with inside(learner=Auto(size=10)) as client:
        learn(client, [{"x": [1, 2.5], "y": 1}, {"x": [None, -2], "y": 0}]).raise_for_status()
        learn(client, {"x": [[0.5, 1], [3, 4]], "y": [1, 0]}).raise_for_status()
        offline = OnlineClassifier(Auto(size=10), random_state=0)
        offline.partial_fit([[1, 2.5], [np.nan, -2], [0.5, 1], [3, 4]], [1, 0, 1, 0])
        assert file(client) == b"".join(model_files.encoded(offline))
        said = client.post("/v1/predict", json={"x": [[0.5, 1], [3, None]]}).json()
        assert said["predictions"] == offline.predict([[0.5, 1], [3, np.nan]]).tolist()
        np.testing.assert_array_equal(said["probabilities"], offline.predict_proba([[0.5, 1], [3, np.nan]]))
        one = client.post("/v1/predict", json={"x": [0.5, 1]}).json()
        assert one["probabilities"][0] == list(offline.predict_proba_one([0.5, 1]).values())


def test_targets(inside, tmp_path):
    with inside(task="regression") as client:
        rows = [{"x": {"a": i / 9}, "y": i / 3} for i in range(9)]
        assert len(learn(client, rows).json()["predictions"]) == 9
        assert learn(client, {"x": {"a": 1}, "y": "text"}).json()["type"] == "urn:budgetron:bad-row"
        (tmp_path / "m").write_bytes(file(client))
        model = load(tmp_path / "m")
        assert isinstance(model, OnlineRegressor)
        said = client.post("/v1/predict", json=[{"x": {"a": 0.2}}, {"x": {"a": 0.7}}]).json()
        assert said == {"version": 9, "predictions": model.predict([{"a": 0.2}, {"a": 0.7}]).tolist()}
        metrics = client.get("/v1/model").json()["metrics"]
        assert metrics["mistakes"] is None
        assert metrics["running"]["mae"] > 0


def test_the_answer_has_the_predictions_made_before_learning(client):
    offline = client.service.models.get("default").settings.estimator()
    x, y = [row["x"] for row in ROWS], [row["y"] for row in ROWS]
    made = [learn(client, row).json()["predictions"][0] for row in ROWS]
    assert made[1:] == progressive(offline, x, y)[0].tolist()[1:]


# ---- refused requests


BAD = {
    "no JSON": (b"{", JSON, 400, "malformed", None),
    "no UTF-8": (b'{"x": {"a": 1}, "y": "\xed\xa0\xbd"}', JSON, 400, "malformed", None),
    "no UTF-8 in a line": (b'{"x": {"\xff": 1}, "y": "no"}', LINES, 400, "malformed", 0),
    "a wrong value": ([*ROWS[:2], {"x": {"a": [1]}, "y": "no"}], JSON, 400, "malformed", 2),
    "a wrong line": (as_lines(ROWS[:3]) + b"\n{}", LINES, 400, "malformed", 3),
    "no rows": ([], JSON, 400, "malformed", None),
    "no label": ([ROWS[0], {"x": {"a": 1}}], JSON, 422, "bad-row", 1),
    "null as a label": ([{"x": {"a": 1}, "y": None}], JSON, 400, "malformed", 0),
    "a label of another kind": ([*ROWS[:3], {"x": {"a": 1, "b": 1}, "y": 5}], JSON, 422, "bad-row", None),
    "a missing value": ([*ROWS[:3], {"x": {"a": 1}, "y": "no"}], JSON, 422, "bad-row", 3),
    "a value twice": ([ROWS[0], {"x": {"a": {"b": 1}, "a.b": 1}, "y": "no"}], JSON, 422, "bad-row", 1),
    "a huge value": ([*ROWS[:4], {"x": {"a": 1e200, "b": 0}, "y": "no"}], JSON, 422, "bad-row", 4),
    "a list among objects": ([ROWS[0], {"x": [1, 2], "y": "no"}], JSON, 422, "bad-row", 1),
    "lists for a model of objects": ([{"x": [1, 2], "y": "no"}], JSON, 422, "bad-row", None),
    "rows of several lengths": ([{"x": [1, 2], "y": "a"}, {"x": [1], "y": "a"}], JSON, 422, "bad-row", 1),
    "an unknown field": ({"x": {"a": 1}, "y": "no", "z": 1}, JSON, 400, "malformed", None),
    "too many rows": ([ROWS[0]] * 21, JSON, 413, "too-large", None),
    "too many columns": ({"x": {str(i): 1 for i in range(31)}, "y": "no"}, JSON, 413, "too-large", 0),
    "a long name": ({"x": {"n" * 51: 1}, "y": "no"}, JSON, 422, "bad-row", 0),
    "a long label": ({"x": {"a": 1, "b": 1}, "y": "n" * 51}, JSON, 422, "bad-row", 0),
    "too many classes": (
        [{"x": {"a": 1, "b": 1}, "y": f"c{i}"} for i in range(9)],
        JSON,
        422,
        "bad-row",
        0,
    ),
    "a large document": (b" " * 5000 + b"{}", JSON, 413, "too-large", None),
    "a large body": (b" " * 50_001, LINES, 413, "too-large", None),
    "another type": (b"a,b", {"Content-Type": "text/csv"}, 415, "media-type", None),
    "no type": (json.dumps(ROWS).encode(), {}, 415, "media-type", None),
    "a compressed body": (b"", JSON | {"Content-Encoding": "gzip"}, 415, "media-type", None),
    "a bad key": (ROWS, JSON | {"Idempotency-Key": "k" * 256}, 400, "malformed", None),
}
FEW = {"rows": 20, "columns": 30, "text": 50, "classes": 8, "body": 50_000, "json": 5000}


def test_a_bad_row_refuses_its_request_and_the_model_is_as_it_was(inside):
    with inside(**FEW) as client:
        learn(client, ROWS).raise_for_status()
        before = file(client)
        for name, (body, headers, status, problem, row) in BAD.items():
            answer = learn(client, body, headers)
            said = answer.json()
            got = (answer.status_code, said["type"], said.get("row"))
            assert got == (status, f"urn:budgetron:{problem}", row), (name, said)
            assert answer.headers["content-type"] == "application/problem+json"
            assert said["detail"].endswith((".", "?")), (name, said["detail"])
            assert file(client) == before, name
        assert client.get("/v1/model").json()["metrics"]["rows"] == len(ROWS)
        assert 'reason="bad-row"' in client.get("/metrics").text
        learn(client, ROWS[:1]).raise_for_status()


def test_a_bad_row_among_requests_of_one_group_refuses_only_its_own(client):
    model = client.service.models.get("default")
    learn(client, ROWS).raise_for_status()
    bad = [*ROWS[:3], {"x": {"a": 1e200, "b": 0}, "y": "no"}]
    with model.writer._changed:  # hold the writer until all are queued
        pool = ThreadPoolExecutor(9)
        sent = [pool.submit(learn, client, bad if i == 4 else ROWS[i : i + 1 + i % 2]) for i in range(9)]
        model.writer._changed.wait(0.3)
    answers = [each.result() for each in sent]
    assert [answer.status_code for answer in answers] == [422 if i == 4 else 200 for i in range(9)]
    numbers = sorted(
        (said["first"], said["rows"]) for said in (a.json() for a in answers) if "first" in said
    )
    order = sorted((answers[i].json()["first"], i) for i in range(9) if i != 4)
    rows = ROWS + [row for _, i in order for row in ROWS[i : i + 1 + i % 2]]
    assert numbers[0][0] == 12
    assert sum(n for _, n in numbers) + 12 == len(rows)
    assert file(client) == expected(client, rows)


def test_a_row_that_diverges_half_way_takes_back_the_rows_before_it(inside):
    with inside(learner=algorithms.ogd(Linear(), eta=1e6), task="regression") as client:
        learn(client, {"x": {"a": 1.0}, "y": 1.0}).raise_for_status()
        before = file(client)
        rows = [{"x": {"a": 1e30}, "y": 1.0}] * 100
        answer = learn(client, rows)
        assert (answer.status_code, answer.json()["type"]) == (422, "urn:budgetron:bad-row")
        assert answer.json()["row"] > 0
        assert file(client) == before
        assert learn(client, {"x": {"a": 1.0}, "y": 1.0}).json()["first"] == 1


def test_a_row_that_diverges_leaves_the_other_requests_of_its_group(inside):
    good = [{"x": {"a": 0.001 * i}, "y": 1.0} for i in range(4)]
    with inside(learner=algorithms.ogd(Linear(), eta=1e6), task="regression") as client:
        learn(client, good[0]).raise_for_status()
        writer = client.service.models.get("default").writer
        with writer._changed:  # hold the writer until all are queued
            pool = ThreadPoolExecutor(4)
            bad = [good[1], *[{"x": {"a": 1e30}, "y": 1.0}] * 100]
            sent = [pool.submit(learn, client, body) for body in (good[1], bad, good[2], good[3])]
            writer._changed.wait(0.3)
        answers = [each.result() for each in sent]
        assert [answer.status_code for answer in answers] == [200, 422, 200, 200]
        order = sorted((answers[i].json()["first"], row) for i, row in ((0, 1), (2, 2), (3, 3)))
        assert file(client) == expected(client, [good[0], *(good[row] for _, row in order)])


def test_a_body_of_unknown_length_is_bounded_too(inside):
    with inside(body=5000) as client:
        learn(client, ROWS).raise_for_status()
        before = file(client)
        lines = (b" " * 1000 for _ in range(50))
        answer = client.post("/v1/learn", content=lines, headers=LINES)
        assert (answer.status_code, answer.json()["type"]) == (413, "urn:budgetron:too-large")
        assert file(client) == before


def test_before_the_first_row_the_model_says_so(client):
    for method, path in (("POST", "/v1/predict"), ("GET", "/v1/model/file"), ("POST", "/v1/snapshot")):
        body = {"x": {"a": 1}} if path == "/v1/predict" else None
        answer = client.request(method, path, json=body)
        assert (answer.status_code, answer.json()["type"]) == (409, "urn:budgetron:nothing-learned")


def test_paths_methods_parameters_and_hosts(client):
    assert client.get("/v3").json()["type"] == "urn:budgetron:not-found"
    assert client.get("/v1/models/none/model").status_code == 404
    wrong = client.get("/v1/learn")
    assert (wrong.status_code, wrong.headers["Allow"]) == (405, "POST")
    answer = learn(client, ROWS, query="?akc=received")
    assert answer.json()["detail"] == "there is no parameter 'akc': expected ack, label."
    assert learn(client, ROWS, query="?ack=sometime").status_code == 400
    assert client.get("/v1/model", headers={"Host": "evil.example"}).status_code == 421
    assert client.get("/", headers={"Host": "evil.example"}).status_code == 421
    page = client.get("/")
    assert (page.status_code, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert "default-src 'none'" in page.headers["Content-Security-Policy"]
    for path in ("/page.js", "/page.css", "/favicon.ico"):
        assert client.get(path).status_code == 200


def test_received_is_answered_at_once_and_learned_later(client):
    answer = learn(client, ROWS, query="?ack=received")
    assert (answer.status_code, answer.json()) == (202, {"rows": 12})
    assert learn(client, ROWS[0]).json()["first"] == 12  # it came after


def test_the_model_file_has_an_etag(client):
    learn(client, ROWS).raise_for_status()
    first = client.get("/v1/model/file")
    assert first.headers["ETag"] == '"12"'
    assert client.get("/v1/model/file", headers={"If-None-Match": '"11", "12"'}).status_code == 304
    learn(client, ROWS[0]).raise_for_status()
    assert client.get("/v1/model/file", headers={"If-None-Match": '"12"'}).status_code == 200


# ---- idempotency keys


def test_keys(client):
    headers = JSON | {"Idempotency-Key": "one"}
    first = learn(client, ROWS[:3], headers)
    assert learn(client, ROWS[:3], headers).content == first.content
    assert learn(client, ROWS[:2], headers).json()["type"] == "urn:budgetron:key-reused"
    assert learn(client, ROWS[:3], JSON | {"Idempotency-Key": '"two"'}).json()["first"] == 3
    bad = JSON | {"Idempotency-Key": "three"}
    assert learn(client, [{"x": {"a": 1}, "y": 3}], bad).status_code == 422
    assert learn(client, ROWS[:1], bad).json()["first"] == 6  # a refused request used nothing up


def test_a_key_in_use_answers_409(client):
    writer = client.service.models.get("default").writer
    writer._running.add("busy")
    assert (
        learn(client, ROWS, JSON | {"Idempotency-Key": "busy"}).json()["type"] == "urn:budgetron:key-in-use"
    )


def test_keys_and_kept_rows_are_bounded(inside):
    with inside(keys=5, kept_rows=4, snapshot_rows=1) as client:
        for i in range(12):
            learn(client, ROWS[i % 12], JSON | {"Idempotency-Key": f"key {i}"}).raise_for_status()
            client.post("/v1/predict?keep=1", json={"x": ROWS[0]["x"]}).raise_for_status()
        client.post("/v1/snapshot").raise_for_status()
        learn(client, ROWS[0]).raise_for_status()
        client.post("/v1/snapshot").raise_for_status()
        counts = client.service.models.get("default").log.state.counts
        assert (counts["answers"].entries, counts["kept"].entries) == (5, 4)
        learn(client, ROWS[11], JSON | {"Idempotency-Key": "key 11"}).raise_for_status()
        assert client.get("/v1/model").json()["version"] == 13


# ---- labels that come later


def test_labels_that_come_later(client):
    learn(client, ROWS).raise_for_status()
    kept = client.post("/v1/predict?keep=1", json=[{"x": row["x"]} for row in ROWS[:3]]).json()
    assert len(kept["ids"]) == 3
    a, b, c = kept["ids"]
    answer = client.post("/v1/label", json={"id": b, "y": "no"})
    assert (answer.json()["first"], answer.json()["rows"]) == (12, 1)
    assert client.post("/v1/label", json={"id": b, "y": "no"}).content == answer.content  # a retry
    assert client.post("/v1/label", json={"id": b, "y": "yes"}).json()["type"] == "urn:budgetron:unknown-id"
    twice = client.post("/v1/label", json=[{"id": a, "y": "no"}, {"id": a, "y": "no"}])
    assert (twice.status_code, twice.json()["row"]) == (404, 1)
    both = client.post("/v1/label", json=[{"id": c, "y": "yes"}, {"id": a, "y": "no"}])
    assert both.json()["version"] == 15
    rows = [
        *ROWS,
        {"x": ROWS[1]["x"], "y": "no"},
        {"x": ROWS[2]["x"], "y": "yes"},
        {"x": ROWS[0]["x"], "y": "no"},
    ]
    assert file(client) == expected(client, rows)
    late = client.get("/v1/model").json()["metrics"]["late"]
    assert late["rows"] == 3


def test_kept_rows_survive_a_restart_and_ids_are_not_used_again(inside):
    with inside() as client:
        learn(client, ROWS).raise_for_status()
        [first, last] = client.post(
            "/v1/predict?keep=1", json=[{"x": row["x"]} for row in ROWS[:2]]
        ).json()["ids"]
        client.post("/v1/label", json={"id": last, "y": "no"}).raise_for_status()
    with inside() as client:
        assert client.post("/v1/label", json={"id": first, "y": "no"}).json()["first"] == 13
        [new] = client.post("/v1/predict?keep=1", json={"x": ROWS[0]["x"]}).json()["ids"]
        assert new == last + 1
