"""The baselines against plain loops over the rows."""

import numpy as np
import pytest

from budgetron.serve.baselines import Baselines

KINDS = {
    "numbers": lambda draw, n: draw.integers(0, 5, n),
    "texts": lambda draw, n: np.array([f"class {i}" for i in draw.integers(0, 3, n)]),
    "truth values": lambda draw, n: draw.random(n) < 0.4,
    "one class": lambda _, n: np.ones(n, dtype=int),
    "targets": lambda draw, n: draw.standard_t(1.5, n),
    "whole targets": lambda draw, n: draw.integers(-3, 3, n),
    "huge targets": lambda draw, n: draw.normal(size=n) * 1e150,
}


def reference(y, targets):
    """The errors of both baselines in every row."""
    last, frequent, counts, total, errors = None, None, {}, 0.0, []
    for i, label in enumerate(y):
        if targets:
            misses = (last or 0.0) - label, total / max(i, 1) - label
            errors.append([miss * miss for miss in misses])
            total += label
        else:
            errors.append([last != label, frequent != label])
            counts[label] = counts.get(label, 0) + 1
            if counts[label] > counts.get(frequent, 0):
                frequent = label
        last = label
    sums = [0.0, 0.0]
    for error in errors:
        sums = [a + b for a, b in zip(sums, error, strict=True)]
    return np.array(errors, dtype=float), sums


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("most", [1, 40, 3000])
def test_every_cut_gives_the_bits_of_a_loop(kind, most):
    draw = np.random.default_rng(most)
    y, targets, at = KINDS[kind](draw, 3500), "targets" in kind, 0
    tested = Baselines(targets, 100)
    while at < len(y):
        rows = int(draw.integers(1, most + 1))
        tested.add(y[at : at + rows])
        at += rows
        if draw.random() < 0.02:  # a snapshot, and a restart
            state = tested.state()
            tested = Baselines(targets, 100)
            tested.restore(state)
    errors, sums = reference(y.tolist(), targets)
    state = tested.state()
    assert state["wrong"] == sums
    assert np.array_equal(state["window"], errors[-100:])
    assert tested.window_rows == 100
    values = tested.values(len(y))
    assert [each["running"] for each in values.values()] == [each / len(y) for each in sums]
    if not targets:
        assert dict(state["counts"]) == {label: y.tolist().count(label) for label in set(y.tolist())}
        assert [type(label) for label, _ in state["counts"]] == [
            type(label) for label in dict.fromkeys(y.tolist())
        ]
