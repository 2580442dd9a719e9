"""Loading takes memory and time in proportion to the file, whatever its description says."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse

from budgetron import (
    AROW,
    OGD,
    AdaGrad,
    Averaged,
    CoinBetting,
    Dated,
    Gaussian,
    HadamardFourier,
    Identity,
    Kalman,
    Laplacian,
    LearnedWidths,
    Mapped,
    Nystrom,
    OrthogonalFourier,
    RandomBinning,
    RandomFourier,
    Recruited,
    SobolFourier,
    SparseFourier,
    Spectrum,
    Stack,
    Stacked,
    Tiles,
    fogd,
    model_files,
    perceptron,
)
from budgetron.model.files import tensors
from tests.helpers.cases import each
from tests.helpers.members import estimator, fitted

# The peak of the memory that loading takes, in bytes, and the seconds; the sentence if it is refused. One
# process imports everything and forks for each line it reads: the small file to load first, and the file.
LOADING = """
import os, sys, time
from pathlib import Path
from budgetron import ModelFileError, load
import budgetron.learners.mapped

def resident(what):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) << 10 for line in status if line.startswith(what))

def measured(small, path):
    load(small)  # imports and caches are not counted
    Path("/proc/self/clear_refs").write_text("5")
    before, began = resident("VmRSS"), time.process_time()
    try:
        load(path)
        said = "loaded"
    except ModelFileError as error:
        said = str(error)
    print(resident("VmHWM") - before, time.process_time() - began, said, flush=True)

for line in sys.stdin:
    if os.fork() == 0:
        measured(*line.rstrip("\\n").split("\\t"))
        os._exit(0)
    if os.wait()[1]:
        print("failed", flush=True)
"""

pytestmark = pytest.mark.skipif(
    not os.access("/proc/self/clear_refs", os.W_OK),
    reason="the peak of memory can be measured on Linux only",
)
K = Gaussian(0.5)


@pytest.fixture(scope="module")
def loader():
    """The process that loads."""
    with subprocess.Popen(
        [sys.executable, "-c", LOADING], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield process
        process.stdin.close()


def loading(loader, path, small):
    loader.stdin.write(f"{small}\t{path}\n")
    loader.stdin.flush()
    grown, seconds, said = loader.stdout.readline().split(" ", 2)
    return int(grown), float(seconds), said


def forged(path, change, arrays=None):
    """The file with its description changed by a function, and arrays put in."""
    file = model_files.read(path)
    with open(path, "rb") as opened:
        texts, _ = tensors.decode(opened, str(path), lambda _: None)
    change(file.description["fitted"])
    texts["description"] = json.dumps(file.description)
    path.write_bytes(b"".join(tensors.encode(file.arrays | (arrays or {}), texts)))


def components(fitted):
    features = fitted["learner"].get("learner", fitted["learner"])["features"]
    features.get("features", features)["components"] = 10**7


def width(fitted):
    fitted["n_features_in"] = 2**31 - 1


def many_columns(fitted):
    fitted["n_features_in"] = 10**7


def table(fitted):
    fitted["learner"]["features"].update(depth=24, cells=2**28, memory=2**31)


def grids(fitted):
    fitted["learner"]["features"]["count"] = 10_000
    fitted["n_features_in"] = 1024


def side_by_side(fitted):
    fitted["learner"]["features"] = {
        "type": "Stack",
        "maps": [{"type": "Identity"}] * 2000,
        "random_state": None,
    }


ALL = {"state/fourier.all": np.array([1], np.uint64)}


@each(
    ("learner", "change", "arrays"),
    [
        (fogd(K), components, {}),
        (fogd(K), width, ALL),
        (fogd(K, components=20), lambda fitted: fitted.update(n_features_in=10**6), ALL),
        (Averaged(fogd(K)), components, {}),
        (Mapped(RandomFourier(Spectrum(), 20), OGD()), components, {}),
        (Mapped(RandomFourier(Spectrum(), 20), OGD()), width, ALL),
        (Mapped(OrthogonalFourier(K, 20), OGD()), components, {}),
        (Mapped(OrthogonalFourier(K, 20), OGD()), width, ALL),
        (Mapped(SobolFourier(K, 20), OGD()), components, {}),
        (Mapped(SobolFourier(K, 20), OGD()), lambda fitted: fitted.update(n_features_in=20_000), ALL),
        (Mapped(HadamardFourier(K, 20), OGD()), components, {}),
        (Mapped(HadamardFourier(K, 20), OGD()), width, {}),
        (Mapped(LearnedWidths(K, 20), OGD()), components, {}),
        (Mapped(LearnedWidths(K, 2), OGD()), many_columns, {}),
        (Mapped(Recruited(RandomFourier(K, 20)), OGD()), components, {}),
        (Mapped(Recruited(SparseFourier(20)), Kalman()), components, {}),
        (Mapped(Tiles(9, 14), Kalman()), table, {}),
        (Mapped(RandomBinning(Laplacian(0.5), 9), Kalman()), grids, {}),
        (Dated(Mapped(Identity(), Kalman()), Stacked(Mapped(Identity(), Kalman()))), many_columns, {}),
        (Mapped(Identity(), AdaGrad()), width, {}),
        (Mapped(Identity(), CoinBetting()), width, {}),
        (Mapped(Identity(), AROW()), side_by_side, {}),
        (Mapped(Stack(Identity(), Nystrom(K, 5)), AROW(covariance="diagonal")), width, {}),
        ("rbp", width, {}),
    ],
    ids=lambda part: str(getattr(part, "__name__", part))[:100],
)
def test_large_parameters(learner, change, arrays, path, tmp_path, loader):
    small = tmp_path / "small"
    fitted("binary", learner).save(path)
    small.write_bytes(path.read_bytes())
    forged(path, change, arrays)
    grown, seconds, said = loading(loader, path, small)
    size = path.stat().st_size
    assert grown < 16 * size + (64 << 20), said
    assert seconds < 1 + 20e-6 * size, said


@pytest.mark.parametrize("learner", [perceptron(Gaussian(1e-3)), Mapped(Nystrom(K, 300), OGD())], ids=str)
def test_a_large_model_of_wide_rows(learner, path, tmp_path, loader):
    """Every column in use belongs to one support vector: the worst case of the inverted index."""
    n, nonzeros = 300, 2000
    X = sparse.csr_array(
        (
            np.ones(n * nonzeros, np.float32),
            np.arange(n * nonzeros, dtype=np.int32),
            np.arange(n + 1) * nonzeros,
        ),
        (n, n * nonzeros),
    )
    model = estimator("binary", learner).fit(X, np.arange(n) % 2)
    model.save(path)
    fitted().save(tmp_path / "small")
    grown, seconds, said = loading(loader, path, tmp_path / "small")
    size = path.stat().st_size
    assert size > 1 << 20
    assert said.strip() == "loaded"
    assert grown < 16 * size + (64 << 20)
    assert seconds < 1 + 20e-6 * size
