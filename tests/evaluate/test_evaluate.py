"""Runs and comparisons: the counts are right, and neither blocks nor threads change them."""

import json
import threading

import numpy as np
import pytest
from scipy import sparse
from scipy.stats import ttest_rel

from budgetron import (
    Averaged,
    Gaussian,
    OnlineClassifier,
    OnlineRegressor,
    Squared,
    bpa_s,
    duol,
    evaluate,
    fogd,
    forgetron,
    nogd,
    ogd,
    perceptron,
    rbp,
    streams,
)
from budgetron.evaluate import Comparison, Record
from budgetron.evaluate.results import p_value
from budgetron.streams import Block, DataError
from tests.helpers.cases import each, pairs
from tests.helpers.data_sets import load

RNG = np.random.default_rng(7)
X = RNG.standard_normal((2300, 4))
BINARY = np.where(X[:, 0] * X[:, 1] + 0.3 * RNG.standard_normal(2300) > 0, 1, -1)
SEVERAL = np.array(["a", "b", "c"])[np.digitize(X[:, 0], [-0.5, 0.5])]
TARGETS = np.sin(X[:, 0])
K = Gaussian(0.5)


def classifier(gamma=0.5):
    return OnlineClassifier(rbp(Gaussian(gamma), budget=40), random_state=3)


def regressor(gamma=0.5):
    learner = nogd(Gaussian(gamma), budget=30, rank=10, eta=0.1, loss=Squared())
    return OnlineRegressor(learner, random_state=3)


CASES = {"binary": (classifier, BINARY), "several": (classifier, SEVERAL), "targets": (regressor, TARGETS)}


def untimed(records):
    return [record.as_dict() | {"seconds": None} for record in records]


@pytest.mark.parametrize("case", CASES)
def test_records_count_what_progressive_predict_gives(case):
    make, y = CASES[case]
    records = list(evaluate.prequential(make(), (X, y), every=500))
    assert [record.rows for record in records] == [500, 1000, 1500, 2000, 2300]
    model = make()
    predicted = model.progressive_predict(X, y)
    for record in records:
        p, truth = predicted[: record.rows], y[: record.rows]
        if case == "targets":
            assert record.mistakes is None
            assert record.loss == pytest.approx(np.sum((p - truth) ** 2), rel=1e-12)
            assert record.rate == record.loss / record.rows
        else:
            assert record.loss is None
            assert record.mistakes == np.count_nonzero(p != truth)
            assert record.rate == record.mistakes / record.rows
    assert records[-1].support_vectors == model.n_support_
    assert records[-1].memory_bytes == model.memory_bytes_
    seconds = [record.seconds for record in records]
    assert seconds[0] > 0
    assert sorted(seconds) == seconds


@pairs
@each("case", CASES)
@each("delay", [0, 1, 130, 5000])
@each("gamma", [0.5, "scale"])
def test_blocks_do_not_matter(case, delay, gamma, long):
    make, y = CASES[case]
    rows, y = sparse.csr_matrix(X[:1200]), y[:1200]
    more = {} if case == "targets" else {"classes": np.unique(y)}
    found, models = [], []
    for cut in (5, 77, 1000, 1200) if long else (13, 1000, 1200):
        models.append(make(gamma))
        stream = streams.from_arrays(rows, y, rows=cut)
        found.append(untimed(evaluate.prequential(models[-1], stream, every=250, delay=delay, **more)))
    for records, model in zip(found[1:], models[1:], strict=True):
        assert records == found[0]
        np.testing.assert_array_equal(model.dual_coef_, models[0].dual_coef_)


LEARNERS = {
    "rbp": rbp(K, budget=15),
    "unbounded": ogd(K, eta=0.3),
    "features": fogd(K, components=20, eta=0.1),
    "double": duol(K, C=1.0),
    "averaged": Averaged(perceptron(K)),
    "nystrom": nogd(K, budget=20, rank=5, eta=0.2),
}


@pytest.mark.parametrize("delay", [1, 7, 50])
@pytest.mark.parametrize("name", LEARNERS)
def test_a_delayed_label_is_learned_that_many_rows_later(name, delay):
    n, got = 150, []
    model = OnlineClassifier(LEARNERS[name], random_state=0)
    list(evaluate.prequential(model, (X[:n], BINARY[:n]), delay=delay, every=40, predictions=got.append))
    plain, expected = OnlineClassifier(LEARNERS[name], random_state=0), []
    plain.partial_fit(X[:1], BINARY[:1], classes=[-1, 1], sample_weight=0.0)
    for t in range(n + delay):
        if t < n:  # the prediction of the protocol, which is that of the inner learner of Averaged
            expected += plain.progressive_predict(X[[t]], BINARY[[t]], sample_weight=0.0).tolist()
        if t >= delay:
            plain.partial_fit(X[[t - delay]], BINARY[[t - delay]])
    assert np.concatenate(got).tolist() == expected
    np.testing.assert_array_equal(model.decision_function(X), plain.decision_function(X))


def test_labels_still_out_at_the_end_are_learned_then():
    model = classifier()
    records = list(evaluate.prequential(model, (X[:300], BINARY[:300]), every=100, delay=1000))
    assert [r.rows for r in records] == [100, 200, 300, 300]
    assert [r.support_vectors for r in records[:3]] == [0, 0, 0]
    assert records[3].support_vectors == model.n_support_ > 0
    assert records[3].mistakes == records[2].mistakes


def test_streams_blocks_and_pairs_are_the_same():
    stream = streams.from_arrays(X, BINARY, rows=123)
    sources = [(X, BINARY), [X, BINARY], stream, list(stream), iter(stream)]
    pair = [Block(X[:5], BINARY[:5], 0), Block(X[5:], BINARY[5:], 5)]
    found = [untimed(evaluate.prequential(classifier(), s, classes=[-1, 1])) for s in [*sources, pair]]
    assert all(records == found[0] for records in found)


def test_predictions_arrive_as_they_are_made():
    got = []
    records = evaluate.prequential(classifier(), (X, SEVERAL), every=1000, predictions=got.append)
    next(records)
    assert sum(map(len, got)) == 1000
    list(records)
    np.testing.assert_array_equal(np.concatenate(got), classifier().progressive_predict(X, SEVERAL))


def test_a_model_that_has_learned_goes_on():
    whole = classifier().partial_fit(X, BINARY, classes=[-1, 1])
    model = classifier().partial_fit(X[:1000], BINARY[:1000], classes=[-1, 1])
    [*_, last] = evaluate.prequential(model, streams.from_arrays(X[1000:], BINARY[1000:]))
    assert last.rows == 1300
    np.testing.assert_array_equal(model.dual_coef_, whole.dual_coef_)
    [one_label] = evaluate.prequential(model, (X[:3], np.ones(3)))
    assert one_label.rows == 3


def test_scale_comes_from_the_first_thousand_rows():
    model = OnlineClassifier(bpa_s(Gaussian(), budget=20))
    list(evaluate.prequential(model, (X, BINARY), every=10_000))
    assert model.gamma_ == 1 / (4 * X[:1000].var())


def test_a_learner_that_leaves_nothing_open_starts_at_once():
    def rows():
        yield Block(X[:2], BINARY[:2], 0)
        raise AssertionError("asked for more than the first block")

    got = evaluate.prequential(classifier(), rows(), classes=[-1, 1], every=2)
    assert next(got).rows == 2


BAD = {
    "classes are for a classifier": lambda: evaluate.prequential(regressor(), (X, TARGETS), classes=[0]),
    "every must be a whole number above 0": lambda: evaluate.prequential(
        classifier(), (X, BINARY), every=0
    ),
    "delay must be a whole number of at least 0, got -1": lambda: evaluate.prequential(
        classifier(), (X, BINARY), delay=-1
    ),
    "the stream has no rows": lambda: list(evaluate.prequential(classifier(), [], classes=[0, 1])),
    r"row 0 \(the first is 0\) has no label": lambda: list(
        evaluate.prequential(classifier(), streams.from_arrays(X), classes=[0, 1])
    ),
    "rows 3 to 4 .*: y contains 9, which is not among": lambda: list(
        evaluate.prequential(classifier(), (X[:5], [0, 1, 0, 9, 1]), classes=[0, 1], every=3)
    ),
}


@each("sentence", BAD)
def test_what_cannot_be_run_is_said_in_a_sentence(sentence):
    with pytest.raises(ValueError, match=sentence):
        BAD[sentence]()


def test_what_is_no_estimator_or_stream_is_refused():
    with pytest.raises(TypeError, match="estimator must be an OnlineClassifier or an OnlineRegressor"):
        evaluate.prequential(rbp(K, budget=3), (X, BINARY))
    with pytest.raises(TypeError, match=r"blocks, pairs \(x, y\) or a pair \(X, y\), got 3"):
        evaluate.prequential(classifier(), 3, classes=[0, 1])


COMPETING = {"perceptron": perceptron(K), "rbp": rbp(K, budget=30), "forgetron": forgetron(K, budget=30)}


def untimed_comparison(comparison):
    kept = comparison.as_dict()
    for row in kept["rows"]:
        del row["seconds"]
    for runs in kept["records"].values():
        for run in runs:
            del run["seconds"]
    return kept


def test_compare_follows_the_protocol_of_the_papers():
    found = evaluate.compare(COMPETING, (X, BINARY), permutations=4, seed=10)
    assert [row.name for row in found.rows] == list(COMPETING)
    for row in found.rows:
        rates, sizes = [], []
        for i in range(4):
            order = np.random.default_rng(10 + i).permutation(len(X))
            model = OnlineClassifier(COMPETING[row.name], random_state=i)
            rates.append(np.mean(model.progressive_predict(X[order], BINARY[order]) != BINARY[order]))
            sizes.append(model.n_support_)
        assert row.mean == pytest.approx(np.mean(rates), rel=1e-12)
        assert row.sd == pytest.approx(np.std(rates, ddof=1), rel=1e-9)
        assert row.support_vectors == np.mean(sizes)
        assert row.seconds > 0
    assert [r.rows for r in found.records["rbp"][0]] == [*range(100, 2301, 100)]


def test_threads_change_nothing_but_the_time():
    one, two = (evaluate.compare(COMPETING, (X, BINARY), permutations=3, n_jobs=n) for n in (1, 2))
    assert untimed_comparison(one) == untimed_comparison(two)


def test_the_best_is_marked_and_others_are_tested_against_it():
    found = evaluate.compare({**COMPETING, "same": perceptron(K)}, (X, BINARY), permutations=5, every=2300)
    rows = {row.name: row for row in found.rows}
    [best] = [row for row in found.rows if row.best]
    assert best.mean == min(row.mean for row in found.rows)
    assert best.p_value is None
    assert not best.significant
    errors = {name: [run[-1].mistakes for run in runs] for name, runs in found.records.items()}
    for name in set(rows) - {best.name, "same"}:
        expected = ttest_rel(errors[name], errors[best.name]).pvalue
        assert rows[name].p_value == pytest.approx(expected)
        assert rows[name].significant == (expected < 0.05)
    assert best.name == "perceptron"
    assert rows["same"].p_value == 1
    assert rows["rbp"].significant
    lines = found.table().splitlines()
    marked = [line.split()[0] for line in lines[2:6] if " * " in line]
    assert marked == [row.name for row in found.rows if not row.significant]
    bold = [line.split("|")[1].strip() for line in found.markdown().splitlines() if "**" in line]
    assert bold == marked


@pytest.mark.parametrize(
    ("a", "b", "p"), [([3, 4, 5], [3, 4, 5], 1), ([4, 5, 6], [3, 4, 5], 0), ([0, 0, 0], [0, 0, 0], 1)]
)
def test_differences_that_do_not_vary_have_a_p_value(a, b, p):
    assert p_value(np.array(a, dtype=float), np.array(b, dtype=float)) == p


def test_a_comparison_survives_json():
    found = evaluate.compare(COMPETING, (X, BINARY), permutations=2)
    again = Comparison.from_dict(json.loads(json.dumps(found.as_dict())))
    assert again == found
    assert again.rows == found.rows
    assert again.table() == found.table()
    record = found.records["rbp"][0][0]
    assert Record(**json.loads(json.dumps(record.as_dict()))) == record


def test_one_permutation_has_neither_deviation_nor_test():
    found = evaluate.compare([perceptron(K), rbp(K, budget=30)], (X, BINARY), permutations=1)
    assert [row.name for row in found.rows] == [repr(perceptron(K)), repr(rbp(K, budget=30))]
    assert {(row.sd, row.p_value, row.significant) for row in found.rows} == {(None, None, False)}
    assert "±" not in found.table()


def test_compare_tells_the_task_from_y_or_is_told():
    learner = {"ogd": ogd(K, eta=0.1, loss=Squared())}
    few = {"permutations": 2, "every": 2300}
    assert evaluate.compare(learner, (X, TARGETS), **few).task == "regression"
    assert evaluate.compare(learner, (X, SEVERAL), **few).task == "classification"
    assert evaluate.compare(learner, (X, BINARY), task="regression", **few).records["ogd"][0][0].loss > 0
    assert evaluate.compare(learner, (X, BINARY), task="binary", **few).task == "classification"
    with pytest.raises(
        ValueError, match="y has 2300 different whole numbers, which may be labels or targets: give task="
    ):
        evaluate.compare(learner, (X, np.arange(2300)))
    with pytest.raises(ValueError, match="task must be 'classification' or 'regression', got 'guess'"):
        evaluate.compare(learner, (X, BINARY), task="guess")


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_learner_that_fails_is_named(n_jobs):
    learners = {"good": perceptron(K), "bad": ogd(K, eta=-1)}
    before = threading.active_count()
    with pytest.raises(ValueError, match=r"compare, bad on permutation 0: .*eta must be above 0"):
        evaluate.compare(learners, (X, BINARY), n_jobs=n_jobs)
    assert threading.active_count() == before


def test_learners_that_cannot_be_told_apart_are_refused():
    with pytest.raises(ValueError, match="two learners have the same name"):
        evaluate.compare([perceptron(K), perceptron(K)], (X, BINARY))
    with pytest.raises(ValueError, match="learners is empty"):
        evaluate.compare({}, (X, BINARY))
    with pytest.raises(TypeError, match=r"compare: x must be a Learner, or a model .*, got 3"):
        evaluate.compare({"x": 3}, (X, BINARY))


def test_german_gives_the_printed_means():
    """Lu et al. 2016, Table 5: within one printed standard deviation, over 20 permutations."""
    k = Gaussian.of_width(8)
    learners = {
        "perceptron": perceptron(k),
        "forgetron": forgetron(k, budget=100),
        "nogd": nogd(k, budget=100, rank=20, eta=0.2),
    }
    found = evaluate.compare(learners, load("german"), every=1000)
    means = {row.name: 100 * row.mean for row in found.rows}
    assert means["perceptron"] == pytest.approx(35.2, abs=0.9)
    assert means["forgetron"] == pytest.approx(38.1, abs=0.9)
    assert means["nogd"] == pytest.approx(30.4, abs=0.8)
    assert [row.significant for row in found.rows] == [True, True, False]
    assert [row.support_vectors for row in found.rows[1:]] == [100, 100]


def test_errors_of_data_are_data_errors():
    bad = X.copy()
    bad[1500, 0] = np.nan
    records = evaluate.prequential(classifier(), (bad, BINARY), every=500)
    assert [next(records).rows for _ in range(3)] == [500, 1000, 1500]
    with pytest.raises(DataError, match=r"rows 1500 to 1999 .*: Input X contains NaN"):
        next(records)
