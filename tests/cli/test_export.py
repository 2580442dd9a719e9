"""``budgetron export``."""

import subprocess
from pathlib import Path

import numpy as np
import pytest

import budgetron
from tests.helpers.cases import each
from tests.helpers.command import called
from tests.helpers.compiled import COMPILER, STRICT, needs_compiler

MAIN = """
#include <stdio.h>
#include "my-model.h"
int main(void) {
  my_model_real x[2] = {0, 0}, scores[1];
  const int label = my_model_predict(x, scores);
  printf("%d %.17g\\n", label, scores[0]);
  return 0;
}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with saved models."""
    place = tmp_path_factory.mktemp("models")
    X = np.random.default_rng(0).normal(size=(60, 2))
    y = X[:, 0] * X[:, 1] > 0
    for name in ("rbp", "bpa_nn"):
        learner = getattr(budgetron, name)("gaussian", budget=9)
        budgetron.OnlineClassifier(learner, random_state=0).fit(X, y).save(place / name)
    return place


@needs_compiler
def test_c(folder, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ended = called(
        capsys, "export", folder / "bpa_nn", "--format", "c", "--dtype", "float64", "-o", "my-model.h"
    )
    assert ended == (0, "", "budgetron: wrote my-model.h.\n")
    Path("main.c").write_text(MAIN)
    subprocess.run([COMPILER, *STRICT, "main.c", "-o", "main", "-lm"], check=True)
    label, score = subprocess.run("./main", capture_output=True, text=True, check=True).stdout.split()
    model = budgetron.load(folder / "bpa_nn")
    assert model.classes_[int(label)] == model.predict([[0.0, 0.0]])[0]
    assert abs(float(score) - model.decision_function([[0.0, 0.0]])[0]) <= 1e-12


def test_c_that_learns(folder, tmp_path, capsys):
    out = tmp_path / "9.h"
    assert called(capsys, "export", folder / "rbp", "--format", "c", "--learn", "-o", out).code == 0
    assert "static inline int model_9_learn(model_9_state *m" in out.read_text()
    assert called(capsys, "export", folder / "rbp", "--format", "c", "--name", "door", "-o", out).code == 0
    assert "typedef float door_real;" in out.read_text()


def test_onnx(folder, tmp_path, capsys):
    reference = pytest.importorskip("onnx.reference", reason="needs onnx")
    out = tmp_path / "model.onnx"
    assert called(capsys, "export", folder / "rbp", "--format", "onnx", "-o", out).code == 0
    label, scores = reference.ReferenceEvaluator(str(out)).run(None, {"X": np.array([[0.5, -1.0]])})
    model = budgetron.load(folder / "rbp")
    assert label == model.predict([[0.5, -1.0]])
    assert abs(scores - model.decision_function([[0.5, -1.0]])) <= 1e-12


@each(
    ("argv", "code", "message"),
    [
        ("bpa_nn --format c --learn -o new.h", 1, "The budget SwapNearest cannot learn in C: take one of"),
        ("rbp --format onnx --learn -o new.onnx", 2, "--learn is only for --format c."),
        ("rbp --format onnx --name a -o new.onnx", 2, "--name is only for --format c."),
        ("rbp --format c --name 9 -o new.h", 1, "name must be a C identifier that begins with a letter"),
        ("rbp --format java -o new.h", 2, "--format: invalid choice: 'java'"),
        ("rbp --format c", 2, "required: -o/--output"),
        ("rbp --format c -o nowhere/new.h", 1, "nowhere/new.h"),
        ("nothing --format c -o new.h", 1, "there is no model file of that name"),
    ],
)
def test_what_is_refused(argv, code, message, folder, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    ended = called(capsys, "export", *argv.split())
    assert (ended.code, ended.out) == (code, "")
    assert message in ended.err
    assert not [*folder.glob("new.*")]
