"""What the texts say of tables, judged."""

import dataclasses

import budgetron_reproduction as papers
from budgetron_reproduction import Cell, Reproduction, Result, claims, figures, markdown, table
from made_up_runs import comparison, ends


def test_claims_hold_or_not():
    """Made-up results: exact projection is the best at one budget and not at the other."""
    table = papers.table("zhao2012b", 3)
    cells = [cell for cell in table.cells if cell.dataset == "german" and cell.budget in (24, 96)]
    values = {"bduol-projection": 10.0, "bduol-approximate": 30.0}

    def made(cell):
        value = (
            50.0
            if (cell.algorithm, cell.budget) == ("bduol-projection", 24)
            else values.get(cell.algorithm, 20.0)
        )
        return papers.Result(table, cell, {}, value, 0.1, 1.0, 5.0, None, 4, 100)

    done = papers.Reproduction(table, tuple(map(made, cells)), {}, {})
    found = {verdict.claim: verdict for verdict in claims.verdicts(done)}
    best = found["Exact projection makes the fewest mistakes of all in most cases (here: two in three)."]
    assert not best.holds
    assert best.numbers == (
        "1 of 2 cases. german at B = 24 (not): bduol-projection 50.00 %, rbp 20.00 %; "
        "german at B = 96: bduol-projection 10.00 %, rbp 20.00 %"
    )
    near = next(verdict for text, verdict in found.items() if text.startswith("At large budgets"))
    assert not near.holds
    assert near.numbers.startswith("0 of 1 case. ")
    approximate = next(
        verdict for text, verdict in found.items() if "fewer mistakes than the nearest" in text
    )
    assert approximate.numbers.startswith("0 of 2 cases. ")
    assert found["RBP and Forgetron are very similar (here: within a point)."].holds
    assert f"* {best.claim} **Does not hold**: {best.numbers}." in markdown.table(done)


def bduol_runs(seconds=2.0, **changed):
    """Runs at three budgets that agree with the text, except for the changes at the middle one."""
    made = {
        "rbp": ends(300),
        "forgetron": ends(305),
        "projectron": ends(290),
        "projectronPP": ends(280),
        "bduol_removal": ends(302),
        "bduol_nearest": ends(260),
        "bduol_approximate": ends(250, seconds),
    }
    return {"german": {B: comparison(**made | (changed if B == 48 else {})) for B in (24, 48, 96)}}


def test_tables_and_figures_judge_alike():
    what = table("zhao2012b", 3)
    changes = [
        {},
        {"rbp": ends(280)},
        {"projectronPP": ends(290)},
        {"bduol_removal": ends(900)},
        {"bduol_nearest": ends(250)},
        {"seconds": 0.5},
    ]
    held = []
    for change in changes:
        shown = bduol_runs(**change)
        results = [
            Result(
                what,
                Cell("german", row.name, budget=B),
                {},
                100 * row.mean,
                0.1,
                row.seconds,
                5.0,
                None,
                1,
                1,
            )
            for B, each in shown["german"].items()
            for row in [*each.rows, dataclasses.replace(each.rows[0], name="bduol-projection")]
        ]
        in_table = claims.verdicts(Reproduction(what, tuple(results), {}, {}))
        in_figure = [claim.verdict(shown) for claim in figures.figure("zhao2012b", 2).claims]
        assert in_table[:6] == in_figure[:6]
        held.append([verdict.holds for verdict in in_figure[:6]])
    assert held == [
        [True] * 6,
        [False, *[True] * 5],
        [True] * 6,  # two in three
        [True] * 6,  # neither the largest nor the smallest budget
        [*[True] * 4, False, True],
        [*[True] * 5, False],
    ]
