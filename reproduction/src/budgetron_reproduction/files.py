"""Writing files so that a reader never finds half of one."""

from __future__ import annotations

import os
from pathlib import Path

from budgetron import SaveError


def write(path: Path, content: bytes) -> None:
    """Write the content to a neighbour of the file, then rename it; `SaveError` if that fails.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from budgetron_reproduction.files import write
    >>> path = Path(tempfile.mkdtemp()) / "settings.toml"
    >>> write(path, b"eta = 0.5")
    >>> path.read_text(), len(list(path.parent.iterdir()))
    ('eta = 0.5', 1)
    """
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        partial.write_bytes(content)
        partial.replace(path)
    except OSError as error:
        raise SaveError(f"{path}: could not be saved: {error.strerror or error}.") from error
    finally:
        partial.unlink(missing_ok=True)
