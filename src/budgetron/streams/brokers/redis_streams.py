"""Redis Streams. Entries are read by their ids; the group of the address shows how far we are."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from budgetron._util.errors import DataError
from budgetron._util.text import shown
from budgetron.streams.brokers.address import Address
from budgetron.streams.brokers.broker import Broker, Message, Position, sentence

GROUP = "budgetron"


class RedisStream(Broker):
    """A stream of Redis. The body of a message is the only field of its entry, or the one named."""

    def __init__(self, address: Address) -> None:
        super().__init__(address)
        self._group = address.options.get("group", GROUP)
        self._field = address.options.get("field")
        self._last: str | None = None
        self._client: Any = None

    def seek(self, position: Position) -> None:
        last = self.place(position)
        self._last = None if last is None else str(last)
        with self._errors():
            if self._client is None:
                self._client = self._connected()
            if not self._client.exists(self.stream):
                raise self.missing() if last is None else self.lost(self.stream, last)
            self._after(1)

    def receive(self, most: int, seconds: float) -> list[Message]:
        with self._errors():
            entries = self._after(most)
            if not entries and seconds:
                wait = max(int(seconds * 1000), 1)
                self._client.xread({self.stream: self._last or "0"}, count=1, block=wait)
                entries = self._after(most)
            messages = [self._message(place.decode(), entry) for place, entry in entries]
        if messages:
            self._last = str(messages[-1].place)
        return messages

    def at_end(self) -> bool:
        with self._errors():
            return not self._after(1)

    def commit(self, position: Position) -> None:
        place = position[self.stream]
        with self._errors():
            try:
                self._client.xgroup_setid(self.stream, self._group, place)
            except redis.ResponseError as error:
                if not str(error).startswith("NOGROUP"):
                    raise
                self._client.xgroup_create(self.stream, self._group, place)

    def close(self) -> None:
        if self._client is not None:
            self._client.close()
            self._client = None

    def _after(self, most: int) -> list[tuple[bytes, Any]]:
        """The entries after the last one, which must still be there: ids alone do not show a gap."""
        entries: list[tuple[bytes, Any]]
        if self._last is None:
            entries = self._client.xrange(self.stream, count=most)
            return entries
        entries = self._client.xrange(self.stream, min=self._last, count=most + 1)
        if entries and entries[0][0].decode() == self._last:
            return entries[1:]
        if not entries and self._client.exists(self.stream):  # the last one may have been deleted alone
            newest = self._client.xinfo_stream(self.stream)["last-generated-id"]
            if newest.decode() == self._last:
                return []
        raise self.lost(self.stream, self._last)

    def _message(self, place: str, entry: dict[bytes, bytes]) -> Message:
        name = self._field.encode() if self._field else next(iter(entry)) if len(entry) == 1 else None
        if name in entry:
            return Message(self.stream, place, entry[name])
        names = ", ".join(name.decode(errors="backslashreplace") for name in entry)
        instead = (
            f"an entry with the fields {shown(names)}; ?field=NAME in the address says which one to read"
        )
        return Message(self.stream, place, None, instead)

    def _connected(self) -> Any:
        [(host, port)] = self.address.hosts
        return redis.Redis(
            host,
            port,
            db=int(self.address.options.get("db", 0)),
            username=self.address.user,
            password=self.address.password,
            ssl=self.address.scheme == "rediss",
            socket_connect_timeout=5,
            socket_timeout=10,
            retry=Retry(NoBackoff(), 0),
        )

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            if self._client is None and self._last is not None:  # closed after an interruption
                self._client = self._connected()
            yield
        except (redis.ConnectionError, redis.TimeoutError) as error:
            self.close()
            raise self.disconnected(error) from error
        except redis.ResponseError as error:
            if str(error).startswith(("LOADING", "READONLY", "MASTERDOWN", "TRYAGAIN")):
                raise self.disconnected(error) from error
            raise DataError(f"{self.name}: {sentence(error)}") from error
        except BaseException:  # a signal may have come in the middle of an answer
            self.close()
            raise
