"""Alarms of a service: the same for the same rows, told once, kept, and paged through."""

import json
import re
import sqlite3

import numpy as np
import pytest

from budgetron import algorithms
from budgetron.serve import history
from budgetron.serve.history import EACH, POINTS, History
from tests.helpers.cases import each
from tests.helpers.served import served
from tests.serve.conftest import learn, until

AUTO = ("--size", "5")
"""The default learner, which takes missing values, but smaller."""
N = 4000


def stream(seed=0):
    """The unit of a column changes at row 1,500, one vanishes at 2,300, and labels turn at 3,000."""
    rng = np.random.default_rng(seed)
    rows = []
    for i in range(N):
        x = {"a": float(rng.normal()), "b": float(rng.exponential() * (100 if i >= 1500 else 1))}
        x |= {"c": float(rng.normal())} if i < 2300 else {}
        rows.append({"x": x, "y": "yes" if (x["a"] > 0) != (i >= 3000) else "no"})
    return rows


def drifts(client, **query):
    events = client.get("/v1/events", params={"what": "drift"} | query).raise_for_status().json()["events"]
    return [
        {name: value for name, value in event.items() if name not in ("at", "number")} for event in events
    ]


@pytest.fixture(scope="module")
def rows_of_stream():
    """The rows of the stream."""
    return stream()


@pytest.fixture(scope="module")
def of_cuts(tmp_path_factory, rows_of_stream):
    """The alarms of services that got the rows in requests of other sizes."""
    found = {}
    for size in (1, 100, 5000):
        folder = tmp_path_factory.mktemp("cuts") / "d"
        with served(folder, *AUTO) as server:
            for start in range(0, N, size):
                body = rows_of_stream[start : start + size]
                lines = "\n".join(map(json.dumps, body))
                headers = {"Content-Type": "application/x-ndjson"}
                server.http.post("/v1/learn", content=lines, headers=headers).raise_for_status()
            found[size] = drifts(server.http)
    return found


def test_alarms_do_not_depend_on_the_requests(of_cuts):
    assert of_cuts[1] == of_cuts[100] == of_cuts[5000]


def test_changes_are_told_soon(of_cuts):
    told = {(event["of"], event["version"]): event for event in of_cuts[100]}
    assert {of for of, _ in told} == {"errors", "inputs"}
    [unit, gone] = [event for event in told.values() if event["of"] == "inputs"]
    assert 1500 < unit["version"] <= 1700
    assert (unit["columns"][0]["column"], unit["columns"][0]["what"]) == ("b", "level")
    assert 2300 < gone["version"] <= 2500
    assert gone["columns"][0] | {"rows": 0} == {
        "column": "c",
        "what": "missing",
        "before": 0.0,
        "now": 1.0,
        "rows": 0,
    }
    [error] = [event for event in told.values() if event["of"] == "errors"]
    assert 3000 < error["version"] <= 3150
    assert error["now"] > 2 * error["before"]


def test_a_restart_tells_no_alarm_twice_and_keeps_what_was_told(tmp_path, rows_of_stream, of_cuts):
    folder = tmp_path / "d"
    with served(folder, *AUTO, "--snapshot-rows", "1000000") as server:
        for start in range(0, N, 500):
            learn(server.http, rows_of_stream[start : start + 500])
        server.kill()  # the snapshot of row 0 is all there is: everything is replayed
    with served(folder, *AUTO) as server:
        assert drifts(server.http) == of_cuts[100]
        server.kill()
    (folder / "default" / history.FILE).unlink()  # lost, as after a crash of the machine
    with served(folder, *AUTO) as server:
        assert drifts(server.http) == of_cuts[100]


def test_a_restart_in_the_middle_finds_the_same(tmp_path, rows_of_stream, of_cuts):
    for start in range(0, N, 2000):
        with served(tmp_path / "d", *AUTO) as server:
            learn(server.http, rows_of_stream[start : start + 2000])
            assert server.stop() == 0
    with served(tmp_path / "d", *AUTO) as server:
        assert drifts(server.http) == of_cuts[100]


def test_a_replica_tells_what_its_leader_tells(tmp_path, rows_of_stream, of_cuts):
    with served(tmp_path / "d", *AUTO) as leader:
        learn(leader.http, rows_of_stream[:3000])
        with served("--follow", leader.url) as replica:
            learn(leader.http, rows_of_stream[3000:])
            until(lambda: replica.http.get("/v1/model").status_code == 200)
            until(lambda: len(drifts(replica.http)) == len(of_cuts[100]))
            assert replica.http.get("/v1/events").json() == leader.http.get("/v1/events").json()
            assert drifts(replica.http) == of_cuts[100]
            assert (
                'budgetron_events_total{model="default",what="drift",of="inputs"} 2'
                in replica.http.get("/metrics").text
            )


def test_a_roll_back_tells_nothing_again_and_then_watches_on(inside, rows_of_stream, of_cuts):
    with inside(learner=algorithms.auto(size=5)) as client:
        learn(client, rows_of_stream[:2500])
        client.post("/v1/snapshot").raise_for_status()
        learn(client, rows_of_stream[2500:2800])
        told = drifts(client)
        assert len(told) == 2
        client.post("/v1/rollback", json={"to": 2500, "replay": True}).raise_for_status()
        assert drifts(client) == told
        learn(client, rows_of_stream[2800:])
        later = [event | {"version": event["version"] - 1} for event in drifts(client)[2:]]
        assert later == of_cuts[100][2:]  # the roll-back took a number


def test_events_are_paged_counted_and_logged(tmp_path, rows_of_stream):
    with served(tmp_path / "d", *AUTO, "--json-logs") as server:
        for start in range(0, N, 500):
            learn(server.http, rows_of_stream[start : start + 500])
        pages, after = [], 0
        while after is not None:
            page = server.http.get("/v1/events", params={"after": after, "limit": 2}).json()
            pages, after = pages + page["events"], page["next"]
        everything = server.http.get("/v1/events").json()
        assert everything == {"events": pages, "next": None}
        numbers = [event["number"] for event in pages]
        assert numbers == sorted(set(numbers))
        assert {"new class", "drift"} <= {event["what"] for event in pages}
        counted = re.findall(
            r'budgetron_events_total{model="default",what="drift",of="(\w+)"} (\d)',
            server.http.get("/metrics").text,
        )
        assert dict(counted) == {"errors": "1", "inputs": "2"}
        logged = [json.loads(line) for line in server.said.splitlines()]
        drift = [line for line in logged if line["message"] == "drift"]
        assert [(line["of"], line["version"]) for line in drift] == [
            (e["of"], e["version"]) for e in pages if e["what"] == "drift"
        ]
        assert server.http.get("/v1/events", params={"limit": "many"}).status_code == 400


def test_regression_is_watched(inside):
    rng = np.random.default_rng(1)
    rows = []
    for i in range(5000):
        a = float(rng.normal())
        rows.append({"x": {"a": a}, "y": a * (1 if i < 3000 else -4) + 0.1 * float(rng.normal())})
    with inside(task="regression") as client:
        for start in range(0, 5000, 250):
            learn(client, rows[start : start + 250])
        told = drifts(client)
    assert any(event["of"] == "errors" and 3000 < event["version"] <= 3100 for event in told)
    assert all(event["version"] > 3000 for event in told)


# ---- the history


def test_curves_survive_a_restart(tmp_path, rows_of_stream):
    with served(tmp_path / "d", *AUTO) as server:
        learn(server.http, rows_of_stream[:500])
        until(lambda: server.http.get("/v1/progress").json()["points"])
        points = server.http.get("/v1/progress").json()["points"]
        assert (points[-1]["version"], points[-1]["window"]["rows"]) == (500, 500)
        server.kill()
    with served(tmp_path / "d", *AUTO) as server:
        assert server.http.get("/v1/progress").json()["points"][: len(points)] == points
        with server.http.stream("GET", "/v1/events", headers={"Accept": "text/event-stream"}) as lines:
            assert "id: 500" in (line for line in lines.iter_lines())


def test_the_history_is_bounded_and_thinned(tmp_path):
    kept = History(tmp_path)
    for i in range(3 * POINTS):
        kept.add_point(i, b"{}")
    versions = [version for version, _ in kept.points()]
    assert POINTS // 2 < len(versions) <= POINTS
    assert versions[-1] == 3 * POINTS - 1
    gaps = np.diff(versions)
    assert gaps[0] >= 4 > gaps[-1] == 1
    for i in range(EACH + 50):
        kept.add(i, "snapshot", {})
        kept.add(i, "drift", {"of": "errors"}, f"errors {i // 2}")
    assert len(kept.events(0, 10**6, "snapshot")) == EACH
    assert len(kept.events(0, 10**6, "drift")) == (EACH + 50) // 2
    assert [each["number"] for each in kept.last(2)] == [each["number"] for each in kept.events(0, 10**6)][
        -2:
    ]
    kept.close()


@each("content", [b"no database at all", b"SQLite format 3\0" + b"x" * 5000])
def test_a_damaged_history_begins_anew(tmp_path, content):
    with served(tmp_path / "d", *AUTO) as server:
        learn(server.http)
        assert server.stop() == 0
    (tmp_path / "d/default" / history.FILE).write_bytes(content)
    with served(tmp_path / "d", *AUTO) as server:
        assert "begins anew" in server.said
        assert server.http.get("/v1/events").json()["events"] == []
        learn(server.http)


def test_a_history_that_cannot_be_written_stops_nothing(inside):
    with inside() as client:
        model = client.service.models.by_name["default"]

        def fail(*_):
            raise sqlite3.OperationalError("disk full")

        model.history.add = model.history.add_point = fail
        learn(client)
        assert client.get("/v1/model").json()["version"] == 12
        assert model.told["new class", ""] == 1


def test_challengers_have_events_and_curves_of_their_own(tmp_path, rows_of_stream):
    folder = tmp_path / "d"
    with served(folder, *AUTO) as server:
        server.http.put("/v1/challengers/second", json={"parameters": {"size": 3}}).raise_for_status()
        for start in range(0, N, 1000):
            learn(server.http, rows_of_stream[start : start + 1000])
        own, path = drifts(server.http), "/v1/models/second/events"
        told = server.http.get(path, params={"what": "drift"}).json()["events"]
        assert [event["of"] for event in told] == ["errors"]  # the inputs are watched once
        assert {event["of"] for event in own} == {"errors", "inputs"}
        until(lambda: server.http.get("/v1/models/second/progress").json()["points"])
        server.kill()
    with served(folder, *AUTO) as server:
        assert drifts(server.http) == own
        assert server.http.get(path, params={"what": "drift"}).json()["events"] == told
        server.http.post("/v1/models/second/rename", json={"to": "third"}).raise_for_status()
        events = server.http.get("/v1/models/third/events", params={"what": "drift"}).json()["events"]
        assert events == told
        server.http.delete("/v1/models/third").raise_for_status()
        server.http.put("/v1/challengers/third", json={}).raise_for_status()
        assert server.http.get("/v1/models/third/events").json()["events"] == []
