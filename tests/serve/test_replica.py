"""Replicas: the bits of their leader, what they cannot read, other histories, answers without end."""

import asyncio
import shutil
import sqlite3
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import msgspec
import pytest

from budgetron.learners.automatic import Auto
from budgetron.serve.limits import Limits
from budgetron.serve.metrics import Counters
from budgetron.serve.problems import Problem
from budgetron.serve.replica import Leader, Replicas
from budgetron.serve.service import Service
from budgetron.serve.tokens import Tokens
from tests.helpers.served import SMALL, offline, served
from tests.serve.conftest import ROWS, learn, running, until

OTHERS = [row | {"y": "yes"} for row in ROWS]


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Replicas that do not wait for long."""
    monkeypatch.setattr("budgetron.serve.replica.WAIT", 1)
    monkeypatch.setattr("budgetron.serve.replica.LONGEST_PAUSE", 0.1, raising=False)


def never(_):
    """Spoil nothing."""


@contextmanager
def following(url, **limits):
    """A replica of the service at that address."""
    service = Service(Replicas(Leader(url, None), Limits(**limits)), Tokens(), Limits(), Counters())
    with running(service) as replica:
        replica.service = service
        yield replica
    for thread in threading.enumerate():  # what it warns of now must not reach the next test
        if thread.name == "replica-default":
            thread.join(20)


def ready(replica):
    answer = replica.get("/v2/health/ready")
    return True if answer.status_code == 200 else answer.json()["detail"]


def same(replica, leader):
    return replica.get("/v1/model/file").content == leader.get("/v1/model/file").content


class Between:
    """A proxy before a leader. ``spoil`` may answer a path itself, with pieces of a body."""

    def __init__(self, leader):
        self.spoil = never
        between, url = self, str(leader.base_url)

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                pieces = between.spoil(self.path)
                headers = {}
                if pieces is None:
                    answer = httpx.get(url + self.path, timeout=60, headers={"Host": "localhost"})
                    self.send_response(answer.status_code)
                    pieces = [answer.content]
                    kept = ("etag", "budgetron-chain")
                    headers = {name: answer.headers[name] for name in kept if name in answer.headers}
                else:
                    self.send_response(200)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.end_headers()
                try:
                    for piece in pieces:
                        self.wfile.write(piece)
                except OSError:
                    pass  # the replica has heard enough

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


def test_a_replica_has_the_bits_of_its_leader_and_only_predicts(inside):
    with inside(learner=Auto(size=10), snapshot_rows=20) as leader:
        learn(leader)
        leader.put("/v1/models/other", json={"task": "regression"}).raise_for_status()
        with following(str(leader.base_url)) as replica:
            until(lambda: len(replica.service.models.by_name) == 2 and ready(replica) is True)
            assert same(replica, leader)
            for i in range(4):
                learn(leader, [row | {"x": row["x"] | {"c": f"new {i}"}} for row in ROWS])
            until(lambda: replica.get("/v1/model").json()["version"] == 60)
            assert same(replica, leader)
            assert replica.get("/v1/model").json()["replica"] is True
            for answer in (
                replica.post("/v1/learn", json=ROWS),
                replica.put("/v1/models/new", json={}),
                replica.get("/v1/log"),
            ):
                assert (answer.status_code, answer.json()["type"]) == (409, "urn:budgetron:read-only")
        assert leader.get("/v1/log?after=0").json()["type"] == "urn:budgetron:log-removed"
        assert leader.get("/v1/log?after=61").status_code == 410


def test_a_replica_outlives_its_leader_and_catches_up(tmp_path):
    with served(tmp_path / "d", *SMALL, "--keep-log") as leader:
        httpx.post(leader.url + "/v1/learn", json=ROWS).raise_for_status()
        port = leader.url.rpartition(":")[2]
        with following(leader.url) as replica:
            until(lambda: ready(replica) is True)
            leader.kill()
            until(lambda: ready(replica) is not True)
            assert replica.get("/v2/health/ready").status_code == 503
            assert replica.post("/v1/predict", json={"x": ROWS[0]["x"]}).json()["version"] == 12
            with served(tmp_path / "d", "--keep-log", "--port", port) as again:
                httpx.post(again.url + "/v1/learn", json=ROWS).raise_for_status()
                until(lambda: replica.get("/v1/model").json()["version"] == 24 and ready(replica) is True)
                file = replica.get("/v1/model/file").content
                assert again.stop() == 0
    assert file == offline(tmp_path / "d/default")


class Hesitating(Leader):
    """A leader that names its models only when nobody follows any more."""

    def __init__(self, asked, closed):
        super().__init__("http://127.0.0.1:9", None)
        self.asked, self.closed = asked, closed

    def get(self, path):
        assert path == "/v1/models?logs=1"
        self.asked.set()
        assert self.closed.wait(30)
        return b'{"models": [{"name": "late"}]}'


def test_a_model_that_is_found_while_replicas_close_is_not_followed():
    asked, closed = threading.Event(), threading.Event()
    replicas, others = Replicas(Hesitating(asked, closed), Limits()), set(threading.enumerate())
    loop = asyncio.new_event_loop()
    replicas.start(loop)
    [discovering] = set(threading.enumerate()) - others
    assert asked.wait(30)
    replicas.close()
    closed.set()
    discovering.join(30)
    assert not discovering.is_alive()
    assert replicas.by_name == {}
    assert not any(each.name == "replica-late" for each in threading.enumerate())
    loop.close()


def test_a_request_that_the_replica_cannot_read(inside, monkeypatch):
    """It says so, and goes on when it can: here, pyarrow is missing for a while."""

    def without(*_, **__):
        raise Problem("media-type", "Arrow needs pyarrow on the server: pip install pyarrow.")

    with inside() as leader:
        learn(leader)
        with following(str(leader.base_url)) as replica:
            until(lambda: ready(replica) is True)
            with monkeypatch.context() as patched:
                patched.setattr("budgetron.serve.changes.parse", without)
                learn(leader)
                until(lambda: "needs pyarrow" in str(ready(replica)))
                assert "row 12" in ready(replica)
                assert replica.post("/v1/predict", json={"x": ROWS[0]["x"]}).json()["version"] == 12
            until(lambda: ready(replica) is True)
            assert same(replica, leader)


ODD = [
    b"",
    b"\xc1",
    b"<html>",
    msgspec.msgpack.encode([1, 2]),
    msgspec.msgpack.encode({"end": 1}),
    msgspec.msgpack.encode([[12, 1, "application/json", "y", 7]]),
    msgspec.msgpack.encode({"end": 13, "requests": [[12, 1, "application/x", "y", b"{}", b""]]}),
    msgspec.msgpack.encode({"end": 13, "requests": [[12]]}),
]


def test_odd_answers(inside):
    with inside() as leader, Between(leader) as between:
        learn(leader)
        with following(between.url) as replica:
            until(lambda: ready(replica) is True)
            for content in ODD:
                between.spoil = lambda path, content=content: [content] if "/log?" in path else None
                learn(leader)
                until(lambda: "cannot be followed" in str(ready(replica)))
                between.spoil = never
                until(lambda: ready(replica) is True)
            assert same(replica, leader)


def test_odd_lists_of_models(inside):
    with inside() as leader, Between(leader) as between:
        learn(leader)
        between.spoil = lambda path: (
            [b'{"models": [1, {"name": "../x"}]}'] if path == "/v1/models?logs=1" else None
        )
        with following(between.url) as replica:
            until(lambda: "cannot be followed" in str(ready(replica)))
            between.spoil = never
            until(lambda: ready(replica) is True)


def test_a_replica_is_ready_when_it_has_caught_up(inside):
    held = threading.Event()

    def hold(path):
        if "/log?" in path:
            assert held.wait(30)

    with inside() as leader, Between(leader) as between:
        learn(leader)
        between.spoil = hold
        with following(between.url) as replica:
            until(lambda: replica.service.models.by_name)
            until(lambda: replica.get("/v1/model").json()["version"] == 12)
            time.sleep(0.2)
            assert ready(replica) is not True
            held.set()
            until(lambda: ready(replica) is True)


def test_answers_without_end_are_cut(inside):
    """200 MiB, and what would be the memory of the replica."""
    sent = []

    def endless(path):
        for _ in range(200 if "/log?" in path else 0):
            sent.append(1)
            yield bytes(2**20)

    with inside() as leader, Between(leader) as between:
        learn(leader)
        with following(between.url, body=2**20, model_file=2**20) as replica:
            until(lambda: ready(replica) is True)
            between.spoil = lambda path: endless(path) if "/log?" in path else None
            learn(leader)
            until(lambda: "its answer has more than" in str(ready(replica)))
            assert 64 < len(sent) < 100
        between.spoil = lambda path: [bytes(2**20)] * 200 if path.endswith("/model/file") else None
        with following(between.url, model_file=2**20) as replica:
            until(lambda: "its answer has more than 1048576 bytes" in str(ready(replica)))


def test_a_leader_with_another_history_is_not_followed(tmp_path):
    """A backup that is restored, and learns other rows; also one that is shorter; and another log."""
    folder, flags = tmp_path / "d", (*SMALL, "--keep-log")
    with served(folder, *flags) as leader:
        learn(leader.http)
        assert leader.stop() == 0
    shutil.copytree(folder, tmp_path / "backup")
    with served(folder, *flags) as leader:
        learn(leader.http)
        port = leader.url.rpartition(":")[2]
        with following(leader.url) as replica:
            until(lambda: ready(replica) is True)
            before = replica.get("/v1/model/file").content
            leader.kill()
            for rows in (OTHERS, OTHERS + ROWS, []):
                restored = tmp_path / f"restored{len(rows)}"
                shutil.copytree(tmp_path / "backup", restored)
                with served(restored, "--keep-log", "--port", port) as again:
                    if rows:
                        learn(again.http, rows)
                    until(lambda: "another history" in str(ready(replica)), 30)
                    if rows:
                        learn(again.http)
                        time.sleep(1.0)
                    assert "another history" in ready(replica)
                    assert replica.get("/v1/model/file").content == before
                    again.kill()
            with served(tmp_path / "new", *flags, "--port", port) as another:
                learn(another.http, OTHERS + OTHERS)
                until(lambda: "another history" in str(ready(replica)), 30)
                another.kill()
            with served(folder, "--keep-log", "--port", port) as right:  # that of the replica
                until(lambda: ready(replica) is True, 30)
                learn(right.http)
                until(lambda: replica.get("/v1/model").json()["version"] == 36)
                assert same(replica, right.http)


def test_a_model_that_has_the_name_of_one_that_was_deleted_is_followed(inside):
    path, learner = (
        "/v1/models/a",
        {"algorithm": "fogd", "parameters": {"components": 10, "kernel": GAUSSIAN}},
    )
    with inside() as leader, following(str(leader.base_url)) as replica:

        def as_leader():
            files = [each.get(f"{path}/model/file") for each in (leader, replica)]
            return files[1].status_code == 200 and files[0].content == files[1].content

        for rows in (ROWS, OTHERS, ROWS + OTHERS):
            leader.put(path, json=learner).raise_for_status()
            learn(leader, rows, f"{path}/learn")
            until(as_leader)
            until(lambda: ready(replica) is True)
            leader.delete(path).raise_for_status()


GAUSSIAN = {"type": "Gaussian", "gamma": 0.5}


def test_a_log_that_is_closed_meanwhile_is_no_failure_of_the_service(client, monkeypatch):
    learn(client)
    model = client.service.models.get("default")
    monkeypatch.setattr(model, "learned", lambda *_: closed())
    answer = client.get("/v1/log?after=0")
    assert (answer.status_code, answer.json()["type"]) == (503, "urn:budgetron:busy")


def closed():
    db = sqlite3.connect(":memory:")
    db.close()
    db.execute("select 1")


def test_a_replica_that_is_far_behind_takes_the_model_again(inside):
    """The log no longer has the rows that it lacks, and is still the same log."""
    with inside(snapshot_rows=12) as leader, Between(leader) as between:
        learn(leader)
        with following(between.url) as replica:
            until(lambda: ready(replica) is True)
            between.spoil = lambda _: [b""]
            until(lambda: ready(replica) is not True)
            for _ in range(4):
                learn(leader)
                leader.post("/v1/snapshot").raise_for_status()
            between.spoil = never
            until(lambda: ready(replica) is True)
            assert same(replica, leader)


def test_the_log_refuses_a_chain_that_is_not_its_own(client):
    learn(client)
    learn(client)
    own = client.get("/v1/model").json()["log_id"]
    assert client.get(f"/v1/log?after=0&chain={own}").status_code == 200
    for after, chain in ((0, "00" * 16), (12, own), (24, own), (25, own), (5, own)):
        answer = client.get(f"/v1/log?after={after}&chain={chain}")
        assert (answer.status_code, answer.json()["type"]) == (409, "urn:budgetron:other-history")
    assert client.get("/v1/log?after=0&chain=x").status_code == 400
