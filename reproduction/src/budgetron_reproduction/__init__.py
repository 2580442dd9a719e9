"""The tables and figures of the papers, run again beside what they print.

The printed values and how each table is reproduced are data (``papers/<key>/table<n>.toml`` in the
project); which learners a table has is code, one module for each paper.

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
