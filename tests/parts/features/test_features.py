"""Feature maps: what they estimate and how well, and as scikit-learn transformers."""

import pickle
from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import SGDClassifier
from sklearn.pipeline import make_pipeline

from budgetron import (
    DivergedError,
    Gaussian,
    HadamardFourier,
    Identity,
    Laplacian,
    Law,
    Linear,
    Nystrom,
    OnlineClassifier,
    OnlineRegressor,
    OrthogonalFourier,
    Polynomial,
    RandomFourier,
    Sigmoid,
    SobolFourier,
    Spectrum,
    Stack,
    fogd,
)
from budgetron.parts.features import fourier
from tests.helpers.cases import each
from tests.helpers.checks import checked
from tests.references import maps as reference_maps

FOURIER = [RandomFourier, OrthogonalFourier, SobolFourier, HadamardFourier]
MAPS = [
    *(map_(Gaussian(0.3), components=20, random_state=3) for map_ in FOURIER),
    RandomFourier(Laplacian(0.3), components=20, random_state=3),
    RandomFourier(Spectrum(Law("norm"), Law("gamma", (1.5, 0.0, 1 / 1.5), -0.5)), 20, random_state=3),
    *(
        Nystrom(Gaussian(0.3), landmarks=10, rank=6, selection=how, random_state=3)
        for how in ("first", "steps", "uniform", "leverage")
    ),
    Identity(scale=0.5),
    Stack(RandomFourier(Gaussian(0.3), components=7), Identity(), Nystrom(landmarks=5), random_state=3),
]


def points(n=40, d=5, seed=0, spread=0.7):
    return spread * np.random.default_rng(seed).standard_normal((n, d))


def errors(map_, kernel, D, X, seeds=20):
    """z(x)'z(x') - k(x,x') for all pairs, seed by seed."""
    K = kernel(X)
    pairs = np.triu_indices(len(X), 1)
    out = []
    for seed in range(seeds):
        Z = map_(kernel, components=D, random_state=seed).fit_transform(X)
        out.append((Z @ Z.T - K)[pairs])
    return np.array(out)


@pytest.mark.parametrize("map_", FOURIER, ids=lambda m: m.__name__)
@pytest.mark.parametrize("kernel", [Gaussian(0.3), Laplacian(0.2)], ids=repr)
def test_the_kernel_is_estimated_without_bias_and_the_error_falls_as_the_root_of_D(map_, kernel):
    if isinstance(kernel, Laplacian) and map_ in (OrthogonalFourier, HadamardFourier):
        pytest.skip("for the Gaussian kernel only")
    X = points()
    few, many = errors(map_, kernel, 64, X), errors(map_, kernel, 1024, X)
    standard_error = np.sqrt(np.mean(few.var(axis=0, ddof=1)) / len(few))
    assert (
        np.sqrt(np.mean(few.mean(axis=0) ** 2)) < 1.5 * standard_error
    )  # over 780 pairs, which are not independent
    ratio = np.sqrt(np.mean(few**2) / np.mean(many**2))
    assert ratio > 3.4  # 4 is the root of 16; better is welcome
    assert np.sqrt(np.mean(many**2)) < 1 / np.sqrt(
        1024
    )  # the variance of one pair of features is at most 1


@pytest.mark.parametrize("map_", [OrthogonalFourier, SobolFourier], ids=lambda m: m.__name__)
def test_better_draws_have_a_lower_variance(map_):
    """At d = 5 and D = 50, over 780 pairs and 40 seeds."""
    X = points()
    plain = errors(RandomFourier, Gaussian(0.3), 50, X, 40).var(axis=0).mean()
    assert errors(map_, Gaussian(0.3), 50, X, 40).var(axis=0).mean() < 0.8 * plain


def test_hadamard_features_of_wide_rows():
    X = points(20, 700, spread=0.03)
    assert np.sqrt(np.mean(errors(HadamardFourier, Gaussian(0.5), 2048, X, 5) ** 2)) < 1 / np.sqrt(2048)


@pytest.mark.parametrize(
    ("kernel", "law"), [(Gaussian(0.3), "gaussian_law"), (Laplacian(0.3), "laplacian_law")]
)
def test_frequencies_are_those_of_the_reference(kernel, law):
    X = points(30, 4)
    U = reference_maps.frequencies(getattr(reference_maps, law)(0.3), 5, range(4), 33)
    Z = RandomFourier(kernel, components=33, random_state=5).fit_transform(X)
    expected = [reference_maps.fourier(U)(x) for x in X]
    np.testing.assert_allclose(Z, expected, rtol=0, atol=1e-11)


def test_any_spectral_density():
    """The normal law by hand is the Gaussian kernel, with the same numbers."""
    X = points()
    by_hand = RandomFourier(Spectrum(Law("norm", (0.0, np.sqrt(0.6)))), 50, random_state=1)
    built_in = RandomFourier(Gaussian(0.3), 50, random_state=1)
    np.testing.assert_allclose(by_hand.fit_transform(X), built_in.fit_transform(X), rtol=0, atol=1e-12)


@each("selection", ["first", "steps", "uniform", "leverage"])
@each("kernel", [Gaussian(0.3), Polynomial(0.3, 1.0, 3), Laplacian(0.2), Linear()], ids=repr)
def test_nystrom_with_all_points_is_exact(kernel, selection):
    X = points()
    Z = Nystrom(kernel, landmarks=len(X), selection=selection, window=len(X)).fit_transform(X)
    K = kernel(X)
    np.testing.assert_allclose(Z @ Z.T, K, rtol=0, atol=1e-8 * np.abs(K).max())


def test_nystrom_is_the_best_approximation_from_its_landmarks():
    """K_xs K_ss^-1 K_sx, and with rank r that of the leading eigenvectors."""
    X, kernel = points(), Gaussian(0.3)
    S = X[:10]
    Z = Nystrom(kernel, landmarks=10).fit_transform(X)
    np.testing.assert_allclose(
        Z @ Z.T, kernel(X, S) @ np.linalg.solve(kernel(S), kernel(S, X)), rtol=0, atol=1e-9
    )
    D, V = np.linalg.eigh(kernel(S))
    low = kernel(X, S) @ (V[:, -4:] / D[-4:]) @ V[:, -4:].T @ kernel(S, X)
    Z = Nystrom(kernel, landmarks=10, rank=4).fit_transform(X)
    assert Z.shape == (40, 4)
    np.testing.assert_allclose(Z @ Z.T, low, rtol=0, atol=1e-9)


def test_uniform_landmarks_are_a_uniform_sample():
    """Each of 12 rows is among 4 landmarks in a third of the draws."""
    X = np.arange(12.0)[:, None]
    counts = np.zeros(12)
    for seed in range(1500):
        Z = (
            Nystrom(Gaussian(50.0), 4, selection="uniform", window=12, random_state=seed)
            .fit(X)
            .transform(X)
        )
        counts += np.linalg.norm(Z, axis=1) > 0.5  # a narrow kernel: only landmarks are not 0
    assert counts.sum() == 4 * 1500
    np.testing.assert_allclose(counts / 1500, 1 / 3, atol=5 * np.sqrt(2 / 9 / 1500))


def test_leverage_prefers_the_rare():
    """Three rows far from a crowd of 57 are among 8 landmarks far more often than by chance."""
    r = np.random.default_rng(0)
    X = np.vstack([0.05 * r.standard_normal((57, 2)), [[4.0, 0.0], [0.0, 4.0], [-4.0, 0.0]]])
    rare = 0
    for seed in range(50):
        Z = (
            Nystrom(Gaussian(1.0), 8, rank=4, selection="leverage", window=60, random_state=seed)
            .fit(X)
            .transform(X[57:])
        )
        rare += np.sum(np.linalg.norm(Z, axis=1) > 0.5)
    assert rare / 150 > 5 * 8 / 60  # a uniform sample has 8 / 60 of them


# ---- columns that arrive later


def wide(n, columns, nonzeros, seed=0, dtype=np.float64):
    """Sparse rows over few of very many columns."""
    r = np.random.default_rng(seed)
    X = sparse.random_array((n, columns), density=nonzeros / columns, format="csr", rng=r, dtype=dtype)
    X.data[:] = r.standard_normal(len(X.data))
    return X


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_map_is_the_same_whatever_order_columns_arrive_in(dtype):
    X = wide(60, 1000, 20, dtype=dtype)
    y = np.arange(60) % 2
    probe = wide(10, 1000, 20, seed=1, dtype=dtype)
    forward, backward = (
        OnlineClassifier(fogd(Gaussian(0.1), components=40), random_state=0) for _ in range(2)
    )
    forward.partial_fit(X, y, classes=[0, 1])
    backward.partial_fit(X[::-1], y[::-1], classes=[0, 1])
    maps = [
        m.fitted_.model.learner.features.set_params(random_state=0).fit(rows)
        for m, rows in ((forward, X), (backward, X[::-1]))
    ]
    np.testing.assert_array_equal(maps[0].transform(probe), maps[1].transform(probe))
    dense = clone(maps[0]).fit(X.toarray())
    np.testing.assert_array_equal(dense.transform(probe), maps[0].transform(probe))
    np.testing.assert_array_equal(dense.transform(probe.toarray()), maps[0].transform(probe))


def test_no_number_is_stored_for_a_column_that_never_appears():
    X = wide(50, 100_000, 10)
    seen = len(np.unique(X.indices))
    model = OnlineClassifier(fogd(Gaussian(0.1), components=64), random_state=0)
    model.partial_fit(X, np.arange(50) % 2, classes=[0, 1])
    assert model.memory_bytes_ < 2 * (seen + 100) * 64 * 8  # a vector may have room for twice its numbers
    held = model.memory_bytes_
    model.predict(wide(50, 100_000, 10, seed=1))  # which asks for new columns, and keeps none
    assert model.memory_bytes_ == held


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_frequencies_of_columns_beyond_the_cache_are_drawn_again(monkeypatch, dtype):
    X, y, probe = (
        wide(200, 5000, 10, dtype=dtype),
        np.arange(200) % 2,
        wide(20, 5000, 10, seed=1, dtype=dtype),
    )
    size = np.dtype(dtype).itemsize * 64

    def learned(cache, cuts=(0, 200)):
        monkeypatch.setattr(fourier, "CACHE_BYTES", cache)
        model = OnlineClassifier(fogd(Gaussian(0.1), components=64), random_state=0)
        for begin, end in pairwise(cuts):
            model.partial_fit(X[begin:end], y[begin:end], classes=[0, 1])
        return model

    free, tight, cut = learned(2**26), learned(100 * size), learned(100 * size, (0, 1, 40, 77, 200))
    assert free.memory_bytes_ > 1000 * size
    assert tight.memory_bytes_ < 100 * (size + 32) + 5000
    assert learned(0).memory_bytes_ < tight.memory_bytes_  # which keeps one row
    for model in (tight, cut, learned(0), pickle.loads(pickle.dumps(tight))):
        np.testing.assert_array_equal(model.decision_function(probe), free.decision_function(probe))
    assert pickle.dumps(cut) == pickle.dumps(tight)


def test_a_refused_row_leaves_the_cache_as_it_was(monkeypatch):
    monkeypatch.setattr(fourier, "CACHE_BYTES", 30 * 64 * 8)
    X, y = wide(40, 5000, 10), np.arange(40.0)
    y[25] = 1e200
    one, other = (OnlineRegressor(fogd(Gaussian(0.1), components=64, loss="squared")) for _ in range(2))
    with pytest.raises(DivergedError):
        one.set_params(random_state=0).partial_fit(X, y)
    other.set_params(random_state=0).partial_fit(X[:25], y[:25])
    assert one.fitted_.model.state().keys() == other.fitted_.model.state().keys()
    for name, value in one.fitted_.model.state().items():
        np.testing.assert_array_equal(value, other.fitted_.model.state()[name], err_msg=name)


def test_an_infinite_frequency_leaves_columns_of_zeros_alone():
    """Of a float32 model. The largest float32 takes its place: times 0 it is 0, in any layout."""
    X = np.eye(20, dtype=np.float32)[np.arange(40) % 20] * np.float32(0.5)
    y = np.arange(40) % 2
    models = [
        OnlineClassifier(fogd(Gaussian(1e80), components=16), random_state=0).fit(rows, y)
        for rows in (X, sparse.csr_array(X))
    ]
    np.testing.assert_array_equal(*(model.decision_function(X) for model in models))


def test_predictions_on_columns_never_seen_are_those_of_a_model_that_saw_them():
    X, y = wide(50, 5000, 10), np.arange(50) % 2
    probe = wide(20, 5000, 10, seed=1)
    one, other = (OnlineClassifier(fogd(Gaussian(0.1), components=64), random_state=0) for _ in range(2))
    one.partial_fit(X, y, classes=[0, 1])
    other.partial_fit(X, y, classes=[0, 1]).partial_fit(probe, np.zeros(20), sample_weight=np.zeros(20))
    np.testing.assert_array_equal(one.decision_function(probe), other.decision_function(probe))


# ---- as transformers


def _takes_any_number(estimator):
    if not isinstance(estimator, Stack):
        return {}
    return {"check_do_not_raise_errors_in_init_or_set_params": "Stack(a, b) takes its maps as arguments"}


@pytest.mark.parametrize("map_", MAPS, ids=repr)
def test_transformer(map_):
    checked(map_, _takes_any_number(map_))


@each("map_", MAPS, ids=repr)
def test_transformer_in_every_container(map_):
    X = points(30, 4) * (points(30, 4, seed=1) > 0)
    Z = clone(map_).fit(X).transform(X)
    assert Z.shape == (30, len(clone(map_).fit(X).get_feature_names_out()))
    np.testing.assert_allclose(clone(map_).fit_transform(sparse.csr_array(X)), Z, rtol=0, atol=1e-12)
    single = clone(map_).fit_transform(X.astype(np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, Z, rtol=0, atol=1e-4)
    fitted = clone(map_).fit(X)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).transform(X), fitted.transform(X))
    np.testing.assert_array_equal(
        np.vstack([fitted.transform(X[:7]), fitted.transform(X[7:])]), fitted.transform(X)
    )
    assert fitted == map_  # fitting leaves the description as it was


def test_names_and_pandas():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(points(10, 3), columns=["a", "b", "c"])
    Z = RandomFourier(components=2, random_state=0).set_output(transform="pandas").fit_transform(frame)
    assert list(Z.columns) == [f"randomfourier{i}" for i in range(4)]


def test_in_a_pipeline():
    X = points(300, 2, spread=2.0)
    y = (X**2).sum(axis=1) > 4
    model = make_pipeline(
        OrthogonalFourier(Gaussian(0.3), 100, random_state=0), SGDClassifier(random_state=0)
    )
    assert model.fit(X, y).score(X, y) > 0.95


def test_a_stack_is_its_parts_side_by_side_each_with_draws_of_its_own():
    X = points(10, 3)
    Z = Stack(
        RandomFourier(Gaussian(0.3), 5), RandomFourier(Gaussian(0.3), 5), Identity(), random_state=2
    ).fit_transform(X)
    assert Z.shape == (10, 24)
    assert not np.allclose(Z[:, :10], Z[:, 10:20])
    np.testing.assert_array_equal(Z[:, 20:], np.hstack([X, np.ones((10, 1))]))


def test_stacks_in_stacks_have_draws_of_their_own():
    X, fourier = points(10, 3), RandomFourier(Gaussian(0.3), 3)
    Z = Stack(Stack(fourier, fourier), fourier, random_state=0).fit_transform(X)
    parts = [Z[:, 6 * i : 6 * i + 6] for i in range(3)]
    assert not any(np.allclose(parts[i], parts[j]) for i in range(3) for j in range(i))


def test_a_random_state_is_drawn_from_once():
    X = points(10, 3)
    for map_ in (
        RandomFourier(Gaussian(0.3), 3, np.random.RandomState(0)),
        Stack(OrthogonalFourier(random_state=np.random.RandomState(0))),
    ):
        fitted = map_.fit(X)
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).transform(X), fitted.transform(X))


def test_rows_too_large_are_refused():
    for map_ in (HadamardFourier(), Nystrom(Gaussian(0.3), 2)):
        with pytest.raises(ValueError, match="Row 1 of X is too large"):
            map_.fit([[1.0], [1e200]])


def test_parameters_of_a_stack():
    stack = Stack(RandomFourier(Gaussian(0.3), 5), Identity())
    stack.set_params(**{"0__components": 9, "0__kernel__gamma": 2.0, "1__scale": 0.1})
    assert stack == Stack(RandomFourier(Gaussian(2.0), 9), Identity(0.1))
    assert stack.get_params()["0__kernel__gamma"] == 2.0
    assert clone(stack) == stack == eval(repr(stack))
    with pytest.raises(ValueError, match=r"Stack has no parameter '7__scale'"):
        stack.set_params(**{"7__scale": 1.0})


@pytest.mark.parametrize(
    ("map_", "message"),
    [
        (RandomFourier(Polynomial()), "needs a shift-invariant kernel"),
        (RandomFourier("rbf"), "kernel must be a Kernel"),
        (RandomFourier(components=0), "components must be a whole number above 0"),
        (RandomFourier(Gaussian(-1.0)), "gamma must be above 0"),
        (RandomFourier(Spectrum(Law("nonsense"))), "name must be that of a distribution"),
        (RandomFourier(Spectrum(lambda p: p / 0)), "must give a finite number"),
        (RandomFourier(Spectrum("norm")), "must be a function"),
        (OrthogonalFourier(Laplacian(1.0)), "needs a Gaussian kernel"),
        (HadamardFourier(Laplacian(1.0)), "needs a Gaussian kernel"),
        (Nystrom(Sigmoid()), "positive semidefinite"),
        (Nystrom(landmarks=4, rank=5), r"rank \(5\) exceeds landmarks \(4\)"),
        (Nystrom(selection="best"), 'selection must be "first", "steps", "uniform" or "leverage"'),
        (Nystrom(landmarks=9, selection="uniform", window=5), r"window \(5\) is below landmarks \(9\)"),
        (Stack(), "maps must hold at least one"),
        (Stack(Identity(), "x"), r"maps\[1\] must be a FeatureMap"),
        (Identity(scale=np.nan), "scale must be a finite number"),
        (Identity(constant="no"), "constant must be a bool"),
    ],
    ids=lambda v: repr(v)[:40],
)
def test_bad_descriptions_are_one_sentence(map_, message):
    with (
        pytest.raises((ValueError, TypeError), match=message),
        np.errstate(divide="ignore", invalid="ignore"),
    ):
        map_.fit(points(10, 2))
