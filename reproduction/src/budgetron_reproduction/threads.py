"""How many threads to use."""

from __future__ import annotations

import os


def threads(n_jobs: int) -> int:
    """The number of threads that ``n_jobs`` asks for; -1 is one for each processor.

    >>> from budgetron_reproduction.threads import threads
    >>> threads(2)
    2
    """
    if n_jobs == -1:
        return os.cpu_count() or 1
    if n_jobs < 1:
        raise ValueError(f"n_jobs must be a whole number of at least 1, or -1, got {n_jobs!r}.")
    return n_jobs
