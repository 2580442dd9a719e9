"""The parts of the benchmarks that can be wrong without anyone noticing."""

import sys
from itertools import count

import numpy as np
import pytest
from scipy import sparse

from benchmarks import against, limits, rows, two_builds, vowpal
from benchmarks.clock import take_turns
from benchmarks.growth import Growth


def test_turns():
    """Runs take turns until each had three and its seconds; the least time of each counts."""
    ticks, order = count(), []
    clock = {"now": 0.0}
    costs = {"slow": 1.0, "fast": 0.125}

    def run(name):
        order.append(name)
        clock["now"] += costs[name] + (0.5 if next(ticks) < 2 else 0)  # the first turns are disturbed
        return name

    times = take_turns({n: (lambda n=n: run(n)) for n in costs}, 2.0, lambda: clock["now"])
    assert order[:6] == ["slow", "fast"] * 3
    assert order.count("slow") == 3
    assert order.count("fast") == 12  # one of 0.625 and 11 of 0.125 make 2 seconds
    assert times.seconds == costs
    assert times.ratio("slow", "fast") == pytest.approx(8)
    assert times.results == {"slow": "slow", "fast": "fast"}


def test_slopes():
    """Slopes of powers are their exponents, and the upper half leaves out a floor."""
    values = [1, 2, 4, 8, 16, 32]
    sheet = Growth("x", "s", values, {"square": [v**2.0 for v in values], "floor": [4.0, 4, 4, 8, 16, 32]})
    assert sheet.slopes()["square"] == pytest.approx((2, 2))
    assert sheet.slopes()["floor"][0] < 0.8
    assert sheet.slopes()["floor"][1] == pytest.approx(1)


def line(name, us, ours=True):
    """A line of the table in bench.json."""
    return {"name": name, "us": us, "ours": ours}


def test_against_an_earlier_run(capsys):
    """Times are compared as ratios to the NumPy loop of their own run; more than 15 % slower is a loss."""
    loop = against.BASE
    before = [line(loop, 20.0, False), line("rbp", 1.0), line("nogd", 2.0), line("gone", 1.0)]
    slower = [line(loop, 40.0, False), line("rbp", 2.2), line("nogd", 4.8), line("new", 1.0)]
    found = against.changes(before, slower)
    assert [(c.name, c.before, c.lost) for c in found] == [("rbp", 20.0, False), ("nogd", 10.0, True)]
    assert found[0].now == pytest.approx(20 / 1.1)
    assert against.report(found) == 1
    assert capsys.readouterr().out.splitlines()[-1].endswith("  lost")
    assert against.report(against.changes(before, before)) == 0
    assert against.report(against.changes(before[:1], slower)) == 1
    with pytest.raises(SystemExit, match="has no line 'NumPy loop"):
        against.changes(before[1:], slower)


def test_limits():
    """The work of a line is read from its name, and each part counts."""
    assert limits.work_of("rbp, B=100", 22) == limits.Work(2300, exponentials=100)
    assert limits.work_of("rbp, B=100, OneByOne", 22) == limits.work_of("rbp, B=100", 22)
    assert limits.work_of("fogd, D=400, float32", 22) == limits.Work(9600, turns=400, single=True)
    assert limits.work_of("Vowpal Wabbit", 22) is None
    machine = limits.Machine(1.0, 10.0, 100.0)
    assert machine.limit(limits.Work(5, 3, 2)) == 5 + 30 + 200
    assert machine.limit(limits.Work(5, 3, 2, single=True)) == (5 + 30 + 200) / 2
    measured = limits.measure()
    assert 0 < measured.product < measured.exponential < 1


def test_rows_where_there_is_no_file(monkeypatch, tmp_path, capsys):
    """Without its file a data set is a stream of the same width, and that is said."""
    monkeypatch.setenv("BUDGETRON_DATA", str(tmp_path))
    data = rows.load("w8a", 300)
    assert "w8a.train.svm (or .svm.xz, .svm.gz, .svm.bz2, .svm.zst) is not in" in capsys.readouterr().out
    assert data.name.startswith("synthetic")
    assert data.X.shape == data.dense.shape == (len(data.y), 300)
    assert 10 < data.X.nnz / len(data.y) < 16
    assert set(data.y) == {-1.0, 1.0}


def test_noise():
    """Sparse rows have exactly the nonzeros asked for, in sorted columns."""
    X, y = rows.noise(50, 100, 7)
    assert X.shape == (50, 100)
    assert set(np.diff(X.indptr)) == {7}
    assert X.has_sorted_indices
    assert len(y) == 50


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("print(500, 0.5, 100)", (500, 0.5, 0.2, "")),
        (
            "import sys; print(500, 0.5, 100, flush=True); sys.exit('out of luck')",
            (500, 0.5, 0.2, "ended with 1: out of luck"),
        ),
    ],
)
def test_a_peer_that_ends_or_crashes(script, expected, monkeypatch, tmp_path):
    """What a process did before it ended is kept, with the reason if it ended badly."""
    path = tmp_path / "peer.py"
    path.write_text(script)
    monkeypatch.setattr(vowpal, "__file__", str(path))
    assert vowpal.measure(sparse.csr_matrix(np.eye(3)), np.ones(3), 0.5, 300) == expected


def test_a_peer_that_hangs(monkeypatch, tmp_path):
    """It is stopped, and what it did before is kept."""
    path = tmp_path / "peer.py"
    path.write_text("import time; print(500, 0.5, 100, flush=True); time.sleep(600)")
    monkeypatch.setattr(vowpal, "__file__", str(path))
    for limit in (2, 10, 60):  # a busy machine may need longer to start the process at all
        done = vowpal.measure(sparse.csr_matrix(np.eye(3)), np.ones(3), 0.5, limit)
        if done[0]:
            break
    assert done == (500, 0.5, 0.2, f"stopped after {limit} s")


def test_a_peer_that_says_nothing(monkeypatch, tmp_path):
    """A process that fails at once has no time."""
    path = tmp_path / "peer.py"
    path.write_text("import no_such_module")
    monkeypatch.setattr(vowpal, "__file__", str(path))
    n, seconds, mistakes, note = vowpal.measure(sparse.csr_matrix(np.eye(3)), np.ones(3), 0.5, 20)
    assert n == 0
    assert np.isnan([seconds, mistakes]).all()
    assert "No module named" in note


@pytest.mark.timing
@pytest.mark.parametrize("how", ["", " CSR"])
def test_two_builds(how, tmp_path):
    """Workers of both versions get the same rows, and answer with times of the same case."""
    name = {"": "bpa_nn, 200: noise 22 columns", " CSR": "rbp, 1000: noise 500 columns CSR"}[how]
    case = two_builds.cases()[name]
    X, y = two_builds.rows(case.rows)
    assert sparse.issparse(X) == bool(how)
    assert len(y) >= case.fill + case.timed
    two_builds.keep(X, y, tmp_path / "rows.npz")
    found = two_builds.compare(name, (sys.executable, sys.executable), tmp_path / "rows.npz", 1, 2)
    assert len(found) == 1
    assert 0.2 < found[0][0] / found[0][1] < 5


def test_two_builds_without_data_sets(monkeypatch, tmp_path):
    """One sentence says what is missing."""
    monkeypatch.setenv("BUDGETRON_DATA", str(tmp_path))
    with pytest.raises(SystemExit, match=r"There is no ijcnn1 in .*: BUDGETRON_DATA names the folder"):
        two_builds.rows("ijcnn1")
