"""The messages of a broker as a stream of rows, which remembers the position of every block."""

from collections.abc import Iterator
from typing import Any

from budgetron.streams.bad_rows import BadRow, BadRows, refused
from budgetron.streams.brokers.broker import Message, Position
from budgetron.streams.brokers.following import Following
from budgetron.streams.json_records import RecordReader, Rows
from budgetron.streams.stream import Block, Stream


class MessageStream(Stream):
    """Blocks of rows without end. After a block is learned, call `settle`; the position is then after it.

    Parameters
    ----------
    following : Following
        The messages.
    reader : RecordReader
        Reads their bodies.
    bad_rows : BadRows
        Where messages go that cannot be read.
    rows : int
        The most rows of a block.
    start : int
        The number of rows that were learned before.
    limit : int, optional
        Ends after this number of rows, those before ``start`` included.
    until_end : bool
        Ends when the broker has no more messages.
    """

    def __init__(
        self,
        following: Following,
        reader: RecordReader,
        bad_rows: BadRows,
        *,
        rows: int = 1000,
        start: int = 0,
        limit: int | None = None,
        until_end: bool = False,
    ) -> None:
        self.following, self.reader, self.bad_rows = following, reader, bad_rows
        self.rows, self.first, self.limit, self.until_end = rows, start, limit, until_end
        self.position: Position = dict(following.position)
        self._messages: list[Message] = []
        self._rows = Rows(Block(None, None, start), [], {})
        self._begin = start  # the index of the first row of the last block
        self._refused = 0  # rows of the last block
        self._settled = 0  # messages of the last batch

    @property
    def n_features(self) -> int:
        """One: the columns come with the messages."""
        return 1

    @property
    def name(self) -> str:
        """The address, without its password."""
        return self.following.broker.name

    def __iter__(self) -> Iterator[Block]:
        while self.limit is None or self.first < self.limit:
            most = self.rows if self.limit is None else min(self.rows, self.limit - self.first)
            messages = self.following.receive(most, 0.1 if self.until_end else 1.0)
            if not messages:
                if self.until_end and self.following.at_end():
                    return
                continue
            rows = self.reader.rows(messages, self.first)
            stop = min(rows.reasons) if rows.reasons and self.bad_rows.stop else None
            if stop is not None:
                good = [place for place in rows.places if place < stop]
                rows.block, rows.places = rows.block.part(0, len(good)), good
            self._messages, self._rows = messages[:stop], rows
            self._begin, self._refused, self._settled = self.first, 0, 0
            yield rows.block
            if stop is not None:
                raise refused(self.name, bad_message(messages[stop], rows.reasons[stop]))

    def refuse(self, row: int, reason: str) -> None:
        """The model has refused a row of the last block: its message is a bad one, too."""
        self._rows.reasons[self._rows.places[row]] = reason
        self._refused += 1

    def settle(self, rows: int) -> None:
        """Move behind the first rows of the last block, and behind the bad messages between them.

        The rows are learned, or refused. Behind the last row of the block are all messages of its batch.
        """
        places = self._rows.places
        to = len(self._messages) if rows == len(places) else places[rows - 1] + 1 if rows else 0
        for at in range(self._settled, to):
            message = self._messages[at]
            if at in self._rows.reasons:
                self.bad_rows.add(self.name, bad_message(message, self._rows.reasons[at]))
            self.position[message.part] = message.place
        self._settled = max(self._settled, to)
        self.first = self._begin + rows - self._refused

    def commit(self) -> None:
        """Tell the broker the position."""
        self.following.commit(self.position)

    def close(self) -> None:
        """Disconnect, and close the file of bad messages."""
        self.following.close()
        self.bad_rows.end()

    def state(self) -> dict[str, Any]:
        """The position, and the bad messages up to it."""
        return {"position": dict(self.position), "bad": self.bad_rows.state()}


def bad_message(message: Message, reason: str) -> BadRow:
    """A message that cannot be read, as it is kept."""
    text = b"" if message.body is None else message.body
    return BadRow(None, reason, text.decode(errors="backslashreplace"), id=message.name)
