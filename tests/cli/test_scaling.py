"""Columns of a table have units of their own: they are standardised unless the flags say otherwise."""

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
    X = random.normal(size=(600, 2)) * [1e-3, 1e6]
    y = np.where(X[:, 0] > 0, "yes", "no")
    path = tmp_path / "t.csv"
    path.write_text(
        "small,large,y\n" + "".join(f"{a!r},{b!r},{c}\n" for (a, b), c in zip(X.tolist(), y, strict=True))
    )
    return path


def test_run(file, tmp_path, capsys):
    def learner(*flags):
        ended = called(capsys, "run", "bpa_nn", file, "--target", "y", "--budget", "20", "--json", *flags)
        document = json.loads(ended.out)
        return document["learner"], document["rate"]

    by_default = learner()
    assert by_default == learner("--standardise")
    assert by_default[0].startswith("Standardised(")
    assert learner("--min-max")[0].startswith("Ranged(")
    plain, rate = learner("--no-scaling", "--gamma", "0.5")
    assert plain.startswith("Kernelized(")
    assert by_default[1] < 0.15 < rate
    assert called(capsys, "run", file, "--target", "y", "--save", tmp_path / "model").code == 0
    assert budgetron.load(tmp_path / "model").learner == budgetron.auto()


@each("flags", [[], ["--no-scaling", "--gamma", "0.5"]])
def test_compare_and_tune(flags, file, capsys):
    common = [file, "--target", "y", *flags, "--budget", "20", "--json"]
    ended = called(capsys, "compare", *common, "--learners", "bpa_nn", "--permutations", "2", "--no-figure")
    assert "bpa_nn" in ended.out
    tuned = json.loads(called(capsys, "tune", *common, "--learner", "bpa_nn", "--candidates", "3").out)
    assert ("--standardise" in tuned["command"]) == (not flags)
    assert ("--no-scaling" in tuned["command"]) == bool(flags)
    again = called(capsys, *tuned["command"].split()[1:], "--json")
    assert again.code == 0
    assert (json.loads(again.out)["rate"] < 0.15) == (not flags)
