"""How to install what an optional part of the library needs."""

import re
import shlex


def pip_install(extra: str) -> str:
    """The command that installs the packages of an extra.

    It names the packages and not ``budgetron[extra]``: that works only where an index has this library.

    >>> pip_install("arrow")
    "pip install 'pyarrow>=15'"
    """
    from importlib import metadata  # needed only for an error

    of_extra = re.compile(rf"""(.+?) *;.*\bextra == ["']{extra}["']""")
    matches = map(of_extra.fullmatch, metadata.requires("budgetron") or [])
    return shlex.join(["pip", "install", *(match[1] for match in matches if match)])
