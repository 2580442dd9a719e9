"""Sessions: neither the blocks nor a stop and resume change the result; and bad input is refused."""

import pickle

import numpy as np
import pytest
from scipy import sparse

from budgetron import (
    DivergedError,
    Gaussian,
    Linear,
    OnlineClassifier,
    OnlineRegressor,
    Polynomial,
    Squared,
    evaluate,
    model_files,
    nogd,
    ogd,
    rbp,
    streams,
)
from budgetron.evaluate import Session
from budgetron.evaluate.delayed import Delayed
from budgetron.streams import Block, DataError, Dense, EncodeLabels, MinMax, ShuffleBuffer, Standardise
from tests.helpers.cases import each, pairs

RNG = np.random.default_rng(11)
N = 1300
X = RNG.standard_normal((N, 4))
NUMBERS = np.where(X[:, 0] * X[:, 1] > 0, 1.0, -1.0)
TEXTS = np.array(["a", "b", "c"], dtype=object)[np.digitize(X[:, 0], [-0.5, 0.5])]
TARGETS = np.sin(X[:, 0])

TRANSFORMS = {
    "none": lambda: [],
    "standardise": lambda: [Standardise()],
    "shuffle": lambda: [ShuffleBuffer(170, seed=2), Dense(), MinMax()],
    "shuffle twice": lambda: [ShuffleBuffer(90, seed=2), Standardise(), ShuffleBuffer(60, seed=3)],
    "shuffle all": lambda: [ShuffleBuffer(5000, seed=2)],
}
LABELS = {"numbers": NUMBERS, "texts": TEXTS, "targets": TARGETS}


def estimator(y, gamma):
    if y is TARGETS:
        learner = nogd(Gaussian(gamma), budget=30, rank=10, eta=0.1, loss=Squared())
        return OnlineRegressor(learner, random_state=3)
    return OnlineClassifier(rbp(Gaussian(gamma), budget=40), random_state=3)


def known(y):
    return {} if y is TARGETS else {"classes": sorted(set(y))}


def blocks(rows, y, cut):
    return list(streams.from_arrays(rows, y, rows=cut))


def untimed(records):
    return [record.as_dict() | {"seconds": None} for record in records]


def ran(session, parts):
    """The records of a session over the blocks."""
    return untimed([record for block in parts for record in session.feed(block)] + session.finish())


def bits(model):
    """The state of the native model and its coefficients."""
    return model.n_support_, model.dual_coef_.tobytes(), pickle.dumps(model)


@pairs
@each("labels", LABELS)
@each("transforms", TRANSFORMS)
@each("delay", [0, 130])
@each("gamma", [0.5, "scale"])
def test_blocks_do_not_matter(labels, transforms, delay, gamma):
    y, ends = LABELS[labels], []
    for cut in (1300, 999, 64):
        model, got = estimator(y, gamma), []
        session = Session(
            model, TRANSFORMS[transforms](), delay=delay, every=250, predictions=got.append, **known(y)
        )
        records = ran(session, blocks(sparse.csr_matrix(X), y, cut))
        assert session.rows == session.entered == N
        assert not session.holding
        ends.append((records, np.concatenate(got).tolist(), bits(model)))
    assert ends[1:] == ends[:1] * 2
    assert [record["rows"] for record in ends[0][0]] == [250, 500, 750, 1000, 1250, N]


@pytest.mark.parametrize("delay", [0, 30])
def test_prequential_gives_the_same_records(delay):
    for y in LABELS.values():
        model = estimator(y, "scale")
        parts = blocks(X, y, 77)
        expected = untimed(evaluate.prequential(model, parts, every=300, delay=delay, **known(y)))
        other = estimator(y, "scale")
        assert ran(Session(other, delay=delay, every=300, **known(y)), parts) == expected
        assert bits(other) == bits(model)


def copied(session, make):
    """A new session restored from the state of another; from a file, if there is a model."""
    state = session.state()
    if session.started:
        session.estimator.save("model", extra={"session": state})
        file = model_files.read("model")
        model, state = file.estimator(), file.extra["session"]
    else:
        model, state = pickle.loads(pickle.dumps(session.estimator)), pickle.loads(pickle.dumps(state))
    again = make(model)
    again.restore(state)
    return again


@pairs
@each("labels", LABELS)
@each("transforms", TRANSFORMS)
@each("delay", [0, 130])
@each("gamma", [0.5, "scale"])
def test_a_session_restored_after_every_block(labels, transforms, delay, gamma, tmp_path, monkeypatch):
    """Also between the pieces of a buffer that are drained at the end."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("budgetron.evaluate.session.PIECE", 40)
    y, rows = LABELS[labels], sparse.csr_matrix(X) if labels == "numbers" else X

    def make(model):
        more = {} if model.__sklearn_is_fitted__() else known(y)
        return Session(model, TRANSFORMS[transforms](), delay=delay, every=None, **more)

    whole = make(estimator(y, gamma))
    expected = ran(whole, blocks(rows, y, 130))
    session = make(estimator(y, gamma))
    for block in blocks(rows, y, 130):
        session.feed(block)
        session = copied(session, make)
    pieces = 0
    while session.holding:
        list(session.drain())
        session, pieces = copied(session, make), pieces + 1
    assert pieces == {"shuffle": 5, "shuffle twice": 5, "shuffle all": 33}.get(transforms, 0)
    [last] = untimed(session.finish())
    assert last | {"memory_bytes": 0} == expected[0] | {"memory_bytes": 0}  # a loaded one has no spare room
    assert repr(session.state()) == repr(whole.state())
    for ended, name in ((session, "again"), (whole, "whole")):
        ended.estimator.save(name)
    assert (tmp_path / "again").read_bytes() == (tmp_path / "whole").read_bytes()


# ---- the end


def test_a_finished_session_goes_on_only_if_nothing_had_waited():
    halves = blocks(X, NUMBERS, 650)
    plain, whole = estimator(NUMBERS, 0.5), estimator(NUMBERS, 0.5)
    session = Session(plain, classes=[-1, 1])
    for block in halves:
        session.feed(block)
        session.finish()
    ran(Session(whole, classes=[-1, 1]), halves)
    assert bits(plain) == bits(whole)
    for more in ({"delay": 5}, {"transforms": [ShuffleBuffer(100)]}):
        session = Session(estimator(NUMBERS, 0.5), classes=[-1, 1], **more)
        session.feed(halves[0])
        assert not session.over
        session.finish()
        assert session.over
        with pytest.raises(DataError, match="cannot feed rows after the end"):
            session.feed(halves[1])


def test_the_end_of_few_rows_and_of_none():
    model = OnlineClassifier(rbp(Gaussian(), budget=20))
    session = Session(model, classes=[-1, 1], every=20)
    assert session.feed(Block(X[:50], NUMBERS[:50], 0)) == []
    assert session.holding
    assert not session.started
    assert [record.rows for record in session.finish()] == [20, 40, 50]
    assert model.gamma_ == 1 / (4 * X[:50].var())
    assert Session(OnlineClassifier(), classes=[-1, 1]).finish() == []


# ---- refusals


def test_a_row_that_is_not_finite():
    """The rows before are learned. The session has ended, and a new one continues."""
    bad = X.copy()
    bad[700, 2] = np.nan
    for delay in (0, 20):
        model = estimator(NUMBERS, 0.5)
        session = Session(model, classes=[-1, 1], delay=delay, every=500, name="rows.csv")
        session.feed(Block(bad[:600], NUMBERS[:600], 0))
        feeding = session.feeding(Block(bad[600:], NUMBERS[600:], 600))
        message = r"rows.csv, rows 600 to 999 \(the first is 0\): Input X contains NaN"
        with pytest.raises(DataError, match=message) as caught:
            next(feeding)
        done = 600 - delay if delay else 700
        assert caught.value.rows_learned == done
        alone = estimator(NUMBERS, 0.5).start(X[:1], [-1, 1])
        assert bits(model) == bits(alone.partial_fit(X[:done], NUMBERS[:done]))
        assert session.broken == (delay > 0)
        calls = [session.state] if delay else []
        for call in (*calls, session.finish, lambda s=session: s.feed(Block(X, NUMBERS, 0))):
            with pytest.raises(ValueError, match="the session has ended"):
                call()
        assert ran(Session(model), blocks(X[701:], NUMBERS[701:], 100))[-1]["rows"] == N - 701


def test_an_error_that_names_its_row_is_not_searched_for(monkeypatch):
    """The rows before it are learned in one call."""
    sizes, learn = [], Delayed.predict_learn
    monkeypatch.setattr(
        Delayed, "predict_learn", lambda *given: sizes.append(len(given[2])) or learn(*given)
    )
    rows = X[:400].copy()
    rows[300] = 1e200
    session = Session(estimator(NUMBERS, 0.5), classes=[-1, 1])
    with pytest.raises(DataError, match=r"rows 0 to 399 .* Row 300 of X is too large") as caught:
        session.feed(Block(rows, NUMBERS[:400], 0))
    assert sizes == [400, 300, 100]
    assert caught.value.rows_learned == session.rows == session.entered == 300


@pytest.mark.parametrize("delay", [0, 7])
def test_a_row_that_makes_the_learner_diverge(delay):
    """``rows_learned`` counts the rows of the session, not of the last block or of a native pass."""
    rows = X[:90].copy()
    rows[60] = 1e30
    learner = ogd(Polynomial(1.0, 1.0, degree=9), eta=0.1)
    model = OnlineClassifier(learner, random_state=0)
    session = Session(model, classes=[-1, 1], delay=delay)
    session.feed(Block(rows[:40], NUMBERS[:40], 0))
    with pytest.raises(DataError, match="not finite") as caught:
        session.feed(Block(rows[40:], NUMBERS[40:90], 40))
    assert isinstance(caught.value.__cause__, DivergedError)
    done = caught.value.rows_learned
    assert done == 60 - delay
    alone = OnlineClassifier(learner, random_state=0).start(rows[:1], [-1, 1])
    assert bits(model) == bits(alone.partial_fit(rows[:done], NUMBERS[:done]))
    assert session.broken == (delay > 0)
    if not delay:
        same = Session(OnlineClassifier(learner, random_state=0), classes=[-1, 1])
        same.feed(Block(rows[:60], NUMBERS[:60], 0))
        assert repr(session.state()) == repr(same.state())


def test_a_late_row_that_makes_the_learner_diverge():
    """A row that is learned only at the end."""
    learner = ogd(Linear(), eta=1e200, loss=Squared())
    session = Session(OnlineRegressor(learner), delay=50)
    session.feed(Block(X[:30], TARGETS[:30] + 1, 0))
    with pytest.raises(DataError, match=r"rows 0 to 29 .* not finite") as caught:
        session.finish()
    assert caught.value.rows_learned == caught.value.__cause__.rows_learned < 30


def test_a_block_that_is_not_learned_to_its_end():
    session = Session(estimator(NUMBERS, 0.5), classes=[-1, 1], every=10)
    assert next(session.feeding(Block(X, NUMBERS, 0))).rows == 10
    with pytest.raises(ValueError, match="an iteration was not finished"):
        session.state()


def test_a_text_label_of_no_class_is_not_saved_as_another():
    """The row is in the buffer. The learner refuses it when it leaves the buffer, also after a restore."""
    session = Session(OnlineClassifier(), [ShuffleBuffer(100)], classes=["a", "c"])
    session.feed(Block(X[:5], np.array(list("acabc"), dtype=object), 0))
    other = Session(OnlineClassifier(), [ShuffleBuffer(100)], classes=["a", "c"])
    other.restore(session.state())
    with pytest.raises(DataError, match=r"y contains 'b', which is not among the classes \['a', 'c'\]"):
        other.finish()


BAD = {
    "classes are for a classifier": lambda: Session(OnlineRegressor(), classes=[0, 1]),
    r"classes differ from those of the fitted estimator, \[0, 1\]": lambda: Session(
        OnlineClassifier().fit(X, NUMBERS > 0).fit(X, (NUMBERS > 0).astype(int)), classes=[0, 2]
    ),
    "delay must be a whole number of at least 0, got 1.5": lambda: Session(OnlineRegressor(), delay=1.5),
    "every must be a whole number above 0": lambda: Session(OnlineRegressor(), every=0),
    r"row 7 \(the first is 0\) has no label": lambda: Session(OnlineRegressor()).feed(Block(X, None, 7)),
}


@each("sentence", BAD)
def test_what_cannot_be_run_is_said_in_a_sentence(sentence):
    with pytest.raises(ValueError, match=sentence):
        BAD[sentence]()


EMPTIED = [{"what": streams.described(ShuffleBuffer(100)), "state": ShuffleBuffer(100).state()}]


@each(
    ("change", "sentence"),
    [
        (lambda state: state.update(rows=-1), "rows -1, expected a count"),
        (lambda state: state.update(rows=7), "its counts are not those of its metrics"),
        (lambda state: state.pop("metrics"), "it has no metrics"),
        (lambda state: state.update(delay=3), "its delay or transforms differ"),
        (lambda state: state.update(steps=[]), "its delay or transforms differ"),
        (lambda state: state.update(steps=None), "no list of steps"),
        (lambda state: state["steps"][0].pop("state"), "without a description or a state"),
        (lambda state: state.update(drained=5, steps=EMPTIED), "no transform holds rows"),
        (
            lambda state: state.update(mistakes=None, loss=1.0),
            "it is of a classifier where a regressor is expected",
        ),
        (lambda state: state["waiting"].update(y=np.zeros(1)), "an unexpected number of columns or labels"),
    ],
)
def test_states_of_other_sessions_are_refused(change, sentence):
    def make(model):
        more = {} if model.__sklearn_is_fitted__() else {"classes": [-1, 1]}
        return Session(model, [ShuffleBuffer(100)], delay=9, **more)

    session = make(estimator(NUMBERS, 0.5))
    session.feed(Block(X[:300], NUMBERS[:300], 0))
    state = session.state()
    make(session.estimator).restore(state)
    change(state)
    with pytest.raises(ValueError, match=sentence):
        make(session.estimator).restore(state)


def test_transforms_as_plain_data():
    for transform in (ShuffleBuffer(9, seed=4), Standardise(), MinMax(), Dense(), EncodeLabels(["a", "b"])):
        again = streams.revived(streams.described(transform))
        assert repr(again) == repr(transform)
        assert type(again) is type(transform)
    for said in ({"type": "Session"}, {}, 3, {"type": "ABC"}):
        with pytest.raises(ValueError, match="there is no transform"):
            streams.revived(said)
