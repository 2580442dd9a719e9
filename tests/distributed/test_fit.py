"""distributed.fit: parts on workers in other processes, merged; who learned what does not matter."""

import os
import signal
import threading
import time

import numpy as np
import pytest

da = pytest.importorskip("dask.array", reason="needs the extra dask")
db = pytest.importorskip("dask.bag", reason="needs the extra dask")
dd = pytest.importorskip("dask.dataframe", reason="needs the extra dask")
pd = pytest.importorskip("pandas")

from budgetron import (  # noqa: E402
    Encoder,
    Gaussian,
    Identity,
    Kalman,
    Mapped,
    OnlineClassifier,
    OnlineRegressor,
    RandomFourier,
    auto,
    distributed,
    duol,
    merge,
    rbp,
)

SMALL = auto(size=10)
SEEDED = OnlineClassifier(SMALL, random_state=0)


def rows(n=800, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    return X, np.where(X[:, 0] * X[:, 1] > 0, "yes", "no")


def chunked(X, y, rows=200):
    return da.from_array(X, chunks=(rows, -1)), da.from_array(y, chunks=rows)


def scores(model, X):
    return model.decision_function(X) if hasattr(model, "decision_function") else model.predict(X)


# ---- on a cluster


def test_the_model_is_that_of_merging_here(client):
    X, y = rows()
    fitted = distributed.fit(OnlineClassifier(SMALL, random_state=0), *chunked(X, y), client=client)
    start = [OnlineClassifier(SMALL, random_state=0).start(X, classes=["no", "yes"]) for _ in range(4)]
    parts = [
        part.partial_fit(X[i : i + 200], y[i : i + 200])
        for part, i in zip(start, range(0, 800, 200), strict=True)
    ]
    assert np.array_equal(scores(fitted, X), scores(merge(parts), X))
    fitted.partial_fit(X[:1], ["perhaps"])  # labels were not given, so that others may come
    assert fitted.classes_.tolist() == ["no", "perhaps", "yes"]


def test_exact_learners_are_those_of_a_single_pass(client):
    X, _ = rows()
    y = np.sin(X[:, 0]) + X[:, 1]
    model = OnlineRegressor(Mapped(RandomFourier(Gaussian(0.3), 30), Kalman()), random_state=0)
    fitted = distributed.fit(model, *chunked(X, y, 100), client=client, fan_in=3)
    single = OnlineRegressor(model.learner, random_state=0).partial_fit(X, y)
    assert np.abs(fitted.predict(X) - single.predict(X)).max() < 1e-9


def slow_block(folder, block_id):
    """Rows of one block; leaves the process that makes it in a file, and takes a while."""
    number = block_id[0]
    with open(os.path.join(folder, f"{number}.{os.getpid()}"), "w"):
        time.sleep(0.3)
    return rows(50, seed=number)[0]


@pytest.mark.slow
def test_the_parts_of_a_killed_worker_are_learned_by_others(tmp_path):
    from distributed import Client, LocalCluster

    labels = np.concatenate([rows(50, seed=i)[1] for i in range(12)])
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        X = da.map_blocks(
            slow_block, str(tmp_path), chunks=((50,) * 12, (4,)), dtype=float, meta=np.empty((0, 0))
        )

        def kill():
            while len(list(tmp_path.iterdir())) < 3:
                time.sleep(0.02)
            os.kill(int(next(tmp_path.iterdir()).suffix[1:]), signal.SIGKILL)

        killer = threading.Thread(target=kill)
        killer.start()
        fitted = distributed.fit(
            OnlineClassifier(rbp(Gaussian(0.3), budget=20), random_state=0),
            X,
            da.from_array(labels, chunks=50),
            classes=["no", "yes"],
            client=client,
        )
        killer.join()
    made = [path.stem for path in tmp_path.iterdir()]
    assert len(made) > len(set(made)) == 12  # some block was made twice
    everything = np.vstack([rows(50, seed=i)[0] for i in range(12)])
    again = distributed.fit(
        OnlineClassifier(rbp(Gaussian(0.3), budget=20), random_state=0),
        *chunked(everything, labels, 50),
        classes=["no", "yes"],
    )
    assert np.array_equal(scores(fitted, everything), scores(again, everything))


def test_rows_do_not_come_to_the_client(client):
    """80 MB are made and learned on the workers; the client grows by a fraction of that."""
    resource = pytest.importorskip("resource")
    X = da.random.default_rng(0).normal(size=(500_000, 20), chunks=(25_000, -1))
    y = (X[:, 0] > 0).astype(int)
    model = OnlineClassifier(Mapped(Identity(), Kalman()), random_state=0)
    distributed.fit(model, X[:1000], y[:1000], classes=[0, 1], client=client)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    fitted = distributed.fit(model, X, y, classes=[0, 1], client=client)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 20_000  # KiB
    assert fitted.coef_.shape == (1, 21)


# ---- kinds of data; the threads of Dask learn


def mixed(n=400):
    X, y = rows(n)
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame["colour"] = np.where(X[:, 2] > 0, "red", "blue")
    frame.loc[frame.index[-3:], "colour"] = "green"  # in the last part only
    return frame.assign(label=y)


def test_frames_of_numbers_keep_their_names():
    frame = mixed().drop(columns="colour")
    model = distributed.fit(
        OnlineClassifier(SMALL, random_state=0), dd.from_pandas(frame, npartitions=3), "label"
    )
    assert model.feature_names_in_.tolist() == list("abcd")
    parts = dd.from_pandas(frame, npartitions=3)
    other = distributed.fit(
        OnlineClassifier(SMALL, random_state=0), parts.drop(columns="label"), parts["label"]
    )
    X = frame.drop(columns="label")
    assert np.array_equal(scores(model, X), scores(other, X))


def test_frames_with_texts_are_records():
    frame = mixed()
    model = distributed.fit(
        OnlineClassifier(SMALL, random_state=0), dd.from_pandas(frame, npartitions=3), "label"
    )
    assert set(model.encoding_.columns) == {*"abcd", "colour=red", "colour=blue", "colour=green"}
    assert (model.predict(frame.drop(columns="label")) == frame["label"]).mean() > 0.7


def test_bags_of_records_and_of_pairs():
    frame = mixed()
    records, labels = frame.drop(columns="label").to_dict("records"), frame["label"].tolist()
    whole = db.from_sequence(frame.to_dict("records"), npartitions=4)
    pairs = db.from_sequence(list(zip(records, labels, strict=True)), npartitions=4)
    one, other = (
        distributed.fit(OnlineClassifier(SMALL, random_state=0), *data)
        for data in ((whole, "label"), (pairs,))
    )
    assert np.array_equal(scores(one, records), scores(other, records))
    assert "colour=green" in one.encoding_.columns


def test_values_beyond_the_limits_of_the_encoder_are_hashed():
    records = [{"id": f"value {i}", "x": float(i % 7), "y": i % 2} for i in range(300)]
    model = OnlineClassifier(
        rbp(Gaussian("scale"), budget=20),
        encoder=Encoder(most_values=5, columns={"id": "category"}),
        random_state=0,
    )
    fitted = distributed.fit(model, db.from_sequence(records, npartitions=5), "y")
    assert fitted.encoding_.width == 5 + 1 + 32
    assert len(fitted.predict(records)) == 300
    assert isinstance(fitted.gamma_, float)
    assert fitted.learner == model.learner


@pytest.mark.parametrize(
    "odd",
    [
        [{"id": f"value {i}", "x": 1.0, "y": i % 2} for i in range(60)],
        [{"id": "value 0", "x": 1.0, "y": i % 2} | {f"c{j}": 1.0 for j in range(300)} for i in range(60)],
        [{"id": "a" * 300, "x" * 300: 1.0, "x": 1.0, "y": i % 2} for i in range(60)],
    ],
    ids=["values", "columns", "long texts"],
)
@pytest.mark.parametrize("first", [True, False])
def test_values_that_only_one_part_has_are_hashed(odd, first):
    plain = [{"id": "value 0", "x": float(i % 7), "y": i % 2} for i in range(60)]
    records = odd + plain if first else plain + odd
    model = OnlineClassifier(random_state=0, encoder=Encoder(columns={"id": "category"}))
    fitted = distributed.fit(model, db.from_sequence(records, npartitions=2), "y")
    assert "hashed 0" in fitted.encoding_.columns
    assert len(fitted.predict(records)) == 120
    fitted.partial_fit(records, [record["y"] for record in records])


def test_the_start_is_the_same_if_dask_makes_it_again(monkeypatch):
    """A worker may be lost with it. Random features must agree, also if the model has no random_state."""
    X, y = rows(80)
    seeds, started = [], distributed.fitting.workers.started

    def twice(*arguments):
        models = [started(*arguments) for _ in range(2)]
        seeds.extend(model.fitted_.model.seed for model in models)
        return models[0]

    monkeypatch.setattr(distributed.fitting.workers, "started", twice)
    for random_state in (None, np.random.RandomState(0), 7):
        fitted = distributed.fit(OnlineClassifier(SMALL, random_state=random_state), *chunked(X, y, 40))
        assert seeds[-2] == seeds[-1]
        assert type(fitted.random_state) is type(random_state)
    assert seeds[-1] == 7
    assert len(set(seeds)) == 3


def test_a_learner_is_a_classifier_and_gamma_is_that_of_the_first_rows():
    X, y = rows()
    fitted = distributed.fit(rbp(Gaussian(), budget=20), *chunked(X, y))
    assert fitted.gamma_ == pytest.approx(1 / (4 * X[:200].var()))


def test_models_that_can_only_be_stacked():
    X, y = rows(120)
    fitted = distributed.fit(
        OnlineClassifier(duol(Gaussian(0.3))), *chunked(X, y, 40), classes=["no", "yes"], fan_in=2
    )
    assert len(fitted.expert_weights_) == 3


def test_parts_without_rows_and_columns_in_pieces():
    X, y = rows()
    chunks = (0, 300, 0, 500, 0)
    data = da.from_array(X, chunks=(chunks, (2, 2))), da.from_array(y, chunks=(400, 400))
    fitted = distributed.fit(OnlineClassifier(SMALL, random_state=0), *data)
    assert (fitted.predict(X) == y).mean() > 0.7


# ---- refusals

ARRAYS = chunked(*rows(), 400)


def pairs(*labels):
    """A bag of two parts."""
    return db.from_sequence([({"a": 1.0}, label) for label in labels], npartitions=2)


MODEL = OnlineClassifier(SMALL)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((3, *ARRAYS), "model must be an OnlineClassifier, an OnlineRegressor or a Learner, got 3"),
        ((MODEL, *rows()), r"X must be a Dask array, data frame or bag, got .*; dask.array.from_array"),
        ((MODEL, ARRAYS[0], rows()[1]), "y must be a Dask array, as X is, got"),
        ((MODEL, ARRAYS[0][:500], ARRAYS[1]), "X has 500 rows, y has 800"),
        ((MODEL, ARRAYS[1], ARRAYS[1]), "X must have two dimensions, got 1"),
        ((MODEL, ARRAYS[0], ARRAYS[0]), "y must have one dimension, got 2"),
        ((OnlineClassifier(epochs=2), *ARRAYS), "makes one pass .* epochs must be 1"),
        ((MODEL, dd.from_pandas(mixed(), npartitions=2), "labels"), "no column 'labels'; it has 'a', 'b'"),
        ((MODEL, dd.from_pandas(mixed(), npartitions=2)), "y must be the name of the column"),
        ((MODEL, db.from_sequence([{"a": 1}]), 3), "y must be the name of the label in the records"),
        ((MODEL, db.from_sequence([{"a": 1.0}]), "b"), "part 0: a record has no 'b'"),
        ((MODEL, db.from_sequence([{"a": 1.0}])), r"part 0: the bag must hold pairs \(record, label\)"),
        ((MODEL, ARRAYS[0][:0], ARRAYS[1][:0]), "no part has rows"),
        ((MODEL, db.from_sequence([1, 2]), "y"), "part [01]: a record must be a dict, got [12]"),
        (
            (MODEL, pairs(1, 2, "x", "y")),
            "y must hold labels that are all texts or all numbers, got int, str",
        ),
        ((MODEL, pairs(1, "x", 2, 3)), "part 0: y must hold labels that are all texts or all numbers"),
        ((MODEL, pairs(1, 2, None, 3)), "part 1: y must hold a label for every row, got None in row 0"),
        (
            (MODEL, dd.from_pandas(pd.DataFrame({"a": [1.0, 2.0], "y": ["u", None]}), npartitions=1), "y"),
            "part 0: y must hold a label for every row, got .* in row 1",
        ),
    ],
)
def test_sentences(arguments, sentence):
    with pytest.raises((TypeError, ValueError), match=f"(?s)distributed.fit.*{sentence}"):
        distributed.fit(*arguments)


def test_an_error_names_its_part():
    X, y = rows()
    X[600] = 1e200
    with pytest.raises(ValueError, match=r"distributed.fit, part 3: Row 0 of X is too large"):
        distributed.fit(MODEL, *chunked(X, y), classes=["no", "yes"])
    with pytest.raises(ValueError, match=r"part \d: y contains 'no', which is not among the classes"):
        distributed.fit(MODEL, *chunked(*rows()), classes=["yes", "other"])
    with pytest.raises(ValueError, match="fan_in must be at least 2"):
        distributed.fit(MODEL, *chunked(X, y), fan_in=1)
