"""Rules that labels and numbers keep, whichever way they come in."""

from typing import Any
from unicodedata import category

EXACT = 2**53
"""Whole numbers below it are told apart as doubles."""
LARGEST = 1e150
"""Larger numbers are refused: their squares would not be finite."""
_UNPRINTABLE = ("Cc", "Cs", "Zl", "Zp")  # control characters, surrogates, line and paragraph separators


def is_exact(label: float) -> bool:
    """Whether a double tells a label from its neighbours. NaN is none."""
    return -EXACT < label < EXACT


def is_printable(label: Any) -> bool:
    """Whether a label can be printed as one line."""
    return not (isinstance(label, str) and any(category(sign) in _UNPRINTABLE for sign in label))


def has_decimals(label: Any) -> bool:
    """Whether a number is rather a target than a label."""
    return isinstance(label, float) and not label.is_integer()


def meant(word: str) -> list[Any]:
    """The labels that a word may mean: a text, and a number."""
    try:
        return [word, float(word)]
    except ValueError:
        return [word]
