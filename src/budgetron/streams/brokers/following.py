"""Messages without end: a lost connection is made again, at the position where it was lost."""

import time
from collections.abc import Callable

from budgetron._util.errors import DataError
from budgetron.streams.brokers.broker import Broker, ConnectionLostError, Message, Position

FIRST, LONGEST = 0.1, 10.0  # seconds between two attempts to connect


class Following:
    """The messages of a broker after a position, which moves as they are received.

    ``say`` gets a sentence when the connection is lost, and when it is there again. ``sleep`` waits between
    two attempts to connect.
    """

    def __init__(
        self,
        broker: Broker,
        position: Position,
        say: Callable[[str], None],
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.broker, self.position = broker, dict(position)
        self._say, self._sleep = say, sleep
        self._uncommitted = False
        broker.seek(self.position)

    def receive(self, most: int, seconds: float = 1.0) -> list[Message]:
        """The next messages; ``[]`` if none comes for some seconds, also because the connection is lost."""
        try:
            messages = self.broker.receive(most, seconds)
        except ConnectionLostError as error:
            self._connect_again(error)
            return []
        for message in messages:
            self.position[message.part] = message.place
        return messages

    def at_end(self) -> bool:
        """Whether the broker has no more messages now."""
        try:
            return self.broker.at_end()
        except ConnectionLostError as error:
            self._connect_again(error)
            return False

    def commit(self, position: Position) -> None:
        """Tell the broker how far we are. If that fails, the next commit tells it: our position counts."""
        if not position:
            return
        try:
            self.broker.commit(position)
        except (OSError, DataError) as error:
            if not self._uncommitted:
                self._say(f"{_phrase(error)}: the position is saved, but not committed.")
            self._uncommitted = True
        else:
            self._uncommitted = False

    def close(self) -> None:
        """Disconnect."""
        self.broker.close()

    def _connect_again(self, error: ConnectionLostError) -> None:
        self._say(f"{_phrase(error)}: the connection is lost, trying again.")
        wait = FIRST
        while True:
            self._sleep(wait)
            try:
                self.broker.close()
                self.broker.seek(self.position)
            except ConnectionLostError:
                wait = min(2 * wait, LONGEST)
            else:
                self._say(f"{self.broker.name}: connected again.")
                return


def _phrase(error: Exception) -> str:
    return str(error).rstrip(".")
