"""Make strings and values from files and users safe to print in a message."""

from collections.abc import Iterable, Mapping

LONGEST = 200


def printable(text: str) -> str:
    """The text with control characters and invalid Unicode escaped, since a terminal would execute some."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def aligned(rows: list[list[str]], left: int = 1) -> list[str]:
    """The lines of a table; the first ``left`` columns are aligned to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    signs = ["<"] * left + [">"] * (len(widths) - left)
    cells = [[f"{c:{s}{w}}" for c, s, w in zip(row, signs, widths, strict=True)] for row in rows]
    return ["  ".join(line).rstrip() for line in cells]


def nearest(word: str, known: Iterable[str], otherwise: str | None = None) -> str:
    """The end of a message about an unknown word: "did you mean X?", else ``otherwise`` or what there is.

    A mapping gives for each known word the text to print.
    """
    from difflib import get_close_matches  # rarely needed, and the command line must start fast

    texts = known if isinstance(known, Mapping) else {each: each for each in known}
    near = get_close_matches(word, texts, 1)
    if near:
        return f"did you mean {texts[near[0]]}?"
    if otherwise is not None:
        return otherwise
    return f"expected one of {', '.join(dict.fromkeys(texts.values()))}."


def shown(value: object) -> str:
    """The repr of a value, cut to 200 characters."""
    try:
        text = repr(value)
    except ValueError:  # Python does not print integers of more than 4300 digits
        return f"a value of type {type(value).__name__} that is too long to print"
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."
