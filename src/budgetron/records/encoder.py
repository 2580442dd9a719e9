"""The description of how records become rows of numbers."""

from collections.abc import Sequence
from dataclasses import dataclass

from budgetron._util import check
from budgetron._util.spec import Spec
from budgetron._util.text import shown
from budgetron.records.encoding import BLOCK, PERIODS, Encoding


@dataclass
class Encoder(Spec):
    """How records become rows of numbers, in memory that does not grow with the stream.

    A column of numbers or dates becomes one column of the matrix. Each value of a column of texts becomes
    an indicator: 1 in the rows that have the value, 0 elsewhere. Columns and values get their place when
    they first appear, so a stream may bring new ones at any time. Those beyond the limits share 32 columns,
    to which a hash assigns them.

    Parameters
    ----------
    most_columns : int
        The largest number of columns of the matrix. 32 of them are kept for hashing.
    most_values : int
        The largest number of indicators for one column of the records.
    time_parts : sequence of {"day", "week", "year"}
        For each of these periods, a date also gives sine and cosine of its place in the period.

    Examples
    --------
    >>> from budgetron import Encoder
    >>> from budgetron.records.reading import to_table
    >>> encoding = Encoder().build()
    >>> X, growth = encoding.encode(to_table([{"amount": 3.5, "country": "DE"}, {"country": "FR"}]))
    >>> encoding.columns
    ['amount', 'country=DE', 'country=FR']
    >>> X
    array([[3.5, 1. , 0. ],
           [nan, 0. , 1. ]])
    >>> growth
    [(0, 2), (1, 3)]
    """

    most_columns: int = 256
    most_values: int = 32
    time_parts: Sequence[str] = ()

    def build(self) -> Encoding:
        """An encoding that has seen no records."""
        most_columns = check.count(self, "most_columns", self.most_columns)
        if most_columns <= BLOCK:
            raise ValueError(f"Encoder: most_columns must be above {BLOCK}, got {most_columns}.")
        most_values = check.count(self, "most_values", self.most_values)
        parts = self.time_parts
        is_sequence = isinstance(parts, Sequence) and not isinstance(parts, str)
        if not is_sequence or not all(part in list(PERIODS) for part in parts):
            known = ", ".join(map(repr, PERIODS))
            raise ValueError(f"Encoder: time_parts must be a sequence of {known}, got {shown(parts)}.")
        return Encoding(most_columns, most_values, tuple(dict.fromkeys(parts)))
