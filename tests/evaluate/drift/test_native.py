"""The native detectors beside their definition, for any cut of the rows."""

import numpy as np
import pytest
from scipy.signal import lfilter

from budgetron import _core
from tests.helpers.cases import each
from tests.references import drift


def found(changes, column=0):
    return [(c.row, list(c.before), list(c.after)) for c in changes if c.column == column]


def codes_of(seed, cells):
    rng = np.random.default_rng(seed)
    parts = [
        rng.choice(cells, p=rng.dirichlet(np.ones(cells)), size=int(rng.integers(50, 900)))
        for _ in range(5)
    ]
    return np.concatenate(parts).astype(np.int64)


@each("cells", [2, 3, 16])
@each("block, per_level, growing", [(8, 4, 1), (8, 4, 64), (32, 3, 4), (1, 1, 1)])
def test_rates_are_their_definition(cells, block, per_level, growing):
    for seed in range(3):
        codes = codes_of(seed, cells)[: 600 if block == 1 else None]
        expected = drift.rates(codes.tolist(), cells, block, per_level, 6.0, growing)
        assert expected or block == 1
        assert found(_core.Rates(cells, block, per_level, 6.0, growing).tell(codes)) == expected


@each("stay", [0.5, 0.9, 0.99])
def test_rates_of_rows_in_runs_are_their_definition(stay):
    changes = 0
    for seed in range(4):
        codes = in_runs(seed, stay, 3000) + (np.arange(3000) > 2000)
        expected = drift.rates(codes.tolist(), 4, 8, 4, 9.0, 64)
        assert found(_core.Rates(4, 8, 4, 9.0, 64).tell(codes)) == expected
        changes += len(expected)
    assert changes > 1


def in_runs(seed, stay, n):
    rng = np.random.default_rng(seed)
    new = np.where(rng.random(n) >= stay, np.arange(n), 0)
    return rng.integers(0, 3, n)[np.maximum.accumulate(new)]


def test_rows_that_depend_on_those_before_raise_no_alarms():
    """Few at the beginning, while that is not known yet. That of independent rows is as it was."""
    rng = np.random.default_rng(0)
    shocks = rng.normal(size=(40_000, 20))
    for share, most in ((0.5, 2), (0.9, 2), (0.98, 4)):
        values = lfilter([1], [1, -share], shocks, axis=0)
        assert len(_core.Columns(20, 3, 10.0, 32).tell_rows([], values)) <= most
    codes = [in_runs(seed, 0.9, 40_000) for seed in range(5)]
    assert sum(len(_core.Rates(16, 32, 3, 12.0).tell(each)) for each in codes) <= 5
    alike = lfilter([1], [1, -0.9], rng.normal(size=20_000))
    alike[10_000:] += 3 * alike.std()
    [change] = _core.Columns(20, 3, 10.0, 8).tell_rows([], alike[:, None])
    assert 10_000 < change.row < 10_600


@each("size", [1, 7, 100, 5000])
def test_rates_do_not_depend_on_the_cut(size):
    codes, cut = codes_of(1, 4), []
    detector = _core.Rates(4, 8, 4, 6.0)
    for start in range(0, len(codes), size):
        cut += detector.tell(codes[start : start + size])
        again = _core.Rates(4, 8, 4, 6.0)  # as after a restart
        again.restore(*detector.state())
        detector = again
    assert found(cut) == found(_core.Rates(4, 8, 4, 6.0).tell(codes)) != []


def columns_of(seed):
    """Rows whose columns change in different ways."""
    rng = np.random.default_rng(seed)
    n = 2400
    late = np.arange(n) >= 1200
    words = np.array(["a", "b", "c", "d", "e", "f", "g", "h"])
    columns = {
        "level": rng.normal(size=n) + late,
        "spread": rng.normal(size=n) * (1 + 3 * late),
        "unit": rng.exponential(size=n) * np.where(late, 100, 1),
        "constant": np.ones(n),
        "flag": (rng.random(n) < np.where(late, 0.3, 0.1)).astype(float),
        "gone": np.where(late, None, rng.normal(size=n).astype(object)),
        "rare": np.where(rng.random(n) < 0.9, None, rng.normal(size=n).astype(object)),
        "words": rng.choice(words, size=n, p=np.r_[0.4, 0.2, np.full(6, 0.4 / 6)]),
        "new words": [f"{w}{i}" if late[i] and i % 2 else w for i, w in enumerate(rng.choice(words, n))],
        "slow": lfilter([1], [1, -0.9], rng.normal(size=n)),
        "in runs": np.repeat(rng.choice(words, n // 30), 30),
        "mixed": [str(v) if v < 0.2 else v for v in rng.random(n)],
    }
    lists = {
        name: [None if v is None else str(v) if isinstance(v, str) else float(v) for v in column]
        for name, column in columns.items()
    }
    lists = {
        name: [0.0 if i == 0 and v is None else v for i, v in enumerate(column)]
        for name, column in lists.items()
    }
    return lists, [dict(zip(lists, row, strict=True)) for row in zip(*lists.values(), strict=True)]


def test_columns_are_their_definition():
    lists, records = columns_of(0)
    level = 8.0 + np.log(len(lists))
    changes = _core.Columns(50, 3, 8.0, 512).tell_records(records)
    for place, (name, values) in enumerate(lists.items()):
        expected = drift.column(values, 50, 3, level)
        assert found(changes, place) == expected, name
        if name in {"slow", "in runs"}:  # which may raise false alarms in the first blocks
            continue
        assert bool(expected) == (name in {"level", "spread", "unit", "flag", "gone", "new words"}), name
        assert all(1200 < row <= 1700 for row, *_ in expected), name


def test_far_values_are_their_definition():
    """Heavy tails, ties, missing values and texts, whose unit or sign changes at any row of a block."""
    sudden = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        n, block = int(rng.integers(700, 1500)), int(rng.integers(1, 60))
        drawn = [rng.standard_t(3, n), rng.exponential(size=n), np.round(rng.standard_cauchy(n))][seed % 3]
        for start in rng.integers(200, n, 2):
            drawn[start:] *= rng.choice([100.0, -1000.0, 0.01])
        odd, values = rng.random(n), drawn.tolist()
        values = [None if u < 0.05 else "n/a" if u < 0.08 else v for u, v in zip(odd, values, strict=True)]
        values[0] = 1.0
        expected = drift.column(values, block, 3, 8.0)
        detector = _core.Columns(block, 3, 8.0, 1)
        assert found(detector.tell_records([{"a": value} for value in values])) == expected
        sudden += sum(sum(after) <= drift.WINDOW for _, _, after in expected)
    assert sudden > 5


@each("scale", [100.0, -100.0])
@each("place", [5000, 5007, 5019])
def test_another_unit_is_seen_within_few_rows(place, scale):
    delays = []
    for seed in range(20):
        values = np.random.default_rng(seed).exponential(size=(6000, 1))
        values[place:] *= scale
        delays.append(_core.Columns(20, 3, 10.0, 8).tell_rows([], values)[0].row - place)
    assert 2 <= np.mean(delays) <= 5


def test_outliers_alone_or_from_the_first_rows_on_are_no_change():
    values = np.random.default_rng(0).standard_cauchy((100_000, 2))
    values[::1000] *= 1e6
    values[:, 1] = np.arange(100_000) % 9 == 8  # one value, then another: there is no range yet
    assert _core.Columns(20, 3, 10.0, 8).tell_rows([], values) == []


@each("size", [1, 7, 100, 2400])
def test_columns_do_not_depend_on_the_cut(size):
    _, records = columns_of(1)
    records = [dict(reversed(row.items())) if i % 3 == 2 else row for i, row in enumerate(records)]
    for i, row in enumerate(records):
        if i > 777:
            row["later"] = float(i > 1500)
    detector, cut, at_once = _core.Columns(50, 3, 8.0, 512), [], _core.Columns(50, 3, 8.0, 512)
    whole = at_once.tell_records(records)
    for start in range(0, len(records), size):
        cut += detector.tell_records(records[start : start + size])
        again = _core.Columns(50, 3, 8.0, 512)
        again.restore(detector.names, *detector.state())
        detector = again
    assert [(c.row, c.column) for c in cut] == [(c.row, c.column) for c in whole] != []
    assert all(a.tolist() == b.tolist() for a, b in zip(detector.state(), at_once.state(), strict=True))


def test_rows_of_numbers_are_as_records():
    X = np.random.default_rng(2).normal(size=(1500, 3))
    X[700:, 1] *= 100
    X[300:, 2] = np.nan
    records = [{"a": a, "b": b, "c": c} for a, b, c in X.tolist()]
    in_rows, as_records = _core.Columns(50, 3, 8.0, 8), _core.Columns(50, 3, 8.0, 8)
    rows = [
        change for part in np.split(X, [1, 33, 800]) for change in in_rows.tell_rows(["a", "b", "c"], part)
    ]
    assert found(rows, 1) == found(as_records.tell_records(records), 1) != []
    assert all(a.tolist() == b.tolist() for a, b in zip(in_rows.state(), as_records.state(), strict=True))


def test_columns_are_bounded_and_odd_values_are_taken():
    detector = _core.Columns(10, 2, 8.0, 3)
    odd = [
        {f"c{i}": 1.0 for i in range(9)},
        {1: 2, "\ud800": 3, "x" * 5000: "\ud800"},
        {"c0": [1], "c1": 10**400},
        {"c2": True, "c0": b"x", "c1": float("nan")},
        {},
    ]
    detector.tell_records(odd * 100)
    assert detector.names == ["c0", "c1", "c2"]
    assert sum(array.nbytes for array in detector.state()) < 30_000


def test_memory_does_not_grow_with_the_rows():
    detector = _core.Columns(50, 3, 10.0, 8)
    rows = np.random.default_rng(3).normal(size=(100_000, 4))
    sizes = []
    for _ in range(3):
        detector.tell_rows([], rows)
        sizes.append(sum(array.nbytes for array in detector.state()))
    assert sizes[-1] < 4 * 6000
    assert sizes[-1] - sizes[0] < 4 * 600


def test_a_damaged_state_is_refused():
    detector = _core.Columns(50, 3, 8.0, 512)
    detector.tell_records(columns_of(1)[1])
    numbers, counters = detector.state()
    for bad in (
        counters[:-1],
        np.append(counters, counters[:1]),
        counters * 0,
        counters | np.uint64(2**60),
    ):
        with pytest.raises(ValueError, match="damaged"):
            _core.Columns(50, 3, 8.0, 512).restore(detector.names, numbers, bad)
    rates = _core.Rates(4, 8, 4, 6.0)
    rates.tell(codes_of(0, 4))
    numbers, counters = rates.state()
    for i in range(len(counters)):
        bad = counters.copy()
        bad[i] = 2**63
        with pytest.raises(ValueError, match="damaged"):
            _core.Rates(4, 8, 4, 6.0).restore(numbers, bad)


def test_labels_and_predictions_are_told_row_by_row():
    rng = np.random.default_rng(4)
    y = np.array(["a", "b", "c", "d", "e"])[rng.integers(0, np.where(np.arange(3000) < 1500, 2, 5))]
    predicted = np.where(rng.random(3000) < 0.2, y[::-1], y)

    def detectors():
        return _core.Rates(2, 8, 4, 6.0), _core.Rates(4, 32, 3, 6.0), _core.Rates(4, 32, 3, 6.0)

    def told(size):
        made, codes, found = detectors(), {}, ([], [], [])
        for i in range(0, 3000, size):
            changes = _core.tell_predicted(
                *made, y[i : i + size].tolist(), predicted[i : i + size].tolist(), codes
            )
            for known, more in zip(found, changes, strict=True):
                known.extend(more)
        return codes, [[(c.row, c.before, c.after) for c in each] for each in found]

    codes, found = told(3000)
    assert len(codes) == 3  # the fourth code is that of all others
    assert all(told(size) == (codes, found) for size in (1, 7, 500))
    of = [[codes.get(label, 3) for label in labels.tolist()] for labels in (y, predicted)]
    wrong = (y != predicted).astype(int).tolist()
    expected = [drift.rates(wrong, 2, 8, 4, 6.0), *(drift.rates(each, 4, 32, 3, 6.0) for each in of)]
    assert found == expected
    assert any(1500 < row < 1700 for row, *_ in found[1])


def test_a_detector_has_few_cells():
    with pytest.raises(ValueError, match="16 cells"):
        _core.Rates(17, 8, 4, 6.0)
