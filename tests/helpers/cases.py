"""Many small cases in one test, as subtests: pytest's own work for an item takes longer than most cases.

`each` is written as ``pytest.mark.parametrize`` is, also several times above one test. Every case runs, and
pytest reports each one that fails. ``pytest -o verbosity_subtests=1`` names and counts all of them.
"""

import inspect
from functools import wraps

import pytest

from tests.helpers.pairs import covering

TOGETHER = 100
"""Cases of one item, so that workers can share a large product."""


def each(names, values, ids=None):
    """Run the test for each of the values, and for the product if `each` stands there several times."""
    names = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    values = [[value] if len(names) == 1 else list(value) for value in values]
    if ids is None or callable(ids):
        ids = ["-".join(str((ids or _text)(value)) for value in case) for case in values]
    outer = [
        (str(text), dict(zip(names, case, strict=True))) for text, case in zip(ids, values, strict=True)
    ]

    def decorated(test):
        test, inner = getattr(test, "product", (test, [("", {})]))
        return _looped(test, [(f"{a}-{b}" if b else a, v | w) for a, v in outer for b, w in inner])

    return decorated


def pairs(test):
    """Of a product, run a part in which every pair of values occurs; the rest is slow."""
    test, cases = test.product
    kept = covering([{name: id(value) for name, value in values.items()} for _, values in cases])
    parts = {"pairs": [], "rest": []}
    for place, case in enumerate(cases):
        parts["pairs" if place in kept else "rest"].append(case)
    shares = [
        pytest.param(
            cases[i : i + TOGETHER],
            id=f"{part} {i // TOGETHER}",
            marks=[pytest.mark.slow] * (part == "rest"),
        )
        for part, cases in parts.items()
        for i in range(0, len(cases), TOGETHER)
    ]
    return pytest.mark.parametrize("cases", shares)(_looped(test, cases, "cases"))


def _text(value):
    return getattr(value, "__name__", None) or str(value)[:120]


def _looped(test, cases, *parameter):
    """The test of all the cases, or of those that the parameter ``cases`` has."""
    assert cases, "there is no case."

    @wraps(test, updated=())  # not hypothesis' attributes: it draws in each case, not around them
    def every_case(subtests, **fixtures):
        skipped, selected = 0, fixtures.pop("cases", cases)
        for number, (name, values) in enumerate(selected):
            with subtests.test(name), pytest.MonkeyPatch.context() as monkeypatch:
                try:
                    test(**_fresh(fixtures, number, monkeypatch), **values)
                except pytest.skip.Exception:
                    skipped += 1
                    raise
        if skipped == len(selected):
            pytest.skip("every case is skipped")

    signature = inspect.signature(test)
    names = ["subtests", *parameter, *(signature.parameters.keys() - cases[0][1].keys())]
    every_case.__signature__ = signature.replace(
        parameters=[inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in names]
    )
    every_case.product, every_case.pytestmark = (test, cases), [*getattr(test, "pytestmark", [])]
    return every_case


def _fresh(fixtures, number, monkeypatch):
    """The fixtures of one case: pytest makes them once for all, and no case may see what another left."""
    fresh = dict(fixtures)
    if "monkeypatch" in fixtures:
        fresh["monkeypatch"] = monkeypatch
    for name in fixtures.keys() & {"tmp_path", "path"}:
        folder = fixtures[name] if name == "tmp_path" else fixtures[name].parent
        folder = folder / f"case{number}"
        folder.mkdir(exist_ok=True)
        fresh[name] = folder if name == "tmp_path" else folder / fixtures[name].name
    return fresh
