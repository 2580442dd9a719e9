"""Public names: every list is right, and nothing that a user writes down is missing from it."""

import pkgutil
from importlib import import_module

import pytest

import budgetron
from budgetron._util.exports import HOMES, exported
from budgetron._util.spec import Spec

MODULES = [m.name for m in pkgutil.walk_packages(budgetron.__path__, "budgetron.") if "__" not in m.name]
PACKAGES = sorted(HOMES)  # walk_packages has imported them


@pytest.mark.parametrize("package", PACKAGES)
def test_every_name_is_defined_where_the_list_says(package):
    for name, home in HOMES[package].items():
        member = getattr(import_module(home), name)
        assert getattr(member, "__module__", home) in (home, "budgetron"), f"{name} is not of {home}"
        assert getattr(import_module(package), name) is member
        assert name in dir(import_module(package))


def test_no_name_is_also_that_of_a_module():
    """After ``import budgetron.plots.lines`` ``plots.lines`` is that module, whatever a list says."""
    assert {f"{package}.{name}" for package in PACKAGES for name in HOMES[package]}.isdisjoint(MODULES)


def test_every_description_is_public():
    rooms = ("parts", "learners", "records")
    modules = [name for name in MODULES if name.split(".")[1] in rooms]
    members = [member for name in modules for member in vars(import_module(name)).values()]
    public = exported(Spec, *rooms)
    for kind in (member for member in members if isinstance(member, type) and issubclass(member, Spec)):
        if not kind.__subclasses__() and not kind.__name__.startswith("_"):
            assert public.get(kind.__name__) is kind, (
                f"{kind.__name__} is not public: list it beside {kind.__module__} in budgetron/__init__.py."
            )
