"""Kafka. Partitions are assigned at our own offsets; those of the group only show how far we are."""

from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from budgetron._util.errors import DataError
from budgetron.streams.brokers.address import Address
from budgetron.streams.brokers.broker import Broker, ConnectionLostError, Message, Position, sentence

GROUP = "budgetron"
ANSWER = 10.0  # seconds to wait for a broker
MOST = 1_000_000  # messages that the client takes at once


class KafkaTopic(Broker):
    """A topic of Kafka, all its partitions or the one that the address names."""

    def __init__(self, address: Address) -> None:
        super().__init__(address)
        self._consumer: Any = None
        self._ended = set[int]()  # partitions
        self._last: Position = {}
        self._partitions: list[int] = []
        self._down: str | None = None

    def seek(self, position: Position) -> None:
        self.close()
        self._down = None
        given = {name: value for name, value in self.address.options.items() if "." in name}
        if self.address.user is not None:
            given |= {"sasl.username": self.address.user, "sasl.password": self.address.password or ""}
        self._consumer = Consumer(
            {
                "bootstrap.servers": self.address.servers,
                "group.id": self.address.options.get("group", GROUP),
                "log_level": 0,
                "error_cb": self._take_error,
            }
            | given
            | {
                "enable.auto.commit": False,
                "enable.auto.offset.store": False,
                "enable.partition.eof": True,
                "auto.offset.reset": "error",
            }
        )
        try:
            self._partitions = self._partitions_to_read()
            self._assign(position)
        except KafkaException as error:
            raise self._lost_connection(error.args[0]) from error

    def receive(self, most: int, seconds: float) -> list[Message]:
        first = self._consumer.poll(seconds)
        more = min(most - 1, MOST)
        batch = [] if first is None else [first, *self._consumer.consume(more, timeout=0)]
        messages = list[Message]()
        for each in batch:
            error, partition = each.error(), each.partition()
            if error is None:
                self._ended.discard(partition)
                messages.append(Message(f"{self.stream}/{partition}", each.offset(), each.value()))
                self._last[messages[-1].part] = each.offset()
            elif error.code() == KafkaError._PARTITION_EOF:
                self._ended.add(partition)
            elif error.code() in (KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE):
                name = f"{self.stream}/{partition}"
                raise self.lost(name, self._last.get(name, -1))
            elif not error.retriable():
                raise self._lost_connection(error)
        if not messages and self._down is not None:
            raise ConnectionLostError(self._down)
        return messages

    def at_end(self) -> bool:
        return len(self._ended) == len(self._partitions)

    def commit(self, position: Position) -> None:
        offsets = [
            TopicPartition(self.stream, partition, int(place) + 1)
            for partition in self._partitions
            if (place := position.get(f"{self.stream}/{partition}")) is not None
        ]
        if self._consumer is None or self._down is not None:
            raise ConnectionLostError(self._down or f"{self.name}: not connected.")
        try:
            self._consumer.commit(offsets=offsets, asynchronous=False)
        except KafkaException as error:
            raise self._lost_connection(error.args[0]) from error

    def close(self) -> None:
        if self._consumer is not None:
            self._consumer.close()
            self._consumer = None

    def _partitions_to_read(self) -> list[int]:
        topic = self._consumer.list_topics(self.stream, timeout=ANSWER).topics[self.stream]
        if topic.error is not None:
            if topic.error.code() in (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC):
                raise self.missing()
            raise KafkaException(topic.error)
        wanted = self.address.options.get("partition")
        if wanted is None:
            return sorted(topic.partitions)
        if int(wanted) not in topic.partitions:
            raise DataError(f"{self.name}: there is no partition {wanted}.")
        return [int(wanted)]

    def _assign(self, position: Position) -> None:
        """Go on after a position; a partition that is not in it begins with its first message."""
        names = {f"{self.stream}/{partition}": partition for partition in self._partitions}
        for name in position:
            if name not in names:
                raise DataError(f"{self.name}: cannot go on after {name}, which is not read now.")
        assigned = []
        for name, partition in names.items():
            low, high = self._consumer.get_watermark_offsets(
                TopicPartition(self.stream, partition), timeout=ANSWER
            )
            begin = int(position[name]) + 1 if name in position else low
            if not low <= begin <= high:
                raise self.lost(name, position[name])
            assigned.append(TopicPartition(self.stream, partition, begin))
        self._ended, self._last = set(), dict(position)
        self._consumer.assign(assigned)

    def _take_error(self, error: Any) -> None:
        """Errors of the client as a whole; those of single connections mend themselves."""
        if error.fatal() or error.code() in (KafkaError._ALL_BROKERS_DOWN, KafkaError._AUTHENTICATION):
            self._down = f"{self.name}: {sentence(error.str())}"

    def _lost_connection(self, error: Any) -> ConnectionLostError:
        return ConnectionLostError(self._down) if self._down else self.disconnected(error.str())
