"""How exactly exported models predict and learn, and how large they are. Prints the tables of the pages.

    python -m benchmarks.exports onnx     docs/onnx.md: every named learner, beside onnx and onnxruntime
    python -m benchmarks.exports c        docs/c.md: the same in C, and learning over whole streams
    python -m benchmarks.exports sizes    docs/c.md: bytes on a Cortex-M4

Sizes need a cross compiler. CROSS is what its commands begin with (default ``arm-none-eabi-``), CROSS_FLAGS
are further flags, such as where its headers and libraries are.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
from copy import copy
from pathlib import Path
from typing import Any

import numpy as np

from budgetron import (
    Gaussian,
    Identity,
    Kalman,
    Mapped,
    Standardised,
    algorithms,
    auto,
    bogd,
    bpa_nn,
    fogd,
    forgetron,
    projectron,
    rbp,
)
from budgetron.export.c import to_c
from tests.export.c.test_learning import LEARNERS, Runs, learned
from tests.helpers import members
from tests.helpers.compiled import library, predicted, predicting

TASKS = {"binary": "two classes", "multiclass": "several", "regression": "targets"}
M4 = "-mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16 -Os -ffunction-sections -fdata-sections"


def models() -> dict[str, dict[str, Any]]:
    """Every named learner, fitted for every task that it is defined for."""
    found: dict[str, dict[str, Any]] = {name: {} for name in sorted(algorithms.__all__)}
    for task, name in members.cases():
        found[name][task] = members.fitted(task, name)
    return found


def rows(task: str) -> Any:
    return members.data(task, 500, seed=1)[0].astype(np.float32).astype(np.float64)


def difference(found: Any, wanted: Any) -> float:
    """The largest difference, in units of the largest number."""
    return float(abs(found - wanted).max() / max(1, abs(wanted).max()))


def table(head: list[str], lines: list[list[str]]) -> None:
    print("| " + " | ".join(head) + " |")
    print("|" + "---|" * len(head))
    for line in lines:
        print("| " + " | ".join(line) + " |")


def worst(values: list[float]) -> str:
    return f"{max(values):.0e}"


def onnx() -> None:
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    import onnxruntime
    from onnx.reference import ReferenceEvaluator

    from budgetron.export.onnx import to_onnx

    lines = []
    for name, tasks in models().items():
        errors: dict[str, list[float]] = {"reference": [], "float64": [], "float32": []}
        labels, size = 0, 0
        for task, model in tasks.items():
            X, output = rows(task), "prediction" if task == "regression" else "scores"
            wanted = members.scores(model, X)
            graphs = {dtype: to_onnx(model, dtype) for dtype in ("float64", "float32")}
            [found] = ReferenceEvaluator(graphs["float64"]).run([output], {"X": X})
            errors["reference"].append(difference(found, wanted))
            size = max(size, graphs["float32"].ByteSize())
            for dtype, graph in graphs.items():
                session = onnxruntime.InferenceSession(
                    graph.SerializeToString(), providers=["CPUExecutionProvider"]
                )
                [found] = session.run([output], {"X": X.astype(dtype)})
                errors[dtype].append(difference(found, wanted))
                if task != "regression":
                    [label] = session.run(["label"], {"X": X.astype(dtype)})
                    labels += int((label != model.predict(X)).sum())
        words = ", ".join(TASKS[task] for task in tasks)
        lines.append([f"`{name}`", words, *map(worst, errors.values()), str(labels), f"{size / 1024:.1f}"])
    head = ["learner", "tasks", "reference, float64", "onnxruntime, float64", "onnxruntime, float32"]
    table([*head, "labels that differ", "KiB, float32"], lines)


def c() -> None:
    folder = Path(tempfile.mkdtemp())
    found, errors, labels = models(), dict[str, dict[str, list[float]]](), dict[str, int]()
    for dtype in ("float64", "float32"):
        headers, functions = {}, []
        for name, tasks in found.items():
            for task, model in tasks.items():
                headers[f"{name}_{task}"] = to_c(model, name=f"{name}_{task}", dtype=dtype)
                functions.append(predicting(f"{name}_{task}", model))
        made = library(folder, headers, functions)
        for name, tasks in found.items():
            for task, model in tasks.items():
                X = rows(task)
                label, scores, _ = predicted(made, f"{name}_{task}", model, X, dtype)
                wanted = members.scores(model, X)
                errors.setdefault(name, {}).setdefault(dtype, []).append(difference(scores, wanted))
                wrong = 0 if label is None else int((label != model.predict(X)).sum())
                labels[name] = labels.get(name, 0) + wrong
    lines = [
        [f"`{name}`", ", ".join(TASKS[t] for t in found[name]), *map(worst, errors[name].values()), str(n)]
        for name, n in labels.items()
    ]
    table(["learner", "tasks", "double", "float", "labels that differ"], lines)
    print()
    learning(folder)


def learning(folder: Path) -> None:
    """Learning over whole streams."""
    results: dict[str, dict[str, list[float]]] = {}
    labels: dict[str, int] = {}
    for dtype in ("float64", "float32"):
        runs = Runs(folder, dtype, [learner for learner, _ in LEARNERS.values()], first=0)
        for case, (task, model, X, y) in runs.cases.items():
            name = next(name for name, (learner, _) in LEARNERS.items() if learner is model.learner)
            wanted = copy(model.fitted_.model).learn(
                X, 2.0 * y - 1 if task == "binary" else y.astype(float)
            )
            own = y.astype(dtype if task == "regression" else np.int32)
            label, scores, _ = learned(runs.library, case, X.astype(dtype), own, wanted.shape[1])
            results.setdefault(name, {}).setdefault(dtype, []).append(difference(scores, wanted))
            best = wanted[:, 0] >= 0 if task == "binary" else wanted.argmax(axis=1)
            wrong = 0 if task == "regression" else int((label != best).sum())
            labels[name] = labels.get(name, 0) + wrong
    lines = [[name, *map(worst, each.values()), str(labels[name])] for name, each in results.items()]
    table(["learner", "double", "float", "labels that differ"], lines)


PREDICT = """
#include "m.h"
m_real x[m_features], scores[m_outputs];
volatile int out;
int main(void) { out = m_predict(x, scores); return 0; }
"""
LEARN = """
#include "m.h"
m_real x[m_features], scores[m_outputs];
m_state m;
volatile int out;
int main(void) {
  m = m_start;
  out = m_predict(&m, x, scores);
  return m_learn(&m, x, out);
}
"""


def sizes() -> None:
    """Bytes on a Cortex-M4 with single-precision floats: own code, all of the program, and the struct."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 20))
    y = (np.sin(X[:, 0]) + X[:, 1] * X[:, 2] > 0).astype(int)
    kernel = Gaussian(0.05)
    learners = {
        "`rbp`, 100 vectors": rbp(kernel, budget=100),
        "`forgetron`, 100": forgetron(kernel, budget=100),
        "`bogd`, 100": bogd(kernel, budget=100),
        "`projectron`, 100": projectron(kernel, budget=100),
        "`fogd`, 100 components": fogd(kernel, components=100),
        "Kalman filter on the inputs": Mapped(Identity(), Kalman(covariance="diagonal")),
        "the same in `Standardised`": Standardised(Mapped(Identity(), Kalman(covariance="diagonal"))),
        "`bpa_nn`, 100 vectors": bpa_nn(kernel, budget=100),
        "`auto(size=10)`": auto(size=10),
    }
    lines = []
    for name, learner in learners.items():
        model = members.estimator("binary", learner).fit(X, y)
        code, numbers, flash, _ = measured(to_c(model, name="m"), PREDICT)
        line = [name, str(code), str(numbers), str(flash)]
        try:
            header = to_c(model, name="m", learn=True)
        except ValueError:
            lines.append([*line, "", "", ""])
            continue
        code, _, flash, state = measured(header, LEARN)
        lines.append([*line, str(code), str(flash), str(state)])
    head = ["learner, 20 columns", "predict: own code", "numbers", "program", "learn: own code", "program"]
    table([*head, "RAM of the model"], lines)


def measured(header: str, main: str) -> tuple[int, int, int, int]:
    """Bytes of own code, of constants, of the linked program in flash, and of the state in memory."""
    cross = os.environ.get("CROSS", "arm-none-eabi-")
    flags = [*M4.split(), "-std=c99", *shlex.split(os.environ.get("CROSS_FLAGS", ""))]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "m.h").write_text(header)
        (folder / "main.c").write_text(main)

        def run(*words: str) -> str:
            return subprocess.run(
                [cross + words[0], *words[1:]], cwd=folder, check=True, capture_output=True, text=True
            ).stdout

        run("gcc", *flags, "-c", "main.c", "-o", "main.o")
        end = ["-nostartfiles", "-Wl,--gc-sections,-e,main", "-lm", "-lc", "-lgcc"]
        run("gcc", *flags, "main.o", "-o", "main.elf", *end)
        sections = [line.split() for line in run("size", "-A", "main.o").splitlines() if line[:1] == "."]
        text, data, *_ = map(int, run("size", "main.elf").splitlines()[1].split()[:3])
        state = sum(int(size) for section, size, _ in sections if section == ".bss.m")
        return _sum(sections, ".text"), _sum(sections, ".rodata"), text + data, state


def _sum(sections: list[list[str]], kind: str) -> int:
    return sum(int(size) for section, size, _ in sections if section.startswith(kind))


if __name__ == "__main__":
    {"onnx": onnx, "c": c, "sizes": sizes}[sys.argv[1]]()
