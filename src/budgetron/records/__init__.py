"""Records: tables of numbers, texts and dates, and how they become rows of numbers."""

from budgetron._util.exports import lazy

__getattr__, __dir__ = lazy(__name__)
