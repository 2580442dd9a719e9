"""NATS JetStream. A durable consumer is made anew at our position, so what it believes does not matter."""

import asyncio
import threading
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, TypeVar

import nats
from nats import errors
from nats.js import api
from nats.js import errors as js_errors

from budgetron._util.errors import DataError
from budgetron.streams.brokers.address import Address
from budgetron.streams.brokers.broker import Broker, ConnectionLostError, Message, Position

CONSUMER = "budgetron"
ANSWER = 5.0  # seconds to wait for the server
A_YEAR = 365 * 86400.0  # until a message that is not acknowledged is sent again: never

T = TypeVar("T")


class JetStream(Broker):
    """A stream of JetStream with the retention "limits"."""

    def __init__(self, address: Address) -> None:
        super().__init__(address)
        self._consumer = address.options.get("consumer", CONSUMER)
        self._client: Any = None
        self._pull: Any = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._received = 0  # messages of this consumer
        self._last = 0  # sequence number in the stream
        self._created: Any = None  # when our consumer was made
        self._batch: list[Any] = []
        self._why: Exception | None = None

    def seek(self, position: Position) -> None:
        place = self.place(position)
        self._last = 0 if place is None else int(place)
        self.close()
        self._run(self._open(place is None))

    async def _open(self, new: bool) -> None:
        servers = [f"nats://{host}" for host in self.address.servers.split(",")]
        self._client = await nats.connect(
            servers,
            user=self.address.user,
            password=self.address.password,
            allow_reconnect=False,
            max_reconnect_attempts=1,
            reconnect_time_wait=0,
            connect_timeout=int(ANSWER),
            error_cb=self._take_error,
        )
        try:
            info = await self._manager.stream_info(self.stream)
        except js_errors.NotFoundError:
            raise self.missing() if new else self.lost(self.stream, self._last) from None
        if info.config.retention not in (None, api.RetentionPolicy.LIMITS):
            raise DataError(
                f"{self.name}: has the retention {info.config.retention.value}, which removes what is "
                "acknowledged; expected limits."
            )
        self._refuse_lost(info.state, new)
        with suppress(js_errors.NotFoundError):
            await self._manager.delete_consumer(self.stream, self._consumer)
        again = self._last > 0 and await self._sequence(self._last) is not None
        # The last message is taken again, if it is there: to acknowledge it shows the position.
        consumer = await self._manager.add_consumer(
            self.stream,
            durable_name=self._consumer,
            deliver_policy=api.DeliverPolicy.BY_START_SEQUENCE,
            opt_start_seq=self._last + (not again),
            ack_policy=api.AckPolicy.ALL,
            ack_wait=A_YEAR,
            max_ack_pending=-1,
        )
        self._created = consumer.created
        stream = self._client.jetstream(timeout=ANSWER)
        self._pull = await stream.pull_subscribe_bind(self._consumer, self.stream)
        self._received = int(again)
        if again:
            [message] = await self._pull.fetch(1, timeout=ANSWER)
            await self._ack(message)

    @property
    def _manager(self) -> Any:
        return self._client.jsm(timeout=ANSWER)

    async def _sequence(self, sequence: int, **how: Any) -> int | None:
        """The number of a message, if it is in the stream."""
        try:
            message = await self._manager.get_msg(self.stream, sequence, **how)
        except js_errors.NotFoundError:
            return None
        return int(message.seq)

    def _next(self) -> int | None:
        """The first message in the stream after the last one received; some may have been deleted."""
        return self._run(self._sequence(self._last + 1, subject=">", next=True))

    async def _refuse_others(self) -> None:
        """Raise an error if the consumer is gone, or another process has made it anew for itself."""
        try:
            info = await self._manager.consumer_info(self.stream, self._consumer)
        except js_errors.NotFoundError:
            raise ConnectionLostError(f"{self.name}: the consumer {self._consumer!r} is gone.") from None
        if info.created != self._created:
            raise DataError(
                f"{self.name}: another process has taken the consumer {self._consumer!r}: give each one of "
                "its own, with ?consumer=NAME in the address."
            )

    def receive(self, most: int, seconds: float) -> list[Message]:
        batch = self._run(self._fetch(most, seconds), seconds)
        messages = list[Message]()
        for each in batch:
            sequence = each.metadata.sequence
            self._received += 1
            is_next = sequence.consumer == self._received and sequence.stream > self._last
            if is_next and sequence.stream > self._last + 1:  # some may have been deleted one by one
                info = self._run(self._manager.stream_info(self.stream))
                self._refuse_lost(info.state, new=not self._last)
                is_next = self._next() == sequence.stream
            if not is_next:
                self._run(self._refuse_others())
                raise ConnectionLostError(f"{self.name}: a message was lost on its way.")
            self._last = sequence.stream
            messages.append(Message(self.stream, sequence.stream, each.data))
        self._batch = batch or self._batch
        return messages

    async def _fetch(self, most: int, seconds: float) -> list[Any]:
        if self._client is None or self._client.is_closed:
            raise errors.ConnectionClosedError
        try:
            batch: list[Any] = await self._pull.fetch(most, timeout=max(seconds, 0.01))
        except TimeoutError:
            batch = []
        if not batch and self._client.is_closed:
            raise errors.ConnectionClosedError
        if not batch:
            await self._refuse_others()
        return batch

    def at_end(self) -> bool:
        return self._next() is None

    def commit(self, position: Position) -> None:
        place = int(position[self.stream])
        reached = [each for each in self._batch if each.metadata.sequence.stream <= place]
        if reached:
            self._run(self._ack(reached[-1]))

    async def _ack(self, message: Any) -> None:
        await self._client.publish(message.reply, b"+ACK")
        await self._client.flush(timeout=int(ANSWER))

    def close(self) -> None:
        client, self._client, self._pull, self._batch = self._client, None, None, []
        if client is not None:
            with suppress(Exception):
                self._run(client.close())
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._loop = None

    def _refuse_lost(self, state: Any, new: bool) -> None:
        """Refuse a stream whose first message is behind the next one of ours, or that ends before it."""
        if not new and not state.first_seq - 1 <= self._last <= state.last_seq:
            raise self.lost(self.stream, self._last)

    def _run(self, work: Coroutine[Any, Any, T], seconds: float = 0.0) -> T:
        """Run in the event loop of a thread: the client is asynchronous. Its errors become ours."""
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            threading.Thread(target=_forever, args=(self._loop,), name="nats", daemon=True).start()
        try:
            return asyncio.run_coroutine_threadsafe(work, self._loop).result(3 * ANSWER + seconds)
        except ConnectionLostError:
            raise
        except (errors.Error, js_errors.Error, OSError) as error:  # OSError: also a timeout
            is_why = isinstance(error, errors.NoServersError) and self._why
            raise self.disconnected(self._why if is_why else error) from error

    async def _take_error(self, error: Exception) -> None:
        """Errors are raised by the calls, too, but not why no server could be reached."""
        self._why = error


def _forever(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    loop.run_forever()
    loop.close()
