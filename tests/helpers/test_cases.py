"""`each`: every case runs, every failure is named, and no case sees another."""

import os
from itertools import product

import pytest

from tests.helpers.cases import TOGETHER, each, pairs


def test_every_failing_case_is_named_and_the_others_run():
    ran = []

    @each("a", [1, 2, 3])
    @each(("b", "c"), [("x", 0), ("y", 5)], ids=["first", "second"])
    def test(a, b, c):
        ran.append((a, b, c))
        assert a != 2
        if (a, c) == (3, 5):
            pytest.fail("by hand")

    with pytest.raises(BaseExceptionGroup) as caught:
        test()
    assert len(ran) == 6
    assert "3 of 6 cases failed: 2-first, 2-second, 3-second" in str(caught.value)
    assert caught.value.exceptions[0].__notes__ == ["in the case 2-first"]


def test_one_case_by_its_name(monkeypatch):
    ran = []

    @each("a", ["red", "green", "reddish"])
    def test(a):
        ran.append(a)

    monkeypatch.setenv("BUDGETRON_TEST_CASE", "red")
    test()
    assert ran == ["red", "reddish"]
    monkeypatch.setenv("BUDGETRON_TEST_CASE", "blue")
    with pytest.raises(pytest.skip.Exception, match="no case is called blue"):
        test()


def test_skipped_only_if_all_are():
    @each("a", [1, 2])
    def test(a, least):
        if a < least:
            pytest.skip(f"{a} is too small")

    test(least=2)
    with pytest.raises(pytest.skip.Exception, match="1: 1 is too small; 2: 2 is too small"):
        test(least=3)


def test_a_case_that_cannot_be():
    with pytest.raises(AssertionError, match="has no parameter"):
        each("b", [1])(lambda a: a)
    with pytest.raises(AssertionError, match="no marks"):
        each("a", [pytest.param(1, marks=pytest.mark.slow)])
    with pytest.raises(AssertionError, match="there is no case"):
        each("a", [])(lambda a: a)()


@each("number", range(3))
def test_no_case_sees_another(number, tmp_path, path, monkeypatch, capsys):
    assert list(tmp_path.iterdir()) == []
    assert path.parent == tmp_path
    assert "CASE" not in os.environ
    assert capsys.readouterr().out == ""
    path.write_text("taken")
    monkeypatch.setenv("CASE", "taken")
    print("taken", number)


@pairs
@each("a", range(4))
@each("b", range(8))
@each("c", range(8))
def test_a_part_with_every_pair(a, b, c):
    assert (a, b, c) in PRODUCT


PRODUCT = set(product(range(4), range(8), range(8)))


def test_the_rest_is_slow():
    [mark] = test_a_part_with_every_pair.pytestmark
    quick, *rest = mark.args[1]
    assert {"a", "b", "c"} == set(quick.values[0][0][1])
    for one, other in (("a", "b"), ("a", "c"), ("b", "c")):
        assert len({(v[one], v[other]) for _, v in quick.values[0]}) == (64 if one == "b" else 32)
    assert not quick.marks
    assert all([mark.name for mark in part.marks] == ["slow"] for part in rest)
    assert sum(len(part.values[0]) for part in (quick, *rest)) == 4 * 8 * 8
    assert max(len(part.values[0]) for part in (quick, *rest)) <= TOGETHER
