"""Random streams of records, and ways to cut them: whatever the cut, the model must be the same.

A stream depends only on its number. It has a learner, rows (record, label, weight), records to predict, and
cuts. A cut is a list of steps: rows that are learned in one call, or a moment at which the model is saved
and loaded, pickled or copied. The first cut learns row by row.
"""

import copy
import datetime as dt
import pickle
import random
import string
import tempfile
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from budgetron import (
    Encoder,
    Gaussian,
    Logistic,
    OnlineClassifier,
    OnlineRegressor,
    Squared,
    Standardised,
    auto,
    fogd,
    load,
    model_files,
    rbp,
)
from budgetron.records.reading import to_table

SMALL = Encoder(most_columns=40, most_values=3)
SOON = Encoder(most_columns=64, most_values=4, decide_after=5, words=8)
VERY_SOON = Encoder(most_columns=40, most_values=3, decide_after=2, words=4)
GIVEN = {"a": "text", "b": "dmy", "c": "category", "d": "comma", "e": "identifier", "f": "date"}
WITH_KINDS = Encoder(most_columns=64, columns=GIVEN, decide_after=4, words=8)
ENCODERS = [None, None, SMALL, SOON, SOON, VERY_SOON, WITH_KINDS]
LONG = "long " * 60


def fourier(loss):
    return Standardised(fogd(Gaussian("1/d"), components=4, eta=0.1, loss=loss))


CLASSIFIERS = {
    "auto": lambda: auto(size=3),
    "standardised fogd": lambda: fourier(Logistic()),
    "standardised rbp": lambda: Standardised(rbp(Gaussian("1/d"), budget=5)),
    "rbp": lambda: rbp(Gaussian(0.5), budget=5),
}
REGRESSORS = {
    "auto": lambda: auto(size=3),
    "standardised fogd": lambda: fourier(Squared()),
    "fogd": lambda: fogd(Gaussian(0.5), components=4, eta=0.1, loss=Squared()),
}
NEED_ALL = ("rbp", "fogd")  # learners that take no missing numbers


class Row(NamedTuple):
    """A record with its label or target, and its weight."""

    x: dict[str, Any]
    y: Any
    weight: float = 1.0


class Step(NamedTuple):
    """Rows that are learned in one call of some way, or a moment at which something else is done."""

    way: str
    rows: tuple[int, ...] = ()


@dataclass(frozen=True)
class Stream:
    """See the top of this file."""

    number: int
    learner: str
    rows: list[Row]
    probes: list[dict[str, Any]]
    cuts: list[list[Step]]
    regression: bool = False
    balanced: bool = False
    encoder: Encoder | None = None
    order: list[str] | None = None  # of the keys of all records, if it is always the same

    def model(self):
        """The estimator, which has learned nothing."""
        if self.regression:
            learner = REGRESSORS[self.learner]()
            return OnlineRegressor(learner, random_state=0, encoder=self.encoder)
        weight = "balanced" if self.balanced else None
        learner = CLASSIFIERS[self.learner]()
        return OnlineClassifier(learner, random_state=0, class_weight=weight, encoder=self.encoder)

    def without(self, rows):
        """The same stream; the cuts leave these rows out."""
        kept = [[Step(s.way, tuple(i for i in s.rows if i not in rows)) for s in cut] for cut in self.cuts]
        return replace(self, cuts=[[s for s in cut if s.rows or s.way in BETWEEN] for cut in kept])


# ---- random values


def number(draw):
    kind = draw.randrange(10)
    if kind < 5:
        return round(draw.gauss(0, 1), 2)
    plain = draw.randrange(-3, 4)
    kinds = [int, float, np.float32, np.int64, lambda v: Decimal(v) / 4]
    return kinds[kind - 5](plain)


def text(draw):
    return draw.choice("pqr")


def one_of_many(draw):
    return draw.choice(string.ascii_letters)


def long_text(draw):
    return draw.choice(["p", LONG + "a", LONG + "b"])


def date(draw):
    moment = dt.datetime(2024, 1, 1) + dt.timedelta(
        hours=draw.randrange(5000), microseconds=draw.choice([0, 7])
    )
    zone = dt.timezone(dt.timedelta(hours=2))
    kinds = [moment, moment.date(), moment.replace(tzinfo=zone), np.datetime64(moment)]
    return draw.choice(kinds)


def truth(draw):
    return draw.choice([True, False, np.bool_(True)])


def iso(draw):
    return dt.date(2024, 1, draw.randrange(1, 5)).isoformat()


def money(draw):
    value = draw.randrange(200_000) / 100
    return draw.choice([f"${value:,.2f}", f"{value:.2f}", f"€ {value:.0f}", f"({value})", "N/A"])


def comma(draw):
    value = f"{draw.randrange(2_000_000) / 100:,.2f}".translate(str.maketrans(",.", ".,"))
    return draw.choice([value, value, "1,234", "€ 1.234"])


def slashed(draw):
    day = dt.datetime(2024, 1, 1) + dt.timedelta(hours=draw.choice([1, 30, 300, 9000]) * draw.randrange(20))
    return day.strftime("%d/%m/%Y %H:%M" if draw.random() < 0.9 else "%m/%d/%Y")


def sentence(draw):
    return " ".join(
        draw.choice(["to", "be", "or", "not", "that", "is"]) for _ in range(draw.randrange(1, 8))
    )


def identifier(draw):
    return f"{draw.getrandbits(128):032x}" if draw.random() < 0.95 else "none of them"


def in_words(draw):
    return draw.choice(["yes", "No", "true", "n/a", "-", "maybe"])


def code(draw):
    return f"{draw.randrange(300):03}"


def mixed(draw):
    return draw.choice([number, text, date, truth, long_text, money, slashed, sentence, code])(draw)


AS_PEOPLE_WRITE = [money, comma, slashed, sentence, identifier, in_words, code]


def blank(draw):
    return draw.choice([None, float("nan"), "", "  ", np.float64("nan"), np.datetime64("NaT")])


VALUES = [number] * 5 + [text] * 3 + [one_of_many, long_text, date, truth, iso, mixed, *AS_PEOPLE_WRITE]
NEVER_MISSING = [number] * 5 + [text] * 3 + [one_of_many, long_text, date, truth, sentence, identifier]
BAD_VALUES = [float("inf"), 1e200, [1], 10**400, b"\xff"]
BAD_LABELS = [None, float("nan"), 2.0**60]

TEXTS = ["no", "yes", "perhaps", "n", LONG]
NULS = ["a", "a\0", "b", "b\0\0", "\0"]
ONES = [0, 1, 2, 0.0, 1.0, 2.0, True, False, np.int64(1), np.float64(2.0), np.bool_(True), np.int32(0)]
LABELS = {
    "texts": TEXTS,
    "numbers": [3, 1, 2, 7],
    "halves": [0, 1, 2, 3.0],
    "kinds of numbers": ONES,
    "texts with NUL": NULS,
}


@dataclass
class Field:
    """A column of records to draw."""

    name: str
    value: Any
    first: int  # the first row that has it
    share: float  # of rows that have it, from then on
    blanks: float  # of these, the share of missing values

    def put(self, record, row, draw):
        if row >= self.first and draw.random() < self.share:
            record[self.name] = blank(draw) if draw.random() < self.blanks else self.value(draw)


def drawn_fields(draw, rows, complete):
    names = draw.sample([*"abcdefgh", "n" * 300, "é", "with space"], draw.choice([1, 2, 3, 5, 8]))
    found = []
    for name in names:
        first = 0 if draw.random() < 0.5 else draw.randrange(rows)
        value = draw.choice(NEVER_MISSING if complete else VALUES)
        always = complete and value not in (text, one_of_many, long_text, sentence, identifier)
        share, blanks = (1.0, 0.0) if always else (draw.choice([1.0, 0.8, 0.4]), draw.choice([0.0, 0.2]))
        found.append(Field(name, value, first, share, blanks))
    return found


def drawn_records(draw, fields, rows, order):
    """Records, the first of which may have no value, with keys in one order or in any."""
    empty = draw.choice([0, 0, 0, 1, 1, 2, 3])
    found = []
    for i in range(rows):
        record: dict[str, Any] = {}
        if i < empty:
            record = {each.name: blank(draw) for each in fields if draw.random() < 0.4}
        else:
            for each in fields:
                each.put(record, i, draw)
        keys = [name for name in order if name in record] if order else draw.sample([*record], len(record))
        found.append({key: record[key] for key in keys})
    return found


def drawn_labels(draw, rows, regression):
    if regression:
        return [draw.choice([round(draw.gauss(0, 1), 2), draw.randrange(3), np.float32(0.5), True])
                for _ in range(rows)]  # fmt: skip
    known = LABELS[draw.choice([*["texts"] * 5, *["kinds of numbers"] * 3, *LABELS])]
    pool = draw.sample(known, draw.randrange(2, len(known) + 1))
    firsts = [0] + [0 if draw.random() < 0.5 else draw.randrange(rows) for _ in pool[1:]]
    return [
        draw.choice([y for y, first in zip(pool, firsts, strict=True) if first <= i]) for i in range(rows)
    ]


def drawn_weights(draw, rows):
    if draw.random() < 0.5:
        return [1.0] * rows
    pool = draw.choice([[1, 1, 0], [1, 0.5, 2], [1, 1, 1, 0, 3], [0, 0, 1]])
    weights = [float(draw.choice(pool)) for _ in range(rows)]
    first = draw.choice([0, 0, 1, 3])
    return [0.0 if i < first else weight for i, weight in enumerate(weights)]


def spoilt(draw, rows):
    """A few rows get values, labels or weights that are refused."""
    rows = list(rows)
    for _ in range(draw.randrange(1, 3)):
        i = draw.randrange(len(rows))
        kind = draw.random()
        if kind < 0.6 and rows[i].x:
            rows[i] = rows[i]._replace(x=rows[i].x | {draw.choice([*rows[i].x]): draw.choice(BAD_VALUES)})
        elif kind < 0.9:
            rows[i] = rows[i]._replace(y=draw.choice([*BAD_LABELS, "text", 5]))
        else:
            rows[i] = rows[i]._replace(weight=-1.0)
    return rows


# ---- random cuts

BETWEEN = ("save", "pickle", "copy")
WAYS = ["batch"] * 6 + ["one", "single", "progressive", "progressive", "table"]


def drawn_cut(draw, rows, ways):
    steps, at = [], 0
    longest = draw.choice([1, 2, 5, rows, rows])
    while at < rows:
        stop = min(rows, at + draw.randrange(1, longest + 1))
        steps.append(Step(draw.choice(ways), tuple(range(at, stop))))
        if draw.random() < 0.25:
            steps.append(Step(draw.choice(BETWEEN)))
        at = stop
    return steps


def drawn_cuts(draw, rows, ways):
    every = tuple(range(rows))
    one = [Step("one", (i,)) for i in every]
    single = [Step("progressive", (i,)) for i in every]
    whole = [Step("batch", every)]
    return [one, single, whole, drawn_cut(draw, rows, ways), drawn_cut(draw, rows, ways)]


def drawn(n):
    """Stream number ``n``."""
    draw = random.Random(n)
    regression = draw.random() < 0.3
    learner = draw.choice([*(REGRESSORS if regression else CLASSIFIERS)])
    rows = draw.choice([2, 3, 5, 8, 12, 20, 30])
    fields = drawn_fields(draw, rows, learner in NEED_ALL)
    ordered = draw.random() < 0.3
    order = [each.name for each in fields] if ordered else None
    records = drawn_records(draw, fields, rows, order)
    labels, weights = drawn_labels(draw, rows, regression), drawn_weights(draw, rows)
    made = [Row(*each) for each in zip(records, labels, weights, strict=True)]
    if draw.random() < 0.15:
        made = spoilt(draw, made)
    encoder = draw.choice(ENCODERS)
    ways = WAYS
    if ordered:  # a frame has one order of columns, and needs an encoder where it has numbers alone
        ways, encoder = [*WAYS, "frame", "frame", "typed frame"], encoder or Encoder()
    return Stream(
        number=n,
        learner=learner,
        rows=made,
        probes=[{}, {"unknown": 1.0}, *drawn_records(draw, fields, 3, order), *draw.sample(records, 2)],
        cuts=drawn_cuts(draw, rows, ways),
        regression=regression,
        balanced=not regression and draw.random() < 0.2,
        encoder=encoder,
        order=order,
    )


# ---- what comes of a cut

REFUSALS = (ValueError, TypeError, OverflowError)


@dataclass
class Outcome:
    """What a cut gives. Two cuts of a stream must not differ in anything."""

    file: Any = None
    classes: Any = None
    probes: Any = None
    progressive: dict[int, Any] = field(default_factory=dict)
    refused: set[int] = field(default_factory=set)
    refused_whole: list[str] = field(default_factory=list)  # batches of which no row alone is refused


def exact(value):
    """A value with its type, in a form that compares by bits."""
    if isinstance(value, dict):
        return [(exact(key), exact(each)) for key, each in value.items()]
    if isinstance(value, np.ndarray):
        return (
            value.dtype.str,
            value.shape,
            exact(value.tolist()) if value.dtype == object else value.tobytes(),
        )
    if isinstance(value, list):
        return [exact(each) for each in value]
    if isinstance(value, float | np.floating):
        return type(value).__name__, float(value).hex()
    return type(value).__name__, value


def file_bytes(model):
    return b"".join(model_files.encoded(model)) if model.__sklearn_is_fitted__() else None


def frame_of(stream, records, typed):
    import pandas as pd

    frame = pd.DataFrame(
        records, columns=pd.Index(stream.order, dtype=object), dtype=None if typed else object
    )
    return (
        frame
        if len(frame) == len(records)
        else pd.DataFrame(index=range(len(records)), columns=stream.order)
    )


class Learning:
    """A model that learns a stream by the steps of a cut."""

    def __init__(self, stream):
        self.stream, self.model, self.outcome = stream, stream.model(), Outcome()

    def step(self, step):
        if step.way in BETWEEN:
            self.model = replaced(self.model, step.way)
        elif step.way == "one":
            for i in step.rows:
                self.try_rows("one", [i])
        elif step.way == "single":
            for i in step.rows:
                self.try_rows("batch", [i])
        else:
            self.try_rows(step.way, list(step.rows))

    def try_rows(self, way, rows):
        """Learn rows. If the call is refused, find the row that is, leave it out, and go on after it."""
        while rows:
            try:
                self.learn(way, rows)
                return
            except REFUSALS as error:
                learned = getattr(error, "rows_learned", 0)
                rows = self.after_refusal(way, rows[learned:], error)

    def after_refusal(self, way, rows, error):
        if len(rows) == 1:
            self.outcome.refused.add(rows[0])
            return []
        for place, i in enumerate(rows):
            try:
                self.learn(way, [i])
            except REFUSALS:
                self.outcome.refused.add(i)
                return rows[place + 1 :]
        self.outcome.refused_whole.append(str(error))
        return []

    def learn(self, way, rows):
        stream, model = self.stream, self.model
        records, y = [stream.rows[i].x for i in rows], [stream.rows[i].y for i in rows]
        weights = [stream.rows[i].weight for i in rows]
        given = {} if all(w == 1 for w in weights) else {"sample_weight": weights}
        if way == "one" and not given:
            model.learn_one(records[0], y[0])
        elif way == "progressive" and knows_a_label(model):
            found = model.progressive_predict(records, y, **given).tolist()
            self.outcome.progressive |= dict(zip(rows, exact(found), strict=True))
        else:
            model.partial_fit(self.given_as(way, records), y, **given)

    def given_as(self, way, records):
        if way == "table":
            return to_table(records)
        return frame_of(self.stream, records, way == "typed frame") if "frame" in way else records


def replaced(model, way):
    """The model as it comes back from a file, a pickle or a copy."""
    if not model.__sklearn_is_fitted__():
        return model
    if way == "pickle":
        return pickle.loads(pickle.dumps(model))
    if way == "copy":
        return copy.deepcopy(model)
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / "model")
        return load(Path(folder) / "model")


def answer(call, *args):
    """What a call returns, bit for bit, or its sentence."""
    try:
        return exact(call(*args))
    except (*REFUSALS, AttributeError) as error:
        return type(error).__name__, str(error)


def asked(model, probes):
    """What the model answers about the probes."""
    if not model.__sklearn_is_fitted__():
        return None
    names = ["predict", "decision_function", "predict_proba"]
    found = [answer(getattr(model, name), probes) for name in names if _has(model, name)]
    names = ["predict_one", "predict_proba_one"]
    return found + [answer(getattr(model, name), x) for name in names if _has(model, name) for x in probes]


def _has(model, name):
    return hasattr(model, name) and not (
        name == "predict_proba_one" and not hasattr(model, "predict_proba")
    )


def outcome(stream, cut):
    """What the cut gives."""
    learning = Learning(stream)
    for step in cut:
        learning.step(step)
    model, found = learning.model, learning.outcome
    found.file, found.probes = file_bytes(model), asked(model, stream.probes)
    found.classes = exact(getattr(model, "classes_", None))
    return found


def differences(stream):
    """What differs between the first cut and the others: (kind, number of the cut)."""
    outcomes = [outcome(stream, cut) for cut in stream.cuts]
    first = outcomes[0]
    found = [(kind, i) for i, each in enumerate(outcomes) for kind in differing(first, each)]
    found += [("progressive", i) for i, each in enumerate(outcomes) if predicted_otherwise(outcomes, each)]
    found += [("refused whole", i) for i, each in enumerate(outcomes) if each.refused_whole]
    if first.refused:
        rest = stream.without(first.refused)
        if outcome(rest, rest.cuts[0]).file != first.file:
            found.append(("traces of refused rows", 0))
    if not stream.regression and first.file is not None and merged(stream, first):
        found.append(("labels merged", 0))
    return found


def differing(one, other):
    """The kinds of differences between two outcomes."""
    kinds = ("file", "classes", "probes", "refused")
    return [kind for kind in kinds if getattr(one, kind) != getattr(other, kind)]


def knows_a_label(model: Any) -> bool:
    """Whether a model can predict: rows of weight 0 bring no label."""
    return model.__sklearn_is_fitted__() and len(getattr(model, "classes_", [0])) > 0


def predicted_otherwise(outcomes, one):
    """Whether a prediction before learning differs from that of another cut."""
    return any(
        one.progressive[row] != other.progressive[row]
        for other in outcomes
        for row in one.progressive.keys() & other.progressive.keys()
    )


def merged(stream, found):
    """Whether two labels that differ have become one class."""
    learned = [stream.rows[i] for step in stream.cuts[0] for i in step.rows if i not in found.refused]
    return len({row.y for row in learned if row.weight > 0}) > found.classes[1][0]
