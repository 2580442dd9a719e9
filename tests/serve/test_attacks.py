"""What anybody on the network may try, and a client with the role `read`: memory and time stay bounded."""

import contextlib
import http.client
import io
import json
import os
import socket
import struct
import subprocess
import sys
import threading
import time
from urllib.parse import urlsplit

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from budgetron.learners.automatic import Auto
from budgetron.serve.limits import MIB, Limits
from budgetron.serve.problems import Problem
from budgetron.serve.rows import ARROW, parse
from tests.helpers.cases import each
from tests.helpers.served import SMALL, served
from tests.serve.test_requests import LINES, as_lines, learn

START = b"GET /v2/health/live HTTP/1.1\r\nHost: localhost\r\n"
CHUNKED = b"POST /v1/learn HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
CHUNKED += b"Transfer-Encoding: chunked\r\n\r\n"
SHORT_LINES, ONE_LINE = b"a:b\r\n", b"a" * 1000


def address(url):
    parts = urlsplit(str(url))
    return parts.hostname, parts.port


def connected(url):
    return socket.create_connection(address(url), timeout=10)


def poured(url, start, more, most):
    """How many bytes a connection takes before the service closes it, and what it answers."""
    with connected(url) as connection:
        block, sent, answer = more * (65536 // len(more)), 0, b""
        with contextlib.suppress(ConnectionError):
            connection.sendall(start)
            while sent < most:
                connection.sendall(block)
                sent += len(block)
        with contextlib.suppress(ConnectionError):
            connection.settimeout(2)
            answer = connection.recv(4096)
        return sent, answer


def closed_within(connection, seconds):
    connection.settimeout(seconds)
    with contextlib.suppress(ConnectionError):
        while connection.recv(4096):
            pass


class Watch:
    """Asks whether the service lives, again and again: the longest wait, and how far its memory rises."""

    def __init__(self, url, pid):
        self.url, self.pid, self.waited, self.before = url, pid, 0.0, self.memory(pid)
        self.most = self.before
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._ask)

    @staticmethod
    def memory(pid):
        with open(f"/proc/{pid}/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def _ask(self):
        while not self._ended.is_set():
            began = time.monotonic()
            try:
                asked = http.client.HTTPConnection(*address(self.url), timeout=60)
                asked.request("GET", "/v2/health/live")
                assert asked.getresponse().status == 200
                asked.close()
            except (OSError, http.client.HTTPException):
                self.waited = 60.0
            self.waited = max(self.waited, time.monotonic() - began)
            self.most = max(self.most, self.memory(self.pid))
            self._ended.wait(0.01)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._ended.set()
        self._thread.join()

    @property
    def rise(self):
        return self.most - self.before


# ---- without a token


@each(
    ("start", "more"),
    [
        (START, SHORT_LINES),
        (START, ONE_LINE),
        (b"GET /", ONE_LINE),
        (CHUNKED + b"1;", ONE_LINE),
        (CHUNKED + b'1\r\n"\r\n0\r\n', SHORT_LINES),
        (CHUNKED + b'1\r\n"\r\n0\r\na:', ONE_LINE),
    ],
)
def test_headers_without_end_are_refused_soon(client, start, more):
    most = 16 * MIB  # far above what the sockets hold
    sent, answer = poured(client.base_url, start, more, most)
    assert sent < most
    if start is START:
        assert answer == b"" or answer.startswith(b"HTTP/1.1 431 ")
    assert client.get("/v2/health/live").status_code == 200


def test_the_limits_on_headers_are_said(client):
    for more in ({f"h{i}": "v" for i in range(100)}, {"long": "v" * 17_000}):
        answer = client.get("/v2/health/live", headers=more)
        assert (answer.status_code, answer.json()["type"]) == (431, "urn:budgetron:headers-too-large")
        assert answer.json()["detail"] == "headers may have 16384 bytes and 100 lines."
    most = {f"h{i}": "v" * 100 for i in range(80)}
    assert client.get("/v2/health/live", headers=most).status_code == 200


@each("said", [b"", b"GET ", START, START + b"\r\n" + START])
def test_headers_that_do_not_arrive_close_the_connection(inside, said):
    with inside(header_seconds=0.3, idle_seconds=0.6) as client, connected(client.base_url) as connection:
        connection.sendall(said)
        began = time.monotonic()
        closed_within(connection, 5)
        assert time.monotonic() - began < 2


def test_dribbled_headers_and_bodies_that_nobody_reads_close_the_connection(inside):
    with inside(header_seconds=0.3) as client:
        body = START + b"Content-Length: 100000\r\n\r\n"
        for said in (START, body):
            with connected(client.base_url) as connection:
                connection.sendall(said)
                began = time.monotonic()
                with contextlib.suppress(ConnectionError):
                    while time.monotonic() - began < 5:
                        connection.sendall(b"a")
                        time.sleep(0.05)
                assert time.monotonic() - began < 3


def test_a_slow_client_may_still_send_a_request_and_another(inside):
    with inside(header_seconds=2.0) as client, connected(client.base_url) as connection:
        for _ in range(2):
            for byte in START + b"\r\n":
                connection.sendall(bytes([byte]))
                time.sleep(0.002)
            assert connection.recv(4096).startswith(b"HTTP/1.1 200 ")


def test_the_connection_that_is_idle_longest_makes_room(inside):
    with inside(connections=8) as client:
        silent = [connected(client.base_url) for _ in range(30)]
        try:
            assert client.get("/v2/health/live").status_code == 200  # opened last
            closed_within(silent[0], 5)
        finally:
            for connection in silent:
                connection.close()


def test_requests_whose_bodies_do_not_come_make_room_too(inside):
    with inside(connections=8) as client:
        half = [connected(client.base_url) for _ in range(20)]
        try:
            for connection in half:
                connection.sendall(CHUNKED)
            assert client.get("/v2/health/live").status_code == 200
        finally:
            for connection in half:
                connection.close()


def test_an_answer_that_nobody_reads_is_dropped(inside):
    asked = b"GET /uplot.js HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with inside(send_seconds=0.3) as client, socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.connect(address(client.base_url))
        connection.sendall(asked * 500)
        began, ended = time.monotonic(), False
        while not ended and time.monotonic() - began < 10:
            time.sleep(0.05)
            try:
                connection.sendall(b"GET ")
            except ConnectionError:
                ended = True
        assert ended
        assert client.get("/v2/health/live").status_code == 200


@pytest.mark.skipif(sys.platform != "linux", reason="counts open files")
def test_silent_connections_with_few_files(tmp_path):
    """250 connections, 256 files: at first all files were taken, and nobody else was answered."""
    with served(tmp_path / "d", *SMALL, files=256) as server:
        silent = [connected(server.url) for _ in range(250)]
        for connection in silent[::2]:
            with contextlib.suppress(ConnectionError):
                connection.sendall(START)
        try:
            with Watch(server.url, server.process.pid) as watch:
                time.sleep(0.5)
            assert watch.waited < 5  # 60 where nobody makes room; the slow tests ask for 1
            learned = server.http.post("/v1/learn", json={"x": {"a": 1}, "y": "b"})
            assert learned.status_code == 200
        finally:
            for connection in silent:
                connection.close()
    assert "the limit on open files leaves" in server.said


# ---- browsers


@each(
    "origin", ["http://evil.example", "null", "https://localhost.evil", "http://localhost:1", "", "http://"]
)
def test_pages_of_other_sites_change_nothing(client, origin):
    learn(client, {"x": {"a": 1}, "y": "b"}).raise_for_status()
    before = client.get("/v1/model").json()
    asked = [("POST", "/v1/snapshot", None), ("POST", "/v1/learn", {"x": {"a": 1}, "y": "b"})]
    asked += [("POST", "/v1/label", {"id": 1, "y": "b"}), ("PUT", "/v1/models/new", {})]
    asked += [
        ("POST", "/v1/predict?keep=1", {"x": {"a": 1}}),
        ("POST", "/v1/models/default/snapshot", None),
    ]
    for method, path, body in asked:
        answer = client.request(method, path, json=body, headers={"Origin": origin})
        assert (answer.status_code, answer.json()["type"]) == (403, "urn:budgetron:foreign-origin")
    after = client.get("/v1/model").json()
    assert [after[name] for name in ("version", "snapshot_version", "log_bytes")] == [
        before[name] for name in ("version", "snapshot_version", "log_bytes")
    ]
    assert len(client.get("/v1/models").json()["models"]) == 1


def test_the_own_page_and_other_programs_may_change(client):
    own = {"Origin": str(client.base_url).rstrip("/")}
    assert client.post("/v1/learn", json={"x": {"a": 1}, "y": "b"}, headers=own).status_code == 200
    assert client.post("/v1/snapshot").status_code == 200


def test_only_the_exact_loopback_hosts_are_served(client):
    port = client.base_url.port
    for name in ("localhost", "127.0.0.1", "[::1]", "LOCALHOST"):
        for host in (name, f"{name}:{port}"):
            assert client.get("/v1/model", headers={"Host": host}).status_code == 200
    for host in (
        *(
            "[::1].evil.example",
            "[::1",
            "::1",
            "localhost:evil",
            f"localhost:{port}.evil",
            "localhost.evil",
        ),
        *(f"localhost:{port + 1}", f"127.0.0.1:{port}:1", "[::1]x", "localhost@evil.example", ""),
    ):
        answer = client.get("/v1/model", headers={"Host": host})
        assert (answer.status_code, answer.json()["type"]) == (421, "urn:budgetron:host"), host


# ---- memory by products


def test_a_name_of_its_own_in_every_row(tmp_path):
    """8,000 rows with a name each: as columns of 8,000 rows they would take 512 MB."""
    with served(tmp_path / "d", *SMALL) as server:
        server.http.post("/v1/learn", json={"x": {"a": 1}, "y": "b"}).raise_for_status()
        rows = as_lines([{"x": {"a": 1, f"name{i}": 1}} for i in range(8000)])
        with Watch(server.url, server.process.pid) as watch:
            answer = server.http.post("/v1/predict", content=rows, headers=LINES)
        assert answer.json()["predictions"] == ["b"] * 8000
        assert watch.rise < 100 * MIB


def arrow(table, **options):
    pa = pytest.importorskip("pyarrow")
    stream = io.BytesIO()
    with pa.ipc.new_stream(stream, table.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(table)
    return stream.getvalue()


def test_arrow_streams_are_not_far_larger_than_their_bodies():
    """Compressed zeros, runs of one value, and texts that share their bytes."""
    pa = pytest.importorskip("pyarrow")
    zeros = pa.table({f"c{i}": np.zeros(2000) for i in range(20)})
    texts = pa.table({"t": pa.array(["a", "b", None]).dictionary_encode(), "u": ["a", "b", "c"]})
    for table in (zeros, texts):
        assert len(parse(ARROW, arrow(table), Limits(), labelled=False)) == len(table)
        for compression in ("zstd", "lz4"):
            with pytest.raises(Problem, match="must not be compressed"):
                parse(ARROW, arrow(table, compression=compression), Limits(), labelled=False)
    ends, one = pa.array([50_000], pa.int32()), pa.array([1.0])
    runs = pa.table({f"c{i}": pa.RunEndEncodedArray.from_arrays(ends, one) for i in range(101)})
    with pytest.raises(Problem, match="may have 5000000 values"):
        parse(ARROW, arrow(runs), Limits(), labelled=False)
    long = pa.array(["x" * MIB], pa.string_view()).buffers()
    views = [None, pa.py_buffer(long[1].to_pybytes()[:16] * 20), *long[2:]]
    shared = pa.table({"t": pa.Array.from_buffers(pa.string_view(), 20, views)})
    with pytest.raises(Problem, match="texts of a column may have 8388608 bytes"):
        parse(ARROW, arrow(shared), Limits(), labelled=False)


@given(st.integers(0, 10**6), st.binary(max_size=8))
def test_damaged_arrow_streams_are_refused(place, more):
    pa = pytest.importorskip("pyarrow")
    good = bytearray(arrow(pa.table({"a": [1.0, 2.0], "t": ["a", "b"]})))
    place %= len(good)
    good[place : place + len(more)] = more
    with contextlib.suppress(Problem):
        parse(ARROW, bytes(good), Limits(), labelled=False)


def test_rows_times_classes_are_bounded(inside):
    with inside(probabilities=300) as client:
        learn(client, [{"x": {"a": i}, "y": f"class {i // 2}"} for i in range(60)]).raise_for_status()
        few, many = as_lines([{"x": {"a": 0}}] * 10), as_lines([{"x": {"a": 0}}] * 11)
        assert client.post("/v1/predict", content=few, headers=LINES).status_code == 200
        answer = client.post("/v1/predict", content=many, headers=LINES)
        assert (answer.status_code, answer.json()["type"]) == (413, "urn:budgetron:too-large")
        assert answer.json()["detail"] == "the model has 30 classes, so send at most 10 rows a request."
        tensor = {"name": "a", "shape": [11], "datatype": "FP64", "data": [0.0] * 11}
        assert client.post("/v2/models/default/infer", json={"inputs": [tensor]}).status_code == 413


def test_pieces_have_the_predictions_of_all_rows_at_once(inside):
    rng = np.random.default_rng(0)
    rows = [{"x": {"a": x, "b": y}, "y": f"c{x > y:d}"} for x, y in rng.normal(size=(2500, 2)).tolist()]
    with inside(learner=Auto(size=10)) as client:
        learn(client, as_lines(rows[:500]), LINES).raise_for_status()
        said = client.post(
            "/v1/predict", content=as_lines([{"x": row["x"]} for row in rows]), headers=LINES
        )
        model = client.service.models.get("default").published.estimator
        X = [row["x"] for row in rows]
        assert said.json()["predictions"] == model.predict(X).tolist()
        assert said.json()["probabilities"] == model.predict_proba(X).tolist()
        data = [row["x"]["a"] for row in rows]
        tensor = {"name": "a", "shape": [2500], "datatype": "FP64", "data": data}
        inferred = client.post("/v2/models/default/infer", json={"inputs": [tensor]}).json()["outputs"][1]
        assert inferred["data"] == model.predict_proba([{"a": a} for a in data]).ravel().tolist()
        X[2400] = {"a": 1e300, "row 400": 1}
        bad = client.post("/v1/predict", content=as_lines([{"x": x} for x in X]), headers=LINES)
        assert (bad.status_code, bad.json()["row"]) == (422, 2400)
        assert "ow 2400 " in bad.json()["detail"]


# ---- messages


def test_every_line_on_stderr_is_json():
    """Also warnings of Python, errors of asyncio, tracebacks of threads, and what libraries print."""
    program = (
        "import logging, sys, threading, warnings; from budgetron.serve.logging_format import configure; "
        "configure(True); "
        "warnings.warn('a warning'); logging.getLogger('asyncio').error('of asyncio'); "
        "logging.getLogger('uvicorn.error').warning('of uvicorn'); logging.getLogger('other').error('of'); "
        "print('half', end='', file=sys.stderr); print(' a line', file=sys.stderr); "
        "t = threading.Thread(target=lambda: 1 / 0); t.start(); t.join(); raise SystemError('at the end')"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    said = [json.loads(line)["message"] for line in ended.stderr.splitlines()]
    for part in ("a warning", "of asyncio", "of uvicorn", "half a line", "ZeroDivisionError", "at the end"):
        assert any(part in line for line in said), part


# ---- the same at full size: minutes


@pytest.fixture
def large(tmp_path):
    with served(tmp_path / "d", *SMALL) as server:
        server.http.timeout = 600
        server.http.post("/v1/learn", json={"x": {"a": 1}, "y": "b"}).raise_for_status()
        yield server


def bounded(watch):
    print(f"memory +{watch.rise / MIB:.0f} MiB, longest wait {watch.waited:.2f} s")
    assert watch.rise < 300e6
    assert watch.waited < 1


@pytest.mark.slow
@each(
    ("start", "more", "mib"), [(START, SHORT_LINES, 60), (START, ONE_LINE, 100), (b"GET /", ONE_LINE, 100)]
)
def test_full_headers_without_end(large, start, more, mib):
    with Watch(large.url, large.process.pid) as watch:
        threads = [
            threading.Thread(target=poured, args=(large.url, start, more, mib * MIB)) for _ in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    bounded(watch)


@pytest.mark.slow
def test_full_silent_connections(tmp_path):
    """A thousand a second, with 256 files. Several thousand a second overflow the queue of the kernel."""
    silent = []
    with served(tmp_path / "d", *SMALL, files=256) as server:
        try:
            with Watch(server.url, server.process.pid) as watch:
                until = time.monotonic() + 30
                while time.monotonic() < until:
                    silent.append(connected(server.url))
                    with contextlib.suppress(ConnectionError):
                        silent[-1].sendall(START[: len(silent) % 60])
                    if len(silent) > 400:
                        silent.pop(0).close()
                    time.sleep(0.001)
        finally:
            for connection in silent:
                connection.close()
        bounded(watch)


@pytest.mark.slow
@each(("rows", "names"), [(20_000, 1), (50_000, 1), (50_000, 8), (120, 4000)])
def test_full_names_of_their_own(large, rows, names):
    body = as_lines([{"x": {"a": 1} | {f"n{i}_{j}": 1 for j in range(names)}} for i in range(rows)])
    with Watch(large.url, large.process.pid) as watch:
        answer = large.http.post("/v1/predict", content=body, headers=LINES)
    assert len(answer.json()["predictions"]) == rows
    bounded(watch)


@pytest.mark.slow
def test_full_names_that_are_learned(tmp_path):
    body = as_lines([{"x": {f"name{i}": 1}, "y": "pq"[i % 2]} for i in range(20_000)])
    with served(tmp_path / "d") as server, Watch(server.url, server.process.pid) as watch:
        answer = server.http.post("/v1/learn", content=body, headers=LINES, timeout=600)
    assert answer.json()["rows"] == 20_000
    bounded(watch)


@pytest.mark.slow
def test_full_empty_rows_against_a_thousand_classes(large):
    for start in range(1, 1000, 50):
        rows = [{"x": {"a": i % 7}, "y": f"class {i}"} for i in range(start, min(start + 50, 1000))]
        large.http.post("/v1/learn", json=rows).raise_for_status()
    with Watch(large.url, large.process.pid) as watch:
        refused = large.http.post("/v1/predict", content=b'{"x":{"a":1}}\n' * 50_000, headers=LINES)
        assert refused.status_code == 413
        answer = large.http.post("/v1/predict", content=b'{"x":{"a":1}}\n' * 1000, headers=LINES)
        assert len(answer.json()["predictions"]) == 1000
    bounded(watch)


def test_a_field_beyond_the_body_is_refused():
    metadata = bytearray(64)
    struct.pack_into("<I", metadata, 0, 32)  # the table
    struct.pack_into("<i", metadata, 32, 16)  # 16 bytes after its list of fields
    struct.pack_into("<6H", metadata, 16, 12, 8, 0, 60000, 4, 0)
    with pytest.raises(Problem, match="Arrow"):
        parse(ARROW, struct.pack("<i", 64) + bytes(metadata), Limits(), labelled=False)
