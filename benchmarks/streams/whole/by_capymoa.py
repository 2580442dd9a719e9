"""CapyMOA's learners on whole streams: MOA in Java, row by row from Python.

Rows are raw, except for neighbours, whose columns are standardised along the stream. MOA measures memory by
an agent inside its own jar; the agent needs a jar of its own to be started, which is written here.
"""

from __future__ import annotations

import os
import zipfile
from collections.abc import Callable
from importlib import metadata, util
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.streams.data import Stream
from benchmarks.streams.results import Run
from benchmarks.streams.whole.rows import Scaler, follow

AGENT = Path(__file__).parents[3] / "build" / "streams" / "sizeof.jar"
OPENED = (
    "lang",
    "lang.ref",
    "lang.reflect",
    "math",
    "net",
    "text",
    "util",
    "util.concurrent",
    "util.concurrent.atomic",
)


def _jvm_arguments() -> str:
    """Arguments that let MOA measure the memory of its learners."""
    found = util.find_spec("capymoa")
    if found is None or found.origin is None:
        raise ImportError("No module named 'capymoa'")
    AGENT.parent.mkdir(parents=True, exist_ok=True)
    moa = Path(found.origin).parent / "jar" / "moa.jar"
    manifest = "Manifest-Version: 1.0\r\nPremain-Class: sizeof.agent.SizeOfAgent\r\n\r\n"
    with zipfile.ZipFile(AGENT, "w") as jar, zipfile.ZipFile(moa) as source:
        jar.writestr("META-INF/MANIFEST.MF", manifest)
        for name in source.namelist():
            if name.startswith("sizeof/agent/") and name.endswith(".class"):
                jar.writestr(name, source.read(name))
    opened = " ".join(f"--add-opens=java.base/java.{each}=ALL-UNNAMED" for each in OPENED)
    return f"-Xmx4g -Xss10M -XX:+UseSerialGC -javaagent:{AGENT} {opened}"


os.environ.setdefault("CAPYMOA_JVM_ARGS", _jvm_arguments())  # before CapyMOA starts Java

from capymoa import classifier, regressor  # noqa: E402
from capymoa.core import LabeledInstance, RegressionInstance  # noqa: E402
from capymoa.stream import Schema  # noqa: E402

SEED, TREES = 1, 10
VERSION = f"CapyMOA {metadata.version('capymoa')}"
LEARNERS: dict[str, tuple[Callable[..., Any] | None, Callable[..., Any] | None, dict[str, Any]]] = {
    "KNN": (classifier.KNN, regressor.KNNRegressor, {}),
    "EFDT": (classifier.EFDT, None, {}),
    "ARF 10": (
        classifier.AdaptiveRandomForestClassifier,
        regressor.AdaptiveRandomForestRegressor,
        {"ensemble_size": TREES},
    ),
    "SRP 10": (classifier.StreamingRandomPatches, None, {"ensemble_size": TREES}),
    "LB 10": (classifier.LeveragingBagging, None, {"ensemble_size": TREES}),
    "SOKNL 10": (None, regressor.SOKNL, {"ensemble_size": TREES}),
    "SGBT": (classifier.StreamingGradientBoostedTrees, regressor.StreamingGradientBoostedRegression, {}),
}
"""The learner of labels, the learner of targets, and their parameters."""
SCALED = ("KNN",)


def run(name: str, stream: Stream, limit: float) -> Run:
    """A run of a learner of CapyMOA."""
    labels, targets, parameters = LEARNERS[name]
    classes, make = stream.classes, labels if stream.classes else targets
    assert make is not None
    columns = [f"x{i}" for i in range(stream.X.shape[1])]
    known = {"y": [str(i) for i in range(classes)]} if classes else {}
    schema = Schema.from_custom([*columns, "y"], target="y", categories=known, name=stream.name)
    learner = make(schema=schema, random_seed=SEED, **parameters)
    kind = LabeledInstance if classes else RegressionInstance
    scaler, y = Scaler(len(columns)) if name in SCALED else None, stream.y.tolist()
    rows: dict[int, Any] = {}

    def ask(i: int) -> np.ndarray | float | None:
        x = stream.X[i] if scaler is None else scaler(stream.X[i])
        rows.clear()
        rows[i] = kind.from_array(schema, x, y[i])
        return learner.predict_proba(rows[i]) if classes else float(learner.predict(rows[i]) or 0.0)

    predictions, P, seconds = follow(stream, ask, lambda i: learner.train(rows[i]), limit)
    return Run(predictions, P, seconds, float(learner.moa_learner.measureByteSize()), VERSION)
