"""What columns are, and what that is good for: dates, money, words, identifiers."""

import datetime as dt
import json
import random
import uuid

import numpy as np
import pytest

from budgetron import Encoder, OnlineClassifier, OnlineRegressor, load
from budgetron.records.reading import from_dicts
from budgetron.records.texts import meaning
from budgetron.records.values import normalised
from budgetron.records.words import usual
from tests.helpers.cases import each

START = dt.datetime(2024, 2, 1)


def encoded(values, **more):
    """The encoding after a column of these values."""
    encoding = Encoder(**more).build()
    encoding.encode(from_dicts([{"c": value} for value in values]))
    return encoding


DRAW = random.Random(0)
COLUMNS = {
    "number": [str(DRAW.random()) for _ in range(120)],
    "money": [f"${DRAW.random() * 9999:,.2f}" for _ in range(120)],
    "percent": [f"{DRAW.randrange(100)} %" for _ in range(120)],
    "truth": [DRAW.choice(["yes", "No"]) for _ in range(120)],
    "date": [(START + dt.timedelta(hours=i)).strftime("%d/%m/%Y %H:%M") for i in range(120)],
    "category": [DRAW.choice(["red", "green", "dark blue"]) for _ in range(120)],
    "text": [" ".join(DRAW.choices(["to", "be", "or", "not"], k=5)) + f" {i}" for i in range(120)],
    "identifier": [str(uuid.UUID(int=DRAW.getrandbits(128))) for _ in range(120)],
}


@each(("kind", "values"), COLUMNS.items())
def test_kinds(kind, values):
    encoding = encoded(values)
    assert encoding.kinds["c"].kind == kind
    n = {"number": 10, "text": 20}.get(kind, 100)
    assert encoding.lines()[0].startswith(f"c: {kind}")
    assert encoding.lines()[0].endswith(f"{n} of the first {n}")
    again = Encoder().build()
    again.restore(json.loads(json.dumps(encoding.state())))
    assert again.lines() == encoding.lines()


def test_codes_stay_texts():
    encoding = encoded([f"{DRAW.randrange(300):03}" for _ in range(400)])
    assert encoding.kinds["c"].kind == "category"
    x = encoding.encode_one({"c": 7}, grow=False)
    assert not np.array_equal(x, encoding.encode_one({"c": "007"}, grow=False))


@each("cut", [90, 95, 99, 100, 119])
def test_numbers_that_decide_a_category_may_come_alone(cut):
    rows = [{"c": "xy"[i % 2]} for i in range(90)] + [{"c": 5}] * 30
    whole, parts = Encoder().build(), Encoder().build()
    X, _ = whole.encode(from_dicts(rows))
    found = [parts.encode(from_dicts(part))[0] for part in (rows[:90], rows[90:cut], rows[cut:]) if part]
    assert parts.state() == whole.state()
    np.testing.assert_array_equal(found[-1], X[cut:])


@each("cut", [29, 30, 31, 40, 41])
def test_dates_that_come_late_are_read_alike_in_any_cut(cut):
    texts = [
        *["1", "2"] * 15,
        *["13/01/2024", "09/09/2024"] * 5,
        *["2024-01-01 10:00", "2024-02-02 20:00"] * 5,
    ]
    rows = [{"c": text} for text in texts]
    whole, parts = Encoder().build(), Encoder().build()
    X, _ = whole.encode(from_dicts(rows))
    found = [parts.encode(from_dicts(part))[0] for part in (rows[:cut], rows[cut:])]
    single = Encoder().build()
    each_row = [single.encode(from_dicts([row]))[0] for row in rows]
    assert parts.state() == whole.state() == single.state()
    np.testing.assert_array_equal(found[1], X[cut:])
    np.testing.assert_array_equal(each_row[-1], X[-1:])


def test_times_of_day_are_read_alike():
    time = dt.time(9, 5, 30, 250_000)
    assert meaning(time.isoformat()) == normalised(time) == 32730.25
    assert meaning("09:05:30") == 32730.0
    assert meaning("24:00:00") == "24:00:00"


def test_a_running_number_is_left_out():
    encoding = encoded(range(1, 2001))
    assert encoding.lines() == ["c: identifier (left out), the same step each time"]
    assert encoding.encode_one({"c": 5000.0}).tolist() == [0.0]


@each(("given", "value", "expected"), [
    ("comma", "1,234", 1.234), ("comma", "1.234", 1.234), ("number", "1,234", 1234.0), ("money", "3", 3.0),
])  # fmt: skip
def test_given_numbers(given, value, expected):
    assert encoded([value], columns={"c": given}).encode_one({"c": value}, grow=False).tolist() == [
        expected
    ]


def test_given_kinds_win():
    assert encoded(["5", "6"], columns={"c": "category"}).columns == ["c=5", "c=6"]
    assert encoded(COLUMNS["text"], columns={"c": "category"}).kinds["c"].kind == "category"
    assert encoded(COLUMNS["category"], columns={"c": "text"}).width == 512
    assert encoded(COLUMNS["money"], columns={"c": "identifier"}).width == 0
    assert encoded(["01/02/2024"], columns={"c": "mdy"}).lines() == ["c: date, month first, as given"]


def test_dates_wait_until_the_order_is_known():
    encoding = encoded([f"0{i % 9 + 1}/0{i % 7 + 1}/2024" for i in range(200)])
    assert encoding.kinds["c"].asks
    assert encoding.kinds["c"].order is None
    encoding.encode(from_dicts([{"c": "13/05/2024"}, {"c": "28/06/2024"}]))
    assert not encoding.kinds["c"].asks
    assert encoding.lines() == ["c: date, day first, 100 of the first 100"]


def test_the_trend_of_dates_in_any_order_cannot_run_away():
    days = [START + dt.timedelta(days=DRAW.randrange(300)) for _ in range(200)]
    encoding = encoded(days)
    place = encoding.columns.index("c (trend)")
    far = [encoding.encode_one({"c": dt.datetime(year, 1, 1)}, grow=False)[place] for year in (2030, 2090)]
    assert far[0] == far[1]
    assert "c (trend)" not in encoded(sorted(days)).columns


def hourly(n):
    hours = np.arange(n)
    noise = np.random.default_rng(0).normal(0, 3, n)
    day, week = 2 * np.pi * hours / 24, (hours // 24) % 7 >= 5
    return 50 + 15 * np.sin(day) + 6 * np.sin(2 * day + 1) + 8 * week + noise


@pytest.mark.parametrize(
    ("written", "times"), [("%Y-%m-%d %H:%M", 1.035), (None, 1.035), ("%d/%m/%Y %H:%M", 1.06)]
)
def test_an_hourly_series(written, times):
    """Nearly as good as with parts made by hand; the order of day and month is known after a day."""
    y = hourly(5000)
    moments = [START + dt.timedelta(hours=i) for i in range(5000)]
    rows = [{"when": moment if written is None else moment.strftime(written)} for moment in moments]
    angles = 2 * np.pi * np.arange(5000)[:, None] / [24, 168]
    by_hand = np.hstack([np.sin(angles), np.cos(angles)])
    errors = []
    for X in (rows, by_hand):
        model = OnlineRegressor(random_state=0)
        online = np.abs(model.progressive_predict(X[:4000], y[:4000]) - y[:4000]).mean()
        errors.append((online, np.abs(model.predict(X[4000:]) - y[4000:]).mean()))
    assert errors[0][0] < times * errors[1][0]
    assert errors[0][1] < 1.1 * errors[1][1]


def messy(n=3000):
    """A table as people have it, and the same as numbers alone."""
    draw, rows, labels = random.Random(1), [], []
    for i in range(n):
        amount, bad = draw.lognormvariate(3, 1), draw.random() < 0.5
        words = [draw.choice(["ship", "the", "item", "to", "my", "door"]) for _ in range(6)]
        words.insert(draw.randrange(6), draw.choice(["refund", "broken"] if bad else ["thanks", "great"]))
        rows.append({
            "id": str(uuid.UUID(int=draw.getrandbits(128))),
            "when": (START + dt.timedelta(hours=i)).strftime("%d/%m/%Y %H:%M"),
            "amount": "N/A" if draw.random() < 0.1 else f"${amount:,.2f}",
            "note": " ".join(words) if draw.random() < 0.9 else "-",
            "vip": draw.choice(["yes", "no"]),
            **({"late": f"{draw.randrange(100)} %"} if i > 500 else {}),
        })  # fmt: skip
        labels.append("bad" if bad else "ok")
    return rows, labels


def test_a_table_as_people_have_it(tmp_path):
    from sklearn.feature_extraction.text import CountVectorizer

    rows, labels = messy()
    model = OnlineClassifier(random_state=0)
    wrong = np.mean(model.progressive_predict(rows, labels)[1000:] != np.array(labels)[1000:])
    by_hand = CountVectorizer().fit_transform([row["note"] for row in rows]).toarray().astype(float)
    best = OnlineClassifier(random_state=0).progressive_predict(by_hand, labels)
    assert wrong <= 1.1 * np.mean(best[1000:] != np.array(labels)[1000:]) + 0.003
    assert {name: kind.kind for name, kind in model.encoding_.kinds.items()} == {
        "id": "identifier", "when": "date", "amount": "money",
        "note": "text", "vip": "truth", "late": "percent",
    }  # fmt: skip
    model.save(tmp_path / "model")
    assert load(tmp_path / "model").encoding_.lines() == model.encoding_.lines()


def test_fit_decides_first():
    rows, labels = messy(400)
    model = OnlineClassifier(random_state=0).fit(rows, labels)
    assert not any(column.startswith("id") for column in model.encoding_.columns)
    first = model.encoding_.encode_one(rows[0], grow=False)
    assert first[[c.startswith("note") for c in model.encoding_.columns]].any()


def test_texts_of_an_open_column_are_categories_if_they_repeat():
    encoding = encoded(["a", "b", "a", "one two three four", "a1b2c3d4e5f60718"])
    assert encoding.columns == ["c=a", "c=b"]
    assert len(encoded([f"name{i}" for i in range(90)]).columns) == 8


def test_sentences_that_all_differ_are_text_after_twenty():
    texts = [f"the {i} of all my words {i % 3}" for i in range(30)]
    assert encoded(texts[:19]).lines() == ["c: open, 19 values so far"]
    assert encoded(texts).lines() == ["c: text, 20 of the first 20"]
    answers = [f"I would say {text} to that" for text in ("yes", "no", "nothing")] * 40
    assert encoded(answers).lines() == ["c: category, 100 of the first 100"]


def test_pairs_of_words_have_a_slot_if_they_belong_together():
    draw = random.Random(0)
    texts = [" ".join(draw.choice("abcdefgh") for _ in range(8)) + " credit card" for _ in range(100)]
    own = usual(texts, 512)
    assert "credit card" in own
    assert len([word for word in own if " " in word]) < 4


def test_new_words_get_slots_along_the_stream():
    """While there are free ones; a row that is not learned gives none, and does not see later words."""
    draw = random.Random(1)
    texts = [" ".join(f"word{draw.randrange(5 + i)}" for _ in range(9)) for i in range(300)]
    learned = np.array([i % 3 > 0 for i in range(300)])
    rows = [{"c": text} for text in texts]
    whole = Encoder(words=256).build()
    X, _ = whole.encode(from_dicts(rows), learned=learned)
    own = whole.kinds["c"].usual
    assert len(own) == 192
    assert len(set(own)) == len(own)
    for size in (1, 7, 100):
        parts = Encoder(words=256).build()
        for i in range(0, 300, size):
            part, _ = parts.encode(from_dicts(rows[i : i + size]), learned=learned[i : i + size])
            np.testing.assert_array_equal(part, X[i : i + size, : part.shape[1]])
        assert parts.state() == whole.state()


def test_a_copy_gets_words_of_its_own():
    encoding = encoded([f"the {i} of all my words {i % 3}" for i in range(30)])
    state = encoding.state()
    encoding.copy().encode(from_dicts([{"c": "some words that were never there"}]))
    assert encoding.state() == state


def test_numbers_in_groups_are_identifiers():
    draw = random.Random(0)
    phones = [f"+1 555 {draw.randrange(1000, 10000)} {draw.randrange(1000, 10000)}" for _ in range(100)]
    assert encoded(phones).lines() == ["c: identifier (left out), 100 of the first 100"]
    assert encoded([f"({i % 3}) 12 of 40" for i in range(100)]).kinds["c"].kind == "category"
