"""What a text means by itself, wherever it comes from: a CSV file, a frame, a dict, JSON.

A text is a number, true or false (1 or 0), an ISO date, a time of day (its seconds, as those of a
`datetime.time`), or missing: blank, or a word that stands for no value. Anything else stays a text; what
that means depends on its column (`kinds`). Blanks around it do not count. A number with leading zeros, such
as 01234, stays a text.
"""

import datetime as dt
import re
from collections.abc import Sequence
from functools import lru_cache

MOST = 1 << 14  # texts that are remembered
SHORT = 64  # characters of such a text
BLANKS = " \t\n\v\f\r"
MISSING = frozenset({
    "", "nan", "+nan", "-nan", "na", "n/a", "n.a.", "#n/a", "<na>", "nat", "null", "none", "nil", "-", "--",
    "---", "–", "—", "?", "#null!", "#div/0!", "#value!",
})  # fmt: skip
"""What stands for no value, in small letters."""

NUMBER = re.compile(
    r"[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|inf(?:inity)?|nan)", re.ASCII | re.IGNORECASE
)
DATE = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)"
    r"(?:[ T](\d\d)(?::(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?)?(?:(Z)|([+-])(\d\d):?(\d\d)?)?)?",
    re.ASCII,
)
TIME = re.compile(r"(\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?", re.ASCII)
_TRUTH = {"true": 1.0, "false": 0.0}
_EPOCH = dt.date(1970, 1, 1).toordinal()

Meaning = float | tuple[float] | str | None


def meaning(text: str) -> Meaning:
    """The number, the date as ``(seconds,)``, the text without blanks around it, or None if missing."""
    return _of_short(text) if len(text) <= SHORT else _of_any(text)


def meanings(texts: Sequence[str]) -> Sequence[Meaning]:
    """The meanings of texts: the texts themselves, if each is one of a category that was read before."""
    if _plain.issuperset(texts):
        return texts
    is_short = max(map(len, texts), default=0) <= SHORT
    read = list(map(_of_short if is_short else meaning, texts))
    if len(_plain) + len(texts) <= MOST and is_short and read == texts:
        _plain.update(texts)
    return read


def has_leading_zero(text: str, number: float) -> bool:
    """Whether a number is written as a code, such as 01234."""
    return text[:1] == "0" and abs(number) >= 1


def is_blank(text: str) -> bool:
    """Whether a text is missing."""
    return text.strip(BLANKS).lower() in MISSING


def _of_any(text: str) -> Meaning:
    text = text.strip(BLANKS)
    if NUMBER.fullmatch(text):
        number = float(text)
        return None if number != number else text if has_leading_zero(text, number) else number
    if (small := text.lower()) in MISSING:
        return None
    if (date := DATE.fullmatch(text)) and (seconds := _moment(date)) is not None:
        return (seconds,)
    if time := TIME.fullmatch(text):
        seconds = seconds_of_day(int(time[1]), int(time[2]), int(time[3]), time[4])
        return text if seconds is None else seconds
    truth = _TRUTH.get(small)
    return text if truth is None else truth


_of_short = lru_cache(maxsize=MOST)(_of_any)  # the texts of a category come in every block
_plain = set[str]()  # short texts that mean themselves


def _moment(date: re.Match[str]) -> float | None:
    year, month, day, hour, minute, second = (int(part or 0) for part in date.groups()[:6])
    fraction, _, sign, zone_hours, zone_minutes = date.groups()[6:]
    offset = int(zone_hours or 0) * 3600 + int(zone_minutes or 0) * 60
    if int(zone_hours or 0) > 23 or int(zone_minutes or 0) > 59:
        return None
    seconds = moment(year, month, day, hour, minute, second)
    if seconds is None:
        return None
    return seconds - (-offset if sign == "-" else offset) + int((fraction or "").ljust(9, "0")) / 1e9


def seconds_of_day(hour: int, minute: int, second: int, fraction: str | None) -> float | None:
    """The seconds since midnight; None if there is no such time."""
    if hour > 23 or minute > 59 or second > 59:
        return None
    return hour * 3600 + minute * 60 + second + int((fraction or "").ljust(9, "0")) / 1e9


def moment(
    year: int, month: int, day: int, hour: int = 0, minute: int = 0, second: int = 0
) -> float | None:
    """The seconds since 1970, in UTC; None if there is no such moment."""
    if hour > 23 or minute > 59 or second > 59:
        return None
    try:
        days = dt.date(year, month, day).toordinal() - _EPOCH
    except ValueError:
        return None
    return float(days * 86400 + hour * 3600 + minute * 60 + second)
