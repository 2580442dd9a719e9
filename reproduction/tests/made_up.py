"""Made-up tables, results and rows, and the skip of tests without data."""

from dataclasses import replace

import pytest

import budgetron_reproduction as papers
from budgetron import datasets
from budgetron.streams import DataError
from budgetron_reproduction.printed import Cell


def here(name):
    """Skip the test if a data set has no file."""
    try:
        datasets.load(name)
    except DataError:
        pytest.skip(f"needs the rows of {name} in the folder that BUDGETRON_DATA names")


def example(**more):
    """A table of the synthetic rows, small enough to search in."""
    table = papers.table("orabona2008", 3)
    cells = (
        Cell("synthetic", "perceptron", 20.0, 1.0, seconds=1.0),
        Cell("synthetic", "rbp", 30.0, 0.0, budget=20),
    )
    plain = {"cells": cells, "draws": 2, "permutations": 4, "decimals": 1, "differs": ()}
    return replace(table, **plain | more)


def result(value, cell, **table):
    return papers.Result(example(**table), cell, {}, value, 0.1, 0.01, 5.0, None, 4, 100)
