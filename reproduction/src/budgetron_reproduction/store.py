"""Outcomes of runs, saved one by one, so that an interrupted reproduction continues where it stopped."""

from __future__ import annotations

import os
import sys
from concurrent.futures import Executor

from budgetron import evaluate
from budgetron_reproduction.cases import Outcome

Job = evaluate.Job[Outcome]


class Store(evaluate.RunStore[Outcome]):
    """A file of outcomes, one line of JSON for each run: budgetron's `RunStore`, with an end of its own.

    >>> import os, tempfile
    >>> from budgetron_reproduction.cases import Outcome
    >>> from budgetron_reproduction.store import Job, Store
    >>> path = os.path.join(tempfile.mkdtemp(), "runs.jsonl")
    >>> job = Job({"dataset": "german", "permutation": 0}, lambda: Outcome(30.0, 0.01))
    >>> Store(path).outcomes([job])
    [Outcome(value=30.0, seconds=0.01, support=None, test_seconds=None)]
    >>> job = Job({"permutation": 0, "dataset": "german"}, lambda: 1 / 0)
    >>> Store(path).outcomes([job])[0].value
    30.0
    """

    def __init__(self, path: str | os.PathLike[str] | None) -> None:
        super().__init__(path, Outcome.of)

    def _end(self, pool: Executor, interrupted: bool) -> None:
        """Wait for the current runs, which are saved; a second interrupt ends the process."""
        try:
            if interrupted:
                sentence = "stopping after the current runs; interrupt again to stop at once."
                print(f"budgetron-reproduce: {sentence}", file=sys.stderr)
            super()._end(pool, interrupted)
        except KeyboardInterrupt:
            os._exit(130)  # threads in native code cannot be stopped otherwise; the file is complete
