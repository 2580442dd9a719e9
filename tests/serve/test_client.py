"""The client takes what estimators take, and streams with bounded memory."""

import datetime as dt
import tracemalloc
from decimal import Decimal

import numpy as np
import pytest

from budgetron import Standardised, model_files
from budgetron.client import MOST_BYTES, Client
from budgetron.records import plain
from budgetron.serve import settings
from tests.serve.conftest import SMALL

pd, pl, pa = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))

LEARNER = Standardised(SMALL)
N = 60
WHEN = [dt.datetime(2026, 1, 1, tzinfo=dt.UTC) + dt.timedelta(hours=7 * i) for i in range(N)]
COLUMNS = {
    "amount": [None if i % 9 == 4 else i / 7 for i in range(N)],
    "country": [None if i % 11 == 3 else ["DE", "FR", "NL"][i % 3] for i in range(N)],
    "when": [None if i % 13 == 5 else when for i, when in enumerate(WHEN)],
    "took": [dt.timedelta(seconds=90 * (i % 5)) for i in range(N)],
    "new": [i % 2 == 0 for i in range(N)],
}
Y = ["late" if when.hour >= 12 else "in time" for when in WHEN]
FRAMES = {
    "pandas": lambda: pd.DataFrame(COLUMNS),
    "polars": lambda: pl.DataFrame(COLUMNS),
    "pyarrow": lambda: pa.table(COLUMNS),
}


@pytest.fixture
def talking(inside):
    """A client, and the folder of its model."""
    with inside(learner=LEARNER) as server, Client(str(server.base_url)) as client:
        client.folder = server.folder
        yield client


@pytest.mark.parametrize("library", FRAMES)
def test_a_frame_is_learned_as_an_estimator_learns_it(talking, library):
    frame = FRAMES[library]()
    labels = {"pandas": pd.Series, "polars": pl.Series, "pyarrow": pa.array}[library](Y)
    answer = talking.learn(frame, labels)
    assert answer["rows"] == N
    local = settings.read(talking.folder).estimator()
    local.partial_fit(frame, Y)
    kept = talking.predict(frame, keep=True)
    assert kept["predictions"] == local.predict(frame).tolist()
    assert talking.file() == b"".join(model_files.encoded(local))
    assert talking.label(kept["ids"][:2], labels[:2])["rows"] == 2
    assert talking.predict(frame, explain=False)["version"] == N + 2


def test_one_row_of_a_frame_and_of_dicts_and_arrays(talking):
    frame = FRAMES["pandas"]()
    talking.learn(frame.iloc[0], Y[0])
    talking.learn({name: values[1] for name, values in COLUMNS.items()}, Y[1])
    talking.learn(FRAMES["polars"]()[2:3], Y[2:3])
    one = settings.read(talking.folder).estimator().partial_fit(frame.iloc[:3], Y[:3])
    assert b"".join(model_files.encoded(one)) == talking.file()


def test_arrays_of_numbers(inside):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3)).astype(np.float32)
    y = (X[:, 0] > 0).astype(np.int64)
    with inside() as server, Client(str(server.base_url)) as client:
        assert client.learn(X, y)["rows"] == 40
        assert client.learn(X[0], y[0])["rows"] == 1
        assert client.predict(X[0])["predictions"] in ([0], [1])
        ids = np.array(client.predict(X[:2], keep=True)["ids"])
        assert client.label(ids, y[:2])["rows"] == 2


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (np.float32(0.5), 0.5),
        (np.int8(3), 3),
        (np.bool_(True), True),
        (np.str_("a"), "a"),
        (Decimal("1.5"), 1.5),
        (float("nan"), None),
        (np.float64("nan"), None),
        (pd.NA, None),
        (pd.NaT, None),
        (np.datetime64("NaT"), None),
        (np.datetime64("2026-03-01T10:00"), "2026-03-01T10:00"),
        (np.timedelta64(90, "s"), 90.0),
        (np.timedelta64("NaT"), None),
        (pd.Timestamp("2026-03-01T10:00Z"), "2026-03-01T10:00:00+00:00"),
        (dt.date(2026, 3, 1), "2026-03-01"),
        (dt.time(10, 30), "10:30:00"),
        (dt.timedelta(minutes=2), 120.0),
        (b"text", "text"),
    ],
)
def test_values_as_json_has_them(given, said):
    assert plain.value(given) == said
    assert type(plain.value(given)) is type(said)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda client: client.learn({"a": float("inf")}, "no"), "a value is inf"),
        (lambda client: client.learn({"a": [1]}, "no"), "expected a number, a text"),
        (lambda client: client.learn([{"a": 1}], ["no", "yes"]), "x has 1 rows, but y has 2"),
        (lambda client: client.learn(iter([{"a": 1}]), "no"), "learn_stream takes an iterator"),
        (lambda client: client.predict(pd.DataFrame([[1, 2]], columns=["a", "a"])), "two columns"),
        (lambda client: list(client.learn_stream([([{"a": 1}], [])])), "zip"),
    ],
)
def test_what_cannot_be_sent(talking, call, words):
    with pytest.raises((ValueError, TypeError), match=words):
        call(talking)
    assert talking.describe()["version"] == 0


# ---- streams


def test_a_stream_of_rows_and_frames_in_any_mixture_is_that_of_its_rows(inside, tmp_path):
    frame = FRAMES["pandas"]()
    found = []
    for i, stream in enumerate(
        (
            [(frame, Y)],
            zip(frame.to_dict("records"), Y, strict=True),
            ((frame.iloc[i : i + 7], Y[i : i + 7]) for i in range(0, N, 7)),
        )
    ):
        with inside(tmp_path / str(i), LEARNER) as server, Client(str(server.base_url)) as client:
            answers = list(client.learn_stream(stream, batch=25))
            assert [answer["rows"] for answer in answers] == [25, 25, 10]
            found.append(client.file())
    assert found[0] == found[1] == found[2]


def test_a_stream_that_is_sent_again_is_learned_once(talking):
    rows = [({"a": i / 10}, "no") for i in range(30)]
    first = next(talking.learn_stream(iter(rows), batch=10, key="import"))
    answers = list(talking.learn_stream(iter(rows), batch=10, key="import"))
    assert answers[0] == first
    assert talking.describe()["version"] == 30


def test_a_stream_takes_bounded_memory(talking):
    text = "word " * 800  # 4 kB a row: 50 MB in all
    most = 0

    def rows():
        for i in range(12_000):
            yield {"text": text[: 3990 + i % 10]}, "no"

    class Answer:
        is_success = True

        def json(self):
            return {}

    def request(*_, content, **__):
        nonlocal most
        most = max(most, len(content))
        return Answer()

    talking._http.request = request
    tracemalloc.start()
    for _ in talking.learn_stream(rows(), batch=10_000):
        pass
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most <= MOST_BYTES + 1000
    assert peak < 4 * MOST_BYTES


def test_a_replay_is_waited_for():
    httpx = pytest.importorskip("httpx")
    waits = []

    def answer(request):
        waits.append(request.extensions["timeout"]["read"])
        return httpx.Response(200, json={})

    with Client("http://service", transport=httpx.MockTransport(answer)) as client:
        client.roll_back(5)
        client.roll_back(5, replay=True)
        client.add_challenger("other", replay=True)
    assert waits == [30.0, None, None]
