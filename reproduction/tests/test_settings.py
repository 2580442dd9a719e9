"""The search over a table's grid, what it finds, and which runs are the same."""

import tomllib
from dataclasses import replace

import pytest

import budgetron_reproduction as papers
from budgetron import Gaussian, Squared, ogd
from budgetron_reproduction import reproduction, settings
from budgetron_reproduction.preparation import prepared
from budgetron_reproduction.printed import Cell, Source
from made_up import example


@pytest.mark.usefixtures("numbered")
@pytest.mark.parametrize("change", ["budget", "prepare", "part", "setting", "draws"])
def test_what_is_run_otherwise_is_run_again(change, tmp_path):
    """A run that differs in anything has other labels, so it is not taken from the store."""
    source = Source("numbered", "numbered", budget=5)
    (tmp_path / "numbered.train.svm").write_text((tmp_path / "numbered.svm").read_text())
    cell = Cell("numbered", "rbp", 20.0, 1.0)
    table = replace(example(), cells=(cell,), sources={"numbered": source}, draws=1, permutations=2)
    other = {
        "budget": {"sources": {"numbered": replace(source, budget=6)}},
        "prepare": {"sources": {"numbered": replace(source, prepare="columns to [0, 1]")}},
        "part": {"sources": {"numbered": replace(source, part="train")}},
        "setting": {"settings": {"all": {"sigma2": 9.0}}},
        "draws": {"draws": 2},
    }[change]

    def keys(table):
        if table.draws > 1:
            rows = replace(prepared(replace(table, draws=1), table.sources["numbered"]), table=table)
        else:
            rows = prepared(table, table.sources["numbered"])
        setting = settings.setting(table, cell, {})
        return {job.key for job in reproduction._jobs(table, cell, setting, rows, None)}

    assert len(keys(table)) == 2
    assert not keys(table) & keys(replace(table, **other))


@pytest.mark.usefixtures("numbered")
def test_a_search_tells_rows_and_grids_apart():
    cell = Cell("numbered", "perceptron")
    table = example(
        draws=1,
        grid={"perceptron": {"sigma2": [1.0]}},
        search={"rows": 50, "folds": 2},
        sources={"numbered": Source("numbered", "numbered")},
    )

    def keys(table, **more):
        rows = prepared(table, Source("numbered", "numbered", **more))
        make = reproduction.maker(table, cell)
        return {job.key for job in settings._jobs(table, cell, make, rows, {"sigma2": 1.0})}

    assert len(keys(table)) == 2
    assert not keys(table) & keys(table, prepare="columns to [0, 1]")
    assert not keys(table) & keys(replace(table, search={"rows": 50, "folds": 3}))


@pytest.mark.usefixtures("numbered")
def test_a_search_hides_no_mistake_but_steps_that_diverge():
    cell = Cell("numbered", "perceptron")
    table = example(
        draws=1,
        grid={"perceptron": {"eta": [0.1, 1.0]}},
        search={"rows": 50, "orders": 1},
        sources={"numbered": Source("numbered", "numbered")},
    )
    rows = prepared(table, table.sources["numbered"])

    def broken(_):
        raise ValueError("a plain mistake")

    def diverges(case):
        return ogd(Gaussian(1e-9), eta=1e300 if case["eta"] == 1 else 0.1, loss=Squared())

    def always(_):
        return ogd(Gaussian(1e-9), eta=1e300, loss=Squared())

    store, regression = papers.Store(None), replace(table, task="regression")
    with pytest.raises(ValueError, match="a plain mistake"):
        settings.search(table, cell, broken, rows, store, 1)
    assert settings.search(regression, cell, diverges, rows, store, 1) == {"eta": 0.1}
    with pytest.raises(ValueError, match="diverges"):
        settings.search(regression, cell, always, rows, papers.Store(None), 1)


@pytest.mark.parametrize("protocol", ["online", "batch"])
def test_the_search_takes_the_best_of_the_grid(protocol, tmp_path):
    """With width 1e-3 all rows are unlike each other, with 1e3 all are alike; 1 is the best."""
    times = {"orders": 2} if protocol == "online" else {"folds": 2}
    table = example(
        protocol=protocol,
        grid={"perceptron": {"sigma2": [1e-6, 1.0, 1e6]}},
        search={"rows": 500, **times},
        more_is_better=protocol == "batch",
    )
    rows = prepared(table, Source("synthetic", "synthetic"))
    store = papers.Store(tmp_path / "runs.jsonl")
    make = reproduction.maker(table, table.cells[0])
    assert settings.search(table, table.cells[0], make, rows, store, 2) == {"sigma2": 1.0}
    assert len((tmp_path / "runs.jsonl").read_text().splitlines()) == 6


def test_found_settings_are_kept_beside_those_of_other_tables(tmp_path):
    one, other = papers.table("zhao2012", 2), papers.table("zhao2012", 3)
    settings.keep(one, {"german": {"ogd": {"eta": 0.5}}, "w8a": {}}, tmp_path)
    path = settings.keep(other, {"german": {"bogd, B = 50": {"eta": 1, "cap": 2.0}}}, tmp_path)
    assert tomllib.loads(path.read_text()) == {
        "table2": {"german": {"ogd": {"eta": 0.5}}},
        "table3": {"german": {"bogd, B = 50": {"eta": 1, "cap": 2.0}}},
    }
