"""Results beside the report: kept, replaced in part, and what REPORT.md is made from."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

import budgetron_reproduction as papers
from budgetron_reproduction import claims, costs, report, results
from called import called

HERE = Path(__file__).parents[1]
THERE = [(key, number) for key in papers.KEYS for number in papers.numbers(key)]


def made(cell, value, key="orabona2008", number=3):
    return papers.Result(papers.table(key, number), cell, {}, value, 0.1, 0.01, 5.0, None, 4, 100)


def done(*these, key="orabona2008", number=3):
    return papers.Reproduction(papers.table(key, number), these, {}, {})


def test_a_part_replaces_its_results_and_keeps_the_others(tmp_path):
    first, second, *_ = papers.table("orabona2008", 3).cells
    results.keep(done(made(second, 2.0)), tmp_path)
    results.keep(done(made(first, 1.0), made(second, 3.0)), tmp_path)
    results.keep(done(), tmp_path)
    kept = results.kept("orabona2008", 3, tmp_path)
    assert [(each.cell, each.value) for each in kept.results] == [(first, 1.0), (second, 3.0)]
    assert kept.results[0] == made(first, 1.0)
    report.write([done(made(first, 4.0))], tmp_path, whole=False)
    text = (tmp_path / "REPORT.md").read_text()
    assert f"| {first.dataset} | {first.algorithm} | 4.00 ± 0.10 |" in text
    assert f"| {second.dataset} | {second.algorithm} | 3.00 ± 0.10 |" in text


def test_cells_that_are_gone_are_left_out(tmp_path):
    first, *_ = papers.table("orabona2008", 3).cells
    results.keep(done(made(first, 1.0), made(replace(first, algorithm="svm"), 2.0)), tmp_path)
    path = tmp_path / "results" / "orabona2008_table3.json"
    entries = json.loads(path.read_text())
    path.write_text(json.dumps([*entries, entries[0] | {"cell": {"dataset": "moon"}}]))
    assert [each.value for each in results.kept("orabona2008", 3, tmp_path).results] == [1.0]
    assert results.kept("orabona2008", 1, tmp_path).missing == {"adult9": results.NOT_RUN}


@pytest.mark.parametrize("content", ["{", '{"a": 1}', "[1]"])
def test_a_file_of_something_else_is_refused(tmp_path, content):
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "orabona2008_table3.json").write_text(content)
    with pytest.raises(ValueError, match="is not a file of results"):
        results.kept("orabona2008", 3, tmp_path)


def test_the_report_is_what_its_results_give(capsys, tmp_path):
    """REPORT.md is written from reproduction/results and reproduction/figures, and from nothing else."""
    for name in (results.FOLDER, report.FIGURES):
        (tmp_path / name).symlink_to(HERE / name)
    assert called(capsys, "all", "--saved", "--report", tmp_path).code == 0
    assert (tmp_path / "REPORT.md").read_text(encoding="utf-8") == (HERE / "REPORT.md").read_text(
        encoding="utf-8"
    )


@pytest.mark.parametrize(("key", "number"), THERE)
def test_every_claim_is_about_some_result(key, number):
    everything = [results.kept(*which, HERE) for which in THERE]
    [kept] = [each for each in everything if (each.table.key, each.table.number) == (key, number)]
    for verdict in claims.verdicts(kept, everything):
        assert not verdict.numbers.startswith("0 of 0"), verdict
        assert verdict.printed or key == "zhao2012b" or "codrna" in verdict.claim, verdict


@pytest.mark.parametrize("flag", ["--saved", "--costs"])
def test_flags_of_a_report_need_its_folder(capsys, flag):
    ended = called(capsys, "all", flag)
    assert ended.code == 2
    assert f"{flag} needs --report DIR" in ended.err


def test_costs_are_measured_and_shown(monkeypatch, tmp_path):
    monkeypatch.setattr(costs, "SMALL", 10)
    monkeypatch.setattr(costs, "LARGE", 20)
    monkeypatch.setattr(costs, "WIDTHS", (8, 300))
    assert not costs.sections(tmp_path)
    costs.measure(tmp_path)
    orders, memory = costs.sections(tmp_path)
    assert orders.count("| B^") == 2 * len(costs.ROWS)
    assert "| 300 | " in memory
    assert "**Holds**" in memory
