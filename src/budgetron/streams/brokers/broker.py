"""What all brokers have in common: messages with a place, seek, receive, commit."""

from abc import ABC, abstractmethod
from typing import NamedTuple

from budgetron._util.errors import DataError
from budgetron._util.extras import pip_install
from budgetron.streams.brokers.address import Address

Position = dict[str, int | str]
"""The last message that was taken, for each part of the stream: ``{"orders/0": 17}``."""


class Message(NamedTuple):
    """A message: the part of the stream that it is in, its place there, and its bytes.

    ``instead`` says what there is if it has no body.
    """

    part: str
    place: int | str
    body: bytes | None
    instead: str = "a message without a body"

    @property
    def name(self) -> str:
        """The message in the words of an error."""
        return f"{self.part} {self.place}"


class ConnectionLostError(OSError):
    """The broker does not answer. It may soon."""


class Broker(ABC):
    """A stream of messages in a broker. It connects when `seek` is called.

    Everything but `seek` may raise a `ConnectionLostError`; then `seek` connects again.
    """

    def __init__(self, address: Address) -> None:
        self.address = address
        self.name = str(address)
        self.stream = address.stream

    @abstractmethod
    def seek(self, position: Position) -> None:
        """Go on after a position, or with the first message for ``{}``.

        Raises a `DataError` if there is no such stream, or messages after the position are gone.
        """

    @abstractmethod
    def receive(self, most: int, seconds: float) -> list[Message]:
        """The next messages, in order; ``[]`` if none comes for some seconds."""

    @abstractmethod
    def at_end(self) -> bool:
        """Whether all messages that the broker has now are received."""

    @abstractmethod
    def commit(self, position: Position) -> None:
        """Tell the broker that everything up to a position is learned; the last batch reaches it."""

    @abstractmethod
    def close(self) -> None:
        """Disconnect. `seek` connects again."""

    # ---- what the members raise

    def missing(self) -> DataError:
        """The error for a stream that is not there."""
        return DataError(f"{self.name}: there is no such stream.")

    def lost(self, part: str, place: int | str) -> DataError:
        """The error for a stream that was trimmed beyond the position."""
        return DataError(
            f"{self.name}: messages after {part} {place}, the last one learned, may be gone, because the "
            "stream was trimmed or replaced: restore it, or start again without the model."
        )

    def disconnected(self, error: object) -> ConnectionLostError:
        """The error for a broker that does not answer."""
        return ConnectionLostError(f"{self.name}: {sentence(error)}")

    def place(self, position: Position) -> int | str | None:
        """The place in a stream of one part."""
        if position and list(position) != [self.stream]:
            raise DataError(
                f"{self.name}: cannot go on after {', '.join(position)}, which is another stream."
            )
        return position.get(self.stream)


def sentence(error: object) -> str:
    """The message of a client library in one line, with a full stop."""
    text = " ".join(str(error).split()).removeprefix("nats: ").rstrip(".") or type(error).__name__
    return f"{text}."


def connect(address: Address) -> Broker:
    """The broker of an address; its client library is imported here."""
    from importlib import import_module

    module, kind, extra = {
        "redis": ("redis_streams", "RedisStream", "redis"),
        "rediss": ("redis_streams", "RedisStream", "redis"),
        "nats": ("nats_jetstream", "JetStream", "nats"),
        "kafka": ("kafka", "KafkaTopic", "kafka"),
    }[address.scheme]
    try:
        broker: Broker = getattr(import_module(f"budgetron.streams.brokers.{module}"), kind)(address)
    except ImportError as error:
        raise ImportError(
            f"{address.scheme}:// needs the package {error.name}: {pip_install(extra)}."
        ) from None
    return broker
