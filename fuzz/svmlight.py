"""Fuzz the svmlight reader: the native reader and a slow, simple one must agree.

    python -m fuzz.svmlight --minutes 10 --seed 0

Both must return the same rows, bit for bit, and stop at the same line and column. A case depends only on
the seed and its number: ``--only NUMBER`` repeats one.
"""

from __future__ import annotations

import argparse
import math
import random
import re
import struct
import sys
import time
from collections.abc import Iterator

from budgetron import _core

Row = tuple[float, list[int], list[float]]
Place = tuple[int, int] | None

NUMBER = re.compile(rb"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
LARGEST = 2**31 - 2

SEEDS = [
    b"+1 1:0.5 3:2 # comment\n-1 2:1e-3\n",
    b"3 qid:7 1:1 2:-4.25E+02\r\n\r\n0\t4:.5  9:3.\n",
    b"# head\n\n1.5e3 2147483646:1\n-0 1:-0.0\n",
    b"1 1:0.1 2:123456789012345678 3:9007199254740993 4:2.2250738585072011e-308",
]
TOKENS = [
    *(b"\n", b"\r\n", b"\r", b" ", b"\t", b"#", b":", b",", b"qid:", b"qid:3 ", b"-", b"+", b".", b"e"),
    *(b"0", b"1", b"9", b"00000000000000000000001", b"\x00", b"\xff", b"nan", b"inf", b"0x1p3", b"1_0"),
    *(b"2147483646", b"2147483647", b"4294967297:1", b"18446744073709551617", b"1:1", b"0:1", b" 5:5 6:6"),
    *(b"1.7976931348623158e308", b"1.7976931348623159e308", b"1e309", b"1e-400", b"5e-324", b"2e-324"),
    *(b"1e22", b"1e23", b"9007199254740993", b"9007199254740992.5", b"1e99999999999999999999", b"E-999999"),
    *(b"0.30000000000000004", b"1." + b"0" * 800 + b"1", b"." + b"0" * 330 + b"1e331", b"1" + b"0" * 320),
]
LONG = [b"0." + b"0" * 70000 + b"7e70001", b"7" + b"0" * 70000 + b"e-70000"]


def plain(text: bytes, first: int, last: int) -> tuple[list[Row], Place]:
    """The rows, and the position (line, column) of the first error."""
    rows = []
    for number, line in enumerate(text.split(b"\n"), 1):
        kept, comment, _ = line.partition(b"#")
        if not comment:
            kept = kept.removesuffix(b"\r")
        row, column = plain_row(kept, first, last)
        if column:
            return rows, (number, column)
        if row:
            rows.append(row)
    return rows, None


def plain_row(line: bytes, first: int, last: int) -> tuple[Row | None, int]:
    """The row of a line, if it has one, and the column of the first error, or 0."""
    tokens = list(re.finditer(rb"[^ \t]+", line))
    if not tokens:
        return None, 0
    label = number(tokens[0][0])
    if label is None:
        return None, tokens[0].start() + 1
    pairs = tokens[1:]
    if pairs and pairs[0][0].startswith(b"qid:"):
        if not re.fullmatch(rb"qid:[0-9]+", pairs[0][0]):
            return None, pairs[0].start() + 1
        pairs = pairs[1:]
    indices: list[int] = []
    values = []
    for pair in pairs:
        index, colon, text = pair[0].partition(b":")
        if not colon or not re.fullmatch(rb"0*[0-9]{1,10}", index) or not first <= int(index[-10:]) <= last:
            return None, pair.start() + 1
        if indices and int(index[-10:]) <= indices[-1]:
            return None, pair.start() + 1
        value = number(text)
        if value is None:
            return None, pair.start() + len(index) + 2
        indices.append(int(index[-10:]))
        values.append(value)
    return (label, indices, values), 0


def number(text: bytes) -> float | None:
    """A finite decimal number, or None."""
    if not NUMBER.fullmatch(text):
        return None
    return None if math.isinf(float(text)) else float(text)


def native(pieces: Iterator[bytes], first: int, last: int, block: int) -> tuple[list[Row], Place]:
    """The same as `plain`, by the native reader."""
    parser = _core.SvmlightParser(first, last)
    rows: list[Row] = []
    for piece in pieces:
        parser.feed(piece)
        while parser.ready >= block:
            rows += taken(parser, block, first)
    parser.finish()
    rows += taken(parser, parser.ready, first)
    problem = parser.problem
    return rows, None if problem is None else (problem.line, problem.column)


def taken(parser: _core.SvmlightParser, n: int, first: int) -> list[Row]:
    """Take rows from the parser."""
    data, indices, indptr, labels = (array.tolist() for array in parser.take(n))
    cuts = zip(labels, indptr[:-1], indptr[1:], strict=True)
    return [(y, [i + first for i in indices[a:b]], data[a:b]) for y, a, b in cuts]


def mutated(rng: random.Random) -> bytes:
    """A valid text with random changes."""
    text = bytearray(b"".join(rng.choices(SEEDS, k=rng.randint(1, 3))))
    i = j = 0
    for _ in range(rng.randint(0, 6)):
        i = rng.randint(0, len(text))
        j = min(i + rng.randint(0, 8), len(text))
        change = rng.randrange(5)
        if change == 0:
            text[i:i] = rng.choice(TOKENS)
        elif change == 1:
            text[i:j] = rng.choice(TOKENS)
        elif change == 2:
            text[i:j] = b""
        elif change == 3:
            text[i:i] = text[j : j + rng.randint(0, 30)]
        else:
            text[i:j] = bytes(rng.randrange(256) for _ in range(rng.randint(0, 2)))
    if rng.random() < 0.001:
        text[i:j] = rng.choice(LONG)
    return bytes(text) + random_row(rng) * rng.randint(0, 1)


def random_row(rng: random.Random) -> bytes:
    """A row of numbers with random bits."""
    values = []
    for index in sorted(rng.sample(range(1, 99), rng.randint(0, 4))):
        value = struct.unpack("d", rng.randbytes(8))[0]
        digits = rng.choice(["{:.17g}", "{!r}", "{:.25e}", "{:.3f}", "{:.400f}"])
        values.append(f" {index}:{digits.format(value)}")
    return f"\n{rng.uniform(-1e3, 1e3)}{''.join(values)}\n".encode()


def cut(text: bytes, rng: random.Random) -> Iterator[bytes]:
    """Cut the text into random pieces."""
    most = rng.choice([1, 3, 20, 1000, len(text) + 1])
    at = 0
    while at < len(text):
        n = rng.randint(0, most)
        yield text[at : at + n]
        at += n


def bits(rows: list[Row]) -> list[tuple[bytes, list[int]]]:
    """The rows as bytes: equal only if every bit is."""
    return [(struct.pack(f"{len(values) + 1}d", y, *values), indices) for y, indices, values in rows]


def agree(seed: int, case: int, show: bool = False) -> bool:
    """Whether both readers agree on a text."""
    rng = random.Random(f"{seed}/{case}")
    text = mutated(rng)
    first = rng.randint(0, 1)
    last = rng.choice([LARGEST, LARGEST, 5])
    slow, slow_place = plain(text, first, last)
    fast, fast_place = native(cut(text, rng), first, last, rng.randint(1, 4))
    same = bits(slow) == bits(fast) and slow_place == fast_place
    if not same or show:
        print(f"case {case} of seed {seed}, indices {first} to {last}: {text!r}")
        print(f"plain:  {slow} {slow_place}\nnative: {fast} {fast_place}")
    return same


def main() -> None:
    """Run for the given minutes. The exit code is 1 if a case failed."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--minutes", type=float, default=1)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--only", type=int)
    chosen = options.parse_args()
    if chosen.only is not None:
        sys.exit(not agree(chosen.seed, chosen.only, show=True))
    end, case = time.monotonic() + 60 * chosen.minutes, 0
    while time.monotonic() < end:
        if not agree(chosen.seed, case):
            sys.exit(1)
        case += 1
        if case % 100_000 == 0:
            print(f"{case} cases agree", flush=True)
    print(f"{case} cases agree: seed {chosen.seed}, {chosen.minutes:g} minutes.")


if __name__ == "__main__":
    main()
