"""Save, pickle, copy and fork a model while another thread teaches it records with new columns and classes.

What comes of it has learned a whole number of rows, has the columns and classes of its encoding, and goes
on as the model itself does. Each way is tried 10 times here and 1,000 times with ``make slow``.
"""

import copy
import functools
import os
import pickle
import random
import sys
import threading
import time
import traceback

import numpy as np
import pytest

from budgetron import OnlineClassifier, auto, load
from tests.helpers.random_records import file_bytes

BEGUN = 10  # rows that are learned before the threads begin
MORE = 200  # rows by which a copy goes on


@functools.cache
def records(n):
    """Each third has a column and two classes of its own, which decide."""
    draw = np.random.default_rng(0)
    X, y = [], []
    for i, (a, b, c) in enumerate(draw.normal(size=(n, 3)).tolist()):
        third = 3 * i // n
        X.append(dict(list({"a": a, "late": b, "later": c}.items())[: third + 1]))
        names = [("no", "yes"), ("cold", "hot"), ("low", "high")][third]
        y.append(names[(a, b, c)[third] > 0])
    return X, y


@pytest.fixture(autouse=True)
def _switch_often():
    before = sys.getswitchinterval()
    sys.setswitchinterval(5e-5)
    yield
    sys.setswitchinterval(before)


# ---- ways to get a model out while it learns


def saved(model, folder):
    path = folder / "model"
    model.save(path)
    return load(path)


def pickled(model, _):
    return pickle.loads(pickle.dumps(model))


def copied(model, _):
    return copy.deepcopy(model)


def forked(model, _):
    """The model as a forked child has it."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(reader)
            with os.fdopen(writer, "wb") as pipe:
                pipe.write(pickle.dumps(model))
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        content = pipe.read()
    assert os.waitpid(child, 0)[1] == 0
    return pickle.loads(content)


# ---- what must hold


def learned(model):
    """The number of rows that the model has learned."""
    return int(model.fitted_.model.state()["learner.expert.0.t"][0])


def fresh(balanced, n):
    X, y = records(n)
    model = OnlineClassifier(auto(size=5), random_state=0, class_weight="balanced" if balanced else None)
    return model.partial_fit(X[:BEGUN], y[:BEGUN])


def learn(model, n, begin, end):
    X, y = records(n)
    return model.partial_fit(X[begin:end], y[begin:end]) if begin < end else model


def meanwhile(balanced, n, way, times, folder, draw):
    """What ``way`` gives while the rows are learned: up to this many models, or errors."""
    model, found = fresh(balanced, n), []
    thread = threading.Thread(target=learn, args=(model, n, BEGUN, n))
    thread.start()
    while thread.is_alive() and len(found) < times:
        time.sleep(draw.uniform(0, 0.02))
        try:
            found.append(way(model, folder))
        except Exception as error:
            found.append(error)
    thread.join()
    return found


def troubles(balanced, n, found, folder):
    """What is wrong with the models, in the order of the rows that they have learned."""
    wrong = [f"{type(each).__name__}: {each}" for each in found if isinstance(each, Exception)]
    models = sorted((each for each in found if not isinstance(each, Exception)), key=learned)
    control, at = fresh(balanced, n), BEGUN
    for model in models:
        rows, end = learned(model), min(n, learned(model) + MORE)
        control, at = learn(control, n, at, rows), rows
        wrong += trouble(model, control, balanced, n, rows, end, folder)
    return wrong


def trouble(model, control, balanced, n, rows, end, folder):
    if len(model.encoding_.columns) != model.fitted_.model.n_features:
        return [
            f"{len(model.encoding_.columns)} columns of {model.fitted_.model.n_features} after {rows} rows"
        ]
    if balanced and file_bytes(model) != file_bytes(control):
        return [f"not the model of {rows} rows"]
    learn(model, n, rows, end)
    if file_bytes(model) != file_bytes(learn(copy.deepcopy(control), n, rows, end)):
        return [f"goes on otherwise after {rows} rows"]
    return [] if knows_the_last_column(model, n, folder) else [f"does not learn after {rows} rows"]


def knows_the_last_column(model, n, folder):
    X, y = records(n)
    model.partial_fit(X[-400:-100], y[-400:-100])
    wrong = np.mean(model.predict(X[-100:]) != np.array(y[-100:]))
    again = saved(model, folder)
    return wrong < 0.25 and (again.predict_proba(X[-100:]) == model.predict_proba(X[-100:])).all()


WAYS = {way.__name__: way for way in (saved, pickled, copied, forked)}
often = pytest.mark.parametrize(
    ("times", "rows"),
    [pytest.param(10, 6000, id="ten"), pytest.param(1000, 60_000, id="thousand", marks=pytest.mark.slow)],
)


@often
@pytest.mark.parametrize("balanced", [False, True], ids=["plain", "balanced"])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.filterwarnings("ignore:This process.*is multi-threaded:DeprecationWarning")
def test_while_columns_and_classes_come(way, balanced, times, rows, tmp_path):
    if way == "forked" and not hasattr(os, "fork"):
        pytest.skip("this system has no fork")
    draw, done, wrong = random.Random(0), 0, []
    while done < times:
        found = meanwhile(balanced, rows, WAYS[way], min(20, times - done), tmp_path, draw)
        wrong += troubles(balanced, rows, found, tmp_path)
        done += len(found)
    assert not wrong, f"{len(wrong)} of {done}: {wrong[:5]}"
