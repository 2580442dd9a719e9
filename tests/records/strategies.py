"""Records in which columns and values appear, vanish and change places."""

import datetime as dt
from decimal import Decimal
from itertools import pairwise

from hypothesis import strategies as st

NAMES = ["amount", "country", "when", "x=1", "", "a name of " + 300 * "n"]
TEXTS = ["DE", "FR", "a", "b", "c", "d", "1.5", "=", " ", "ß\ud800", "t" * 300, "u" * 400]

moments = st.datetimes(dt.datetime(1, 1, 2), dt.datetime(9999, 12, 30)) | st.datetimes(
    dt.datetime(1, 1, 2), dt.datetime(9999, 12, 30), timezones=st.just(dt.timezone(dt.timedelta(hours=5)))
)
values = st.one_of(
    st.none(),
    st.sampled_from(TEXTS),
    st.sampled_from([0.0, -0.0, 1, -2.5, True, float("nan"), 1e300, 0.1, 2**60 + 1, Decimal("0.3")]),
    st.floats(),
    moments,
    st.dates(),
    st.timedeltas(dt.timedelta(-(10**6)), dt.timedelta(10**6)),
)
entries = st.tuples(st.sampled_from(NAMES) | st.integers(0, 30).map("c{}".format), values)
records = st.lists(st.lists(entries, max_size=8).map(dict), max_size=12)
"""Lists of dicts of any kind; the order of the entries differs from record to record."""


def cuts(n):
    """Places to cut a list of n, in order."""
    return st.lists(st.integers(0, n)).map(sorted)


def pieces(rows, places):
    """The list cut at these places."""
    ends = [0, *places, len(rows)]
    return [rows[a:b] for a, b in pairwise(ends)]
