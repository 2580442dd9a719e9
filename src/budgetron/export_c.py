"""Models as C headers: a short name of ``budgetron.export.c``."""

from budgetron._util.exports import lazy

__getattr__, __dir__ = lazy("budgetron.export.c")
