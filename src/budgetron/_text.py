"""Make strings and values from files and users safe to print in a message."""

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


def shown(value: object) -> str:
    """The repr of a value, cut to 200 characters."""
    try:
        text = repr(value)
    except ValueError:  # Python does not print integers of more than 4300 digits
        return f"a value of type {type(value).__name__} that is too long to print"
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."
