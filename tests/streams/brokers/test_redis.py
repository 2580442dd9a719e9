"""What only Redis has: entries of several fields, databases and groups."""

import json

import pytest

from tests.helpers.broker_runs import FLAGS, SMALL, learned, rows, running
from tests.helpers.command import called

TO_THE_END = [*SMALL[1:], *FLAGS, "--until-end", "--resume"]


@pytest.fixture(scope="module")
def redis(tmp_path_factory):
    with running("redis", tmp_path_factory) as made:
        yield made


def test_the_field_that_the_address_names(redis, tmp_path, capsys):
    with redis.client() as client:
        for i, body in enumerate(rows(30)):
            client.xadd("wide", {"from": f"till {i}", "data": body})
    url, model, bad = redis.url("wide"), tmp_path / "model", tmp_path / "bad"
    ended = called(capsys, "run", "fogd", url, *TO_THE_END, "--save", model)
    assert ended.code == 3
    assert "expected a JSON object, got an entry with the fields 'from, data'; ?field=NAME" in ended.err
    assert called(capsys, "run", "fogd", f"{url}?field=data", *TO_THE_END, "--save", model).code == 0
    assert learned(model)["rows"] == 30
    with redis.client() as client:
        client.xadd("wide", {"from": "nobody"})
    more = ["--save", model, "--on-error", bad]
    assert called(capsys, "run", "fogd", f"{url}?field=data", *TO_THE_END, *more).code == 0
    [line] = (bad / "bad_rows.jsonl").read_text().splitlines()
    assert "an entry with the fields 'from'" in json.loads(line)["reason"]


def test_the_database_and_the_group_that_the_address_names(redis, tmp_path, capsys):
    with redis.client() as client:
        client.select(3)
        for body in rows(20):
            client.xadd("orders", {"data": body})
    model = tmp_path / "model"
    url = f"{redis.url('orders')}?db=3&group=mine"
    assert called(capsys, "run", "fogd", url, *TO_THE_END, "--save", model).code == 0
    assert learned(model)["rows"] == 20
    with redis.client() as client:
        client.select(3)
        [group] = client.xinfo_groups("orders")
    assert (group["name"], group["lag"]) == (b"mine", 0)
