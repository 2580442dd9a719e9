"""`each`: every case runs, and no case sees another; `pairs`: every pair of values runs."""

import contextlib
import os
from itertools import product

import pytest

from tests.helpers.cases import TOGETHER, each, pairs


class Recorded(list):
    """The names of the cases that ran; failures are forgiven, as pytest's subtests do until the end."""

    def test(self, name):
        self.append(name)
        return contextlib.suppress(AssertionError, pytest.skip.Exception)


def test_every_case_of_a_product_runs():
    @each("a", [1, 2])
    @each(("b", "c"), [("x", 0), ("y", 5)], ids=["first", "second"])
    def test(a, b, c):
        ran.append((a, b, c))
        assert a != 1

    ran, names = [], Recorded()
    test(names)
    assert ran == [(1, "x", 0), (1, "y", 5), (2, "x", 0), (2, "y", 5)]
    assert names == ["1-first", "1-second", "2-first", "2-second"]


def test_skipped_only_if_all_are():
    @each("a", [1, 2])
    def test(a, least):
        if a < least:
            pytest.skip(f"{a} is too small")

    test(Recorded(), least=2)
    with pytest.raises(pytest.skip.Exception, match="every case is skipped"):
        test(Recorded(), least=3)


def test_without_a_case_there_is_no_test():
    with pytest.raises(AssertionError, match="there is no case"):
        each("a", [])(lambda a: a)


@each("number", range(3))
def test_no_case_sees_another(number, tmp_path, path, monkeypatch):
    assert list(tmp_path.iterdir()) == []
    assert path.parent == tmp_path
    assert "CASE" not in os.environ
    path.write_text("taken")
    monkeypatch.setenv("CASE", f"taken by {number}")


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
