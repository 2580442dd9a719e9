"""Model files that are damaged or forged: a sentence, and never harm."""

import json
import sys
from dataclasses import is_dataclass
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import budgetron
from budgetron import (
    SGD,
    Averaged,
    DoubleUpdating,
    Gaussian,
    Kernelized,
    Merge,
    ModelFileError,
    OnlineClassifier,
    ProjectSmallest,
    Sometimes,
    Squared,
    load,
    model_files,
    rbp,
)
from budgetron.model.files import tensors
from tests.helpers import forked
from tests.helpers.cases import each
from tests.helpers.members import cases, data, fitted, make


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """The bytes of a small file."""
    path = tmp_path_factory.mktemp("small") / "model"
    OnlineClassifier(make("rbp", budget=1)).fit([[0.0], [1.0]], [0, 1]).save(path)
    return path.read_bytes()


# ---- damage


def test_every_truncation_is_refused(small, path):
    for length in range(len(small)):
        path.write_bytes(small[:length])
        with pytest.raises(ModelFileError, match=f"^{path}: .*[.]$"):
            load(path)
    path.write_bytes(small + b"\0")
    with pytest.raises(ModelFileError):
        load(path)
    path.write_bytes(small)
    load(path)


def test_every_flipped_bit_is_refused(small, path):
    assert len(small) < 4000
    with open(path, "wb+", buffering=0) as file:
        for bit in range(8 * len(small)):
            damaged = bytearray(small)
            damaged[bit // 8] ^= 1 << bit % 8
            file.seek(0)
            file.write(damaged)
            with pytest.raises(ModelFileError):
                load(path)


# ---- forged files, their checksums right


def parts(file, path):
    path.write_bytes(file)
    found = model_files.read(path)
    with open(path, "rb") as opened:
        texts, _ = tensors.decode(opened, str(path), lambda _: None)
    return texts, dict(found.arrays)


def refusal(path, file):
    """The sentence with which a file is refused."""
    path.write_bytes(file)
    with pytest.raises(ModelFileError) as caught:
        load(path)
    sentence = str(caught.value)
    assert sentence.startswith(f"{path}: ")
    assert sentence.endswith(".")
    assert "\n" not in sentence
    return sentence


def header_and_data(file):
    size = 8 + int.from_bytes(file[:8], "little")
    return json.loads(file[8:size]), file[size:]


def with_header(text, data):
    return len(text).to_bytes(8, "little") + text + data


ENTRY = "state/support.norms"


@each(
    "change",
    [
        {"shape": [2**60]},
        {"shape": [-8]},
        {"shape": [8.0]},
        {"shape": [True]},
        {"shape": "8"},
        {"shape": [[8]]},
        {"shape": [2**20] * 40},
        {"data_offsets": [-8, 56]},
        {"data_offsets": [0, 2**62]},
        {"data_offsets": [8, 0]},
        {"data_offsets": [0]},
        {"data_offsets": None},
        {"dtype": "F16"},
        {"dtype": "object"},
        {"dtype": ["F64"]},
        {"dtype": "F64", "more": 1},
    ],
    ids=str,
)
def test_entries_that_lie(change, small, path):
    header, data = header_and_data(small)
    header[ENTRY] |= change
    assert f"array '{ENTRY}' has a dtype" in refusal(path, with_header(json.dumps(header).encode(), data))


@each("entry", [None, 1, [], {}, "x", {"dtype": "F64", "shape": [0]}])
def test_entries_that_are_none(entry, small, path):
    header, data = header_and_data(small)
    assert "has a dtype" in refusal(path, with_header(json.dumps(header | {"x": entry}).encode(), data))


def test_arrays_that_overlap_or_leave_holes(small, path):
    header, data = header_and_data(small)
    begin, end = header[ENTRY]["data_offsets"]
    for by in (-8, 8):
        header[ENTRY]["data_offsets"] = [begin + by, end + by]
        assert "does not begin where" in refusal(path, with_header(json.dumps(header).encode(), data))


@each("size", [0, 1, 7, 2**20, 2**31, 2**62, 2**63, 2**64 - 1])
def test_headers_of_impossible_lengths(size, small, path):
    assert "is not a model file" in refusal(path, size.to_bytes(8, "little") + small[8:])


@each(
    "text",
    [
        b"",
        b"[]",
        b"null",
        b"{}",
        b"\xff\xfe",
        b"{" * 10,
        b"[" * 1_000_000,
        b'{"a":' * 200_000,
        b'{"__metadata__": {"format": 1}}',
        b'{"__metadata__": []}',
        b'{"__metadata__": {}, "__metadata__": {}}',
        b'{"__metadata__": {"a": "b"}, "x": NaN}',
        b'{"__metadata__": {"a": "b"}, "x": ' + b"9" * 100_000 + b"}",
    ],
    ids=lambda text: repr(text[:30]),
)
def test_headers_that_are_none(text, path):
    assert "is not a model file" in refusal(path, with_header(text, b""))


def test_a_name_that_occurs_twice(small, path):
    size = 8 + int.from_bytes(small[:8], "little")
    text = small[8:size].rstrip()
    twice = text[:-1] + b',"' + ENTRY.encode() + b'":' + json.dumps(json.loads(text)[ENTRY]).encode() + b"}"
    assert "header is damaged" in refusal(path, with_header(twice, small[size:]))


def test_other_formats_and_versions(small, path):
    texts, arrays = parts(small, path)
    for change, sentence in [
        ({"format": "pt"}, "is not a model file of budgetron"),
        (
            {"format_version": "2", "budgetron_version": "9.9"},
            "format '2', written by budgetron 9.9",
        ),
        ({"format_version": "x"}, "has model file format 'x'"),
        ({"description": ""}, "description that cannot be read"),
        ({"description": "[]"}, "description without an estimator"),
        ({"description": '{"estimator": {}, "estimator": {}}'}, "description that cannot be read"),
        ({"description": '{"a": 1e999}'}, "description that cannot be read"),
        ({"description": "[" * 100_000}, "nested too deeply"),
    ]:
        assert sentence in refusal(path, b"".join(tensors.encode(arrays, texts | change)))
    numpy = pytest.importorskip("safetensors.numpy")
    assert "is not a model file" in refusal(path, numpy.save({"x": np.ones(3)}))
    assert "is not a model file" in refusal(path, numpy.save({"x": np.ones(3)}, {"format": "np"}))


def deep(n):
    """Averages of averages."""
    learner = {"type": "Linear"}
    for _ in range(n):
        learner = {"type": "Averaged", "learner": learner, "suffix": 1.0}
    return learner


@each(
    ("place", "value", "sentence"),
    [
        ("estimator type", "BaseEstimator", "there is no estimator 'BaseEstimator'"),
        ("estimator type", "Gaussian", "there is no estimator 'Gaussian'"),
        ("estimator type", ["OnlineClassifier"], "there is no estimator"),
        ("estimator type", "OnlineRegressor", "wrong kind of labels"),
        ("estimator __class__", "x", "has no parameter '__class__'"),
        ("estimator learner__budget", 1, "has no parameter 'learner__budget'"),
        ("estimator _model", 1, "has no parameter '_model'"),
        ("estimator n_jobs", 2, "has no parameter 'n_jobs'"),
        ("estimator learner", deep(100), "nested too deeply"),
        ("fitted learner", deep(100), "nested too deeply"),
        ("fitted learner", deep(3), "must not itself be Averaged"),
        ("fitted learner", None, "there is no learner"),
        ("fitted learner", {"type": "Gaussian", "gamma": 1.0}, "there is no learner"),
        ("fitted learner type", "os.system", "describes a 'os.system'"),
        ("fitted learner type", "Learner", "describes a 'Learner'"),
        ("fitted learner type", "load", "describes a 'load'"),
        ("fitted learner type", None, "describes a 'None'"),
        ("fitted learner kernel type", "OnlineClassifier", "describes a 'OnlineClassifier'"),
        ("fitted learner kernel __init__", 1, "gives Gaussian a parameter '__init__'"),
        ("fitted learner kernel degree", 1, "gives Gaussian a parameter 'degree'"),
        ("fitted learner kernel gamma", [1.0], "gamma must be a finite number"),
        ("fitted learner kernel gamma", "scale", "gamma must be a number"),
        ("fitted learner kernel gamma", True, "gamma must be a finite number"),
        ("fitted learner kernel gamma", {"type": "Hinge"}, "gamma must be a finite number"),
        ("fitted learner kernel", 3, "kernel must be a Kernel"),
        ("fitted learner budget", {"type": "RemoveRandom"}, "gives RemoveRandom no budget"),
        ("fitted learner budget budget", 2**80, "budget must be below 2^31"),
        ("fitted learner budget", {"type": "Forget", "budget": 1}, "the field forget.M is missing"),
        ("fitted learner budget", {"type": "Stop", "budget": 1}, "the field random.drawn is unknown"),
        ("fitted dtype", "object", "neither float32 nor float64"),
        ("fitted dtype", "float32", "support.values is of the wrong type"),
        ("fitted seed", -1, "seed must be a whole number"),
        ("fitted seed", 2**64, "seed must be a whole number"),
        ("fitted seed", 1.0, "seed must be a whole number"),
        ("fitted n_features_in", 2**31, "n_features_in must be a whole number"),
        ("fitted n_features_in", 2**30, "do not fit together"),
        ("fitted n_features_in", True, "n_features_in must be a whole number"),
        ("fitted feature_names_in", ["a", "b"], "not as many names"),
        ("fitted feature_names_in", [1], "not as many names"),
        ("fitted classes", None, "wrong kind of labels"),
        ("fitted classes", ["b", "a"], "sorted, each one once"),
        ("fitted classes", ["a"], "do not have one code each"),
        ("fitted classes", "text", "not code points"),
        ("fitted classes", "pickle", "no known kind"),
        ("fitted classes", [str(i) for i in range(1000, 2000)], "more classes than arrays"),
        ("fitted more", 1, "wrong form"),
        ("fitted", 1, "wrong form"),
        ("estimator", [], "wrong form"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_descriptions_that_are_forged(place, value, sentence, small, path):
    texts, arrays = parts(small, path)
    description = json.loads(texts["description"])
    *way, last = place.split()
    holder = description
    for key in way:
        holder = holder[key]
    holder[last] = value
    texts["description"] = json.dumps(description)
    assert sentence in refusal(path, b"".join(tensors.encode(arrays, texts)))


@each(
    "classes",
    [
        [0.5, 1.5],
        [0.0, 1e300],
        [0.0, np.inf],
        [0.0, np.nan],
        [1, 0],
        [1, 1],
        [1],
        [],
        [[0, 1]],
        [[0, 1], [2, 3]],
        3,
    ],
    ids=str,
)
def test_labels_that_are_forged(classes, small, path):
    """Input 1017462 of the fuzzer had some that no classifier takes."""
    texts, arrays = parts(small, path)
    arrays["classes"] = np.array(classes)
    assert "its labels" in refusal(path, b"".join(tensors.encode(arrays, texts)))


@each("extra", [{"$array": "none"}, {"$array": ["x"]}, {"$float": "1"}, {"a": {"$float": []}}], ids=str)
def test_extra_that_is_forged(extra, small, path):
    texts, arrays = parts(small, path)
    texts["description"] = json.dumps(json.loads(texts["description"]) | {"extra": extra})
    path.write_bytes(b"".join(tensors.encode(arrays, texts)))
    load(path)
    with pytest.raises(ModelFileError, match="holds no model"):
        model_files.read(path).extra  # noqa: B018


def forged(file, **change):
    """The file with some of its state changed; ``file`` is its texts and arrays."""
    texts, arrays = file
    new = {}
    for name, value in change.items():
        name = "state/" + name.replace("__", ".")
        value = value(arrays[name].copy()) if callable(value) else value
        new[name] = np.asarray(value, arrays[name].dtype)
    return b"".join(tensors.encode(arrays | new, texts))


def written(model, path):
    """The texts and arrays of the model's file."""
    model.save(path)
    return parts(path.read_bytes(), path)


def at(i, value):
    """The array with one number changed."""

    def change(array):
        with np.errstate(over="ignore"):  # in single precision a huge number is infinite
            array[i] = value
        return array

    change.__name__ = f"{value} at {i}"
    return change


def changed(value):
    """What a case is called."""
    if isinstance(value, str):
        return value
    return "_".join(f"{name} {getattr(new, '__name__', new)}" for name, new in value.items())


@each(
    ("learner", "change"),
    [
        ("rbp", {"support__n": [11]}),
        ("rbp", {"support__n": [2**63]}),
        ("rbp", {"support__n": []}),
        ("rbp", {"support__n": [1, 2]}),
        ("rbp", {"support__norms": []}),
        ("rbp", {"support__norms": at(0, np.nan)}),
        ("rbp", {"support__norms": at(0, -1)}),
        ("rbp", {"support__values": at(0, np.inf)}),
        ("rbp", {"support__values": lambda a: a[:-1]}),
        ("rbp", {"expansion__births": at(0, 2**63)}),
        ("rbp", {"expansion__births": lambda a: a[[0, *range(len(a) - 1)]]}),
        ("rbp", {"expansion__born": [0]}),
        ("rbp", {"expansion__alpha__0": lambda a: a[1:]}),
        ("forgetron", {"forget__Q": [np.nan]}),
        ("bpa_nn", {"neighbours__nearest": at(0, 10)}),
        ("bpa_nn", {"neighbours__nearest": at(0, 0)}),
        ("bpa_nn", {"neighbours__nearest": at(0, 2**64 - 1)}),
        ("bpa_nn", {"neighbours__distance": []}),
        ("bpa_nn", {"gram__n": [9]}),
        ("bpa_nn", {"gram__values": at(0, np.nan)}),
        ("bpa_nn", {"gram__values": at(0, 0.5)}),
        ("bpa_nn", {"gram__values": lambda a: a[:255]}),
        ("bpa_nn", {"gram__diagonal": []}),
        ("bpa_p", {"gram__values": at(0, -1.0), "gram__diagonal": at(0, -1.0)}),
        ("bpa_p", {"factor__n": [9]}),
        ("bpa_p", {"factor__n": [2**32]}),
        ("projectron", {"span__L": at(0, 0.0)}),
        ("projectron", {"span__L": at(0, np.nan)}),
        ("projectron", {"span__L": lambda a: a[1:]}),
        ("nogd", {"low_rank__cut": [2]}),
        ("nogd", {"low_rank__cut": [0]}),
        ("nogd", {"low_rank__D": []}),
        ("nogd", {"low_rank__V": lambda a: a[1:]}),
        ("nogd", {"low_rank__weights": lambda a: a[1:]}),
        ("nogd", {"low_rank__weights": lambda a: np.concatenate([a, a])}),
        ("nogd", {"low_rank__weights": [], "low_rank__rested": [0]}),
        ("nogd", {"low_rank__rested": [5]}),
        ("bduol", {"dual__y": at(0, 0.0)}),
        ("bduol", {"dual__C": at(0, -1.0)}),
        ("bduol", {"dual__C": at(0, np.nan)}),
        ("bduol", {"dual__F": lambda a: a[1:]}),
    ],
    ids=changed,
)
def test_states_that_do_not_fit_together(learner, change, path):
    sentence = refusal(path, forged(written(fitted("binary", learner), path), **change))
    assert "do not fit together" in sentence or "must hold one number" in sentence


def test_more_support_vectors_than_the_budget(path):
    model = fitted("binary", rbp(Gaussian(0.5), budget=5))
    texts, arrays = written(model, path)
    texts["description"] = texts["description"].replace('"budget":5', '"budget":4')
    assert "do not fit together" in refusal(path, b"".join(tensors.encode(arrays, texts)))


def learners():
    """Every algorithm, and the parts that none has by default."""
    k = Gaussian(0.5)
    duals = [
        kind for name, kind in vars(budgetron).items() if name.startswith("Dual") and is_dataclass(kind)
    ]
    budgets = [Merge(6), ProjectSmallest(6), ProjectSmallest(6, neighbours=3), Sometimes(Merge(6), 60.0)]
    return (
        cases()
        + [("binary", DoubleUpdating(k, maintenance=kind(budget=6))) for kind in duals]
        + [("multiclass", Kernelized(k, SGD(lam=0.1), budget)) for budget in budgets]
        + [("regression", Averaged(make("sgd", loss=Squared()), suffix=0.5))]
    )


SENSELESS = [0.0, 1e-320, 1e200, -1e308, np.inf, np.nan]


@pytest.mark.parametrize("step", [3, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("turn", "task", "learner"), [(i, *case) for i, case in enumerate(learners())], ids=str
)
def test_any_number_in_the_state_is_survived(turn, task, learner, step, path):
    """Where a model with a senseless number loads, it works or says that a score is not finite.

    Of the six numbers every learner meets two, the next learner two others; all six if there is time.
    """
    X, y = data(task, 20, seed=9)
    file = written(fitted(task, learner, n=20), path)
    floats = [name for name, array in file[1].items() if array.dtype.kind == "f" and array.size]
    for name, value in product(floats, SENSELESS[turn % step :: step]):
        path.write_bytes(forged(file, **{name.removeprefix("state/").replace(".", "__"): at(0, value)}))
        try:
            load(path).partial_fit(X, y)
        except ModelFileError as error:
            assert "do not fit together" in str(error)  # noqa: PT017
        except ValueError as error:
            assert "not finite" in str(error)  # noqa: PT017


def test_fuzzing_finds_nothing():
    """A short campaign; ``python -m fuzz.model_file --minutes 10`` is a longer one."""
    run = forked.run(
        [sys.executable, "-m", "fuzz.model_file", "--count", "150"],
        capture_output=True,
        text=True,
        timeout=300,
        cwd=Path(__file__).parents[3],
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert "inputs 0 to 149" in run.stdout
