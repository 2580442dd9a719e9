"""What Zhao & Hoi 2012 say of their tables, whose numbers are lost."""

from __future__ import annotations

from budgetron_reproduction.claims.claim import Claim
from budgetron_reproduction.claims.groups import Group
from budgetron_reproduction.claims.judges import (
    ALIKE,
    ALMOST_ALL,
    Judge,
    at,
    below,
    best_near,
    first,
    near,
    on,
    over,
    said,
)


def _removal(helps: bool) -> Judge:
    """Compare BDUOL with removal to the better of RBP and Forgetron.

    With ``helps``: it is at most `ALIKE` points worse. Without: it is not better.
    """

    def judge(group: Group) -> tuple[bool, str]:
        values = group.error
        other = min(("rbp", "forgetron"), key=values.__getitem__)
        mine, theirs = values["bduol-removal"], values[other]
        holds = mine <= theirs + ALIKE if helps else mine >= theirs
        return holds, said(group, "error", "bduol-removal", other)

    return judge


NAMED = ("german", "mushrooms")
"""The data sets that the text names."""
OTHERS = ("svmguide3", "splice")
"""Those that stand in for the others."""

BDUOL = (
    Claim(
        "RBP and Forgetron are very similar (here: within a point).",
        over(near("rbp", "forgetron")),
    ),
    Claim(
        "Projectron++ makes fewer mistakes than Projectron for almost all budgets (here: two in three).",
        over(below("projectron++", "projectron"), ALMOST_ALL),
    ),
    Claim(
        "With removal, BDUOL is comparable to RBP and Forgetron or better at a large budget (here: at most "
        "a point worse).",
        over(at("largest", _removal(helps=True))),
    ),
    Claim(
        "With removal, BDUOL does not improve on RBP and Forgetron at a very small budget.",
        over(at("smallest", _removal(helps=False))),
    ),
    Claim(
        "Approximate projection makes fewer mistakes than the nearest neighbour on german and mushrooms.",
        over(on(NAMED, below("bduol-approximate", "bduol-nearest"))),
    ),
    Claim(
        "Approximate projection takes more time than the nearest neighbour.",
        over(below("bduol-nearest", "bduol-approximate", "seconds")),
    ),
)
"""Zhao & Hoi on their Table 3, and on the figures of the same runs."""

BDUOL_DRAWN = Claim(
    "A BDUOL makes the fewest mistakes of all that are drawn.",
    over(first(("bduol-removal", "bduol-nearest", "bduol-approximate"))),
)
"""About the figures only: they do not show exact projection."""

CLAIMS = {
    2: (
        Claim("DUOL makes fewer mistakes than the Perceptron.", over(below("duol", "perceptron"))),
        Claim(
            "DUOL keeps more support vectors than the Perceptron.",
            over(below("perceptron", "duol", "support")),
        ),
        Claim("DUOL takes longer than the Perceptron.", over(below("perceptron", "duol", "seconds"))),
    ),
    3: (
        *BDUOL,
        Claim(
            "On the other data sets approximate projection does not (here: not in two of three cases).",
            over(on(OTHERS, best_near(("bduol-nearest",), ("bduol-approximate",))), ALMOST_ALL),
        ),
        Claim(
            "Exact projection makes the fewest mistakes of all in most cases (here: two in three).",
            over(first(("bduol-projection",)), ALMOST_ALL),
        ),
        Claim(
            "Exact projection is slower than RBP, Forgetron and the other ways to keep the budget.",
            over(first(("bduol-projection",), "seconds", most=True)),
        ),
        Claim(
            "At large budgets the nearest neighbour is close to exact projection (here: within a point).",
            over(at("largest", near("bduol-nearest", "bduol-projection"))),
        ),
    ),
}
"""The claims about each table."""
