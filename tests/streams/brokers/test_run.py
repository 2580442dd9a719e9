"""``budgetron run redis://... nats://... kafka://...``: the same rows as from a file, each learned once."""

import json
import signal
import time

import pytest

from tests.helpers.broker_runs import FLAGS, POISON, learned, rows, run, started, wait_for
from tests.helpers.brokers import Kafka
from tests.helpers.command import PATIENCE, called


def test_messages_are_learned_as_the_rows_of_a_file(server, stream, tmp_path, capsys):
    pytest.importorskip("pyarrow")
    bodies = rows(3000)
    server.publish(stream, bodies)
    lines = ["a,b,kind,label", *("{a},{b},{kind},{label}".format(**json.loads(body)) for body in bodies)]
    (tmp_path / "rows.csv").write_text("\n".join(lines) + "\n")
    flags = ["--target", "label", "--predictions"]
    assert called(capsys, "run", tmp_path / "rows.csv", *flags, tmp_path / "file").code == 0
    url = server.url(stream)
    ended = called(capsys, "run", url, *flags, tmp_path / "broker", "--drop", "number", "--until-end")
    assert (ended.code, ended.err) == (0, "")
    assert (tmp_path / "broker").read_text() == (tmp_path / "file").read_text()


def test_a_run_goes_on_where_it_was_and_the_broker_knows(server, stream, tmp_path, capsys):
    model, bodies = tmp_path / "model", rows(700)
    flags = ["--save", model, "--until-end", "--resume", "--block", "100"]
    server.publish(stream, bodies[:300])
    assert run(capsys, server, stream, *flags).code == 0
    assert server.committed(stream) == 300
    assert run(capsys, server, stream, *flags).code == 0  # nothing new
    assert (learned(model)["rows"], server.committed(stream)) == (300, 300)
    server.publish(stream, bodies[300:])
    assert run(capsys, server, stream, *flags).code == 0
    assert server.committed(stream) == 700
    in_parts = model.read_bytes()
    assert run(capsys, server, stream, "--save", model, "--until-end").code == 0
    assert model.read_bytes() == in_parts


def test_rows_end_a_run(server, stream, tmp_path, capsys):
    model = tmp_path / "model"
    server.publish(stream, [*POISON, *rows(700)])
    flags = [
        "--save",
        model,
        "--resume",
        "--on-error",
        "skip",
        "--checkpoint-every",
        "100",
        "--block",
        "150",
    ]
    for count in (400, 400, 600):
        assert run(capsys, server, stream, *flags, "--rows", str(count)).code == 0
        assert (learned(model)["rows"], server.committed(stream)) == (count, count + len(POISON))


def test_poison_stops_a_run_and_can_be_skipped(server, stream, tmp_path, capsys):
    model, bodies = tmp_path / "model", rows(60)
    server.publish(stream, [*bodies[:40], b"{oops", *bodies[40:]])
    flags = ["--save", model, "--until-end", "--resume"]
    for _ in range(2):
        ended = run(capsys, server, stream, *flags)
        assert ended.code == 3
        assert "expected a JSON object" in ended.err
        assert learned(model)["rows"] == server.committed(stream) == 40
    assert "message " in ended.err
    assert run(capsys, server, stream, *flags, "--on-error", "skip").code == 0
    assert (learned(model)["rows"], server.committed(stream)) == (60, 61)


def test_poison_is_kept_in_a_folder_each_once(server, stream, tmp_path, capsys):
    model, bad = tmp_path / "model", tmp_path / "bad"
    flags = ["--save", model, "--until-end", "--resume", "--on-error", bad]
    server.publish(stream, [*POISON[:3], *rows(30), *POISON[3:]])
    ended = run(capsys, server, stream, *flags)
    assert (
        ended.err
        == f"budgetron: {len(POISON)} rows that cannot be read were skipped: see {bad}/bad_rows.jsonl.\n"
    )
    with (bad / "bad_rows.jsonl").open("a") as file:
        file.write("of a run that was killed\n")
    server.publish(stream, [b"null", *rows(5, seed=1)])
    assert "8 rows that cannot be read" in run(capsys, server, stream, *flags).err
    found = [json.loads(line) for line in (bad / "bad_rows.jsonl").read_text().splitlines()]
    assert [each["text"] for each in found] == [
        *(body.decode(errors="backslashreplace") for body in POISON),
        "null",
    ]
    assert all(each["id"].startswith(stream) for each in found)
    assert len({each["id"] for each in found}) == len(found)


def test_messages_that_the_model_refuses_are_poison_too(server, stream, tmp_path, capsys):
    learner = ["perceptron", "--kernel", "polynomial", "--degree", "3", "--gamma", "1", "--no-scaling"]
    bodies = rows(40)
    huge = b'{"a": 1e120, "b": 1, "kind": "x", "label": "in"}'
    server.publish(stream, [*bodies[:20], huge, huge, *bodies[20:], huge])
    model, bad = tmp_path / "model", tmp_path / "bad"
    flags = ["--save", model, "--until-end", "--resume", "--on-error"]
    ended = run(capsys, server, stream, *flags, "stop", learner=learner)
    assert (ended.code, learned(model)["rows"], server.committed(stream)) == (3, 20, 20)
    ended = run(capsys, server, stream, *flags, bad, learner=learner)
    assert (ended.code, learned(model)["rows"], server.committed(stream)) == (0, 40, 43)
    lines = (bad / "bad_rows.jsonl").read_text().splitlines()
    assert [json.loads(line)["text"] for line in lines] == [huge.decode()] * 3


def test_a_stream_that_was_trimmed_is_refused(server, stream, tmp_path, capsys):
    if isinstance(server, Kafka):
        pytest.skip("the mock cluster cannot delete records; see test_kafka.py")
    model, flags = tmp_path / "model", ["--until-end", "--resume"]
    server.publish(stream, rows(50))
    assert run(capsys, server, stream, "--save", model, *flags).code == 0
    before = model.read_bytes()
    server.publish(stream, rows(20, seed=1))
    server.trim(stream, 21)  # the last message that was learned is still there
    assert run(capsys, server, stream, "--save", model, *flags, "--rows", "51").code == 0
    server.trim(stream, 10)
    ended = run(capsys, server, stream, "--save", model, *flags)
    assert ended.code == 3
    assert "was trimmed or replaced" in ended.err
    assert ended.err.count("\n") == 1
    model.write_bytes(before)
    server.remove(stream)
    assert "was trimmed or replaced" in run(capsys, server, stream, "--save", model, *flags).err
    server.publish(stream, rows(10, seed=2))
    assert "was trimmed or replaced" in run(capsys, server, stream, "--save", model, *flags).err
    assert model.read_bytes() == before


def test_a_stream_that_is_trimmed_while_it_is_read_is_refused(server, stream):
    if isinstance(server, Kafka):
        pytest.skip("the mock cluster cannot delete records; see test_kafka.py")
    from budgetron._util.errors import DataError
    from budgetron.streams.brokers.address import parse
    from budgetron.streams.brokers.broker import connect

    server.publish(stream, rows(50))
    broker = connect(parse(server.url(stream)))
    broker.seek({})
    assert len(broker.receive(10, 1.0)) == 10
    server.trim(stream, 20)
    with pytest.raises(DataError, match="trimmed"):
        broker.receive(50, 1.0)
    broker.close()


def test_all_is_trimmed_but_nothing_was_lost(server, stream, tmp_path, capsys):
    if isinstance(server, Kafka):
        pytest.skip("the mock cluster cannot delete records")
    flags = ["--save", tmp_path / "model", "--until-end", "--resume"]
    server.publish(stream, rows(50))
    assert run(capsys, server, stream, *flags).code == 0
    server.trim(stream, 0)
    assert run(capsys, server, stream, *flags).code == 0


def test_another_stream_is_refused(server, stream, tmp_path, capsys):
    flags = ["--save", tmp_path / "model", "--until-end", "--resume"]
    server.publish(stream, rows(10))
    server.publish(stream + "b", rows(10))
    assert run(capsys, server, stream, *flags).code == 0
    ended = run(capsys, server, stream + "b", *flags)
    assert ended.code == 3
    assert f"cannot go on after {stream}" in ended.err


def test_no_stream_no_messages_no_server(server, stream, tmp_path, capsys):
    name = server.url(stream).split("?")[0]
    ended = run(capsys, server, stream, "--until-end")
    assert (ended.code, ended.err) == (3, f"budgetron: {name}: there is no such stream.\n")
    server.publish(stream, [b"{}"])
    assert "has no rows" in run(capsys, server, stream, "--until-end", "--on-error", "skip").err
    nowhere = name.replace(f":{server.port}/", ":1/")
    ended = called(capsys, "run", nowhere, *FLAGS, "--save", tmp_path / "model")
    assert ended.code == 1
    assert ended.err.startswith(f"budgetron: {nowhere}: ")
    assert ended.err.count("\n") == 1


def test_a_signal_saves_what_is_learned(server, stream, tmp_path):
    model, number = tmp_path / "model", signal.SIGINT if server.kind == "redis" else signal.SIGTERM
    server.publish(stream, rows(50))
    process = started(server, stream, model, "--every", "50")
    assert "rows" in process.stdout.readline()
    assert process.stdout.readline().split()[0] == "50"  # learned, and now it waits
    process.send_signal(number)
    _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 128 + number
    assert err == f"budgetron: stopped after 50 rows; saved to {model}: continue with --resume.\n"
    assert (learned(model)["rows"], server.committed(stream)) == (50, 50)


def test_a_lost_connection_is_made_again(server, stream, tmp_path):
    if isinstance(server, Kafka):
        pytest.skip("the mock cluster cannot be stopped and keep its messages")
    model, bodies = tmp_path / "model", rows(100)
    server.publish(stream, bodies[:60])
    process = started(server, stream, model, "--checkpoint-every", "10", "--block", "10", "--rows", "100")
    wait_for(lambda: model.exists() and learned(model)["rows"] == 60, process)
    server.stop()
    time.sleep(0.5)
    server.start()
    server.publish(stream, bodies[60:])
    _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, err
    lost, again = err.splitlines()
    assert lost.endswith(": the connection is lost, trying again.")
    assert again == f"budgetron: {server.url(stream)}: connected again."
    assert (learned(model)["rows"], server.committed(stream)) == (100, 100)
