"""The benchmark on whole streams: definitions, results, the page from the committed results."""

import json
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from benchmarks.streams import ours as short
from benchmarks.streams.data import Stream
from benchmarks.streams.results import Run
from benchmarks.streams.whole import __main__ as steps
from benchmarks.streams.whole import generators, heads, results, rows, sources, table
from budgetron import auto


def stream(count, classes=2, name="small", seed=0):
    """A small stream with labels by lot, or targets."""
    random = np.random.default_rng(seed)
    y = random.integers(classes, size=count) if classes else random.standard_normal(count)
    return Stream(name, random.standard_normal((count, 3)), y, classes)


def result(errors, learner=heads.DEFAULT, name="elec", of=None, logs=()):
    """A result with these errors of whole parts."""
    done = len(errors) * results.PART
    return results.Result(name, learner, done, of or done, 10.0, 100.0, "", list(errors), list(logs))


# ---- the streams


def test_the_groups_of_streams():
    """No stream is in both groups, and the names that are set apart are names of streams."""
    assert len(sources.names("whole")) == 28
    assert not set(sources.WHOLE) & set(sources.UNUSED)
    assert set(sources.names("all")) == set(sources.WHOLE) | set(sources.UNUSED)
    assert set(sources.MADE) <= set(sources.WHOLE)
    assert set(sources.SEEN_SHORT) <= set(sources.UNUSED)


def test_every_generator_of_river_has_its_rows():
    """Every stream of river is defined, and its rows come from generators one after the other."""
    pytest.importorskip("river")
    for name, source in sources.SOURCES.items():
        if source.needs == "river":
            lengths = [length for _, length in generators.concepts(name)]
            assert sum(lengths) in (50_000, 80_000, 81_000, 100_000)


def test_rows_of_river(monkeypatch):
    """Rows are those of the generators, in the order of the concepts."""
    pytest.importorskip("river")
    from river.datasets import synth

    made = [(synth.SEA(variant=0, seed=3), 4), (synth.SEA(variant=2, seed=4), 2)]
    monkeypatch.setattr(generators, "concepts", lambda _: made)
    X, y = generators.by_river("SEA")
    expected = [*synth.SEA(variant=0, seed=3).take(4), *synth.SEA(variant=2, seed=4).take(2)]
    np.testing.assert_array_equal(X, [[x[j] for j in range(3)] for x, _ in expected])
    assert y.tolist() == [int(label) for _, label in expected]


@pytest.mark.parametrize(
    ("cards", "hand"),
    [
        ("1 1 1 10 1 11 1 12 1 13", 9),
        ("2 5 2 6 2 7 2 8 2 9", 8),
        ("1 4 2 4 3 4 4 4 1 9", 7),
        ("1 4 2 4 3 4 4 9 1 9", 6),
        ("3 1 3 5 3 9 3 11 3 2", 5),
        ("1 3 2 4 1 5 1 6 1 7", 4),
        ("1 4 2 4 3 4 4 9 1 8", 3),
        ("1 4 2 4 3 9 4 9 1 8", 2),
        ("1 4 2 4 3 9 4 2 1 8", 1),
        ("1 4 2 6 3 9 4 2 1 8", 0),
    ],
)
def test_every_kind_of_poker_hand(cards, hand, monkeypatch):
    """A deck that deals these cards first."""
    dealt = np.array(cards.split(), dtype=int).reshape(5, 2)
    places = 13 * (dealt[:, 0] - 1) + dealt[:, 1] - 1
    deck = np.ones(52)
    deck[places] = np.arange(5) / 10

    class Dealer:
        def random(self, size):
            assert size == (1, 52)
            return deck[None]

    monkeypatch.setattr(np.random, "default_rng", lambda _: Dealer())
    X, y = generators.poker_hands(rows=1)
    assert X.ravel().tolist() == dealt.ravel().tolist()
    assert y.tolist() == [hand]


def test_poker_hands_are_as_likely_as_in_a_game():
    X, y = generators.poker_hands(seed=5, rows=20_000)
    assert np.mean(y == 0) == pytest.approx(0.501, abs=0.015)
    assert np.mean(y == 1) == pytest.approx(0.423, abs=0.015)
    codes = X[:, 0::2] * 13 + X[:, 1::2]
    assert all(len(set(row)) == 5 for row in codes[:200])


def test_rules_without_noise():
    """The labels are those of the rule, and only the relevant columns matter."""
    X, y = generators.xor(seed=1, relevant=(0, 3), columns=5, noise=0.0, rows=300)
    assert (y == ((X[:, 0] > 0) ^ (X[:, 3] > 0))).all()
    X, y = generators.checkerboard(seed=1, cells=4, relevant=2, columns=3, noise=0.0, rows=300)
    assert (y == ((4 * X[:, 0]).astype(int) + (4 * X[:, 1]).astype(int)) % 2).all()


def test_noise_turns_labels():
    clean = generators.xor(seed=1, relevant=(0, 3), columns=5, noise=0.0, rows=5000)
    noisy = generators.xor(seed=1, relevant=(0, 3), columns=5, noise=0.1, rows=5000)
    np.testing.assert_array_equal(clean[0], noisy[0])
    assert np.mean(clean[1] != noisy[1]) == pytest.approx(0.1, abs=0.02)


def test_rules_of_codes():
    """Rows with equal codes in the columns of a rule have one label up to the noise; others say nothing."""
    X, y = generators.code_rules(seed=3, columns=4, codes=5, rules=((0, 1), (2,)), classes=3, rows=20_000)
    assert set(y) == {0, 1, 2}

    def best(cells):
        """The share of rows whose label is the commonest of their cell."""
        return sum(np.bincount(y[cells == cell]).max() for cell in np.unique(cells)) / len(y)

    assert best(X[:, 0] * 25 + X[:, 1] * 5 + X[:, 2]) > 0.8
    assert best(X[:, 0]) < best(X[:, 0] * 5 + X[:, 1]) - 0.05
    assert best(X[:, 3]) == pytest.approx(best(np.zeros(len(y))), abs=0.01)


def test_clusters():
    """Rows stand about their centre, and a cluster has one label."""
    X, y = generators.clusters(seed=3, count=5, columns=4, classes=2, spread=1e-3, rows=400)
    near = np.linalg.norm(X[:, None] - X[None], axis=2) < 0.05
    assert (near.sum(axis=1) > 20).all()
    assert all(len(set(y[row])) == 1 for row in near)


def test_a_data_set(monkeypatch, tmp_path):
    """Parts follow each other, then rows are shuffled; labels are ranks. A stream is made once."""
    monkeypatch.setenv("BUDGETRON_DATA", str(tmp_path))
    monkeypatch.setattr(sources, "KEPT", tmp_path / "kept")
    (tmp_path / "mine.train.svm").write_text("3 1:1\n7 1:2 3:5\n")
    (tmp_path / "mine.test.svm").write_text("3 2:4\n")
    X, y = sources.svm("mine", "train", "test", order=None)
    assert X.tolist() == [[1, 0, 0], [2, 0, 5], [0, 4, 0]]
    assert y.tolist() == [0, 1, 0]
    shuffled, _ = sources.svm("mine", "train", "test", order=4)
    np.testing.assert_array_equal(shuffled, X[np.random.default_rng(4).permutation(3)])
    assert sources.svm("mine", "train", order=None, targets=True)[1].tolist() == [3.0, 7.0]
    made = []
    source = sources.Source(lambda: made.append(1) or (X, y))
    monkeypatch.setitem(sources.SOURCES, "mine, a", source)
    for _ in range(2):
        kept = sources.load("mine, a")
        assert (kept.X.tolist(), kept.y.tolist(), kept.classes) == (X.tolist(), y.tolist(), 2)
    assert made == [1]


def test_a_missing_file(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("BUDGETRON_DATA", str(tmp_path))
    monkeypatch.setattr(sources, "KEPT", tmp_path / "kept")
    assert sources.available("elec") is None
    assert sources.available("ijcnn1") is None
    said = capsys.readouterr().out
    assert str(tmp_path / "elec.csv.xz") in said
    assert "ijcnn1.train.svm" in said


# ---- runs and results


def test_a_loop_over_rows_is_the_online_protocol():
    """Every row is asked for, then learned; the first row of a class counts as a guess."""
    rows_ = stream(120, 3)
    did = []

    def ask(i):
        did.append(("ask", i))
        return None if i == 0 else np.eye(3)[i % 3]

    predictions, P, _ = rows.follow(rows_, ask, lambda i: did.append(("learn", i)), 100.0)
    assert did == [(what, i) for i in range(120) for what in ("ask", "learn")]
    assert predictions.tolist() == [-1, *(i % 3 for i in range(1, 120))]
    y = rows_.y
    firsts = {int(np.flatnonzero(y[1:] == c)[0]) + 1 for c in range(3)}
    assert {i for i in range(120) if np.isnan(P[i]).all()} == firsts | {0}


def test_a_loop_ends_with_its_time():
    done, P, _ = rows.follow(stream(500, 0), lambda i: 1.0 * i, lambda _: sum(range(100_000)), 0.05)
    assert P is None
    assert 0 < len(done) < 500
    assert done.tolist() == [*range(len(done))]


def test_scaler():
    X = stream(50).X * [1, 100, 0]
    scaler = rows.Scaler(3)
    for i, x in enumerate(X):
        spread = X[: i + 1].std(axis=0)
        expected = (x - X[: i + 1].mean(axis=0)) / np.where(spread > 0, spread, 1)
        np.testing.assert_allclose(scaler(x), expected, atol=1e-9)


def test_when_a_learner_is_refitted():
    assert list(rows.cuts(600, None)) == [(0, 125), (125, 250), (250, 500), (500, 600)]
    assert list(rows.cuts(900, 250)) == [(0, 125), (125, 250), (250, 500), (500, 750), (750, 900)]


def test_measures_by_part():
    """Each part has its own error and log loss; all together they give the means of all rows."""
    rows_ = stream(results.PART + 500, 2)
    P = np.random.default_rng(1).dirichlet([1, 1], rows_.rows)
    found = results.measured(rows_, "some", Run(P.argmax(axis=1), P, 6.0, 2048, "x"))
    wrong = P.argmax(axis=1) != rows_.y
    assert (found.rows, found.of, found.kib) == (3000, 3000, 2)
    assert found.us == 2000
    assert found.errors == pytest.approx([100 * wrong[:2500].mean(), 100 * wrong[2500:].mean()], rel=1e-3)
    assert found.error() == pytest.approx(100 * wrong.mean(), rel=1e-3)
    log_loss = -np.log(np.clip(P[np.arange(3000), rows_.y], 1e-6, 1)).mean()
    assert found.log_loss() == pytest.approx(log_loss, rel=1e-3)
    assert found.error(2500) == found.errors[1]
    assert found.error(5000) is None


def test_a_run_that_ended_early():
    """It counts up to its last whole part; a run that did not finish one has no error."""
    rows_ = stream(8000, 0)
    run = Run(np.zeros(5100), None, 1.0, 1024, "")
    found = results.measured(rows_, "some", run)
    assert (found.rows, found.of, len(found.errors)) == (5000, 8000, 2)
    expected = 100 * np.mean(rows_.y[:5000] ** 2) / np.var(rows_.y)
    assert found.error() == pytest.approx(expected, rel=1e-3)
    assert found.log_loss() is None
    nothing = results.measured(rows_, "some", replace(run, predictions=np.zeros(100)))
    assert (nothing.rows, nothing.error()) == (0, None)


def test_our_run():
    """Our figures are those of the other benchmark."""
    from benchmarks.streams.whole import ours

    assert list(ours.RUNS) == list(heads.OURS)
    assert heads.DEFAULT in heads.OURS
    rows_ = stream(150)
    run = ours.RUNS[heads.DEFAULT](rows_)
    expected = short.follow(auto(int(heads.DEFAULT.split()[1])), rows_)
    np.testing.assert_array_equal(run.predictions, expected.predictions)


def test_the_file(tmp_path):
    """The last line of a key counts, and tidying keeps it alone, in the order of the streams."""
    path = tmp_path / "results.jsonl"
    first = result([10.0, 20.0], logs=[0.1, 0.2])
    for each in (replace(first, stream="weather"), first, replace(first, us=3.0)):
        results.add(each, path)
    results.tidy(sources.SOURCES, path)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [(line["stream"], line["us"]) for line in lines] == [("elec", 3.0), ("weather", 10.0)]
    assert results.read(path)[first.key] == replace(first, us=3.0)


def test_only_what_is_missing_runs(monkeypatch):
    """A learner runs once on each stream that it can learn, again with --longer if it had fewer rows."""
    from benchmarks.streams.whole import ours, peers

    kept, ran = {}, []

    def run(learner, rows_, limit):
        ran.append((learner, rows_.name, rows_.rows, limit))
        return Run(np.zeros(rows_.rows), None, 1.0, 1024, "")

    named = {name: partial(run, name) for name in ("EFDT", "SOKNL 10", "LightGBM")}
    monkeypatch.setattr(peers, "RUNS", named)
    monkeypatch.setattr(peers, "ALL_ROWS", {"LightGBM"})
    monkeypatch.setattr(ours, "RUNS", {heads.DEFAULT: lambda rows_: run(heads.DEFAULT, rows_, None)})
    monkeypatch.setattr(results, "read", lambda: dict(kept))
    monkeypatch.setattr(results, "add", lambda each: kept.update({each.key: each}))
    monkeypatch.setattr(results, "tidy", lambda _: None)
    made = {"elec": stream(7500, 2, "elec"), "cadata": stream(7500, 0, "cadata")}
    monkeypatch.setattr(sources, "available", made.get)
    of = ["--streams", "elec", "cadata"]

    def did(*arguments):
        ran.clear()
        steps.main([*arguments, *of])
        return list(ran)

    short_runs = [("EFDT", "elec", 5000, 600), ("SOKNL 10", "cadata", 5000, 600)]
    boosting = [("LightGBM", name, 7500, 600) for name in made]
    assert did("peers", "--rows", "5000") == short_runs + boosting
    assert did("peers", "--rows", "5000") == []
    assert did("peers", "--longer", "--rows", "5000") == []
    again = [(learner, name, 7500, 9) for learner, name, _, _ in short_runs]
    assert did("peers", "--longer", "--seconds", "9") == again
    assert len(did("ours", "--missing")) == 2
    assert did("ours", "--missing") == []
    assert len(did("ours")) == 2


# ---- the page


def test_ratios_are_over_the_rows_that_both_have_done():
    ours, peer = result([10.0, 20, 30, 40]), result([20.0, 20], "EFDT", of=10_000)
    assert table.ratio(ours, peer) == pytest.approx(15 / 20)
    assert table.ratio(ours, peer, 2500, 5000) == pytest.approx(1)
    assert table.ratio(ours, peer, 5000, 20_000) is None


def test_no_mistake_counts_as_half_of_one():
    ours, peer = result([0.0]), result([50 / 2500], "EFDT")
    assert table.ratio(ours, peer) == pytest.approx(1)


def test_the_row_from_which_a_peer_is_ahead():
    """The row at which our lead is greatest, if what follows is clear."""
    ours = result([10.0] * 10)
    assert table.crossing(ours, result([20.0] * 4 + [5.0, 6, 5, 6, 5, 6], "EFDT")) == 10_000
    assert table.crossing(ours, result([5.0, 6] * 5, "EFDT")) == 0
    assert table.crossing(ours, result([20.0] * 10, "EFDT")) is None
    assert table.crossing(ours, result([20.0] * 8 + [5.0, 5.0], "EFDT")) is None
    assert table.crossing(ours, result([20.0] * 4 + [0.0, 19, 0, 19, 0, 19], "EFDT")) is None
    assert table.crossing(ours, result([20.0] * 4 + [5.0, 6, 5, 6], "EFDT", of=25_000)) == 10_000


def test_tables():
    """Means, costs and windows of two streams and one peer."""
    kept = {
        each.key: each
        for each in (
            result([10.0, 20, 30]),
            replace(result([20.0, 20], "EFDT", of=7500), us=40.0, kib=50.0),
            result([10.0], name="letter"),
            replace(result([40.0], "EFDT", name="letter"), us=40.0, kib=50.0),
        )
    }
    found = table.costs(kept, "EFDT", ("elec", "letter"))
    assert found.streams == 2
    assert found.error == pytest.approx(np.sqrt(20 / 15 * 4))
    assert (found.times, found.memory) == pytest.approx((4, 0.5))
    line = table.by_window(kept, {"all": ("elec", "letter")}).splitlines()[-1]
    assert line.startswith("| EFDT | all | 0.43 (2) | - |")
    lines = table.by_rows(kept, ("elec",)).splitlines()
    assert lines[2].startswith(f"| elec | {heads.DEFAULT} | **15.0** | **30.0** |")
    assert lines[3].startswith("|  | EFDT | 20.0 | - |")
    assert "| EFDT | none | 2 of 2 |" in table.crossings(kept, ("elec", "letter"))
    assert table.ours({}, ("elec",)) == table.NONE


def test_the_committed_page_is_that_of_the_committed_results():
    """``make streams`` was run after the last result was added."""
    assert steps.PAGE.read_text(encoding="utf-8") == table.page(results.read())


def test_the_committed_results_are_of_known_streams_and_learners():
    for name, learner in results.read():
        assert name in sources.SOURCES
        assert learner in heads.LEARNERS


def test_pictures(monkeypatch):
    """They are drawn from results alone, with a dot where a peer gets ahead."""
    from benchmarks.streams.whole import pictures

    drawn = {}
    monkeypatch.setattr(pictures, "save", lambda figure, name: drawn.update({name: figure}))
    ours, peer = result([10.0] * 10), result([20.0] * 4 + [5.0, 6, 5, 6, 5, 6], "EFDT")
    kept = {each.key: each for each in (replace(ours, stream="letter"), replace(peer, stream="letter"))}
    pictures.draw(kept)
    assert len(drawn) == 3
    axes = drawn["whole_streams_rows.png"].axes[0]
    dots = [line for line in axes.get_lines() if line.get_linestyle() == "None"]
    assert [line.get_xdata()[0] for line in dots] == [10_000]
    points, errors = pictures.growing(peer)
    assert points[-1] == peer.rows
    assert np.average(errors, weights=np.diff([0, *points])) == pytest.approx(peer.error())
