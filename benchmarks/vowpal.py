"""Vowpal Wabbit's --ksvm in its own process, with a time limit: it has no budget, so it becomes slower.

As a script, it reads rows in Vowpal Wabbit's format from the standard input, and prints the rows, seconds
and mistakes so far every 500 rows.
"""

from __future__ import annotations

import subprocess
import sys
from time import process_time

import numpy as np
from scipy import sparse

OPTIONS = "--ksvm --kernel rbf --bandwidth {gamma} --quiet"


def measure(
    X: sparse.csr_matrix, y: np.ndarray, gamma: float, limit: float
) -> tuple[int, float, float, str]:
    """Rows done, seconds, rate of mistakes, and the error message, if any."""
    text = "".join(_line(X[i], label) for i, label in enumerate(y))
    command = [sys.executable, __file__, OPTIONS.format(gamma=gamma)]
    try:
        done = subprocess.run(
            command, input=text, capture_output=True, text=True, timeout=limit, check=False
        )
        printed, note = done.stdout, "" if done.returncode == 0 else _why(done)
    except subprocess.TimeoutExpired as stopped:
        printed, note = (stopped.stdout or b"").decode(), f"stopped after {limit:.0f} s"
    lines = [line for line in printed.splitlines(keepends=True) if line.endswith("\n")]
    if not lines:
        return 0, float("nan"), float("nan"), note or "printed nothing"
    rows, seconds, mistakes = lines[-1].split()
    return int(rows), float(seconds), int(mistakes) / int(rows), note


def _line(row: sparse.csr_matrix, label: float) -> str:
    pairs = zip(row.indices, row.data, strict=True)
    return f"{label:+.0f} | " + " ".join(f"{j}:{v:.9g}" for j, v in pairs) + "\n"


def _why(done: subprocess.CompletedProcess[str]) -> str:
    """The last line that a failed process printed."""
    said = done.stderr.strip().splitlines()
    return f"ended with {done.returncode}" + (f": {said[-1][:80]}" if said else "")


def main() -> None:
    """Predict, then learn, each row of the standard input."""
    import vowpalwabbit

    model = vowpalwabbit.Workspace(sys.argv[1])
    examples = sys.stdin.read().splitlines()
    mistakes, began = 0, process_time()
    for i, line in enumerate(examples, 1):
        example = model.parse(line)
        example = example[0] if isinstance(example, list) else example
        mistakes += (model.predict(example) >= 0) != line.startswith("+")
        model.learn(example)
        model.finish_example(example)
        if i % 500 == 0 or i == len(examples):
            print(i, process_time() - began, mistakes, flush=True)


if __name__ == "__main__":
    main()
