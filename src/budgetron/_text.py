"""Make strings and values from files and users safe to print in a message."""

LONGEST = 200


def printable(text: str) -> str:
    """The text with control characters and invalid Unicode escaped, since a terminal would execute some."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def shown(value: object) -> str:
    """The repr of a value, cut to 200 characters."""
    try:
        text = repr(value)
    except ValueError:  # Python does not print integers of more than 4300 digits
        return f"a value of type {type(value).__name__} that is too long to print"
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."
