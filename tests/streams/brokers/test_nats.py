"""What only NATS has: messages that are deleted one by one, and a consumer that others may take."""

import pytest

from budgetron._util.errors import DataError
from budgetron.streams.brokers.address import parse
from budgetron.streams.brokers.broker import connect
from budgetron.streams.brokers.following import Following
from tests.helpers.broker_runs import learned, rows, run, running, started, wait_for
from tests.helpers.command import PATIENCE, called


@pytest.fixture(scope="module")
def nats(tmp_path_factory):
    with running("nats", tmp_path_factory) as made:
        yield made


def delete(nats, stream, *sequences):
    async def work(_, context):
        for sequence in sequences:
            await context.delete_msg(stream, sequence)

    nats.run(work)


def test_the_end_is_found_if_the_last_messages_were_deleted(nats, tmp_path, capsys):
    model = tmp_path / "model"
    nats.publish("deleted", rows(20))
    delete(nats, "deleted", 3, 4, 19, 20)
    assert run(capsys, nats, "deleted", "--until-end", "--save", model).code == 0
    assert learned(model)["rows"] == 16
    nats.publish("purged", rows(5))
    nats.trim("purged", 0)
    assert "has no rows" in run(capsys, nats, "purged", "--until-end").err


def test_a_process_that_takes_the_consumer_makes_no_gap(nats):
    """Two that begin at other places: the first would get messages that are far behind its own."""
    nats.publish("both", rows(3000))
    first, second = (connect(parse(nats.url("both"))) for _ in range(2))
    first.seek({"both": 1000})
    second.seek({"both": 2000})
    with pytest.raises(DataError, match=r"another process has taken the consumer 'budgetron': give each"):
        first.receive(100, 1.0)
    first.close()
    said = []
    following = Following(second, {"both": 2000}, said.append, lambda _: None)
    assert [message.place for message in following.receive(100)] == [*range(2001, 2101)]
    following.close()


def test_a_run_whose_consumer_is_taken_ends_and_says_so(nats, tmp_path, capsys):
    nats.publish("taken", rows(50))
    model = tmp_path / "model"
    process = started(nats, "taken", model, "--every", "50")
    assert "rows" in process.stdout.readline()
    assert process.stdout.readline().split()[0] == "50"  # learned, and now it waits
    url = nats.url("taken")
    other = ["--components", "10", "--gamma", "0.5", "--target", "label", "--drop", "number", "--until-end"]
    assert called(capsys, "run", "fogd", f"{url}?consumer=own", *other).code == 0
    assert process.poll() is None
    assert called(capsys, "run", "fogd", url, *other).code == 0
    _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 3
    assert "another process has taken the consumer 'budgetron'" in err
    assert learned(model)["rows"] == 50


def test_a_consumer_that_is_deleted_is_made_again(nats, tmp_path):
    nats.publish("orphan", rows(50))
    model = tmp_path / "model"
    process = started(nats, "orphan", model, "--checkpoint-every", "10", "--block", "10", "--rows", "80")
    wait_for(lambda: model.exists() and learned(model)["rows"] == 50, process)
    nats.run(lambda _, context: context.delete_consumer("orphan", "budgetron"))
    nats.publish("orphan", rows(30, seed=1))
    _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, err
    assert "the consumer 'budgetron' is gone: the connection is lost, trying again." in err
    assert (learned(model)["rows"], nats.committed("orphan")) == (80, 80)
