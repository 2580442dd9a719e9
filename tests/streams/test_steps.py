"""Transforms: scaling, label encoding, shuffling."""

from itertools import islice, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from budgetron import Gaussian, OnlineClassifier, bpa_nn, streams
from budgetron.streams import Block, DataError, EncodeLabels, MinMax, ShuffleBuffer, Standardise
from tests.helpers.cases import each

RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 5)) * [1, 10, 1e-3, 1e4, 0] + [0, 5, 0, -1e6, 3]
SPARSE = sparse.csr_matrix(np.where(RNG.random((60, 5)) < 0.4, X, 0))
Y = RNG.integers(0, 3, 60)

STEPS = {
    "standardise": Standardise,
    "minmax": MinMax,
    "encode": EncodeLabels,
    "shuffle": lambda: ShuffleBuffer(7, seed=3),
}
ROWS = {"dense": X, "single": X.astype(np.float32), "sparse": SPARSE}


def dense(X):
    return X.toarray() if sparse.issparse(X) else np.asarray(X)


def out(step, X, y=Y, cuts=()):
    """The output of a transform for rows divided into blocks."""
    ends = [0, *sorted(cuts), X.shape[0]]
    blocks = [Block(X[a:b], y[a:b], a) for a, b in pairwise(ends)]
    blocks = [*map(step.learn_transform, blocks), step.flush()]
    blocks = [b for b in blocks if b is not None and len(b)]
    assert [b.start for b in blocks] == np.cumsum([0, *map(len, blocks)])[:-1].tolist()
    return np.concatenate([dense(b.X) for b in blocks]), np.concatenate([b.y for b in blocks])


def same(a, b):
    return (
        a[0].tobytes() == b[0].tobytes() and a[1].tobytes() == b[1].tobytes() and a[0].dtype == b[0].dtype
    )


@pytest.mark.parametrize("name", STEPS)
@pytest.mark.parametrize("kind", ROWS)
def test_any_cutting_gives_the_same_rows_bit_for_bit(name, kind):
    whole = out(STEPS[name](), ROWS[kind])
    assert whole[0].dtype == ROWS[kind].dtype
    assert same(out(STEPS[name](), ROWS[kind], cuts=range(60)), whole)

    @settings(max_examples=25)
    @given(st.lists(st.integers(0, 60), max_size=8))
    def check(cuts):
        assert same(out(STEPS[name](), ROWS[kind], cuts=cuts), whole)

    check()


@each("name", STEPS)
@each("kind", ROWS)
@each("cut", [0, 1, 5, 7, 8, 31, 60])
def test_a_restored_step_goes_on_as_if_nothing_had_happened(name, kind, cut):
    rows = ROWS[kind]
    first, second, through = STEPS[name](), STEPS[name](), STEPS[name]()
    a = Block(rows[:cut], Y[:cut], 0)
    b = Block(rows[cut:], Y[cut:], cut)
    first.learn_transform(a)
    through.learn_transform(a)
    state = first.state()
    first.learn_transform(Block(rows, Y, cut))  # which must not reach what was saved
    second.restore(state)
    for x, y in zip(outs(second, b), outs(through, b), strict=True):
        np.testing.assert_array_equal(dense(x.X), dense(y.X))
        np.testing.assert_array_equal(x.y, y.y)
        assert x.start == y.start


def outs(step, block):
    return [b for b in (step.learn_transform(block), step.flush()) if b is not None]


def scales(scale):
    """The simple way: compute the statistics of all rows before each row."""
    rows = []
    for i in range(len(X)):
        with np.errstate(invalid="ignore", divide="ignore"):
            row = scale(i)
        rows.append(np.where(np.isfinite(row), row, 0))
    return np.array(rows)


def test_standardise_is_by_the_rows_before():
    def scale(i):
        return np.clip((X[i] - X[:i].mean(0)) / X[:i].std(0), -10, 10) if i > 1 else np.zeros(5)

    got, _ = out(Standardise(), X)
    np.testing.assert_allclose(got, scales(scale), rtol=1e-9, atol=1e-12)
    assert (got[:2] == 0).all()
    assert (got[:, 4] == 0).all()  # the constant column


def test_standardise_does_not_centre_sparse_rows():
    Z = SPARSE.toarray()
    expected = scales(lambda i: Z[i] / np.sqrt((Z[:i] ** 2).mean(0)) if i else np.zeros(5))
    np.testing.assert_allclose(out(Standardise(), SPARSE)[0], expected, rtol=1e-12)
    block = Standardise().learn_transform(Block(SPARSE, Y, 0))
    np.testing.assert_array_equal(block.X.indices, SPARSE.indices)


def test_minmax_is_by_the_rows_before():
    def scale(i):
        low = X[:i].min(0) if i else X[0]
        return (X[i] - low) / ((X[:i].max(0) if i else X[0]) - low)

    got, _ = out(MinMax(), X)
    np.testing.assert_array_equal(got, scales(scale))
    assert got.max() > 1 > 0 > got.min()
    Z = SPARSE.toarray()
    expected = scales(lambda i: Z[i] / np.abs(Z[:i]).max(0) if i else np.zeros(5))
    np.testing.assert_array_equal(out(MinMax(), SPARSE)[0], expected)


@each("step", [Standardise, MinMax])
@each("rows", [X, SPARSE], ids=["dense", "sparse"])
def test_transform_learns_nothing(step, rows):
    scaling = step()
    with pytest.raises(ValueError, match="transform needs statistics: call learn_transform first"):
        scaling.transform(rows)
    scaling.learn_transform(Block(rows[:30], None, 0))
    before = {key: np.array(value) for key, value in scaling.state().items()}
    kept = rows.copy()
    got = dense(scaling.transform(rows[30:31]))
    np.testing.assert_array_equal(dense(scaling.transform(rows[30:]))[:1], got)
    for key, value in scaling.state().items():
        np.testing.assert_array_equal(value, before[key])
    np.testing.assert_array_equal(dense(scaling.learn_transform(Block(rows[30:31], None, 30)).X), got)
    np.testing.assert_array_equal(dense(rows), dense(kept))


def test_standardised_columns_that_are_far_from_0():
    """Numbers for which a sum of squares would lose all digits."""
    Z = 1e9 + RNG.standard_normal((2000, 1))
    got = Standardise().learn_transform(Block(Z, None, 0)).X[1000:]
    assert abs(got.mean()) < 0.1
    assert abs(got.std() - 1) < 0.05


@pytest.mark.parametrize("step", [Standardise, MinMax])
def test_bad_rows_leave_a_scaling_as_it_was(step):
    scaling = step()
    scaling.learn_transform(Block(X[:9], None, 0))
    before = scaling.state()
    for bad, sentence in [
        (np.full((2, 5), np.inf), r"row 9 \(the first is 0\) is too large or not finite"),
        (np.array([[0] * 5, [1e200] * 5]), r"row 10 \(the first is 0\) is too large or not finite"),
        (np.zeros((1, 4)), "X has 4 columns, but the rows before had another number"),
        (SPARSE, "dense and sparse rows cannot be mixed"),
    ]:
        with pytest.raises(ValueError, match=sentence):
            scaling.learn_transform(Block(bad, None, 9))
    for key, value in scaling.state().items():
        np.testing.assert_array_equal(value, before[key])
    with pytest.raises(DataError):
        step().learn_transform(Block(np.array([[np.inf]]), None, 0))


def test_states_that_do_not_fit():
    step, started = Standardise(), Standardise()
    started.learn_transform(Block(X[:9], None, 0))
    with pytest.raises(ValueError, match="not a state of this transform"):
        step.restore({"least": np.zeros(3)})
    with pytest.raises(ValueError, match="differ in length"):
        step.restore({name: np.zeros(4 if name == "squares" else 3) for name in started.state()})
    step.restore({})
    assert step.state() == {}


def test_labels_in_the_order_of_their_appearance():
    encode = EncodeLabels()
    codes = [encode.learn_transform(Block(X[:3], np.array(y), 0)).y for y in (list("bab"), list("cba"))]
    assert np.concatenate(codes).tolist() == [0, 1, 0, 2, 0, 1]
    assert encode.seen.tolist() == ["b", "a", "c"]
    assert encode.decode([2, 0]).tolist() == ["c", "b"]
    assert codes[0].dtype == np.int64


@each("labels", [[3, 1, 3], [2.5, -1.0, 2.5], ["x", "y", "x"], [True, False, True]])
def test_labels_of_every_kind(labels):
    for y in (np.array(labels), np.array(labels, dtype=object)):
        encode = EncodeLabels()
        block = encode.learn_transform(Block(X[:3], y, 0))
        assert block.y.tolist() == [0, 1, 0]
        assert encode.decode(block.y).tolist() == labels
        again = EncodeLabels()
        again.restore(encode.state())
        assert again.learn_transform(Block(X[:3], y[::-1], 3)).y.tolist() == [0, 1, 0]


def test_labels_that_are_none():
    encode = EncodeLabels()
    encode.learn_transform(Block(X[:2], np.array(["a", "b"]), 0))
    for y in (np.array([1, "c"], dtype=object), np.array([1.0, 2.0])):
        with pytest.raises(DataError, match=r"all (texts|strings) or all numbers, got"):
            encode.learn_transform(Block(X[:2], y, 2))
    assert encode.seen.tolist() == ["a", "b"]
    with pytest.raises(DataError, match=r"row 3 \(the first is 0\) has the label NaN"):
        EncodeLabels().learn_transform(Block(X[:2], np.array([1, np.nan]), 2))


def test_given_labels():
    encode = EncodeLabels(classes=[-1, 1])
    assert encode.learn_transform(Block(X[:2], np.array([1.0, -1.0]), 0)).y.tolist() == [1, 0]
    with pytest.raises(
        DataError, match=r"row 6 \(the first is 0\) has the label 2.0, which is not in classes"
    ):
        encode.learn_transform(Block(X[:3], np.array([1.0, 2.0, 3.0]), 5))
    with pytest.raises(ValueError, match="classes has the same label twice"):
        EncodeLabels(classes=["a", "a"])
    with pytest.raises(ValueError, match="the stream has no labels"):
        encode.learn_transform(Block(X, None, 0))


def plainly_shuffled(n, size, seed):
    """A reference with the same random numbers, one row at a time."""
    random = np.random.Generator(np.random.Philox(key=seed))
    buffer, order = [], []
    for i in range(n):
        if len(buffer) < size:
            buffer.append(i)
        else:
            place = int(random.random() * size)
            order.append(buffer[place])
            buffer[place] = i
    keys = [random.random() for _ in buffer]
    return order + [buffer[i] for i in np.argsort(keys, kind="stable")]


@given(st.integers(0, 60), st.integers(1, 70), st.integers(0, 2**64 - 1), st.lists(st.integers(0, 60)))
def test_shuffling_follows_the_plain_version(n, size, seed, cuts):
    if n == 0:
        assert ShuffleBuffer(size, seed).flush() is None
        return
    numbers = np.arange(n)
    got, labels = out(
        ShuffleBuffer(size, seed), numbers[:, None].astype(float), numbers, [c for c in cuts if c <= n]
    )
    assert got[:, 0].tolist() == labels.tolist() == plainly_shuffled(n, size, seed)
    assert sorted(labels) == list(range(n))


def test_every_order_of_a_full_buffer_is_equally_likely():
    counts = {}
    for seed in range(6000):
        _, order = out(ShuffleBuffer(3, seed), X[:3], np.arange(3))
        counts[tuple(order)] = counts.get(tuple(order), 0) + 1
    assert len(counts) == 6
    chi2 = sum((c - 1000) ** 2 / 1000 for c in counts.values())
    assert chi2 < 20.5  # 5 degrees of freedom: one run in a thousand, and the seeds are fixed


def test_shuffling_is_checked():
    for size, seed, bad in [(0, 0, "size"), (3, -1, "seed"), (3, 2**64, "seed")]:
        with pytest.raises(ValueError, match=f"ShuffleBuffer: {bad} must be"):
            ShuffleBuffer(size, seed)
    step = ShuffleBuffer(3)
    step.learn_transform(Block(X, Y, 0))
    with pytest.raises(ValueError, match="cannot mix dense and sparse, or labelled"):
        step.learn_transform(Block(SPARSE, Y, 60))


def test_a_second_pass_is_shuffled_anew():
    stream = streams.from_arrays(X, np.arange(60), rows=9).through(ShuffleBuffer(10, seed=1))
    passes = [list(stream) for _ in range(2)]
    for blocks in passes:
        assert [b.start for b in blocks] == np.cumsum([0, *map(len, blocks)])[:-1].tolist()
    first, second = (np.concatenate([b.y for b in blocks]).tolist() for blocks in passes)
    assert sorted(first) == sorted(second) == list(range(60))
    assert first != second


def test_steps_follow_each_other():
    steps = [ShuffleBuffer(10, seed=1), Standardise(), EncodeLabels()]
    got = list(streams.from_arrays(X, Y, rows=9).through(*steps))
    assert sum(map(len, got)) == 60
    order = plainly_shuffled(60, 10, 1)
    expected, _ = out(Standardise(), X[order])
    np.testing.assert_array_equal(np.concatenate([b.X for b in got]), expected)
    _, codes = out(EncodeLabels(), X, Y[order])
    np.testing.assert_array_equal(np.concatenate([b.y for b in got]), codes)
    with pytest.raises(TypeError, match="through: expected transforms, got 3"):
        streams.from_arrays(X).through(3)


@pytest.mark.parametrize("rows", [X, SPARSE], ids=["dense", "sparse"])
def test_a_run_that_was_interrupted_is_resumed_exactly(rows):
    def model():
        return OnlineClassifier(bpa_nn(Gaussian(0.1), budget=5), random_state=0)

    def steps():
        return [ShuffleBuffer(8, seed=2), Standardise()]

    stream = streams.from_arrays(rows, Y, rows=7)
    whole = model()
    for block in stream.through(*steps()):
        whole.partial_fit(block.X, block.y, classes=[0, 1, 2])

    before, after, half = steps(), steps(), model()
    for block in islice(stream.through(*before), 4):
        half.partial_fit(block.X, block.y, classes=[0, 1, 2])
    for old, new in zip(before, after, strict=True):
        new.restore(old.state())
    for block in stream.skip(after[0].entered).through(*after):
        half.partial_fit(block.X, block.y)
    np.testing.assert_array_equal(half.dual_coef_, whole.dual_coef_)
    np.testing.assert_array_equal(dense(half.support_vectors_), dense(whole.support_vectors_))
