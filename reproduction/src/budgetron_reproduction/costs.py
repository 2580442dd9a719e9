"""Lu et al. 2016, Table 1 and Section 7.5: what an update costs, and how much memory FOGD and NOGD take.

The table has orders and no numbers. Ours stand beside them with the growth that is measured: a cost that
grows like B to the power p doubles p times when B doubles.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import log
from pathlib import Path
from time import thread_time
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from budgetron import OnlineClassifier
from budgetron.learners.algorithms import (
    bogd,
    bpa_nn,
    bpa_p,
    bpa_s,
    budget_perceptron,
    fogd,
    forgetron,
    nogd,
    projectron,
    rbp,
)
from budgetron.parts.kernels import Gaussian
from budgetron_reproduction.files import write
from budgetron_reproduction.results import FOLDER

K = Gaussian.of_width(8)
COLUMNS, TIMED_ROWS, REPEATS = 20, 400, 3
"""The columns of the rows that are timed, how many are timed, and how often."""
SMALL, LARGE = 400, 1600
"""The budgets between which growth is measured."""
BUDGET, WIDTHS = 100, (8, 22, 123, 300, 780, 5000)
"""The budget of the comparison of memory, and the columns: codrna, ijcnn1, a9a, w8a, mnist, gisette."""
SHARE_D, SHARE_K = 4, 5
"""As in the paper: 4 B Fourier features, a rank of B / 5."""


@dataclass(frozen=True)
class Row:
    """A row of Table 1: printed orders, our orders, and a learner with a budget."""

    algorithm: str
    strategy: str
    printed: tuple[str, str]
    ours: tuple[str, str]
    learner: Callable[[int], Any]


ROWS = (
    Row(
        "Budget Perceptron",
        "removal",
        ("O(B²)", "O(B)"),
        ("O(B)", "O(B)"),
        lambda B: budget_perceptron(K, budget=B),
    ),
    Row("RBP", "removal", ("O(B)", "O(B)"), ("O(B)", "O(B)"), lambda B: rbp(K, budget=B)),
    Row("Forgetron", "removal", ("O(B)", "O(B)"), ("O(B)", "O(B)"), lambda B: forgetron(K, budget=B)),
    Row("BOGD", "removal", ("O(B)", "O(B)"), ("O(B)", "O(B)"), lambda B: bogd(K, budget=B, eta=0.2)),
    Row("BPA-S", "removal", ("O(B)", "O(B)"), ("O(B)", "O(B)"), lambda B: bpa_s(K, budget=B)),
    Row(
        "Projectron",
        "projection",
        ("O(B²)", "O(B²)"),
        ("O(B²)", "O(B²)"),
        lambda B: projectron(K, budget=B),
    ),
    Row("BPA-P", "projection", ("O(B²)", "O(B²)"), ("O(B²)", "O(B²)"), lambda B: bpa_p(K, budget=B)),
    Row("BPA-NN", "projection", ("O(B)", "O(B)"), ("O(B)", "O(B²)"), lambda B: bpa_nn(K, budget=B)),
    Row(
        "FOGD, D = 4 B",
        "functions",
        ("O(D)", "O(D)"),
        ("O(D)", "O(D)"),
        lambda B: fogd(K, components=SHARE_D * B, eta=1),
    ),
    Row(
        "NOGD, k = B / 5",
        "functions",
        ("O(kB)", "O(kB)"),
        ("O(B²)", "O(B²)"),
        lambda B: nogd(K, budget=B, rank=B // SHARE_K, eta=0.2),
    ),
)


def measure(folder: Path) -> None:
    """Measure growth and memory, and keep the numbers in a folder, for the report."""
    with threadpool_limits(1):
        growth = {each.algorithm: _growth(each.learner) for each in ROWS}
        memory = {str(width): _memory(width) for width in WIDTHS}
    path = _path(folder)
    path.parent.mkdir(parents=True, exist_ok=True)
    write(path, (json.dumps({"growth": growth, "memory": memory}, indent=1) + "\n").encode())


def sections(folder: Path) -> list[str]:
    """The two sections of the report, if a folder has the numbers."""
    if not _path(folder).exists():
        return []
    kept = json.loads(_path(folder).read_text(encoding="utf-8"))
    return [_orders(kept["growth"]), _memories(kept["memory"])]


def _path(folder: Path) -> Path:
    return folder / FOLDER / "lu2016_costs.json"


def _growth(learner: Callable[[int], Any]) -> dict[str, float]:
    """The powers of B with which the time of a row and the memory grow."""
    (fast, small), (slow, large) = (_filled(learner(B), B) for B in (SMALL, LARGE))
    times = log(LARGE / SMALL)
    return {"time": log(slow / fast) / times, "memory": log(large / small) / times}


def _filled(learner: Any, budget: int) -> tuple[float, int]:
    """Seconds of a row, and bytes, when the budget is full. Labels are random, so that rows update."""
    X, y = _rows(4 * budget + TIMED_ROWS * REPEATS, COLUMNS)
    model = OnlineClassifier(learner, random_state=0).partial_fit(
        X[: 4 * budget], y[: 4 * budget], classes=[-1, 1]
    )
    times = []
    for start in range(4 * budget, len(y), TIMED_ROWS):
        begun = thread_time()
        model.partial_fit(X[start : start + TIMED_ROWS], y[start : start + TIMED_ROWS])
        times.append((thread_time() - begun) / TIMED_ROWS)
    return min(times), model.memory_bytes_


def _memory(columns: int) -> dict[str, int]:
    """The bytes of FOGD and NOGD with a full budget."""
    X, y = _rows(4 * BUDGET, columns)
    learners = {
        "fogd": fogd(K, components=SHARE_D * BUDGET, eta=1),
        "nogd": nogd(K, budget=BUDGET, rank=BUDGET // SHARE_K, eta=0.2),
    }
    return {
        name: OnlineClassifier(learner, random_state=0).fit(X, y).memory_bytes_
        for name, learner in learners.items()
    }


def _rows(n: int, columns: int) -> tuple[Any, Any]:
    random = np.random.default_rng(0)
    return random.normal(size=(n, columns)) * 8 / np.sqrt(columns), random.choice([-1.0, 1.0], n)


SAID = "**What the text says about it.**"

ORDERS = f"""\
### lu2016, Table 1. What an update costs, by the budget B

The paper's table has orders and no numbers. In our copy its exponents are lost; the squares are those that
its text speaks of. *Measured* is the power of B with which the processor time of a row and the memory grow
from B = {SMALL} to {LARGE}, on rows of {COLUMNS} columns. The time includes the kernel row, O(B)."""

ORDERS_DEPART = """\
**Departs from the paper.**

* Budget Perceptron: O(B) here, because the score of each support vector without itself is kept.
* BPA-P: above 2, probably because the matrix of the larger budget does not fit into the processor's cache.
* BPA-NN: the distances between all support vectors are kept, O(B²) memory.
* NOGD: the paper maps each row to k numbers, O(kB). Here the step is projected in the space of the B
  coefficients, O(B²).
* TVM is left out."""

MEMORY = f"""\
### lu2016, Section 7.5. The memory of FOGD and NOGD at B = {BUDGET}

The text says that FOGD needs a matrix of {SHARE_D} B × d numbers and NOGD one of B × k, k = B / {SHARE_K},
so that FOGD takes much more memory where rows are wide. Ours are `memory_bytes_` of the two learners when
their budget is full; the paper's are those of the two matrices, at 8 bytes a number."""


def _orders(growth: dict[str, dict[str, float]]) -> str:
    head = ["algorithm", "strategy", "time: paper", "ours", "measured", "space: paper", "ours", "measured"]
    lines = [_order(each, growth[each.algorithm]) for each in ROWS]
    return "\n\n".join([ORDERS, _table(head, lines), ORDERS_DEPART])


def _order(row: Row, measured: dict[str, float]) -> list[str]:
    pairs = zip(row.printed, row.ours, (measured["time"], measured["memory"]), strict=True)
    return [
        row.algorithm,
        row.strategy,
        *(text for a, b, power in pairs for text in (a, b, f"B^{power:.1f}")),
    ]


def _memories(memory: dict[str, dict[str, int]]) -> str:
    head = ["columns d", "FOGD, bytes", "paper: 4 B d", "NOGD, bytes", "paper: B k", "FOGD / NOGD", "paper"]
    lines = [_bytes(int(columns), each["fogd"], each["nogd"]) for columns, each in memory.items()]
    return "\n\n".join([MEMORY, _table(head, lines), SAID, _verdict(memory)])


def _bytes(columns: int, fogd: int, nogd: int) -> list[str]:
    printed = 8 * SHARE_D * BUDGET * columns, 8 * BUDGET * (BUDGET // SHARE_K)
    counts = (columns, fogd, printed[0], nogd, printed[1])
    return [*(f"{n:,}" for n in counts), f"{fogd / nogd:.2f}", f"{printed[0] / printed[1]:.1f}"]


def _verdict(memory: dict[str, dict[str, int]]) -> str:
    wide = {
        columns: each["fogd"] / each["nogd"] for columns, each in memory.items() if int(columns) > BUDGET
    }
    least, most = min(wide.values()), max(wide.values())
    return (
        f"* FOGD takes more memory than NOGD where d > B. **{'Holds' if least > 1 else 'Does not hold'}**: "
        f"{least:.2f} to {most:.2f} times as much at d = {', '.join(wide)}. NOGD also keeps its B support "
        f"vectors, B × d numbers, which the text leaves out: FOGD takes at most {SHARE_D} times as much."
    )


def _table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    rule = ["---", *["---:"] * (len(head) - 1)]
    return "\n".join("| " + " | ".join(line) + " |" for line in [head, rule, *lines])
