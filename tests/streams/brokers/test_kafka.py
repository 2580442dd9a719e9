"""What only Kafka has: partitions, and offsets that are out of range."""

import json

import pytest

from tests.helpers.broker_runs import FLAGS, SMALL, learned, rows, running
from tests.helpers.brokers import broker
from tests.helpers.command import called

TO_THE_END = [*SMALL[1:], *FLAGS, "--until-end", "--resume"]


@pytest.fixture(scope="module")
def kafka(tmp_path_factory):
    with running("kafka", tmp_path_factory) as made:
        yield made


def test_every_message_of_every_partition_is_learned_once(kafka, tmp_path, capsys):
    url, model = kafka.url("many").split("?")[0], tmp_path / "model"
    flags = [*TO_THE_END, "--save", model, "--predictions", tmp_path / "said", "--id", "place"]
    sent = []
    for turn in range(3):
        for partition in range(4):
            bodies = [json.loads(body) for body in rows(50, seed=4 * turn + partition)]
            places = [f"{turn}-{partition}-{i}" for i in range(50)]
            kafka.publish(
                "many",
                [
                    json.dumps(body | {"place": place}).encode()
                    for body, place in zip(bodies, places, strict=True)
                ],
                partition,
            )
            sent += places
        assert called(capsys, "run", "fogd", url, *flags).code == 0
    said = [line.split("\t")[0] for line in (tmp_path / "said").read_text().splitlines()]
    assert sorted(said) == sorted(sent)
    for partition in range(4):  # in their order
        own = [place for place in said if f"-{partition}-" in place]
        assert own == [place for place in sent if f"-{partition}-" in place]
    position = learned(model)["source"]["messages"]["position"]
    assert position == {f"many/{partition}": 149 for partition in range(4)}


def test_a_topic_that_was_trimmed_is_refused(kafka, tmp_path, capsys):
    url, model = kafka.url("old"), tmp_path / "model"
    kafka.publish("old", rows(20))
    assert called(capsys, "run", "fogd", url, *TO_THE_END, "--save", model).code == 0
    long = b'{"a": 1, "kind": "x", "label": "in", "number": "%b"}' % (b"x" * 60_000)
    kafka.publish("old", [long] * 120)  # the mock cluster keeps 5 MB
    ended = called(capsys, "run", "fogd", url, *TO_THE_END, "--save", model)
    assert ended.code == 3
    assert "messages after old/0 19, the last one learned, may be gone" in ended.err
    assert ended.err.count("\n") == 1


def test_a_topic_that_ends_before_the_position_is_refused(kafka, tmp_path, capsys):
    model = tmp_path / "model"
    kafka.publish("new", rows(20))
    assert called(capsys, "run", "fogd", kafka.url("new"), *TO_THE_END, "--save", model).code == 0
    with broker("kafka", None) as other:
        other.publish("new", rows(10))
        ended = called(capsys, "run", "fogd", other.url("new"), *TO_THE_END, "--save", model)
    assert ended.code == 3
    assert "was trimmed or replaced" in ended.err


def test_blocks_larger_than_the_client_takes_at_once(kafka, tmp_path, capsys):
    kafka.publish("blocks", rows(20))
    flags = [*TO_THE_END, "--save", tmp_path / "model", "--block", "2000000"]
    assert called(capsys, "run", "fogd", kafka.url("blocks"), *flags).code == 0


def test_a_partition_that_is_not_there(kafka, capsys):
    kafka.publish("some", rows(1))
    url = kafka.url("some").replace("partition=0", "partition=9")
    assert "there is no partition 9" in called(capsys, "run", "fogd", url, *TO_THE_END[:-1]).err
