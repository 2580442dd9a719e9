"""Budgets and rules written in Python: they run as native ones do, and agree with them to 1e-9."""

import copy
import pickle
import sys
import threading
from typing import ClassVar

import numpy as np
import pytest
from sklearn.base import clone

import budgetron
from budgetron import (
    OGD,
    PA,
    Averaged,
    DivergedError,
    Gaussian,
    Kernelized,
    ModelFileError,
    OneByOne,
    OnlineClassifier,
    OnlineRegressor,
    Perceptron,
    PythonBudget,
    PythonRule,
    RemoveRandom,
    Stacked,
    Standardised,
    evaluate,
    projectron,
    rbp,
)
from tests.helpers import forked
from tests.helpers.cases import each
from tests.helpers.trajectories import TASKS, assert_close, native_scores, stream

K = Gaussian(0.2)


class RandomInPython(PythonBudget):
    budget: int

    def insert(self, f, term):
        if f.size < self.budget:
            f.append(term)
        else:
            f.replace(f.below(f.size), term)


class SpanInPython(PythonBudget):
    """The Projectron's: K is solved anew for every term."""

    solves_systems = True
    budget: int
    eta: float = 0.0

    def insert(self, f, term):
        gram = np.array([f.kernel_row(i) for i in range(f.size)]).reshape(f.size, f.size)
        d = np.linalg.solve(gram, term.k)
        distance2 = term.kxx - term.k @ d
        inside = distance2 <= 1e-10 * term.kxx or np.sqrt(max(0.0, distance2)) <= self.eta
        if inside or f.size == self.budget:
            f.spread(term, d)
        else:
            f.append(term)


class PerceptronInPython(PythonRule):
    eta: float = 1.0
    epsilon: float = 0.1

    def propose(self, round):
        return round.weight * self.eta * round.y if round.mistake else 0.0

    def propose_for_targets(self, round):
        error = round.y - round.score
        return round.weight * 0.1 * np.sign(error) if abs(error) > self.epsilon else 0.0


class GradientInPython(PythonRule):
    """OGD with the hinge loss."""

    eta: float = 0.2
    lam: float = 0.01

    def propose(self, round):
        slope = -round.y if round.y * round.score < 1 else 0.0
        return 1 - self.eta * self.lam, -self.eta * round.weight * slope


class Remembering(PythonBudget):
    """Removes the support vector that was least useful, by numbers of its own."""

    budget: int

    def start(self):
        return {"use": [], "terms": 0}

    def insert(self, f, term):
        f.memory["terms"] = f.memory["terms"] + 1
        use = f.memory["use"] * 0.99 + np.abs(term.k)
        if f.size == self.budget:
            worst = int(np.argmin(use))
            use[worst] = use[-1]
            use = use[:-1]
            f.remove(worst)
        f.append(term)
        f.memory["use"] = np.append(use, 1.0)


PYTHON = {
    "rbp": (Kernelized(K, PerceptronInPython(), RandomInPython(12)), rbp(K, budget=12)),
    "projectron": (Kernelized(K, Perceptron(), SpanInPython(12, 0.3)), projectron(K, budget=12, eta=0.3)),
}


@each("name", PYTHON)
@each("task", TASKS)
@each("weighted", [False, True])
def test_the_trajectory_is_that_of_the_native_algorithm(name, task, weighted):
    X, y = stream(task, 300, seed=1)
    weights = np.random.default_rng(2).integers(0, 4, len(y)).astype(float) if weighted else None
    written, native = PYTHON[name]
    scores, model = native_scores(task, written, X, y, weights)
    expected, other = native_scores(task, native, X, y, weights)
    assert_close(scores, expected)
    assert model.n_support_ == other.n_support_ == 12
    assert_close(model.dual_coef_, other.dual_coef_)


@each("task", ["binary", "multiclass"])
def test_a_rule_that_shrinks(task):
    X, y = stream(task, 300, seed=1)
    scores, _ = native_scores(task, Kernelized(K, GradientInPython(), RemoveRandom(20)), X, y)
    expected, _ = native_scores(task, Kernelized(K, OGD(eta=0.2, lam=0.01), RemoveRandom(20)), X, y)
    assert_close(scores, expected)


WRITTEN = {
    "random": Kernelized(K, PerceptronInPython(), RandomInPython(12)),
    "span": Kernelized(K, PA(), SpanInPython(12)),
    "memory": Kernelized(K, Perceptron(), Remembering(12)),
    "standardised": Standardised(Kernelized(K, GradientInPython(), Remembering(12))),
    "averaged": Averaged(Kernelized(K, Perceptron(), Remembering(12)), 0.5),
    "stacked": Stacked(Kernelized(K, Perceptron(), Remembering(8)), rbp(K, budget=8)),
}
KINDS = [RandomInPython, SpanInPython, PerceptronInPython, GradientInPython, Remembering]


def learned(learner, X, y, cuts=()):
    model = OnlineClassifier(learner, random_state=3)
    for rows in np.split(np.arange(len(y)), cuts):
        model.partial_fit(X[rows], y[rows], classes=np.unique(y))
    return model


def same(model, other):
    states = [each.fitted_.model.state() for each in (model, other)]
    assert states[0].keys() == states[1].keys()
    for name, values in states[0].items():
        np.testing.assert_array_equal(values, states[1][name], err_msg=name)


@each("name", WRITTEN)
@each("task", ["binary", "multiclass"])
def test_any_cut_gives_the_same_bits(name, task):
    X, y = stream(task, 150, seed=4)
    whole = learned(WRITTEN[name], X, y)
    same(whole, learned(WRITTEN[name], X, y, [1, 2, 70, 71]))
    same(whole, learned(WRITTEN[name], X, y, range(1, 150)))


@each("name", WRITTEN)
def test_saved_pickled_and_copied_models_go_on(name, tmp_path):
    X, y = stream("binary", 150, seed=4)
    whole, half = learned(WRITTEN[name], X, y), learned(WRITTEN[name], X[:80], y[:80])
    half.save(tmp_path / "model")
    others = [
        budgetron.load(tmp_path / "model", python_parts=KINDS),
        pickle.loads(pickle.dumps(half)),
        copy.deepcopy(half),
    ]
    for model in others:
        same(whole, model.partial_fit(X[80:], y[80:]))
    same(whole, half.partial_fit(X[80:], y[80:]))
    assert clone(half).get_params() == OnlineClassifier(WRITTEN[name], random_state=3).get_params()


def test_one_row_at_a_time():
    X, y = stream("binary", 150, seed=4)
    model = OneByOne(WRITTEN["memory"], n_features=X.shape[1], seed=3)
    for x, label in zip(X, y, strict=True):
        model.learn_one(x, label)
    other = learned(WRITTEN["memory"], X, y)
    np.testing.assert_array_equal(model.dual_coef(), other.dual_coef_)


def test_dicts_one_at_a_time():
    X, y = stream("binary", 150, seed=4)
    records = [dict(zip("abcde", map(float, x), strict=True)) for x in X]
    models = [OnlineClassifier(WRITTEN["memory"], random_state=3) for _ in range(2)]
    models[0].partial_fit(records, y)
    for record, label in zip(records, y, strict=True):
        models[1].learn_one(record, int(label))
    same(*models)
    failing = OnlineClassifier(Kernelized(K, PA(), Failing(50, after=3)), random_state=3)
    before = []

    def learn_all():
        for record, label in zip(records, y, strict=True):
            failing.learn_one(record, int(label))
            before.append(failing.fitted_.model.state())

    with pytest.raises(KeyError):
        learn_all()
    for name, values in failing.fitted_.model.state().items():
        np.testing.assert_array_equal(values, before[-1][name])


def test_labels_and_columns_may_come_later():
    X, y = stream("multiclass", 150, seed=4)
    model = OnlineClassifier(Kernelized(K, Perceptron(), RandomInPython(12)), random_state=3)
    native = OnlineClassifier(rbp(K, budget=12), random_state=3)
    for one in (model, native):
        one.partial_fit([{"a": 0.5}], [0])
        one.partial_fit([dict(enumerate(map(float, x))) | {"a": 0.1} for x in X], y)
    assert_close(model.dual_coef_, native.dual_coef_)


# ---- files


def test_a_file_names_the_part_and_load_imports_nothing(tmp_path):
    X, y = stream("binary", 60, seed=4)
    learned(WRITTEN["random"], X, y).save(tmp_path / "model")
    with pytest.raises(ModelFileError, match=r"a part in Python, '\w+': load\(path, python_parts"):
        budgetron.load(tmp_path / "model")
    with pytest.raises(ModelFileError, match="'RandomInPython'"):
        budgetron.load(tmp_path / "model", python_parts=[PerceptronInPython])
    text = f"import budgetron, sys; budgetron.load({str(tmp_path / 'model')!r})"
    process = forked.run([sys.executable, "-c", text], capture_output=True, text=True, libraries=True)
    assert "a part in Python" in process.stderr
    assert b"def insert" not in (tmp_path / "model").read_bytes()


def test_python_parts_must_be_such_classes(tmp_path):
    X, y = stream("binary", 60, seed=4)
    learned(WRITTEN["random"], X, y).save(tmp_path / "model")
    with pytest.raises(TypeError, match="python_parts must hold subclasses of PythonBudget or PythonRule"):
        budgetron.load(tmp_path / "model", python_parts=[print])
    other = type("RandomInPython", (PythonBudget,), {})
    with pytest.raises(ValueError, match="two classes in python_parts have the name RandomInPython"):
        budgetron.load(tmp_path / "model", python_parts=[RandomInPython, other])


def test_another_memory_is_refused(tmp_path):
    X, y = stream("binary", 60, seed=4)
    learned(WRITTEN["memory"], X, y).save(tmp_path / "model")
    other = type("Remembering", (PythonBudget,), {"__annotations__": {"budget": int}, "insert": print})
    with pytest.raises(ModelFileError, match="memory"):
        budgetron.load(tmp_path / "model", python_parts=[other])


# ---- errors


class Failing(PythonBudget):
    budget: int
    after: int = 5

    def insert(self, f, term):
        f.append(term)
        f.shrink(0.5)
        if f.size > self.after:
            raise KeyError("a fault")


def test_a_block_is_learned_or_not():
    X, y = stream("binary", 400, seed=4)
    model = OnlineClassifier(Kernelized(K, PA(), Failing(500, after=100)), random_state=3)
    model.partial_fit(X[:20], y[:20], classes=[-1, 1])
    before = model.fitted_.model.state()
    with pytest.raises(KeyError, match="a fault") as caught:
        model.partial_fit(X[20:], y[20:])
    kept = 20 + caught.value.rows_learned
    again = OnlineClassifier(Kernelized(K, PA(), Failing(500, after=499)), random_state=3)
    again.partial_fit(X[:kept], y[:kept], classes=[-1, 1])
    same(model, again)
    assert before["t"] <= model.fitted_.model.state()["t"] == kept


def test_a_single_row_is_learned_or_not():
    X, y = stream("binary", 50, seed=4)
    model = OneByOne(Kernelized(K, PA(), Failing(50, after=3)), n_features=X.shape[1])
    before = []

    def learn_all():
        for x, label in zip(X, y, strict=True):
            before.append(model.state())
            model.learn_one(x, label)

    with pytest.raises(KeyError):
        learn_all()
    for name, values in model.state().items():
        np.testing.assert_array_equal(values, before[-1][name])


class Interrupting(PythonBudget):
    def insert(self, f, term):
        f.append(term)
        if f.size == 30:
            raise KeyboardInterrupt


def test_an_interrupt_leaves_a_whole_model():
    X, y = stream("binary", 400, seed=4)
    model = OnlineClassifier(Kernelized(K, PA(), Interrupting()))
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(X, y, classes=[-1, 1])
    assert not hasattr(model, "fitted_") or model.n_support_ < 30


def insertion(body, **parameters):
    """A model whose budget does this in its second insert."""

    def insert(_, f, term):
        if f.size == 0:
            f.append(term)
        else:
            body(f, term)

    names = {name: type(value) for name, value in parameters.items()}
    kind = type("Mine", (PythonBudget,), {"insert": insert, "__annotations__": names})
    model = OnlineClassifier(Kernelized(K, PA(), kind(**parameters)))
    model.partial_fit([[0.0, 1.0], [2.0, 0.0], [0.0, 3.0]], [0, 1, 0])
    return model


WRONG = {
    "remove": (lambda f, _: f.remove(1), IndexError, "no support vector 1: f has 1"),
    "negative": (lambda f, _: f.remove(-1), IndexError, "no support vector -1"),
    "twice": (lambda f, term: [f.append(term), f.append(term)], RuntimeError, "has entered f before"),
    "shares": (
        lambda f, term: f.spread(term, np.ones(3)),
        ValueError,
        "each of the 1 support vectors, got 3",
    ),
    "nan": (lambda f, term: f.spread(term, np.array([np.nan])), ValueError, "not finite, or too large"),
    "grow": (lambda f, _: f.shrink(1e160), ValueError, "too large"),
    "below": (lambda f, _: f.below(0), ValueError, "n of at least 1"),
    "memory": (lambda f, _: f.memory.update(a=1), KeyError, "start\\(\\) gives none"),
    "no memory": (lambda f, _: f.memory.pop("a"), KeyError, "a"),
    "full": (lambda f, term: f.append(term), ValueError, "must leave at most 1 support vectors, got 2"),
}


@each("name", WRONG)
def test_what_insert_must_not_do(name):
    body, error, message = WRONG[name]
    with pytest.raises(error, match=message):
        insertion(body, **({"budget": 1} if name == "full" else {}))


def test_what_insert_sees():
    seen = {}

    def look(f, term):
        seen.update(
            k=term.k, kxx=term.kxx, x=term.x, beta=term.beta, coefficients=term.coefficients,
            alpha=f.alpha, oldest=f.oldest, births=f.births, selves=f.selves, outputs=f.outputs,
            row=f.kernel_row(0), s=f.support_vector(0), round=term.round, uniform=f.uniform(),
        )  # fmt: skip

    insertion(look)
    assert seen["k"] == pytest.approx([np.exp(-0.2 * 4)])  # of the third row and the first
    assert seen["kxx"] == seen["selves"][0] == seen["row"][0] == 1
    np.testing.assert_array_equal(seen["x"], [0.0, 3.0])
    np.testing.assert_array_equal(seen["s"], [0.0, 1.0])
    assert seen["oldest"] == 0
    assert seen["outputs"] == 1
    assert seen["coefficients"] == pytest.approx([seen["beta"]])
    assert seen["beta"] < 0
    assert seen["round"].y == -1
    assert 0 <= seen["uniform"] < 1


def test_f_is_closed_after_insert():
    seen = []
    insertion(lambda f, term: seen.append((f, term)))
    f, term = seen[0]
    for use in (lambda: f.size, lambda: term.k, lambda: f.remove(0), lambda: f.append(term)):
        with pytest.raises(RuntimeError, match="inside of insert only"):
            use()


@each("returned", [None, "a", (1.0,), (2.0, 1.0), (-0.1, 1.0), (np.nan, 1.0), 1j])
def test_what_a_rule_must_return(returned):
    rule = type("Mine", (PythonRule,), {"propose": lambda *_: returned})
    with pytest.raises(ValueError, match=r"Mine.propose must return beta, or shrink from 0 to 1 and beta"):
        OnlineClassifier(Kernelized(K, rule(), RemoveRandom(3))).fit([[0.0], [1.0]], [0, 1])


@each("beta", [np.nan, np.inf, 1e200])
def test_a_step_that_is_too_large_is_refused(beta):
    rule = type("Mine", (PythonRule,), {"propose": lambda *_: beta})
    with pytest.raises(DivergedError):
        OnlineClassifier(Kernelized(K, rule(), RemoveRandom(3))).fit([[0.0], [1.0]], [0, 1])


def test_a_rule_for_labels_or_for_targets_only():
    with pytest.raises(ValueError, match="GradientInPython is defined for classification only"):
        OnlineRegressor(WRITTEN["standardised"]).fit([[0.0], [1.0]], [0.5, 1.5])
    rule = type("Mine", (PythonRule,), {"propose_for_targets": lambda *_: 0.1})
    with pytest.raises(ValueError, match="Mine is defined for regression only"):
        OnlineClassifier(Kernelized(K, rule(), RemoveRandom(3))).fit([[0.0], [1.0]], [0, 1])


def test_insert_is_missing():
    kind = type("Empty", (PythonBudget,), {})
    with pytest.raises(NotImplementedError, match=r"Empty: insert\(self, f, term\) is missing"):
        OnlineClassifier(Kernelized(K, PA(), kind())).fit([[0.0], [1.0]], [0, 1])


@each("values", [{"a": [[1.0]]}, {"a": "text"}, {"a": [1, "b"]}])
def test_memory_holds_arrays_of_one_dimension(values):
    kind = type("Mine", (PythonBudget,), {"start": lambda *_: values})
    with pytest.raises(ValueError, match=r"memory\['a'\] must be a number or an array of one dimension"):
        OnlineClassifier(Kernelized(K, PA(), kind())).fit([[0.0], [1.0]], [0, 1])


# ---- beside the native learners


def test_compare_and_tune():
    X, y = stream("binary", 300, seed=1)
    learners = {"ours": PYTHON["rbp"][0], "native": PYTHON["rbp"][1]}
    ours, native = evaluate.compare(learners, (X, y), permutations=2, n_jobs=2).rows
    assert ours.mean == native.mean
    found = evaluate.tune(Kernelized(K, PA(), Remembering(12)), (X, y), candidates=4)
    assert isinstance(found.learner.budget, Remembering)


def test_a_part_states_its_ranges():
    class Tuned(PythonRule):
        ranges: ClassVar = {"eta": (0.01, 10.0)}
        eta: float = 1.0

        def propose(self, round):
            return self.eta * round.y * round.weight * round.mistake

    X, y = stream("binary", 300, seed=1)
    found = evaluate.tune(Kernelized(K, Tuned(), RemoveRandom(12)), (X, y), candidates=4)
    assert any("rule__eta" in candidate.parameters for candidate in found.candidates)


def test_readers_beside_a_thread_that_learns():
    X, y = stream("binary", 2000, seed=1)
    model = OnlineClassifier(Kernelized(K, PA(), Remembering(30)))
    model.partial_fit(X[:10], y[:10], classes=[-1, 1])
    learning = threading.Thread(target=lambda: model.partial_fit(X[10:], y[10:]))
    learning.start()
    while learning.is_alive():
        assert np.isfinite(model.decision_function(X[:5])).all()
        assert model.memory_bytes_ > 0
    learning.join()
    assert model.fitted_.model.state()["t"] == 2000
