"""What an Arrow stream says about itself, read before pyarrow allocates anything.

Compressed buffers are refused: 136 kB can hold 160 MB of zeros. The metadata of a message is a flatbuffer
(Message.fbs of Arrow).
"""

from struct import error, unpack_from

DICTIONARY_BATCH, RECORD_BATCH = 2, 3


def is_compressed(body: bytes) -> bool:
    """Whether a batch of the stream has compressed buffers. ValueError if the stream cannot be read."""
    try:
        place = 0
        while place + 8 <= len(body):
            (size,) = unpack_from("<i", body, place)
            if size == -1:  # older streams do not have this mark
                place += 4
                (size,) = unpack_from("<i", body, place)
            if size == 0:
                return False
            start = place + 4
            if size < 0 or start + size > len(body):
                raise ValueError("a message is longer than the body")
            if _has_compression(body, start):
                return True
            place = start + size + _body_bytes(body, start)
        return False
    except (error, IndexError):
        raise ValueError("a message has no valid metadata") from None


def _has_compression(body: bytes, start: int) -> bool:
    message = _follow(body, start)
    kind, header = _field(body, message, 1), _field(body, message, 2)
    if kind is None or header is None or body[kind] not in (DICTIONARY_BATCH, RECORD_BATCH):
        return False
    batch: int | None = _follow(body, header)
    if body[kind] == DICTIONARY_BATCH:
        data = _field(body, _follow(body, header), 1)
        batch = None if data is None else _follow(body, data)
    return batch is not None and _field(body, batch, 3) is not None


def _body_bytes(body: bytes, start: int) -> int:
    place = _field(body, _follow(body, start), 3)
    (size,) = (0,) if place is None else unpack_from("<q", body, place)
    if size < 0:
        raise ValueError("a message has a negative length")
    return int(size)


def _follow(body: bytes, place: int) -> int:
    """Where the table is that an offset points to."""
    table: int = place + unpack_from("<I", body, place)[0]
    return table


def _field(body: bytes, table: int, number: int) -> int | None:
    """Where a field of a table is; None if the table does not have it."""
    fields = table - unpack_from("<i", body, table)[0]
    if fields < 0:
        raise ValueError("a message has no valid metadata")
    size = unpack_from("<H", body, fields)[0]
    if 4 + 2 * number >= size:
        return None
    offset = unpack_from("<H", body, fields + 4 + 2 * number)[0]
    return table + offset if offset else None
