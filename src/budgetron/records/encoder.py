"""The description of how records become rows of numbers."""

from collections.abc import Mapping
from dataclasses import dataclass

from budgetron._util import check
from budgetron._util.spec import Spec
from budgetron._util.text import nearest, shown
from budgetron.records.encoding import Encoding
from budgetron.records.kinds import KINDS
from budgetron.records.slots import BLOCK


@dataclass
class Encoder(Spec):
    """How records become rows of numbers, in memory that does not grow with the stream.

    What a column is, is decided by its first values, and kept. Numbers, also as money, in percent or with
    a decimal comma, become one column of the matrix. Each value of a column of categories becomes an
    indicator: 1 in the rows that have the value, 0 elsewhere. A date becomes its places in day, week and
    year. Free text becomes its words.
    Identifiers are left out.

    Columns and values get their place when they first appear, so a stream may bring new ones at any time.
    Those beyond the limits share 32 columns, to which a hash assigns them; so do the words of more than
    four columns of free text.

    Parameters
    ----------
    most_columns : int
        The largest number of columns of the matrix, without those of words. 32 are kept for hashing.
    most_values : int
        The largest number of indicators for one column of the records.
    columns : dict, optional
        What columns are, by name: "number" (or "money", "percent", "truth"), "comma" (a number with a
        decimal comma), "date" (or "dmy", "mdy": the order of day and month), "category", "text" or
        "identifier". All others are decided by their values.
    words : int
        The number of columns for the words of one column of free text, a power of two. The first words, and
        usual pairs of them, have one each of three quarters; all other words share the last quarter.
    decide_after : int
        What a column is, is decided by so many of its values; by 10 if all are plain numbers.

    Examples
    --------
    >>> from budgetron import Encoder
    >>> from budgetron.records.reading import to_table
    >>> encoding = Encoder().build()
    >>> X, growth = encoding.encode(to_table([{"amount": "$3.50", "country": "DE"}, {"country": "FR"}]))
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
    columns: Mapping[str, str] | None = None
    words: int = 512
    decide_after: int = 100

    @classmethod
    def of(cls, encoding: Encoding) -> "Encoder":
        """The description of an encoding."""
        limits = encoding.most_columns, encoding.most_values
        return cls(*limits, encoding.given or None, encoding.words, encoding.limits.after)

    def build(self) -> Encoding:
        """An encoding that has seen no records."""
        most_columns = check.count(self, "most_columns", self.most_columns)
        if most_columns <= BLOCK:
            raise ValueError(f"Encoder: most_columns must be above {BLOCK}, got {most_columns}.")
        most_values = check.count(self, "most_values", self.most_values)
        words, after = (
            check.count(self, "words", self.words),
            check.count(self, "decide_after", self.decide_after),
        )
        if words & (words - 1) or not 4 <= words <= 1 << 16:
            raise ValueError(f"Encoder: words must be a power of two from 4 to 65536, got {words}.")
        return Encoding(most_columns, most_values, self._given(), words, after)

    def _given(self) -> dict[str, str]:
        """What columns are, checked."""
        columns = {} if self.columns is None else self.columns
        if not isinstance(columns, Mapping) or not all(isinstance(name, str) for name in columns):
            raise TypeError(f"Encoder: columns must be a dict from names to kinds, got {shown(columns)}.")
        for name, kind in columns.items():
            if kind not in KINDS:
                near = nearest(str(kind), KINDS)
                raise ValueError(
                    f"Encoder: columns[{name!r}] must be one of {', '.join(KINDS)}, "
                    f"got {shown(kind)}; {near}"
                )
        return dict(columns)
