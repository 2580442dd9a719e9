"""Every exported learner, saved and loaded in every layout, goes on as if it had never stopped."""

import pickle

import numpy as np
from scipy import sparse

from budgetron import algorithms, load, model_files
from budgetron.cli import checkpoint
from tests.helpers.cases import each, pairs
from tests.helpers.command import called
from tests.helpers.members import (
    TASKS,
    bits,
    cases,
    combinations,
    data,
    estimator,
    filled,
    make,
    parameters,
    scores,
    start,
)
from tests.helpers.stream_rows import svmlight

LEARNERS = [(task, make(name)) for task, name in cases()] + combinations()
WIDE = 3000
LAYOUTS = ("dense", "csr", "wide")
N = 40


def stream(task, layout, dtype=np.float64, n=N):
    """Rows in the layout; wide ones are so wide that an inverted index keeps their support vectors."""
    X, y = data(task, n, seed=1)
    X = X.astype(dtype)
    if layout == "dense":
        return X, y
    X = sparse.csr_array(X)
    if layout == "wide":
        X.indices *= WIDE // 4
        X = sparse.csr_array((X.data, X.indices, X.indptr), (n, WIDE))
    return X, y


def through_a_file(model, path):
    model.save(path)
    return load(path)


def through_pickle(model, _):
    return pickle.loads(pickle.dumps(model))


@pairs
@each("dtype", [np.float32, np.float64], ids=["float32", "float64"])
@each("layout", LAYOUTS)
@each(("task", "learner"), LEARNERS, ids=lambda part: str(part)[:120])
def test_a_model_goes_on_bit_for_bit(task, learner, layout, dtype, path, long):
    """Stopped after 0, 1 and 20 rows; of these in turn one for each layout, unless there is time."""
    X, y = stream(task, layout, dtype)
    none, stops = np.zeros(2), (0, 1, N // 2)
    turn = (LEARNERS.index((task, learner)) + LAYOUTS.index(layout)) % 3
    for learned in stops if long else stops[turn : turn + 1]:
        whole = start(estimator(task, learner), task, X[:2], y[:2], sample_weight=none)
        if learned:
            whole.partial_fit(X[:learned], y[:learned])
        stopped = [way(whole, path) for way in (through_a_file, through_pickle)]
        assert whole.fitted_.model.dtype == dtype
        assert all(bits(model) == bits(whole) for model in stopped)
        whole.partial_fit(X[learned:], y[learned:])
        for model in stopped:
            model.partial_fit(X[learned:], y[learned:])
            assert bits(model) == bits(whole)
            np.testing.assert_array_equal(scores(model, X), scores(whole, X))


@each(("task", "learner"), LEARNERS[:: len(TASKS)], ids=lambda part: str(part)[:120])
def test_a_model_predicts_before_it_goes_on(task, learner, path):
    """Whatever a restored model makes only when it is needed, predicting needs it first here."""
    for layout in LAYOUTS:
        X, y = stream(task, layout)
        whole = start(estimator(task, learner), task, X[:20], y[:20])
        model = through_a_file(whole, path)
        for rows in (X, X.toarray() if sparse.issparse(X) else sparse.csr_array(X)):
            np.testing.assert_array_equal(scores(model, rows), scores(whole, rows))
        assert bits(model.partial_fit(X[20:], y[20:])) == bits(whole.partial_fit(X[20:], y[20:]))


def test_the_wide_layout_is_another_one():
    """Or else these tests would not see it."""
    layouts = {}
    for layout in LAYOUTS:
        X, y = stream("binary", layout)
        model = start(estimator("binary", "rbp"), "binary", X, y)
        layouts[layout] = int(model.fitted_.model.state()["support.layout"][0])
    assert layouts == {"dense": 0, "csr": 0, "wide": 1}


@pairs
@each("layout", LAYOUTS)
@each(("task", "name"), cases())
def test_a_run_is_resumed(task, name, layout, tmp_path, capsys, monkeypatch):
    X, y = stream(task, layout, n=60)
    rows, whole, model = tmp_path / "rows.svm", tmp_path / "whole", tmp_path / "model"
    rows.write_bytes(svmlight(X.toarray() if sparse.issparse(X) else X, y))
    settings = filled(getattr(algorithms, name))
    flags = [word for key, value in settings.items() for word in (f"--{key}", value)]
    flags += ["--regression"] * (task == "regression") + ["--dense"] * (layout == "dense")
    flags += ["--gamma", "0.5"] * ("kernel" in parameters(name))
    argv = ["run", name, rows, "--block", "20", *flags]
    assert called(capsys, *argv, "--save", whole).code == 0
    save = checkpoint.save

    def cut(*args):
        save(*args)
        raise MemoryError("cut")

    with monkeypatch.context() as patched:
        patched.setattr(checkpoint, "save", cut)
        often = ["--save", model, "--checkpoint-every", "20", "--resume"]
        assert called(capsys, *argv, *often).code == 1
    assert model_files.read(model).extra["run"]["rows"] == 20
    ended = called(capsys, *argv, *often)
    assert ended.code == 0, ended.err
    assert model.read_bytes() == whole.read_bytes()


def test_every_algorithm_is_among_them():
    assert {name for _, name in cases()} == set(algorithms.__all__)
