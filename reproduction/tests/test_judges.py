"""Checks of claims on made-up groups: each holds and fails."""

import pytest

import budgetron_reproduction as papers
from budgetron_reproduction.claims import about, judges
from budgetron_reproduction.claims.groups import Group, printed

GROUP = Group(
    "a9a at B = 100",
    "largest",
    error={"rbp": 20.0, "fogd": 10.0, "nogd": 10.5, "ogd": 9.0},
    seconds={"rbp": 1.0, "fogd": 3.0, "nogd": 2.0},
    support={"rbp": 100.0, "ogd": 900.0},
    sd={"rbp": 1.0, "fogd": 1.0, "nogd": 1.0, "ogd": 0.1},
    runs=dict.fromkeys(("rbp", "fogd", "nogd", "ogd"), 5),
)
HOLD_AND_FAIL = {
    "below": (judges.below("fogd", "rbp"), judges.below("rbp", "fogd")),
    "below by": (judges.below("fogd", "rbp", by=1.9), judges.below("fogd", "rbp", by=2.1)),
    "all below": (judges.all_below(("ogd", "fogd"), ("rbp",)), judges.all_below(("ogd", "rbp"), ("fogd",))),
    "all within": (
        judges.all_below(("fogd",), ("ogd",), within=1.0),
        judges.all_below(("fogd", "nogd"), ("ogd",), within=1.0),
    ),
    "best near": (
        judges.best_near(("nogd",), ("fogd", "rbp"), 0.5),
        judges.best_near(("nogd",), ("fogd",), 0.4),
    ),
    "near": (judges.near("fogd", "nogd"), judges.near("fogd", "nogd", 0.4)),
    "first": (judges.first(("ogd",)), judges.first(("fogd", "nogd"))),
    "first among": (
        judges.first(("fogd",), among=("rbp", "fogd")),
        judges.first(("rbp",), among=("rbp", "fogd")),
    ),
    "most": (judges.first(("fogd",), "seconds", most=True), judges.first(("nogd",), "seconds", most=True)),
    "significant": (judges.significantly_below("fogd", "rbp"), judges.significantly_below("fogd", "nogd")),
    "support": (judges.below("rbp", "ogd", "support"), judges.below("ogd", "rbp", "support")),
}


@pytest.mark.parametrize("name", HOLD_AND_FAIL)
def test_a_judge_holds_and_fails(name):
    assert [judge(GROUP)[0] for judge in HOLD_AND_FAIL[name]] == [True, False]


def test_a_judge_is_asked_only_about_its_groups():
    judge = judges.below("fogd", "rbp")
    for about_it, not_about in [
        (judges.at("largest", judge), judges.at("smallest", judge)),
        (judges.on(("a9a",), judge), judges.on(("w8a",), judge)),
        (judges.only("B = 100", judge), judges.only("B = 10", judge)),
        (judge, judges.below("fogd", "forgetron")),
        (judges.first(("fogd",)), judges.first(("forgetron",))),
    ]:
        assert judges.over(about_it)([GROUP])[1].startswith(("1 of 1 case. ", "0 of 1 case. "))
        assert judges.over(not_about)([GROUP]) == (False, "0 of 0 cases. ")


def test_shares():
    groups = [Group(str(i), "", {}, {}, {}) for i in range(3)]
    two = judges.over(lambda group: (group.name != "0", ""), judges.MOST)
    assert [two(groups)[0], two(groups[:2])[0]] == [True, False]
    assert two(groups)[1].startswith("2 of 3 cases. 0 (not): ")


def test_groups_of_print():
    """Budgets are joined with what has none; accuracies are turned into errors; losses divide Le et al."""
    with_perceptron = [each for each in printed(papers.table("zhao2012", 3)) if "perceptron" in each.error]
    assert {each.dataset for each in with_perceptron} >= {"german", "w8a", "ijcnn1"}
    batch = {each.name: each for each in printed(papers.table("lu2016", 3))}
    assert batch["codrna"].error["libsvm"] == pytest.approx(100 - 96.67)
    losses = {each.name: each for each in printed(papers.table("le2016", 2))}
    assert losses["exam, l2"].error["bsgd, under"] == 0.98
    assert losses["exam, l2"].support["sgd"] == 3653


def test_no_claim_is_written_twice():
    texts = [claim.text for key in papers.KEYS for n in papers.numbers(key) for claim in about(key, n)]
    assert len(texts) >= 60
    for key in papers.KEYS:
        for number in papers.numbers(key):
            these = [claim.text for claim in about(key, number)]
            assert len(these) == len(set(these))
