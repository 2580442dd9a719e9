"""A connection that is lost is made again, at the position where it was lost."""

import pytest

from budgetron._util.errors import DataError
from budgetron.streams.brokers.address import parse
from budgetron.streams.brokers.broker import Broker, ConnectionLostError, Message
from budgetron.streams.brokers.following import LONGEST, Following


class Flaky(Broker):
    """Numbered messages; each item of ``plan`` is what the next call does."""

    def __init__(self, plan):
        super().__init__(parse("redis://h/s"))
        self.plan, self.seeks, self.commits, self.next = list(plan), [], [], 0

    def _step(self):
        step = self.plan.pop(0) if self.plan else None
        if step is not None:
            raise step

    def seek(self, position):
        self.seeks.append(dict(position))
        self._step()
        self.next = int(position.get("s", -1)) + 1

    def receive(self, most, _):
        self._step()
        first, self.next = self.next, self.next + most
        return [Message("s", i, b"") for i in range(first, self.next)]

    def at_end(self):
        self._step()
        return True

    def commit(self, position):
        self._step()
        self.commits.append(dict(position))

    def close(self):
        pass


LOST = ConnectionLostError("redis://h/s: refused.")


def test_it_goes_on_where_it_was():
    said, waits = [], []
    broker = Flaky([None, None, LOST, LOST, LOST])
    following = Following(broker, {}, said.append, waits.append)
    assert [m.place for m in following.receive(2)] == [0, 1]
    assert following.receive(2) == []
    assert [m.place for m in following.receive(2)] == [2, 3]
    assert broker.seeks == [{}, {"s": 1}, {"s": 1}, {"s": 1}]
    assert waits == [0.1, 0.2, 0.4]
    assert said == [
        "redis://h/s: refused: the connection is lost, trying again.",
        "redis://h:6379/s: connected again.",
    ]


def test_the_waits_have_a_longest():
    waits = []
    following = Following(Flaky([None, *[LOST] * 20]), {}, lambda _: None, waits.append)
    assert not following.at_end()
    assert waits[-1] == LONGEST
    assert following.at_end()


def test_a_stream_that_was_trimmed_meanwhile_is_refused():
    following = Following(Flaky([None, LOST, DataError("gone")]), {}, lambda _: None, lambda _: None)
    with pytest.raises(DataError, match="gone"):
        following.receive(1)


def test_no_connection_at_the_start_is_an_error():
    with pytest.raises(ConnectionLostError):
        Following(Flaky([LOST]), {}, lambda _: None)


def test_a_commit_that_fails_is_said_once_and_nothing_stops():
    said = []
    broker = Flaky([None, LOST, LOST, None, DataError("no permission")])
    following = Following(broker, {}, said.append)
    for place in range(4):
        following.commit({"s": place})
    assert broker.commits == [{"s": 2}]
    assert len(said) == 2
    assert said[0] == "redis://h/s: refused: the position is saved, but not committed."
    following.commit({})
    assert broker.commits == [{"s": 2}]
