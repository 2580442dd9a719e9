"""The benchmark on streams: the table from the committed results, and a small run of ours."""

import json
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.streams import data, ours, results, table
from budgetron import OnlineClassifier, OnlineRegressor, auto

ROWS = 5000


def small(classes, rows=150, seed=0):
    """A small stream: labels by the first column, or the first column itself."""
    X = np.random.default_rng(seed).standard_normal((rows, 3)) * [1.0, 100.0, 0.01]
    y = X[:, 0] if classes == 0 else np.clip(np.floor(X[:, 0] + classes / 2), 0, classes - 1).astype(int)
    return data.Stream("small", X, y, classes)


def test_the_page_is_made_from_the_committed_results():
    """Every stream has our three sizes and the baseline, and a line in the table of errors."""
    kept = results.read()
    for name in data.NAMES:
        for learner in (*ours.RUNS, "last label"):
            assert (name, learner, data.rows_of(name, ROWS)) in kept
    page = table.page(kept, ROWS)
    errors = page.split("## Error\n")[1].split("\n## ")[0]
    assert [line.split(" | ")[0].strip("| ") for line in errors.strip().splitlines()[2:]] == [*data.NAMES]
    assert f"the best of {len(list(ours.settings()))} settings" in page


def test_the_committed_page_is_that_of_the_committed_results():
    """``make streams`` was run after the last result was added."""
    from benchmarks.streams.__main__ import PAGE

    assert PAGE.read_text(encoding="utf-8") == table.page(results.read(), ROWS)


@pytest.mark.parametrize("classes", [2, 3])
def test_our_run_is_a_loop_over_rows(classes):
    """One native call gives the predictions and probabilities of predict, then partial_fit, row by row."""
    stream = small(classes)
    run = ours.follow(auto(10), stream)
    model = OnlineClassifier(auto(10), random_state=ours.SEED).start(stream.X[:1], range(classes))
    for i in range(stream.rows):
        x, y = stream.X[i : i + 1], stream.y[i : i + 1]
        assert model.predict(x)[0] == run.predictions[i]
        np.testing.assert_allclose(model.predict_proba(x)[0], run.probabilities[i], atol=1e-9)
        model.partial_fit(x, y)


def test_our_run_on_targets():
    """The predictions are those of the estimator, and the error is that of the variance."""
    stream = small(0)
    run = ours.follow(auto(10), stream)
    expected = OnlineRegressor(auto(10), random_state=ours.SEED).progressive_predict(stream.X, stream.y)
    np.testing.assert_array_equal(run.predictions, expected)
    result = results.measured(stream, "auto 10", run)
    share = 100 * np.mean((expected - stream.y) ** 2) / np.var(stream.y)
    assert result.error == pytest.approx(share, rel=1e-3)
    assert result.log_loss is None


def test_the_grid_of_the_papers():
    """The best setting in hindsight is not worse than any single one."""
    stream = small(2, 100)
    best = results.measured(stream, "papers", ours.papers(stream))
    few = [
        results.measured(stream, "", ours.follow(each, stream)) for _, each in list(ours.settings())[::9]
    ]
    assert best.setting.split(",")[0] in ours.GRID
    assert best.error <= min(each.error for each in few)
    assert best.log_loss is None


def test_a_stream_without_its_file(monkeypatch, tmp_path, capsys):
    """A stream whose file is missing is left out, and the message says where it was looked for."""
    monkeypatch.setenv("BUDGETRON_DATA", str(tmp_path))
    monkeypatch.setattr(data, "KEPT", tmp_path / "kept")
    assert data.available("elec", 10) is None
    assert data.available("ijcnn1", 10) is None
    said = capsys.readouterr().out
    assert str(tmp_path / "elec.csv.xz") in said
    assert "ijcnn1.train.svm" in said


def test_a_stream_is_kept(monkeypatch, tmp_path):
    """A stream is made once. Its labels are replaced by their ranks."""
    made = []
    X, y = np.arange(8.0).reshape(4, 2), np.array([3.0, -1, 3, 7])
    monkeypatch.setattr(data, "KEPT", tmp_path)
    monkeypatch.setattr(data, "from_file", lambda *what: made.append(what) or (X, y))
    for _ in range(2):
        stream = data.load("covtype shuffled", 4)
        np.testing.assert_array_equal(stream.X, X)
        assert (stream.y.tolist(), stream.classes) == ([1, 0, 1, 2], 3)
    assert made == [("covtype shuffled", 4)]


def test_measures():
    """Mistakes in percent, log loss with a least probability, and bins of confidence."""
    stream = data.Stream("small", np.zeros((4, 1)), np.array([0, 1, 1, 0]), 2)
    P = np.array([[0.75, 0.25], [0.25, 0.75], [1.0, 0.0], [np.nan, np.nan]])
    run = results.Run(np.array([0, 1, 0, 0]), P, 4e-6, 2048, "x 1")
    result = results.measured(stream, "some", run)
    assert (result.error, result.us, result.kib) == (25, 1, 2)
    assert result.log_loss == pytest.approx(-np.mean(np.log([0.75, 0.75, 1e-6, 0.5])), rel=1e-3)
    assert result.bins == [(1, 0.5, 1.0), (2, 0.75, 1.0), (1, 1.0, 0.0)]
    assert results.calibration_error([result]) == pytest.approx((0.5 + 2 * 0.25 + 1) / 4)
    assert result.windows == [0, 0, 100, 0]


def test_the_file(tmp_path):
    """The last line of a key counts, and tidying keeps it alone."""
    path = tmp_path / "results.jsonl"
    first = results.measured(small(2), "auto 10", ours.follow(auto(10), small(2)))
    results.add(first, path)
    results.add(replace(first, stream="elec"), path)
    results.add(replace(first, error=1.5), path)
    results.tidy(path)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [(line["stream"], line["error"]) for line in lines] == [("small", 1.5), ("elec", first.error)]
    assert results.read(path)[first.key] == replace(first, error=1.5)


def test_duels():
    """A difference is clear if it is large beside its spread over the parts of the stream."""
    a = results.Result("s", "a", 200, 10.0, None, 1, 1, "", windows=[9.0, 11.0, 10.0, 10.0])
    assert table.duel(a, replace(a, error=20.0, windows=[19.0, 21.0, 20.0, 20.0])) == (1, 1)
    assert table.duel(a, replace(a, error=10.5, windows=[5.0, 17.0, 3.0, 17.0])) == (1, 0)
    assert table.duel(a, a) == (0, 0)
    both = {("elec", "auto 100"): a, ("elec", "HAT"): replace(a, error=40.0)}
    assert table.ratio(both, "auto 100", "HAT", data.NAMES, table.error) == pytest.approx(0.25)
