"""Numbers, dates and truth values as people write them: $36.87, 1.234,50, 12 %, 01/02/2024, yes.

`texts` has what a text means whatever its column. Here two questions are left to the column: whether a lone
comma is that of decimals (1,234), and whether the day or the month comes first (01/02/2024).
"""

import re
from collections.abc import Sequence
from math import inf
from typing import NamedTuple

from budgetron.records.texts import has_leading_zero, moment, seconds_of_day

LONGEST = 64  # characters of a number or date


class Amount(NamedTuple):
    """A number, how it is written, and whether it shows a decimal comma."""

    value: float
    how: str  # "number", "money" or "percent"
    comma: bool = False


_BLANKS = " \u00a0\u2009\u202f"
_SIGNS = r"[$€£¥₹₽₩₪฿₫₴₦₱]|[A-Z]{0,2}[$]|kr\.?|Rs\.?|zł|Fr\.?|R\$"
_CODES = "USD|EUR|GBP|CHF|JPY|CNY|INR|AUD|CAD|NZD|SEK|NOK|DKK|PLN|CZK|HUF|BRL|MXN|ZAR|TRY|RUB|KRW|SGD|HKD"
_AMOUNT = re.compile(
    rf"(?P<open>\()?(?P<minus>[-+−])?\s*(?P<before>{_SIGNS}|{_CODES})?\s*(?P<inner>[-−])?"
    rf"(?P<digits>\d[\d.,'’{_BLANKS}]*|[.,]\d+)(?P<exponent>[eE][-+]?\d+)?"
    rf"\s*(?P<after>{_SIGNS}|{_CODES}|[%‰]|[-−](?=\Z))?(?P<close>\))?"
)
_GROUPS = {
    marks: re.compile(rf"[1-9]\d{{0,2}}(?:[{marks}]\d{{3}})+") for marks in (",", ".", "'’", _BLANKS)
}
_ADDRESS = re.compile(r"(?:\d{1,3}\.){3}\d{1,3}")  # of a computer: 10.214.140.230 is no number
_LAKHS = re.compile(r"[1-9]\d?(?:,\d\d)+,\d{3}")  # 12,34,567 as written in India

_CLOCK = r"(\d{1,2}):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?\s*([AaPp]\.?[Mm]\.?)?"
_TIME = rf"(?:(?:[ T]+|:){_CLOCK}\s*(?:Z|UTC|GMT|([-+])(\d\d):?(\d\d))?)?"
_WEEKDAY = r"(?:(?i:mon|tue|wed|thu|fri|sat|sun)[a-z]{0,6}[,.]*[ ]+)?"
_NUMBERED = re.compile(rf"(\d{{1,4}})([-/.])(\d{{1,2}})\2(\d{{1,4}}){_TIME}", re.ASCII)
_DAY_NAMED = re.compile(
    rf"{_WEEKDAY}(\d{{1,2}})(?:st|nd|rd|th|\.)?[-/ ]+([A-Za-z]{{3,9}})\.?,?[-/ ]+(\d{{4}}|\d\d){_TIME}",
    re.ASCII,
)
_MONTH_NAMED = re.compile(
    rf"{_WEEKDAY}([A-Za-z]{{3,9}})\.?[- ]+(\d{{1,2}})(?:st|nd|rd|th)?,?[- ]+(\d{{4}}){_TIME}", re.ASCII
)
_TIME_OF_DAY = re.compile(_CLOCK, re.ASCII)
_MONTHS = [
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
]

TRUTH = {"true": 1.0, "yes": 1.0, "ja": 1.0, "oui": 1.0, "si": 1.0, "sí": 1.0, "on": 1.0,
         "false": 0.0, "no": 0.0, "nein": 0.0, "non": 0.0, "off": 0.0}  # fmt: skip


def amount(text: str, comma: bool) -> Amount | None:
    """The number that a text is; ``comma`` says that a lone comma is that of decimals."""
    if len(text) > LONGEST:
        return None
    if not (match := _AMOUNT.fullmatch(text)):
        return _time_of_day(text)
    part = match.groupdict()
    if bool(part["open"]) != bool(part["close"]):
        return None
    plain = _plain(part["digits"].strip(), comma)
    if plain is None or _ADDRESS.fullmatch(text):
        return None
    digits, decimal_comma = plain
    after = part["after"] or ""
    signs = [bool(part["open"]), part["minus"] in ("-", "−"), bool(part["inner"]), after in ("-", "−")]
    if sum(signs) > 1 or (part["before"] and after and after not in ("-", "−")):
        return None
    value = float(digits + (part["exponent"] or ""))
    if value == inf:
        return None
    how = "percent" if after in ("%", "‰") else "money" if part["before"] or after.strip("-−") else "number"
    if how == "number" and has_leading_zero(part["digits"], value):
        return None
    return Amount(-value if any(signs) else value, how, decimal_comma)


def _time_of_day(text: str) -> Amount | None:
    """The seconds since midnight, as those of a `datetime.time`."""
    match = _TIME_OF_DAY.fullmatch(text)
    seconds = None if match is None else _clock(match.groups())
    return None if seconds is None else Amount(seconds, "number")


def _plain(digits: str, comma: bool) -> tuple[str, bool] | None:
    """The digits with a decimal point alone, and whether they show that decimals have a comma."""
    last = max(digits.rfind(","), digits.rfind("."))
    mark = digits[last] if last >= 0 else ""
    whole, decimals = (digits[:last], digits[last + 1 :]) if mark else (digits, "")
    if mark and _is_group(digits, mark, comma):
        whole, decimals = digits, ""
    if decimals and not decimals.isdigit():
        return None
    bare = _without_groups(whole, "." if decimals and mark == "," else "," if decimals else None)
    if bare is None:
        return None
    return f"{bare or '0'}.{decimals or '0'}", mark == "," and bool(decimals) and not _is_lone(digits)


def _is_group(digits: str, mark: str, comma: bool) -> bool:
    """Whether the last mark separates thousands."""
    if mark == "," and _LAKHS.fullmatch(digits):
        return True
    if not _GROUPS[mark].fullmatch(digits):
        return False
    return digits.count(mark) > 1 or (mark == ",") != comma


def _is_lone(digits: str) -> bool:
    """Whether one comma could be either: 1,234."""
    return digits.count(",") == 1 and bool(_GROUPS[","].fullmatch(digits))


def _without_groups(whole: str, group: str | None) -> str | None:
    """Whole digits without what separates thousands; None if they are not in groups of three."""
    if whole.isdigit() or not whole:
        return whole
    if group in (None, ",") and _LAKHS.fullmatch(whole):
        return whole.replace(",", "")
    for marks, pattern in _GROUPS.items():
        if pattern.fullmatch(whole) and (group is None or marks == group or marks not in ",."):
            return re.sub(r"\D", "", whole)
    return None


class Date(NamedTuple):
    """The seconds since 1970 if the day comes first, and if the month does; None if that cannot be."""

    day_first: float | None
    month_first: float | None

    def in_order(self, order: str | None) -> float | None:
        """The moment in this order, "dmy" or "mdy"; without one, only what is the same in both."""
        if order is None:
            return self.day_first if self.day_first == self.month_first else None
        return self.day_first if order == "dmy" else self.month_first

    @property
    def shows(self) -> str | None:
        """The order that this date shows."""
        if self.day_first is None or self.month_first is None:
            return "dmy" if self.month_first is None else "mdy"
        return None


def date(text: str) -> Date | None:
    """The date that a text is, in both orders; None if it is none."""
    if len(text) > LONGEST:
        return None
    if match := _NUMBERED.fullmatch(text):
        return _numbered(match)
    for pattern, month_at, day_at in ((_DAY_NAMED, 2, 1), (_MONTH_NAMED, 1, 2)):
        if match := pattern.fullmatch(text):
            month, clock = _month(match[month_at]), _clock(match.groups()[3:])
            if month is None or clock is None:
                return None
            days = moment(_year(match[3]), month, int(match[day_at]))
            return None if days is None else Date(days + clock, days + clock)
    return None


def _numbered(match: re.Match[str]) -> Date | None:
    first, mark, second, third = match.groups()[:4]
    clock = _clock(match.groups()[4:])
    if clock is None:
        return None
    if len(first) == 4 and len(third) <= 2:
        days = moment(int(first), int(second), int(third))
        return None if days is None else Date(days + clock, days + clock)
    if len(first) > 2 or len(third) not in ((2, 4) if mark == "/" else (4,)):
        return None
    year = _year(third)
    day_first, month_first = (
        None if days is None else days + clock
        for days in (moment(year, int(second), int(first)), moment(year, int(first), int(second)))
    )
    if mark == ".":  # nobody writes the month first with points
        month_first = day_first
    return None if day_first is None and month_first is None else Date(day_first, month_first)


def _year(digits: str) -> int:
    return int(digits) if len(digits) == 4 else int(digits) + (1900 if int(digits) > 68 else 2000)


def _month(name: str) -> int | None:
    name = name.lower()
    return next((i for i, month in enumerate(_MONTHS, 1) if month.startswith(name) or name == "sept"), None)


def _clock(parts: Sequence[str | None]) -> float | None:
    """The seconds since midnight, less those of the zone; None if there is no such time."""
    hour, minute, second = (int(part or 0) for part in parts[:3])
    if half := parts[4]:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if half[0] in "pP" else 0)
    sign, zone_hours, zone_minutes = (*parts[5:], None, None, None)[:3]
    if int(zone_hours or 0) > 23 or int(zone_minutes or 0) > 59:
        return None
    offset = int(zone_hours or 0) * 3600 + int(zone_minutes or 0) * 60
    seconds = seconds_of_day(hour, minute, second, parts[3])
    return None if seconds is None else seconds - (-offset if sign == "-" else offset)
