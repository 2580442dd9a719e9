"""Explanations and novelty on the command line and from the service."""

import json

import numpy as np
import pytest

import budgetron
from budgetron import OnlineClassifier, OnlineRegressor
from tests.helpers.command import called

RNG = np.random.default_rng(0)
TABLE = [
    {"amount": float(a), "country": c, "label": "fraud" if a > 600 and c == "FR" else "ok"}
    for a, c in zip(RNG.integers(1, 999, 300), RNG.choice(["DE", "FR"], 300), strict=True)
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("explained")
    lines = ["amount,country,label", *(f"{r['amount']},{r['country']},{r['label']}" for r in TABLE)]
    (folder / "rows.csv").write_text("\n".join(lines) + "\n")
    assert budgetron.cli.main(
        ["run", str(folder / "rows.csv"), "--target", "label", "--save", str(folder / "model")]
    ) == 0  # fmt: skip
    (folder / "new.csv").write_text("\n".join(lines[:6]) + "\n")
    return folder


def test_predict_explains_each_row_in_a_line_of_json(folder, capsys):
    ended = called(capsys, "predict", folder / "model", folder / "new.csv", "--explain")
    lines = [json.loads(line) for line in ended.out.splitlines()]
    assert len(lines) == 5
    assert ended.err == ""
    model = budgetron.load(folder / "model")
    for line, record in zip(lines, TABLE, strict=False):
        record = {name: value for name, value in record.items() if name != "label"}
        why = model.explain_one(record)
        assert line == json.loads(json.dumps(why.as_dict()))
        total = sum(each["contribution"] for each in line["columns"])
        assert line["baseline"] + total == pytest.approx(line["score"])


def test_predict_prints_novelty_beside_the_label(folder, capsys):
    ended = called(capsys, "predict", folder / "model", folder / "new.csv", "--novelty")
    model = budgetron.load(folder / "model")
    for line, record in zip(ended.out.splitlines(), TABLE, strict=False):
        label, novelty = line.split("\t")
        record = {name: value for name, value in record.items() if name != "label"}
        assert label == model.predict_one(record)
        assert float(novelty) == pytest.approx(model.novelty_one(record), abs=1e-4)


def test_one_of_the_flags_at_a_time(folder, capsys):
    ended = called(capsys, "predict", folder / "model", folder / "new.csv", "--explain", "--novelty")
    assert ended.code == 2
    assert "not allowed with" in ended.err


def test_readers_may_explain_while_another_thread_learns():
    """Every explanation adds up, although the model changes between two calls of the core."""
    import threading

    X = RNG.normal(size=(4000, 3))
    model = OnlineRegressor(random_state=0).partial_fit(X[:100], X[:100, 0])
    learner = threading.Thread(
        target=lambda: [model.partial_fit(X[i : i + 50], X[i : i + 50, 0]) for i in range(0, 4000, 50)]
    )
    learner.start()
    while learner.is_alive():
        why = model.explain_one(X[0], samples=8)
        assert why.baseline + why.contributions.sum() == pytest.approx(why.score, abs=1e-9)
        assert 0 <= model.novelty_one(X[0]) <= 1
    learner.join()


def test_copies_and_clones_explain_alike():
    import pickle

    X = RNG.normal(size=(200, 3))
    model = OnlineClassifier(random_state=0).partial_fit(X, X[:, 0] > 0)
    other = pickle.loads(pickle.dumps(model))
    assert (other.explain_one(X[0]).contributions == model.explain_one(X[0]).contributions).all()
    assert (other.novelty(X[:9]) == model.novelty(X[:9])).all()
