"""``--cost`` and ``--threshold``."""

import json

import numpy as np
import pytest

import budgetron
from tests.helpers.cases import each
from tests.helpers.command import called

pytest.importorskip("pyarrow")


@pytest.fixture
def file(tmp_path):
    random = np.random.default_rng(0)
    X = random.normal(size=(500, 2))
    y = np.where(X[:, 0] + 0.7 * random.normal(size=500) > 1.3, "fraud", "ok")
    path = tmp_path / "t.csv"
    path.write_text(
        "a,b,y\n" + "".join(f"{a!r},{b!r},{c}\n" for (a, b), c in zip(X.tolist(), y, strict=True))
    )
    return path


def test_run_and_predict(file, tmp_path, capsys):
    model = tmp_path / "model"
    ended = called(capsys, "run", file, "--target", "y", "--threshold", "fraud=0.1", "--save", model)
    assert (ended.code, ended.err) == (0, "")
    loaded = budgetron.load(model)
    assert loaded.costs == {"fraud": 9.0}
    often = called(capsys, "predict", model, file).out.split().count("fraud")
    half = called(capsys, "predict", model, file, "--threshold", "fraud=0.5").out.split().count("fraud")
    dear = called(capsys, "predict", model, file, "--cost", "fraud=100,ok=1").out.split().count("fraud")
    assert half < often < dear
    ended = called(capsys, "run", file, "--target", "y", "--save", model, "--resume")
    assert ended.code == 2
    assert "the costs" in ended.err
    ended = called(capsys, "run", file, "--target", "y", "--cost", "fruad=3")
    assert ended.err == f"budgetron: {file}: no row has the label fruad, for which a cost is given.\n"


@each(
    ("flags", "message"),
    [
        (["--cost", "9"], "--cost: expected LABEL=N, where N is a cost, got '9'"),
        (["--cost", "fraud=-1"], "--cost: expected LABEL=N"),
        (["--threshold", "fraud=1"], "--threshold: expected LABEL=N, where N is a probability"),
        (["--threshold", "fraud=0.1", "--cost", "fraud=3"], "the label 'fraud' has two costs"),
        (["--cost", "fraud=3", "--regression"], "need labels, not targets"),
    ],
)
def test_what_is_refused(flags, message, file, capsys):
    ended = called(capsys, "run", file, "--target", "y", *flags)
    assert ended.code == 2
    assert message in ended.err


def test_numbers_as_labels(tmp_path, capsys):
    """A word on the command line is a number where labels are numbers: in costs, metrics and curves."""
    random = np.random.default_rng(0)
    X = random.normal(size=(400, 2))
    y = (X[:, 0] + 0.4 * random.normal(size=400) > 1.2).astype(int)
    file, model = tmp_path / "rows.csv", tmp_path / "model"
    file.write_text("a,b,y\n" + "".join(f"{a},{b},{c}\n" for (a, b), c in zip(X, y, strict=True)))
    names = "recall:1,average_precision:1,precision_at:20:1"
    flags = ["--target", "y", "--json", "--metrics", names, "--cost", "1=9"]
    for more in (["--save", model], ["--classes", "0,1", "--save", model]):
        document = json.loads(called(capsys, "run", file, *flags, *more).out)
        assert all(document["metrics"]["running"][name] > 0.5 for name in names.split(","))
        [curve] = document["precision_recall"]
        assert curve["class"] == 1
        assert curve["recall"][-1] == 1
        assert curve["precision"][-1] == pytest.approx(y.mean())
        assert "precision_recall" not in called(capsys, "run", file, "--target", "y", "--json").out
        ended = called(capsys, "predict", model, file, "--target", "y", "--cost", "1=50")
        assert (ended.code, "1" in ended.out, "has not learned" in ended.err) == (0, True, False)
        ended = called(capsys, "predict", model, file, "--target", "y", "--cost", "z=50")
        assert (ended.code, "has not learned the label z" in ended.err) == (3 if len(more) > 2 else 0, True)


def test_coverage(file, tmp_path, capsys):
    model = tmp_path / "model"
    ended = called(capsys, "run", file, "--target", "y", "--coverage", "0.9", "--save", model)
    assert ended.code == 0
    assert "of the last rows were covered, 90.0% are asked." in ended.err
    document = json.loads(called(capsys, "run", file, "--target", "y", "--coverage", "0.9", "--json").out)
    assert f"{document['covered']:.1%} of the last rows" in ended.err
    sets = [line.split("\t") for line in called(capsys, "predict", model, file, "--cover").out.splitlines()]
    assert {size for size, *_ in sets} == {"0", "1"}
    expected = [
        [str(len(labels)), *labels]
        for labels in budgetron.load(model).predict_set(
            [
                {"a": float(a), "b": float(b)}
                for a, b, _ in (x.split(",") for x in file.read_text().split()[1:])
            ]
        )
    ]
    assert sets == expected
    ended = called(capsys, "run", file, "--target", "y", "--save", model, "--resume")
    assert (ended.code, "the coverage" in ended.err) == (2, True)
    flags = ["--target", "a", "--drop", "y", "--regression", "--coverage", "0.8"]
    assert called(capsys, "run", file, *flags, "--save", model).code == 0
    ends = [
        list(map(float, line.split("\t")))
        for line in called(capsys, "predict", model, file, "--cover").out.splitlines()
    ]
    assert all(low <= high for low, high in ends)
    assert called(capsys, "run", file, *flags[:-1], "2").code == 2
    assert called(capsys, "run", file, "--target", "y", "--save", model).code == 0
    assert "was not learned with --coverage" in called(capsys, "predict", model, file, "--cover").err
