"""The tables and figures of five papers, run again and compared with what they print.

The printed values and the protocol of each table are data: ``tables/<key>/table<n>.toml``. Its learners are
code: ``learners/<key>.py``.

>>> import budgetron_reproduction
>>> budgetron_reproduction.numbers("lu2016")
(3, 5, 7, 9)
"""

from budgetron_reproduction import figures, markdown, report, settings
from budgetron_reproduction.printed import KEYS, Cell, Table, UnknownTable, numbers, table
from budgetron_reproduction.reproduction import Reproduction, Result, reproduce
from budgetron_reproduction.store import Store

__all__ = [
    "KEYS",
    "Cell",
    "Reproduction",
    "Result",
    "Store",
    "Table",
    "UnknownTable",
    "figures",
    "markdown",
    "numbers",
    "report",
    "reproduce",
    "settings",
    "table",
]
