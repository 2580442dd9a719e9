"""Numbers and dates as people write them."""

import datetime as dt

from budgetron.records.written import Amount, amount, date
from tests.helpers.cases import each

AMOUNTS = {
    "$36.87": (36.87, "money"), "€ 1.234,50": (1234.5, "money"), "1,234.50": (1234.5, "number"),
    "36,87": (36.87, "number"), "12 %": (12.0, "percent"), "12.5%": (12.5, "percent"),
    "(5.00)": (-5.0, "number"), "-$5": (-5.0, "money"), "$-5": (-5.0, "money"), "5-": (-5.0, "number"),
    "1'234.5": (1234.5, "number"), "2 500": (2500.0, "number"), "USD 5": (5.0, "money"),
    "5 EUR": (5.0, "money"), "1,234,567": (1234567.0, "number"), "1.234.567": (1234567.0, "number"),
    "0,500": (0.5, "number"), "1\u2009234,5": (1234.5, "number"), "12,34,567.50": (1234567.5, "number"),
    "3 ‰": (3.0, "percent"), "Rs. 5": (5.0, "money"),
    "9:05": (32700.0, "number"), "9:05 PM": (75900.0, "number"),
}  # fmt: skip
NONE = [
    "abc",
    "12 cm",
    "1-2",
    "(1",
    "--1",
    "10.20.30",
    "5 2024",
    "1,23,4",
    "01234",
    "$",
    "%",
    "-",
    "",
    "(-5)",
    "1e400",
    "10.214.140.230",
    "24:00",
    "9:5",
]


@each(("text", "value"), AMOUNTS.items())
def test_amounts(text, value):
    found = amount(text, comma=False)
    assert (found.value, found.how) == value


@each("text", NONE)
def test_what_is_no_amount(text):
    assert amount(text, comma=False) is None
    assert amount(text, comma=True) is None


def test_a_lone_comma_is_up_to_the_column():
    assert amount("1,234", comma=False) == Amount(1234.0, "number")
    assert amount("1,234", comma=True) == Amount(1.234, "number")
    assert amount("€1.234", comma=True) == Amount(1234.0, "money")
    assert amount("36,87", comma=False).comma
    assert not amount("1,234", comma=True).comma


def at(*parts):
    return dt.datetime(*parts, tzinfo=dt.UTC).timestamp()


CERTAIN = {
    "13.2.2024": (2024, 2, 13), "2024/1/2": (2024, 1, 2), "2024-1-2 03:04": (2024, 1, 2, 3, 4),
    "5 Jan 2024": (2024, 1, 5), "Jan 5, 2024 3:05 PM": (2024, 1, 5, 15, 5), "05-Jan-2024": (2024, 1, 5),
    "9/9/2024": (2024, 9, 9), "2024-01-02 03:04:05 UTC": (2024, 1, 2, 3, 4, 5),
    "2024-01-02 03:04:05 +0200": (2024, 1, 2, 1, 4, 5),
    "Tue, 2 Jan 2024 03:04:05 -0130": (2024, 1, 2, 4, 34, 5),
    "02/Jan/2024:03:04:05 +0000": (2024, 1, 2, 3, 4, 5), "2-Jan-24": (2024, 1, 2), "2-Jan-99": (1999, 1, 2),
    "Tuesday, January 2, 2024": (2024, 1, 2),
}  # fmt: skip


@each(("text", "parts"), CERTAIN.items())
def test_dates_that_are_certain(text, parts):
    assert date(text).in_order(None) == at(*parts)


def test_dates_in_both_orders():
    assert date("01/02/2024").in_order(None) is None
    assert date("01/02/2024").in_order("dmy") == at(2024, 2, 1)
    assert date("1/2/24 13:45").in_order("mdy") == at(2024, 1, 2, 13, 45)
    assert (date("13/02/2024").shows, date("02/13/2024").shows, date("01/02/2024").shows) == (
        "dmy",
        "mdy",
        None,
    )


@each(
    "text", ["32/1/2024", "2024-01", "1.2.10", "10.20.30", "Feb", "30 Feb 2024", "13:00 PM 1/2/2024", "1/1"]
)
def test_what_is_no_date(text):
    assert date(text) is None
