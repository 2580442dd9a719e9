"""Fuzz model files: a damaged or forged file must be refused in one sentence, or load and work.

Loading may take at most 64 MB plus 16 times the size of the file, and one second plus 20 seconds per
megabyte. Both are measured for every input.

An input depends only on its number: ``python -m fuzz.model_file --first 7 --count 1`` repeats number 7.
Inputs run in a child process. If the child crashes, hangs or takes too much, the number is reported, and a
new child continues with the next one. ``--minutes`` sets the time.
"""

from __future__ import annotations

import argparse
import copy
import faulthandler
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from budgetron import (
    AROW,
    OGD,
    SGD,
    AdaGrad,
    Averaged,
    CoinBetting,
    HadamardFourier,
    Identity,
    Kernelized,
    Laplacian,
    Linear,
    Mapped,
    Merge,
    ModelFileError,
    Nystrom,
    OnlineNewton,
    OrthogonalFourier,
    Polynomial,
    ProjectSmallest,
    RandomFourier,
    Sometimes,
    Squared,
    Stack,
    algorithms,
    model_files,
)
from budgetron.learners import double_updating as dual
from budgetron.model.files import tensors
from tests.helpers import members

SECONDS = 20  # limit for loading and using one file
GIGABYTES = 2  # limit for loading and using one file
ROWS, FEATURES, WIDE = 30, 2, 3000
LAYOUTS = ("dense", "csr", "wide")

NUMBERS = [0, 1, 2, 3, 7, 8, 10, 11, 16, 255, *(2**k for k in (31, 32, 53, 62, 63)), 2**31 - 1, 2**64 - 1]
FLOATS = [0.0, -0.0, 1.0, -1.0, 1e-320, 1e-300, 1e154, 1e200, -1e200, 1e308, np.inf, -np.inf, np.nan]
LARGE = [24, 10**4, 10**6, 10**7, 2**28, 10**9, 2**31 - 1, 2**31, 2**64 - 1]  # Tiles: depth 24, 2**28 cells
SIZES = {
    *("at_once", "budget", "cells", "columns", "components", "count", "degree", "depth", "epochs", "k"),
    *("landmarks", "memory", "n_features_in", "neighbours", "pairs", "random_state", "rank", "seed"),
    *("side", "size", "wide", "window"),
}
TEXTS = ["", "scale", "__class__", "text"]
VALUES = [*NUMBERS, *TEXTS, -1, -(2**63), 2**80, 0.5, 1e308, -1e-320, None, True, False, [], [1], {}]
NAMES = ["type", "__class__", "__init__", "__dict__", "self", "budget", "gamma", "learner", "degree"]


def corpus() -> list[bytes]:
    """A small model for every task and algorithm, and for parts that no algorithm uses by default."""
    k = members.Gaussian(0.5)
    made = [(task, members.make(name)) for task, name in members.cases()]
    made += [
        ("multiclass", Averaged(members.make("bpa_nn"), suffix=0.5)),
        ("binary", Averaged(members.make("bduol"))),
        ("regression", Kernelized(Polynomial(0.5, 1.0, 3), OGD(eta=0.01), members.RemoveSmallest(6))),
        ("regression", Kernelized(k, SGD(lam=0.1, loss=Squared()), Merge(6))),
        ("multiclass", Kernelized(k, SGD(lam=0.1), Sometimes(Merge(6), 60.0))),
        ("binary", Kernelized(k, SGD(lam=0.1), ProjectSmallest(6))),
        ("multiclass", Kernelized(k, SGD(lam=0.1), ProjectSmallest(6, neighbours=3))),
        ("multiclass", algorithms.nogd(Linear(), budget=6, rank=2)),
        ("binary", algorithms.projectron(Laplacian(0.5), budget=6)),
    ]
    fourier = RandomFourier(k, components=3)
    made += [
        ("multiclass", Mapped(Stack(fourier, Identity(), Nystrom(k, 5)), AROW())),
        ("binary", Mapped(Nystrom(k, 50), OnlineNewton())),
        ("regression", Mapped(Nystrom(k, 5, 2, "uniform"), AROW(covariance="diagonal"))),
        ("binary", Mapped(Nystrom(k, 5, 2, "leverage"), CoinBetting())),
        ("multiclass", Mapped(HadamardFourier(k, 3), AdaGrad())),
        ("regression", Averaged(Mapped(OrthogonalFourier(k, 3), SGD(lam=0.1)))),
    ]
    made += [
        ("binary", dual.DoubleUpdating(k, maintenance=getattr(dual, name)(budget=6)))
        for name in dir(dual)
        if name.startswith("Dual") and name != "DualMaintenance"
    ]
    made += members.combinations()
    return [
        _saved(task, learner, i, layout)
        for i, (task, learner) in enumerate(made)
        for layout in ("wide", LAYOUTS[i % 2])
        if layout != "wide" or not _quadratic(learner)
    ]


def _quadratic(learner: Any) -> bool:
    """Whether the size of the model grows with the square of the number of columns."""
    return "Identity" in repr(learner) and "covariance='full'" in repr(learner)


def _saved(task: str, learner: Any, i: int, layout: str) -> bytes:
    X, y = members.data(task, ROWS, seed=i, features=FEATURES)
    X = rows(X.astype(np.float32) if i % 3 == 0 else X, layout, WIDE)
    model = members.start(members.estimator(task, learner), task, X, y)
    in_memory = "/dev/shm" if os.path.isdir("/dev/shm") else None
    with tempfile.TemporaryDirectory(dir=in_memory) as folder:
        model.save(f"{folder}/model", extra={"row": 3, "scale": np.ones(2)})
        return Path(folder, "model").read_bytes()


def rows(X: Any, layout: str, columns: int) -> Any:
    """The rows in that layout. Wide rows have columns far apart."""
    if layout == "dense":
        return X
    csr = sparse.csr_array(X)
    if layout == "csr":
        return csr
    apart = csr.indices * (columns // X.shape[1])
    return sparse.csr_array((csr.data, apart, csr.indptr), (len(X), columns))


# ---- mutations of the bytes, or of the decoded contents with a recomputed checksum


def mutated(seed: int, files: list[bytes]) -> bytes:
    """The input number ``seed``."""
    draw = random.Random(seed)
    original = draw.choice(files)
    mutate = draw.choice([_bytes, _header, _description, _large, _nested, _classes, _state, _state, _state])
    return mutate(original, draw)


def _bytes(file: bytes, draw: random.Random) -> bytes:
    out = bytearray(file)
    for _ in range(draw.choice([1, 1, 2, 5])):
        at = draw.randrange(len(out)) if out else 0
        kind = draw.randrange(5)
        if kind == 0 and out:
            out[at] ^= 1 << draw.randrange(8)
        elif kind == 1:
            del out[at:]
        elif kind == 2:
            del out[at : at + draw.randrange(1, 20)]
        elif kind == 3:
            out[at:at] = draw.randbytes(draw.randrange(1, 20))
        else:
            out[:8] = draw.choice([*NUMBERS, len(out)]).to_bytes(9, "little")[:8]
    return bytes(out)


def parts(file: bytes) -> tuple[dict[str, str], dict[str, Any]]:
    """The strings and arrays of a valid file."""
    with tempfile.TemporaryFile() as opened:
        opened.write(file)
        opened.seek(0)
        return tensors.decode(opened, "corpus", lambda _: None)


def _sealed(header: bytes, data: bytes) -> bytes:
    """A file with a forged header and a valid checksum."""
    header = len(header).to_bytes(8, "little") + header
    said = tensors._digest([header, data])
    return header.replace(tensors._NO_CHECKSUM.encode(), said.encode(), 1) + data


def _header(file: bytes, draw: random.Random) -> bytes:
    size = 8 + int.from_bytes(file[:8], "little")
    header = json.loads(file[8:size])
    header["__metadata__"]["checksum"] = tensors._NO_CHECKSUM
    header = _tree(header, draw)
    data = file[size:] if draw.random() < 0.8 else file[size : size + draw.randrange(len(file) - size)]
    return _sealed(json.dumps(header).encode(), data)


def _description(file: bytes, draw: random.Random) -> bytes:
    texts, arrays = parts(file)
    said = json.loads(texts["description"])
    for _ in range(draw.choice([1, 1, 2, 4])):
        said = _tree(said, draw)
    texts["description"] = json.dumps(said)
    return b"".join(tensors.encode(arrays, texts))


def _large(file: bytes, draw: random.Random) -> bytes:
    """Write sizes into the description that are far above those of the arrays."""
    texts, arrays = parts(file)
    said = json.loads(texts["description"])
    places = [(holder, key) for holder, key in _places(said) if key in SIZES]
    for holder, key in draw.sample(places, draw.randrange(1, len(places) + 1)):
        holder[key] = draw.choice(LARGE)
    counts = [name for name, a in arrays.items() if a.dtype == np.uint64 and a.size == 1]
    if counts and draw.random() < 0.5:
        arrays[draw.choice(counts)] = np.array([draw.choice([1, *LARGE])], np.uint64)
    texts["description"] = json.dumps(said)
    return b"".join(tensors.encode(arrays, texts))


def _nested(file: bytes, draw: random.Random) -> bytes:
    """Nest learners and maps, or put thousands of them side by side."""
    texts, arrays = parts(file)
    said = json.loads(texts["description"])
    fitted, depth = said["fitted"], draw.choice([1, 2, 10, 30, 31, 32, 33, 1000])
    if "features" in fitted["learner"] and draw.random() < 0.8:
        features = fitted["learner"]["features"]
        if draw.random() < 0.3:
            maps, depth = [{"type": "Identity"}] * draw.choice([2, 100, 5000]), 1
            features = {"type": "Stack", "maps": [*maps, features], "random_state": None}
        for _ in range(depth):
            features = {"type": "Stack", "maps": [features], "random_state": None}
            if draw.random() < 0.9:
                arrays = {_inner(name): array for name, array in arrays.items()}
        fitted["learner"]["features"] = features
    else:
        for _ in range(depth):
            fitted["learner"] = {"type": "Averaged", "learner": fitted["learner"], "suffix": 1.0}
    texts["description"] = _dumped(said)
    return b"".join(tensors.encode(arrays, texts))


def _inner(name: str) -> str:
    """The name of a map's array when the map is part of a stack."""
    known = ("state/fourier.", "state/nystrom.", "state/map.", "state/reservoir.", "state/span.")
    return "state/map.0." + name.removeprefix("state/") if name.startswith(known) else name


def _dumped(said: Any) -> str:
    """JSON text of a value of any depth of nesting."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(100_000)
    try:
        return json.dumps(said)
    finally:
        sys.setrecursionlimit(limit)


def _classes(file: bytes, draw: random.Random) -> bytes:
    """Announce thousands of classes, with or without arrays of that size."""
    texts, arrays = parts(file)
    said = json.loads(texts["description"])
    count = draw.choice([3, 10, 1000, 5000])
    if draw.random() < 0.5:
        said["fitted"]["classes"] = [f"{i:06}" for i in range(count)]
    else:
        said["fitted"]["classes"], arrays["classes"] = "numbers", np.arange(count)
    rows = [name for name in arrays if name.endswith(".0")] if draw.random() < 0.7 else []
    room = (64 << 20) // max(1, sum(arrays[name].nbytes for name in rows))  # the file must fit into memory
    for name in rows:
        arrays |= {f"{name[:-1]}{c}": arrays[name] for c in range(min(count, room))}
    texts["description"] = json.dumps(said)
    return b"".join(tensors.encode(arrays, texts))


def _tree(tree: Any, draw: random.Random) -> Any:
    """JSON with one random change."""
    tree = copy.deepcopy(tree)
    places = list(_places(tree))
    if not places:
        return draw.choice(VALUES)
    holder, key = draw.choice(places)
    kind = draw.randrange(5)
    if kind == 0:
        del holder[key]
    elif kind == 1 and isinstance(holder, dict):
        holder[draw.choice(NAMES)] = holder.pop(key)
    elif kind == 2:
        other, name = draw.choice(places)
        holder[key] = copy.deepcopy(other[name])
    else:
        holder[key] = draw.choice(VALUES)
    return tree


def _places(tree: Any) -> Any:
    """Every pair (container, key) in the JSON."""
    for key in list(tree) if isinstance(tree, dict) else range(len(tree)) if isinstance(tree, list) else ():
        yield tree, key
        yield from _places(tree[key])


def _state(file: bytes, draw: random.Random) -> bytes:
    texts, arrays = parts(file)
    for _ in range(draw.choice([1, 1, 1, 2, 4, 8])):
        name = draw.choice(sorted(arrays))
        arrays[name] = _array(arrays, name, draw)
    if draw.random() < 0.1:
        arrays.pop(draw.choice(sorted(arrays)))
    return b"".join(tensors.encode(arrays, texts))


def _array(arrays: dict[str, Any], name: str, draw: random.Random) -> Any:
    array = arrays[name].copy()
    kind = draw.randrange(14)
    if kind >= 10 and array.dtype.kind == "f":  # numbers that pass the checks but are extreme
        with np.errstate(over="ignore", invalid="ignore"):
            array *= np.float64(draw.choice([-1, 0, 1e-160, 1e3, 1e40, 1e150, 1e300])).astype(array.dtype)
    elif kind >= 10:
        array = np.array(draw.sample(list(array.ravel()), array.size), array.dtype)
    elif kind < 6 and array.size:
        values = FLOATS if array.dtype.kind == "f" else NUMBERS
        several = draw.choice([1, 1, 3, array.size])
        with np.errstate(over="ignore"):
            for at in draw.sample(range(array.size), min(several, array.size)):
                value = draw.choice(values)
                array.flat[at] = np.array(value).astype(array.dtype)
    elif kind == 6:
        array = array.ravel()[: draw.randrange(array.size + 1)]
    elif kind == 7:
        array = np.resize(array, draw.choice([0, 1, 8, 16, 24, 64, 256, 576, array.size + 1]))
    elif kind == 8:
        array = arrays[draw.choice(sorted(arrays))].copy()
    else:
        array = array.astype(draw.choice(["f4", "f8", "u8", "i8", "u1", "?"]))
    return array


# ---- one input


class TooMuch(Exception):
    """An input took more memory or time than its size allows."""


@contextmanager
def measured(path: str) -> Iterator[None]:
    """Raise TooMuch if the block takes more memory or time than a file of that size may."""
    size = os.path.getsize(path)
    Path("/proc/self/clear_refs").write_text("5")  # resets the peak to the present memory
    before, began = _resident("VmRSS"), time.process_time()
    try:
        yield
    finally:
        seconds, grown = time.process_time() - began, _resident("VmHWM") - before
        if grown > 16 * size + (64 << 20):
            raise TooMuch(f"{grown >> 20} MB for a file of {size} bytes")
        if seconds > 1 + 20e-6 * size:
            raise TooMuch(f"{seconds:.1f} s for a file of {size} bytes")


def _resident(what: str) -> int:
    """Bytes of memory: VmRSS is the present value, VmHWM the peak."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) << 10 for line in status if line.startswith(what))


def watch() -> None:
    """End the process if it takes more memory than the limit, to protect the machine."""
    most = _resident("VmRSS") + (GIGABYTES << 30)
    while _resident("VmRSS") < most:
        time.sleep(0.02)
    print(f"more than {GIGABYTES} GB", file=sys.stderr, flush=True)
    faulthandler.dump_traceback()
    os._exit(1)


def work(path: str) -> str:
    """Load the file and use the model. Returns how far it got; raises everything but a refusal."""
    try:
        with measured(path):
            file = model_files.read(path)
            file.extra  # noqa: B018
            model = file.estimator()
    except ModelFileError as refusal:
        sentence = str(refusal)
        late = isinstance(refusal.__cause__, MemoryError | RecursionError)
        if late or not sentence.startswith(path) or "\n" in sentence:
            raise
        return "refused"
    width = model.n_features_in_
    if width > 2 * WIDE:
        return "loaded"
    X, y = members.data("binary", 20, seed=5, features=max(2, min(width, 100)))
    X = X[:, :width] if width <= 100 else rows(X, "wide", width)
    if hasattr(model, "classes_"):
        y = model.classes_[np.arange(len(y)) % len(model.classes_)]
    try:
        members.scores(model, X)
        model.partial_fit(X, y)
        model.partial_fit(X, y, sample_weight=np.linspace(0, 3, len(y)))
        model.predict(X)
    except ValueError as refusal:
        if "finite" not in str(refusal):
            raise
        return "stopped"
    return "worked"


def child(first: int, count: int, deadline: float) -> None:
    """Run inputs one after the other. Prints each number before it runs."""
    faulthandler.enable()
    warnings.simplefilter("ignore")
    files = corpus()
    threading.Thread(target=watch, daemon=True).start()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model")
        for seed in range(first, first + count):
            if time.time() > deadline:
                break
            print("input", seed, flush=True)
            path.write_bytes(mutated(seed, files))
            faulthandler.dump_traceback_later(SECONDS, exit=True)
            print(work(str(path)), flush=True)
            faulthandler.cancel_dump_traceback_later()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=0, help="the number of the first input")
    parser.add_argument("--count", type=int, default=10**9)
    parser.add_argument("--minutes", type=float, default=1e6)
    parser.add_argument("--child", type=float, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        child(args.first, args.count, args.child)
        return 0
    return campaign(args.first, args.count, time.time() + 60 * args.minutes)


def campaign(first: int, count: int, deadline: float) -> int:
    """Run child processes until the time is up. Returns the number of inputs that crashed one."""
    found, last, outcomes = [], first - 1, {}
    while last < first + count - 1 and time.time() < deadline:
        todo = [str(last + 1), "--count", str(first + count - last - 1), "--child", str(deadline)]
        with tempfile.TemporaryFile("w+") as said:
            run = subprocess.run(
                [sys.executable, "-m", "fuzz.model_file", "--first", *todo],
                stdout=said,
                stderr=subprocess.PIPE,
            )
            said.seek(0)
            lines = said.read().split("\n")
        numbers = [int(line.split()[1]) for line in lines if line.startswith("input ")]
        for line in lines:
            if line and not line.startswith("input "):
                outcomes[line] = outcomes.get(line, 0) + 1
        if run.returncode == 0:
            last = numbers[-1] if numbers else last
            break
        if not numbers:
            print(run.stderr.decode()[:3000])
            raise SystemExit("The child died before the first input.")
        last = numbers[-1]
        found.append(last)
        print(f"--- input {last}: exit {run.returncode}\n{run.stderr.decode()[:3000]}", flush=True)
    print(f"inputs {first} to {last}: {outcomes}, not survived: {found}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
