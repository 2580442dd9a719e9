"""The layout of a model file, which is that of safetensors: named arrays, and texts as metadata.

The first eight bytes are the length of the header (little-endian). The header is JSON: ``__metadata__``
holds the texts, and each array has an entry with its dtype, shape and offsets. The arrays follow. The
same arrays and texts always give the same bytes. One text is a checksum of the whole file, computed with
zeros in its place. Sizes are checked against the length of the file before memory is allocated.
"""

import hashlib
import json
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any, BinaryIO, NoReturn

import numpy as np
import numpy.typing as npt

from budgetron._util.errors import ModelFileError

Arrays = Mapping[str, npt.NDArray[Any]]

_DTYPES = {
    "BOOL": "|b1", "U8": "|u1", "I8": "|i1", "U16": "<u2", "I16": "<i2", "F16": "<f2",
    "U32": "<u4", "I32": "<i4", "F32": "<f4", "U64": "<u8", "I64": "<i8", "F64": "<f8",
}  # fmt: skip
_NAMES = {np.dtype(code): name for name, code in _DTYPES.items()}
_LONGEST_HEADER = 100_000_000  # safetensors has the same limit
_METADATA = "__metadata__"
_CHECKSUM = "checksum"
_NO_CHECKSUM = "sha256:" + 64 * "0"


def storable(array: npt.NDArray[Any]) -> bool:
    """Whether the layout has a name for the array's dtype."""
    return array.dtype.newbyteorder("<") in _NAMES


def encode(arrays: Arrays, texts: Mapping[str, str]) -> Iterator[bytes | memoryview]:
    """The file, piece by piece."""
    # The widest numbers first, so that each array is aligned.
    ordered = sorted(arrays.items(), key=lambda item: (-item[1].dtype.itemsize, item[0]))
    little = {
        name: np.ascontiguousarray(a, a.dtype.newbyteorder("<")).reshape(a.shape) for name, a in ordered
    }
    header = _header(little, {**texts, _CHECKSUM: _NO_CHECKSUM})
    data = [array.reshape(-1).view(np.uint8).data for array in little.values()]
    checksum = _digest([header, *data])
    yield header.replace(_NO_CHECKSUM.encode(), checksum.encode(), 1)
    yield from data


def _header(arrays: Arrays, texts: Mapping[str, str]) -> bytes:
    """The header with its length before it, padded so that the arrays begin at a multiple of 8."""
    entries: dict[str, Any] = {_METADATA: dict(sorted(texts.items()))}
    end = 0
    for name, array in arrays.items():
        begin, end = end, end + array.nbytes
        entries[name] = {
            "dtype": _NAMES[array.dtype],
            "shape": list(array.shape),
            "data_offsets": [begin, end],
        }
    text = json.dumps(entries, separators=(",", ":"), allow_nan=False).encode()
    text += b" " * (-len(text) % 8)
    if len(text) > _LONGEST_HEADER:
        raise ValueError(
            f"The header of the model file would have {len(text)} bytes, above {_LONGEST_HEADER}."
        )
    return len(text).to_bytes(8, "little") + text


def _digest(pieces: Iterable[bytes | memoryview]) -> str:
    digest = hashlib.sha256()
    for piece in pieces:
        digest.update(piece)
    return "sha256:" + digest.hexdigest()


@dataclass(frozen=True)
class _Entry:
    """An array: its name, type and offsets in the data."""

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    begin: int
    end: int


def decode(
    file: BinaryIO, path: str, objection: Callable[[dict[str, str]], str | None]
) -> tuple[dict[str, str], dict[str, npt.NDArray[Any]]]:
    """The texts and the arrays of an open file, all checked; ``path`` is for error messages.

    ``objection`` gets the texts and returns why the file is refused, or None.
    """

    def refused(why: str) -> ModelFileError:
        return ModelFileError(f"{path}: {why}.")

    status = os.fstat(file.fileno())
    if not stat.S_ISREG(status.st_mode):
        raise refused("is not a regular file, so it cannot be a model file")
    length = file.read(8)
    size = int.from_bytes(length, "little")
    if len(length) < 8 or size > min(status.st_size - 8, _LONGEST_HEADER):
        raise refused("is not a model file, or only the beginning of one")
    header = file.read(size)
    texts, entries = _parse(header, refused)
    if why := objection(texts):
        raise refused(why)
    if sum(entry.end - entry.begin for entry in entries) != status.st_size - 8 - size:
        raise refused("is damaged: the arrays that it lists are not as long as its data")
    data = [file.read(entry.end - entry.begin) for entry in entries]
    checksum = texts.pop(_CHECKSUM, "")
    blank = header.replace(checksum.encode("utf-8", "replace"), _NO_CHECKSUM.encode(), 1)
    if _digest([length, blank, *data]) != checksum:
        raise refused("is damaged: its checksum is not that of its content")
    arrays = {
        entry.name: np.frombuffer(piece, entry.dtype).reshape(entry.shape)
        for entry, piece in zip(entries, data, strict=True)
    }
    return texts, arrays


def parse_json(text: bytes | str) -> Any:
    """The parsed JSON; ValueError if it is invalid, has a duplicate key or an infinite number."""
    try:
        return json.loads(text, object_pairs_hook=_once, parse_constant=_no_constant, parse_float=_finite)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    named = dict(pairs)
    if len(named) < len(pairs):
        raise ValueError("a name occurs twice")
    return named


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number")


def _finite(text: str) -> float:
    value = float(text)
    if not np.isfinite(value):
        raise ValueError(f"{text[:20]} is too large")
    return value


def _parse(header: bytes, refused: Callable[[str], ModelFileError]) -> tuple[dict[str, str], list[_Entry]]:
    try:
        content = parse_json(header)
    except ValueError:  # includes text that is not UTF-8
        raise refused("is not a model file, or its header is damaged") from None
    texts: Any = content.pop(_METADATA, None) if isinstance(content, dict) else None
    if not isinstance(texts, dict) or not all(isinstance(text, str) for text in texts.values()):
        raise refused("is not a model file: its header has no texts")
    entries = sorted(
        (_entry(name, description, refused) for name, description in content.items()),
        key=lambda e: (e.begin, e.end, e.name),
    )
    end = 0
    for entry in entries:
        if entry.begin != end:
            raise refused(f"is damaged: array {entry.name[:100]!r} does not begin where the last one ends")
        end = entry.end
    return texts, entries


def _entry(name: str, description: Any, refused: Callable[[str], ModelFileError]) -> _Entry:
    if isinstance(description, dict) and set(description) == {"dtype", "shape", "data_offsets"}:
        dtype, shape, offsets = description["dtype"], description["shape"], description["data_offsets"]
        known = isinstance(dtype, str) and dtype in _DTYPES
        if known and _naturals(shape) and _naturals(offsets) and len(offsets) == 2:
            entry = _Entry(name, np.dtype(_DTYPES[dtype]), tuple(shape), *offsets)
            if entry.end - entry.begin == prod(shape) * entry.dtype.itemsize:
                return entry
    raise refused(f"is damaged: array {name[:100]!r} has a dtype, shape and place that do not fit together")


def _naturals(values: Any) -> bool:
    """Whether the value is a list of at most 8 sizes."""
    if not isinstance(values, list) or len(values) > 8:
        return False
    return all(type(v) is int and 0 <= v < 2**48 for v in values)
