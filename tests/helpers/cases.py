"""Many small cases in one test: pytest's own work for an item takes longer than most of them.

`each` is written as ``pytest.mark.parametrize`` is, also several times above one test. Every case is run,
and every one that fails is named. ``pytest --case NAME`` runs the cases whose names contain NAME.
"""

import inspect
import os
from functools import wraps

import pytest

from tests.helpers.pairs import covering

TOGETHER = 100
"""Cases of one item, so that workers can share a large product."""


def each(names, values, ids=None):
    """Run the test for each of the values, and for the product if `each` stands there several times.

    No case sees what another left in ``tmp_path``, ``path``, ``monkeypatch`` or ``capsys``.

    >>> @each("a", [1, 2])
    ... @each("b", ["x", "y"])
    ... def test(a, b):
    ...     print(a, b)
    >>> test()
    1 x
    1 y
    2 x
    2 y
    """
    names = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    own = [_case(names, value, _given(ids, i)) for i, value in enumerate(values)]

    def decorated(test):
        inner = getattr(test, "cases", [("", {})])
        product = [("-".join(filter(None, (a, b))), v | w) for a, v in own for b, w in inner]
        return _looped(getattr(test, "of_one_case", test), product)

    return decorated


def pairs(test):
    """Of a product, run a part in which every pair of values occurs; the rest is slow."""
    kept = covering([{name: id(value) for name, value in values.items()} for _, values in test.cases])
    parts = {"pairs": [], "rest": []}
    for place, case in enumerate(test.cases):
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
    return pytest.mark.parametrize("cases", shares)(_looped(test.of_one_case, test.cases, "cases"))


def _case(names, value, name):
    """The name of a case, and its values by the names of the parameters."""
    if isinstance(value, type(pytest.param())):
        assert not value.marks, "each: a case has no marks; use pytest.mark.parametrize."
        name, value = value.id or name, value.values if len(names) > 1 else value.values[0]
    values = [value] if len(names) == 1 else list(value)
    assert len(values) == len(names), f"each: {len(names)} names, but {len(values)} values."
    if callable(name):
        name = "-".join(str(_text(each) if (own := name(each)) is None else own) for each in values)
    return str(name or "-".join(map(_text, values))), dict(zip(names, values, strict=True))


def _given(ids, place):
    return ids if ids is None or callable(ids) else list(ids)[place]


def _text(value):
    return getattr(value, "__name__", None) or str(value)[:120]


def _looped(test, cases, parameter=None):
    """The test of all the cases, or of those that the parameter has."""
    given = {name for _, values in cases for name in values}
    signature = inspect.signature(test)
    unknown = given - set(signature.parameters)
    assert not unknown, f"each: {test.__name__} has no parameter {sorted(unknown)}."

    @wraps(test)
    def every_case(**fixtures):
        own = cases if parameter is None else fixtures.pop(parameter)
        failed, skipped = [], []
        assert own, "there is no case."
        if part := os.environ.get("BUDGETRON_TEST_CASE"):
            own = [(name, values) for name, values in own if part in name]
            if not own:
                pytest.skip(f"no case is called {part}")
        for number, (name, values) in enumerate(own):
            try:
                _fresh(test, fixtures, values, number)
            except pytest.skip.Exception as reason:
                skipped.append(f"{name}: {reason}")
            except (Exception, pytest.fail.Exception) as error:
                error.add_note(f"in the case {name}")
                failed.append((name, error))
        if failed:
            said = f"{len(failed)} of {len(own)} cases failed: " + ", ".join(name for name, _ in failed)
            raise BaseExceptionGroup(said, [error for _, error in failed])
        if len(skipped) == len(own):
            pytest.skip("; ".join(skipped))

    kept = [p.replace(kind=p.KEYWORD_ONLY) for p in signature.parameters.values() if p.name not in given]
    if parameter:
        kept.append(inspect.Parameter(parameter, inspect.Parameter.KEYWORD_ONLY))
    every_case.__signature__ = signature.replace(parameters=kept)
    every_case.cases, every_case.of_one_case = cases, test
    return every_case


def _fresh(test, fixtures, values, number):
    """Run one case, with fixtures that hold nothing of another case."""
    fixtures = dict(fixtures)
    for name in ("tmp_path", "path"):
        if name in fixtures:
            old = fixtures[name]
            folder = (old if name == "tmp_path" else old.parent) / f"case{number}"
            folder.mkdir(exist_ok=True)
            fixtures[name] = folder if name == "tmp_path" else folder / old.name
    if "capsys" in fixtures:
        fixtures["capsys"].readouterr()
    with pytest.MonkeyPatch.context() as patched:
        if "monkeypatch" in fixtures:
            fixtures["monkeypatch"] = patched
        test(**fixtures, **values)
