"""Addresses of brokers: what is read, what is refused, and that passwords are never shown."""

import pytest

from budgetron.streams.brokers.address import is_address, parse
from tests.helpers.cases import each


@each(
    ("text", "shown", "hosts"),
    [
        ("redis://localhost/orders", "redis://localhost:6379/orders", [("localhost", 6379)]),
        ("rediss://me:p%40ss@h:1/a%20b", "rediss://h:1/a b", [("h", 1)]),
        ("nats://a,b:5/ORDERS?consumer=c", "nats://a:4222,b:5/ORDERS", [("a", 4222), ("b", 5)]),
        ("kafka://[::1]:7/t?group=g&partition=3", "kafka://[::1]:7/t", [("::1", 7)]),
        ("kafka://h/t?security.protocol=SASL_SSL", "kafka://h:9092/t", [("h", 9092)]),
        ("redis://h/a/b", "redis://h:6379/a/b", [("h", 6379)]),
    ],
)
def test_addresses(text, shown, hosts):
    assert is_address(text)
    address = parse(text)
    assert (str(address), list(address.hosts)) == (shown, hosts)


def test_user_and_password_are_read_but_not_shown():
    address = parse("redis://me:p%40ss@h:1/orders?group=g")
    assert (address.user, address.password, address.options) == ("me", "p@ss", {"group": "g"})
    assert "p@ss" not in f"{address} {address!r}"
    assert parse("redis://:secret@h/orders").password == "secret"


@each("text", ["orders.csv", "-", "http://h/x", "redis", "redis:orders", "mqtt://h/x"])
def test_other_names_are_no_addresses(text):
    assert not is_address(text)


@each(
    ("text", "words"),
    [
        ("redis://u:secret@h", "the name of the stream"),
        ("redis:///orders", "expected redis://HOST:PORT/STREAM"),
        ("redis://h:port/orders", "expected HOST or HOST:PORT"),
        ("redis://h:99999/orders", "expected HOST or HOST:PORT"),
        ("redis://a,b/orders", "expected one host for Redis, got 2"),
        ("redis://u:secret@h/orders?grop=g", "did you mean group?"),
        ("nats://h/orders?db=1", "there is no option 'db'"),
        ("redis://h/orders?db=one", "expected a whole number for the option db"),
        ("kafka://h/t?partition=-1", "expected a whole number for the option partition"),
        ("kafka://h/t?group=", "expected a value for the option group"),
        ("redis://h/a#b", "write # as %23"),
    ],
)
def test_refusals(text, words):
    with pytest.raises(ValueError, match="://") as caught:
        parse(text)
    assert words in str(caught.value)
    assert "secret" not in str(caught.value)
