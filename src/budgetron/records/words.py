"""Free text as words: each word, and each pair of neighbours, adds to the slot that a hash assigns to it."""

import re
import zlib
from collections.abc import Sequence
from functools import lru_cache
from math import sqrt
from typing import Any

import numpy as np
import numpy.typing as npt

MOST = 256  # words of one text that count
_WORD = re.compile(r"\w+(?:['’]\w+)*")
MIX = np.uint32(0x9E3779B1)  # the low bits of a CRC alone are no hash


def words(text: str) -> list[str]:
    """The words of a text, in small letters."""
    found = _WORD.finditer(text.lower())
    return [match[0] for match, _ in zip(found, range(MOST), strict=False)]


def placed(codes: Sequence[int], slots: int) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """The places of checksums among so many slots, a power of two, and their signs."""
    mixed = np.array(codes, np.uint32) * MIX
    bits = slots.bit_length() - 1
    return (mixed >> (32 - bits)).astype(np.intp), 1.0 - 2.0 * ((mixed >> (31 - bits)) & 1)


def bag(text: str, slots: int) -> npt.NDArray[np.float64]:
    """The slots of a text: its words and pairs of words, each with a sign; of length about 1."""
    return np.array(_short(text, slots) if len(text) <= 256 else _bag(text, slots))


def _bag(text: str, slots: int) -> tuple[float, ...]:
    found = list(dict.fromkeys(words(text)))
    pairs = [f"{a} {b}" for a, b in zip(found, found[1:], strict=False)]
    terms = [*found, *dict.fromkeys(pairs)]
    if not terms:
        return (0.0,) * slots
    places, signs = placed([zlib.crc32(t.encode("utf-8", "surrogatepass")) for t in terms], slots)
    summed = np.bincount(places, signs, slots) / sqrt(len(terms))
    return tuple(summed.tolist())


_short = lru_cache(maxsize=1 << 10)(_bag)
