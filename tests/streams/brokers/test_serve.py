"""``budgetron serve DIR --input URL``: messages are learned once, whatever ends the service."""

import json
import random
import time

import pytest

pytest.importorskip("starlette", reason="needs budgetron[serve]")
pytest.importorskip("uvicorn", reason="needs budgetron[serve]")
pytest.importorskip("httpx", reason="needs budgetron[client]")

from budgetron.serve.log import Log
from tests.helpers.broker_runs import POISON, rows
from tests.helpers.cases import each
from tests.helpers.command import PATIENCE, called
from tests.helpers.served import SMALL, served


def input_of(server, stream, *more):
    return ["--input", server.url(stream), "--target", "label", *more]


def wait_for(service, version):
    """Wait until the model has learned that many rows."""
    until = time.monotonic() + PATIENCE
    while service.http.get("/v1/model").json()["version"] < version:
        assert time.monotonic() < until, service.said
        time.sleep(0.02)


def logged(folder):
    """The numbers of the messages in the log, and where it says that the stream is."""
    log = Log(folder / "default")
    lines = [json.loads(line) for request in log.requests(0, 10**6) for line in request.body.splitlines()]
    log.close()
    return [line["x"]["number"] for line in lines]


def test_messages_and_requests_are_learned_in_one_order(server, stream, tmp_path):
    folder, bad = tmp_path / "models", tmp_path / "bad"
    flags = [folder, *SMALL, *input_of(server, stream, "--on-error", bad), "--keep-log"]
    server.publish(stream, [POISON[0], *rows(300), POISON[1]])
    with served(*flags) as service:
        wait_for(service, 300)
        row = {"x": {"number": -1, "a": 1, "b": 1, "kind": "x"}, "y": "out"}
        assert service.http.post("/v1/learn", json=row).json()["version"] == 301
        server.publish(stream, rows(100, seed=1))
        wait_for(service, 401)
        assert service.stop() == 0
    assert logged(folder) == [*range(300), -1, *range(100)]
    assert server.committed(stream) == 402
    server.publish(stream, [*POISON[2:], *rows(50, seed=2)])
    with served(*flags) as service:
        wait_for(service, 451)
        assert service.stop() == 0
    assert logged(folder) == [*range(300), -1, *range(100), *range(50)]
    kept = [json.loads(line)["text"] for line in (bad / "bad_rows.jsonl").read_text().splitlines()]
    assert kept == [body.decode(errors="backslashreplace") for body in POISON]


def test_messages_wait_while_the_model_is_frozen(server, stream, tmp_path):
    server.publish(stream, rows(30))
    with served(tmp_path / "models", *SMALL, *input_of(server, stream), "--keep-log") as service:
        wait_for(service, 30)
        service.http.post("/v1/freeze").raise_for_status()
        server.publish(stream, rows(20, seed=1))
        time.sleep(1.2)
        assert service.http.get("/v1/model").json()["version"] == 30
        service.http.post("/v1/thaw").raise_for_status()
        wait_for(service, 50)
        assert service.stop() == 0
    assert logged(tmp_path / "models") == [*range(30), *range(20)]


def test_lines_of_the_service_are_messages_too(server, stream, tmp_path):
    lines = [b'{"x": {"a": %d},\n "y": "%b"}' % (i, b"in" if i % 2 else b"out") for i in range(20)]
    server.publish(stream, [*lines, b'{"x": {"a": 1}}'])
    with served(tmp_path, *SMALL, "--input", server.url(stream), "--on-error", "skip") as service:
        wait_for(service, 20)
        assert service.stop() == 0
    assert server.committed(stream) == 21


def test_poison_stops_the_input_and_the_service_says_so(server, stream, tmp_path):
    server.publish(stream, [*rows(10), b"{oops", *rows(10, seed=1)])
    flags = [tmp_path / "models", *SMALL, *input_of(server, stream)]
    with served(*flags) as service:
        wait_for(service, 10)
        until = time.monotonic() + PATIENCE
        while service.http.get("/v2/health/ready").status_code == 200:
            assert time.monotonic() < until
            time.sleep(0.02)
        assert "The input has stopped" in service.said
        row = {"x": {"number": 1, "a": 1, "b": 1, "kind": "x"}}
        assert service.http.post("/v1/predict", json=row).status_code == 200
        assert service.stop() == 1
    with served(*flags, "--on-error", "skip") as service:
        wait_for(service, 20)
        assert service.stop() == 0
    assert logged(tmp_path / "models") == [*range(10), *range(10)]


def test_members_can_be_dropped(server, stream, tmp_path):
    server.publish(stream, rows(10))
    with served(tmp_path, *SMALL, *input_of(server, stream, "--drop", "number,kind")) as service:
        wait_for(service, 10)
        assert service.http.get("/v1/model").json()["columns"] == 2
        assert service.stop() == 0


def killed(server, stream, folder, n, kills, seed):
    """Kill a service at random moments while it learns ``n`` messages; returns how often."""
    draw, done = random.Random(seed), 0
    flags = [folder, *SMALL, *input_of(server, stream, "--on-error", "skip"), "--keep-log"]
    for turn in range(kills):
        server.publish(stream, rows(n, seed=turn))
        with served(*flags) as service:
            time.sleep(draw.uniform(0, 0.2))
            service.kill()
            done += 1
    with served(*flags) as service:
        wait_for(service, n * kills)
        model = service.http.get("/v1/model/file").content
        assert service.stop() == 0
    assert logged(folder) == [*range(n)] * kills
    assert server.committed(stream) == n * kills
    with served(folder.with_name("again"), *flags[1:]) as service:
        wait_for(service, n * kills)
        assert service.http.get("/v1/model/file").content == model
    return done


def test_kill_at_any_moment(server, stream, tmp_path):
    assert killed(server, stream, tmp_path / "models", 500, 2, 0) == 2


@pytest.mark.slow
def test_kill_at_any_moment_50_times(server, stream, tmp_path):
    assert killed(server, stream, tmp_path / "models", 500, 50, 1) == 50


def test_a_stream_that_was_trimmed_is_refused(server, stream, tmp_path, capsys):
    if not hasattr(server, "trim"):
        pytest.skip("the mock cluster cannot delete records")
    flags = [tmp_path / "models", *SMALL, *input_of(server, stream)]
    server.publish(stream, rows(20))
    with served(*flags) as service:
        wait_for(service, 20)
        assert service.stop() == 0
    server.publish(stream, rows(20, seed=1))
    server.trim(stream, 10)
    ended = called(capsys, "serve", *flags, "--port", "0")
    assert ended.code == 3
    assert "was trimmed or replaced" in ended.err
    ended = called(capsys, "serve", *flags, "--port", "0")  # the folder is not locked
    assert ended.code == 3


@each(
    ("flags", "words"),
    [
        (["d", "--target", "label"], "need --input URL"),
        (["d", "--on-error", "skip"], "need --input URL"),
        (["d", "--input", "redis://h/s", "--drop", "a"], "--drop needs --target"),
        (["--follow", "http://h", "--input", "redis://h/s"], "not for a replica"),
        (["d", "--input", "orders.csv"], "expected an address like redis://host/stream"),
        (["d", "--input", "redis://h"], "the name of the stream"),
    ],
)
def test_wrong_usage(flags, words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    ended = called(capsys, "serve", *flags)
    assert ended.code == 2
    assert words in ended.err
