"""Models as C headers: the public name of ``budgetron.export.c``."""

from budgetron.export.c.export import to_c as to_c
