"""Texts and values from outside, made fit for a message."""

from __future__ import annotations

LONGEST = 200


def printable(text: str) -> str:
    """The text with control characters and broken Unicode escaped: a terminal obeys some of them."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def shown(value: object) -> str:
    """The value as code, cut where it is long."""
    try:
        text = repr(value)
    except ValueError:  # Python prints no whole number of more than 4300 digits
        return f"a value of type {type(value).__name__} that is too long to print"
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."
