"""The guarantees of docs/service.md, each with real processes, signals and disks."""

import http.client
import json
import os
import random
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from functools import partial

import httpx
import pytest

from budgetron.client import Client, ServiceError
from budgetron.serve import snapshot
from tests.helpers.served import SMALL, a_disk, bodies, held, logged, offline, served

JSON = {"Content-Type": "application/json"}


def row(i):
    """Row i, which can be recognised by its first value."""
    draw = random.Random(i)
    return {
        "x": {"i": i, "a": draw.uniform(-1, 1), "b": draw.uniform(-1, 1)},
        "y": draw.choice(["no", "yes"]),
    }


def post(server, path, body, **more):
    return server.http.post(path, json=body, **more)


def wait_for_queue(server, rows):
    """Wait until that many rows are in the queue."""
    until = time.monotonic() + 60
    while server.http.get("/v1/model").json()["queue_rows"] < rows:
        assert time.monotonic() < until
        time.sleep(0.01)


class Load(threading.Thread):
    """A client that learns rows until the service has gone; ``acknowledged`` has what was answered."""

    def __init__(self, server, first, rows=1):
        super().__init__(daemon=True)
        self.server, self.next, self.rows, self.acknowledged = server, first, rows, []
        self.sent = []
        self.start()

    def run(self):
        connection = http.client.HTTPConnection(self.server.url.removeprefix("http://"), timeout=60)
        with closing(connection), suppress(OSError, http.client.HTTPException):
            while True:
                part = [row(self.next + i) for i in range(self.rows)]
                self.sent.append(self.next)
                connection.request("POST", "/v1/learn", json.dumps(part), JSON)
                answer = connection.getresponse()
                if answer.status != 200:
                    return
                self.acknowledged.append((json.loads(answer.read())["first"], self.next))
                self.next += self.rows


def check_log(folder, loads):
    """Every acknowledged row is in the log once, under its number, and nothing that was not sent."""
    found = {first: [each["x"]["i"] for each in rows] for first, rows in bodies(folder)}
    for load in loads:
        for first, i in load.acknowledged:
            assert found[first] == list(range(i, i + load.rows))
    logged = sorted(i for rows in found.values() for i in rows)
    assert len(logged) == len(set(logged)), "a row is in the log twice"
    sent = {i + j for load in loads for i in load.sent for j in range(load.rows)}
    assert set(logged) <= sent
    numbers = [first + j for first, rows in found.items() for j in range(len(rows))]
    assert numbers == list(range(len(numbers))), "the numbers have a gap"


def killed(folder, kills, clients, seed, rows=(1, 7), flags=SMALL, begin=0):
    """Kill a service under load, again and again; returns all that the clients sent."""
    draw, loads = random.Random(seed), []
    for turn in range(begin, begin + kills):
        with served(folder, "--keep-log", "--snapshot-rows", "50", *flags) as server:
            first = 1_000_000 * turn
            own = [Load(server, first + 10_000 * c, draw.choice(rows)) for c in range(clients)]
            wanted = draw.randrange(1, 40)
            while sum(len(load.acknowledged) for load in own) < wanted:
                assert any(load.is_alive() for load in own)
                time.sleep(0.001)
            time.sleep(draw.uniform(0, 0.03))
            server.kill()
            for load in own:
                load.join(60)
            loads += own
    return loads


# ---- 1: one order


def test_every_row_has_its_number_and_the_log_has_their_order(tmp_path):
    with served(tmp_path / "d", *SMALL) as server:
        loads = [Load(server, 10_000 * c, rows=1 + c % 3) for c in range(6)]
        while not all(len(load.acknowledged) >= 5 for load in loads):
            assert any(load.is_alive() for load in loads)
            time.sleep(0.01)
        assert server.stop() == 0
        [load.join(60) for load in loads]
    assert all(load.acknowledged for load in loads)
    check_log(tmp_path / "d/default", loads)
    for load in loads:  # a client's rows are learned in the order in which it sent them
        assert load.acknowledged == sorted(load.acknowledged)


# ---- 2: on disk before the answer; the same bits after kill -9


def test_killed_at_any_moment_nothing_acknowledged_is_lost_and_the_bits_are_the_same(tmp_path):
    loads = killed(tmp_path / "d", kills=3, clients=4, seed=1)
    with served(tmp_path / "d", "--keep-log") as server:
        file = server.http.get("/v1/model/file").content
        assert server.stop() == 0
    check_log(tmp_path / "d/default", loads)
    assert file == offline(tmp_path / "d/default")


@pytest.mark.slow
def test_killed_200_times(tmp_path):
    loads = killed(tmp_path / "d", kills=200, clients=16, seed=2)
    check_log_after(tmp_path / "d", loads)


@pytest.mark.slow
def test_the_default_learner_killed_20_times(tmp_path):
    check_log_after(tmp_path / "d", killed(tmp_path / "d", kills=20, clients=16, seed=3, flags=()))


def check_log_after(folder, loads):
    with served(folder, "--keep-log") as server:
        file = server.http.get("/v1/model/file").content
        assert server.stop() == 0
    check_log(folder / "default", loads)
    assert file == offline(folder / "default")


def test_no_answer_before_the_rows_are_on_disk(tmp_path):
    faults = a_disk(tmp_path / "faults")
    with served(tmp_path / "d", *SMALL, faults=faults) as server:
        post(server, "/v1/learn", row(0)).raise_for_status()
        with ThreadPoolExecutor() as pool:
            with held(faults):
                waiting = pool.submit(post, server, "/v1/learn", row(1))
                wait_for_queue(server, 1)
                time.sleep(0.2)
                assert not waiting.done()
                # 4: predictions do not wait, and see only what is on disk
                assert post(server, "/v1/predict", {"x": row(1)["x"]}).json()["version"] == 1
            assert waiting.result().json()["first"] == 1
        assert post(server, "/v1/predict", {"x": row(1)["x"]}).json()["version"] == 2


# ---- 3: a retry does not learn twice


def test_a_key_is_remembered_after_kill_9(tmp_path):
    headers = {"Idempotency-Key": '"8e03978e"'}
    with served(tmp_path / "d", *SMALL) as server:
        answer = post(server, "/v1/learn", row(0), headers=headers)
        server.kill()
    with served(tmp_path / "d") as server:
        again = post(server, "/v1/learn", row(0), headers=headers)
        assert (again.status_code, again.content) == (200, answer.content)
        other = post(server, "/v1/learn", row(1), headers=headers)
        assert (other.status_code, other.json()["type"]) == (422, "urn:budgetron:key-reused")
        assert server.stop() == 0
    assert [first for first, _ in bodies(tmp_path / "d/default")] == [0]


class Dropping(httpx.HTTPTransport):
    """A proxy that loses half of the requests or their answers."""

    def __init__(self, seed):
        super().__init__()
        self.draw, self.lost = random.Random(seed), 0

    def handle_request(self, request):
        fate = self.draw.random()
        if fate < 0.1:
            self.lost += 1
            raise httpx.ConnectError("the request is lost")
        answer = super().handle_request(request)
        if fate < 0.5:
            answer.read()
            self.lost += 1
            raise httpx.ReadError("the answer is lost")
        return answer


def test_behind_a_proxy_that_drops_half_of_the_answers_rows_are_learned_once(tmp_path):
    with served(tmp_path / "d", *SMALL) as server:
        lost = []

        def learn(c):
            transport = Dropping(c)
            with Client(server.url, transport=transport, backoff=0.001, retries=40) as client:
                for i in range(15):
                    said = row(1000 * c + i)
                    client.learn(said["x"], said["y"])
            lost.append(transport.lost)

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(learn, range(4)))
        assert sum(lost) > 20
        assert server.stop() == 0
    logged = sorted(each["x"]["i"] for _, rows in bodies(tmp_path / "d/default") for each in rows)
    assert logged == sorted(1000 * c + i for c in range(4) for i in range(15))


# ---- 5: a bounded queue


def test_a_full_queue_answers_503_and_nothing_of_the_request_is_learned(tmp_path):
    faults = a_disk(tmp_path / "faults")
    with served(tmp_path / "d", *SMALL, "--queue-rows", "20", faults=faults) as server:
        post(server, "/v1/learn", row(0)).raise_for_status()
        nine = [row(100 + i) for i in range(9)]
        with ThreadPoolExecutor(2) as pool:
            with held(faults):
                eights = [[row(10 * k + i) for i in range(8)] for k in (1, 2)]
                running = [pool.submit(post, server, "/v1/learn", eight) for eight in eights]
                wait_for_queue(server, 16)
                refused = [post(server, "/v1/learn", nine, timeout=10) for _ in range(3)]
            assert [each.result().status_code for each in running] == [200, 200]
        for answer in refused:
            assert answer.status_code == 503
            assert answer.headers["Retry-After"] == "1"
            assert answer.json()["type"] == "urn:budgetron:busy"
        assert post(server, "/v1/learn", nine).status_code == 200
        assert server.stop() == 0
    logged = [each["x"]["i"] for _, rows in bodies(tmp_path / "d/default") for each in rows]
    assert len(logged) == len(set(logged)) == 1 + 16 + 9


# ---- 7: SIGTERM, a full disk, a failed fsync


def test_sigterm_finishes_what_is_running_saves_and_exits_with_0(tmp_path):
    faults = a_disk(tmp_path / "faults")
    with served(tmp_path / "d", *SMALL, faults=faults) as server:
        post(server, "/v1/learn", row(0)).raise_for_status()
        stream = partial(server.http.stream, "GET", "/v1/events", headers={"Accept": "text/event-stream"})
        with ThreadPoolExecutor() as pool, stream() as events:
            with held(faults):
                running = pool.submit(post, server, "/v1/learn", row(1))
                wait_for_queue(server, 1)
                os.kill(server.process.pid, signal.SIGTERM)
                time.sleep(0.3)
                assert not running.done()
            assert running.result().json()["version"] == 2
            assert "new class" in "".join(events.iter_text())  # and the stream ends
        assert server.ended() == 0
    assert list(snapshot.versions(tmp_path / "d/default")) == [2]


def test_sigterm_learns_what_was_received(tmp_path):
    """Also the rows whose clients do not wait."""
    faults = a_disk(tmp_path / "faults")
    with served(tmp_path / "d", *SMALL, faults=faults) as server:
        post(server, "/v1/learn", row(0)).raise_for_status()
        with held(faults):
            for i in range(1, 6):
                assert post(server, "/v1/learn?ack=received", row(i)).status_code == 202
            wait_for_queue(server, 5)
            os.kill(server.process.pid, signal.SIGTERM)
            time.sleep(0.3)
        assert server.ended() == 0
    assert list(snapshot.versions(tmp_path / "d/default")) == [6]


def test_a_failed_fsync_stops_learning_keeps_predicting_and_says_so(tmp_path):
    with served(tmp_path / "d", *SMALL, faults=a_disk(tmp_path / "faults")) as server:
        post(server, "/v1/learn", row(0)).raise_for_status()
        before = server.http.get("/v1/model/file").content
        assert server.http.get("/v2/health/ready").status_code == 200
        (tmp_path / "faults/fail").touch()
        check_stopped(server, before)
        (tmp_path / "faults/fail").unlink()
        check_stopped(server, before)  # a disk that failed once is not trusted again
        assert server.stop() == 1
    with served(tmp_path / "d") as server:
        assert post(server, "/v1/learn", row(2)).status_code == 200
        assert server.stop() == 0


def check_stopped(server, before):
    answer = post(server, "/v1/learn", row(1))
    assert (answer.status_code, answer.json()["type"]) == (503, "urn:budgetron:learning-stopped")
    ready = server.http.get("/v2/health/ready")
    assert ready.status_code == 503
    assert "Learning has stopped" in ready.json()["detail"]
    assert server.http.get("/v2/health/live").status_code == 200
    assert post(server, "/v1/predict", {"x": row(1)["x"]}).json()["version"] == 1
    assert server.http.get("/v1/model/file").content == before


def test_a_full_disk_stops_learning_and_loses_nothing(tmp_path):
    acknowledged = []
    with served(tmp_path / "d", *SMALL, file_bytes=120_000) as server:
        for i in range(1000):
            answer = post(server, "/v1/learn", [row(10 * i + j) for j in range(10)])
            if answer.status_code != 200:
                break
            acknowledged.append(i)
        assert (answer.status_code, answer.json()["type"]) == (503, "urn:budgetron:learning-stopped")
        assert len(acknowledged) > 3
        assert server.http.get("/v2/health/ready").status_code == 503
        assert post(server, "/v1/predict", {"x": row(1)["x"]}).json()["version"] == 10 * len(acknowledged)
        file = server.http.get("/v1/model/file").content
        assert server.stop() == 1
    with served(tmp_path / "d", "--keep-log") as server:
        assert server.http.get("/v1/model/file").content == file
        assert server.stop() == 0
    logged = [each["x"]["i"] // 10 for _, rows in bodies(tmp_path / "d/default") for each in rows[:1]]
    assert logged == acknowledged


# ---- 8: bounded disk use


def test_disk_use_is_bounded(tmp_path):
    x, y = [row(j)["x"] for j in range(200)], [row(j)["y"] for j in range(200)]
    with served(tmp_path / "d", *SMALL, "--snapshot-rows", "400", "--log-bytes", "0") as server:
        with Client(server.url) as client:
            sizes = [client.learn(x, y) and client.describe()["log_bytes"] for _ in range(100)]
        assert max(sizes) < 5_000_000  # SQLite's write-ahead log has 1000 pages of 4 KiB
        assert server.stop() == 0
    assert (tmp_path / "d/default/log.sqlite").stat().st_size < 254_000  # of 1.8 MB that were learned
    assert len(list(snapshot.versions(tmp_path / "d/default"))) == 2
    assert sum(request.rows for request in logged(tmp_path / "d/default")) <= 1000


# ---- 9: closed by default


def test_tokens_have_roles_and_without_tokens_only_loopback_is_served(tmp_path):
    tokens = tmp_path / "tokens"
    tokens.write_text(
        "read reading-reading-1\nlearn learning-learning\n\n# a comment\nadmin administrator-12\n"
    )
    tokens.chmod(0o600)
    with served(tmp_path / "d", *SMALL, "--tokens", tokens, "--host", "0.0.0.0") as server:
        url = server.url.replace("0.0.0.0", "127.0.0.1")

        def status(method, path, token, body=None):
            headers = {} if token is None else {"Authorization": f"Bearer {token}"}
            return httpx.request(method, url + path, json=body, headers=headers).status_code

        said, x = row(0), {"x": row(0)["x"]}
        assert status("POST", "/v1/learn", None, said) == 401
        assert status("POST", "/v1/learn", "reading-reading-1", said) == 403
        assert status("POST", "/v1/learn", "reading-reading-", said) == 401
        assert status("POST", "/v1/learn", "learning-learning", said) == 200
        assert status("POST", "/v1/predict", "reading-reading-1", x) == 200
        assert status("POST", "/v1/predict?keep=1", "reading-reading-1", x) == 403
        assert status("POST", "/v1/snapshot", "learning-learning") == 403
        assert status("POST", "/v1/snapshot", "administrator-12") == 200
        assert status("GET", "/metrics", None) == 401
        assert status("GET", "/v2/health/ready", None) == 200
        with (
            Client(url, token="wrong" * 5) as client,
            pytest.raises(ServiceError, match="the token is not known") as refused,
        ):
            client.describe()
        assert refused.value.status == 401
        assert server.stop() == 0
    with pytest.raises(RuntimeError, match="is open to others, so give --tokens FILE"):
        served(tmp_path / "d", "--host", "0.0.0.0").__enter__()
    tokens.chmod(0o644)
    with pytest.raises(RuntimeError, match="chmod 600"):
        served(tmp_path / "d", "--tokens", tokens).__enter__()


def test_two_services_do_not_share_a_folder(tmp_path):
    with served(tmp_path / "d", *SMALL) as server:
        with pytest.raises(RuntimeError, match="is in use by another process"):
            served(tmp_path / "d").__enter__()
        assert post(server, "/v1/learn", row(0)).status_code == 200


def test_there_are_no_workers_and_messages_may_be_json(tmp_path):
    with pytest.raises(RuntimeError, match="there are no workers"):
        served(tmp_path / "d", "--workers", "2").__enter__()
    with served(tmp_path / "d", *SMALL, "--json-logs") as server:
        post(server, "/v1/learn", row(0)).raise_for_status()
        assert server.stop() == 0
    said = [json.loads(line) for line in server.said.splitlines()]
    assert [each["message"] for each in said][1:] == ["new class"]
    assert said[0]["message"] == f"serving {tmp_path / 'd'} at {server.url}"
    assert said[1]["model"] == "default"
    with pytest.raises(RuntimeError) as refused:
        served(tmp_path / "e", "--from", tmp_path / "none", "--json-logs").__enter__()
    assert all("none" in json.loads(line)["message"] for line in str(refused.value).splitlines())
