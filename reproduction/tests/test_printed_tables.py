"""The printed tables as data: complete, as transcribed, and each cell with its learner."""

import tomllib
from pathlib import Path

import pytest

import budgetron_reproduction as papers
from budgetron import datasets
from budgetron.learners.learner import Learner
from budgetron.streams import DataError
from budgetron_reproduction import reproduction, settings
from budgetron_reproduction.cases import Case
from budgetron_reproduction.preparation import PREPARATIONS
from budgetron_reproduction.printed import LABELS, Table

PRINTED = Path(__file__).parents[3] / "shared" / "tables"

TABLES = [(key, number) for key in papers.KEYS for number in papers.numbers(key)]

NUMBERS = ("value", "sd", "seconds", "test_seconds", "support")


@pytest.fixture(scope="module", params=TABLES, ids=lambda each: f"{each[0]}-{each[1]}")
def table(request):
    return papers.table(*request.param)


def test_the_tables_asked_for_are_there():
    assert {key: papers.numbers(key) for key in papers.KEYS} == {
        "orabona2008": (1, 2, 3),
        "zhao2012": (2, 3),
        "zhao2012b": (2, 3),
        "lu2016": (3, 5, 7, 9),
        "le2016": (1, 2, 3),
    }


def test_printed_numbers_are_those_of_the_transcription(table):
    """Cell by cell, if the transcription is there; le2016 prints some accuracies as fractions."""
    path = PRINTED / table.key / f"table{table.number}.toml"
    if not path.exists():
        pytest.skip("needs the transcribed tables")
    rows = tomllib.loads(path.read_text())["row"]
    cells = [cell for cell in table.cells if cell.value is not None]
    assert len(rows) == len(cells)
    for row, cell in zip(rows, cells, strict=True):
        scale = 100 if row.get("unit") == "fraction" else 1
        assert (row["dataset"], row["algorithm"]) == (cell.dataset, cell.algorithm)
        assert [row.get(name) for name in LABELS[2:5]] == [getattr(cell, name) for name in LABELS[2:5]]
        if "budget" in row:
            assert table.budget(cell) == row["budget"]
        if "D" in row and table.number == 3:
            assert settings.stated(table, cell)["D"] == row["D"]
        assert cell.value == pytest.approx(scale * row["value"], rel=1e-12)
        for name in NUMBERS[1:]:
            assert getattr(cell, name) == row.get(name)


def test_what_a_table_speaks_of_exists(table):
    for source in table.sources.values():
        assert source.prepare in PREPARATIONS
        assert datasets.describe(source.here).name == source.here
    algorithms = {cell.algorithm for cell in table.cells}
    assert {cell.dataset for cell in table.cells} <= set(table.sources)
    for remark in (*table.departs, *table.differs):
        assert set(remark.datasets) <= set(table.sources)
        assert set(remark.algorithms) <= algorithms
        assert any(map(remark.concerns, table.cells)) or remark.datasets == ("codrna",)
        assert remark.why.endswith(".")
    assert len({tuple(cell.labels.items()) for cell in table.cells}) == len(table.cells)


def test_every_cell_has_its_learner(table):
    ours = 0
    for cell in table.cells:
        point = {
            name: values[0]
            for name, values in table.grid.get(settings.stand_in(table, cell).algorithm, {}).items()
        }
        case = Case(cell, 1000, table.budget(cell), settings.stated(table, cell) | point)
        ours += isinstance(reproduction.maker(table, cell)(case), Learner)
    batch = sum(cell.algorithm in ("libsvm", "llsvm") for cell in table.cells)
    assert ours == len(table.cells) - batch


def test_settings_are_stored_for_every_cell_with_rows(table):
    for cell in table.cells:
        try:
            datasets.files(table.sources[cell.dataset].here)
        except DataError:
            continue
        settings.setting(table, cell, settings.stored(table))


def test_table_is_a_plain_value():
    assert isinstance(papers.table("lu2016", 5), Table)
    assert papers.table("lu2016", 5) is papers.table("lu2016", 5)
