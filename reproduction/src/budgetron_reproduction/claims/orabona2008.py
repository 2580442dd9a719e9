"""What Orabona et al. 2008 say of their tables (Section 5)."""

from __future__ import annotations

from budgetron_reproduction.claims.claim import Claim
from budgetron_reproduction.claims.groups import Group
from budgetron_reproduction.claims.judges import Judge, all_below, below, over, said

PROJECTRONS, BOUNDED = ("projectron", "projectron++"), ("forgetron", "rbp")
CLOSE = 3.0
"""The mean of the Stoptron may be this many points above the largest of the others: in print it is 2.7."""
SPREAD = 3.0
"""How many times larger a deviation must be to be much larger."""


def _stops_close() -> Judge:
    def judge(group: Group) -> tuple[bool, str]:
        worst = max(BOUNDED, key=group.error.__getitem__)
        holds = group.error["stoptron"] <= group.error[worst] + CLOSE
        return holds, said(group, "error", "stoptron", worst)

    return judge


TABLE = (
    Claim(
        "Projectron and Projectron++ make fewer mistakes than Forgetron and RBP.",
        over(all_below(PROJECTRONS, BOUNDED)),
    ),
    Claim(
        "Projectron and Projectron++ keep fewer support vectors than Forgetron and RBP.",
        over(all_below(PROJECTRONS, BOUNDED, "support")),
    ),
    Claim("Projectron++ makes fewer mistakes than Projectron.", over(below("projectron++", "projectron"))),
    Claim(
        "Projectron++ keeps fewer support vectors than Projectron.",
        over(below("projectron++", "projectron", "support")),
    ),
    Claim(
        "Projectron++ makes fewer mistakes than the Perceptron.", over(below("projectron++", "perceptron"))
    ),
    Claim("PA-I makes fewer mistakes than Projectron++.", over(below("pa-1", "projectron++"))),
    Claim(
        "The Stoptron's mean is close to the others' (here: at most 3 points above Forgetron and RBP).",
        over(_stops_close()),
    ),
    Claim(
        "The deviation of the Stoptron is much larger (here: 3 times) than those of the others.",
        over(all_below((*PROJECTRONS, *BOUNDED), ("stoptron",), "sd", by=SPREAD)),
    ),
)

CLAIMS = {1: TABLE, 2: TABLE, 3: TABLE}
"""The claims about each table: the text speaks of all three at once."""
