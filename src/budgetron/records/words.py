"""Free text as words: the first words of a column have a slot each, all others share slots by a hash."""

import re
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from math import sqrt
from typing import Any

import numpy as np
import numpy.typing as npt

MOST = 256  # words of one text that count
LONGEST = 64  # characters of a word
PAIRED = 3  # texts with a pair of neighbours, from which on it has a slot of its own
TOGETHER = 3  # times as often as words that stand in any order
_WORD = re.compile(r"\w+(?:['’]\w+)*")
_MIX = np.uint32(0x9E3779B1)  # the low bits of a CRC alone are no hash


def placed(codes: Sequence[int], slots: int) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """The places of checksums among so many slots, a power of two, and their signs."""
    mixed = np.array(codes, np.uint32) * _MIX
    bits = slots.bit_length() - 1
    return (mixed >> (32 - bits)).astype(np.intp), 1.0 - 2.0 * ((mixed >> (31 - bits)) & 1)


def shared(slots: int) -> int:
    """How many of the slots of a column are for words that have none of their own."""
    return max(2, slots // 4)


def usual(texts: Iterable[str], slots: int) -> list[str]:
    """The words, and pairs of neighbours, of some texts that are the first to get a slot of their own."""
    singles, pairs, lefts, rights = Counter[str](), Counter[str](), Counter[str](), Counter[str]()
    for text in texts:
        found = words_of(text)
        singles.update(set(found))
        pairs.update(set(_pairs(found)))
        lefts.update(found[:-1])
        rights.update(found[1:])

    def belongs(pair: str) -> bool:
        left, right = pair.split()
        by_chance = lefts[left] * rights[right] / lefts.total()
        return pairs[pair] >= max(PAIRED, TOGETHER * by_chance)

    paired = [pair for pair, _ in _by_count(pairs) if belongs(pair)][: slots // 16]
    own = [word for word, _ in _by_count(singles)][: slots - shared(slots) - len(paired)]
    return own + paired


def bag(text: str, usual: Mapping[str, int], own: int, shared: int) -> npt.NDArray[np.float64]:
    """The slots of a text: its own, 1 for each usual word or pair; then those of other words, by a hash."""
    words = list(dict.fromkeys(found := words_of(text)))
    row = np.zeros(own + shared)
    row[[place for word in words if (place := usual.get(word)) is not None]] = 1.0
    row[[place for pair in _pairs(found) if (place := usual.get(pair)) is not None]] = 1.0
    others = [zlib.crc32(word.encode("utf-8", "surrogatepass")) for word in words if word not in usual]
    if others:
        places, signs = placed(others, shared)
        row[own:] = np.bincount(places, signs, shared) / sqrt(len(words))
    return row


def words_of(text: str) -> list[str]:
    """The words of a text, in small letters."""
    found = _WORD.finditer(text.lower())
    return [match[0][:LONGEST] for match, _ in zip(found, range(MOST), strict=False)]


def _pairs(words: Sequence[str]) -> list[str]:
    return [f"{a} {b}" for a, b in pairwise(words)]


def _by_count(counts: Counter[str]) -> list[tuple[str, int]]:
    """The most frequent first; equal ones in the order of the alphabet."""
    return sorted(counts.items(), key=lambda each: (-each[1], each[0]))
