"""What Zhao et al. 2012 say of their tables (Sections 3.3 and 3.4)."""

from __future__ import annotations

from budgetron_reproduction.claims.claim import Claim
from budgetron_reproduction.claims.judges import (
    ALIKE,
    ALMOST_ALL,
    MOST,
    all_below,
    at,
    below,
    best_near,
    first,
    near,
    on,
    only,
    over,
    significantly_below,
)

PERCEPTRONS = ("rbp", "forgetron", "projectron", "projectron++")
BUDGETED = (*PERCEPTRONS, "bogd", "bogd++")
SLOWER = 1 / 1.5
"""Times are comparable if none is more than half as long again."""

CLAIMS = {
    2: (
        Claim(
            "OGD makes significantly fewer mistakes than the Perceptron (t-test).",
            over(significantly_below("ogd", "perceptron")),
        ),
        Claim(
            "OGD keeps many more support vectors than the Perceptron (here: a quarter more).",
            over(below("perceptron", "ogd", "support", by=1.25)),
        ),
        Claim(
            "OGD takes much longer than the Perceptron (here: a quarter longer).",
            over(below("perceptron", "ogd", "seconds", by=1.25)),
        ),
    ),
    3: (
        Claim(
            "RBP and Forgetron are similar in almost all cases (here: within a point, two in three).",
            over(near("rbp", "forgetron"), ALMOST_ALL),
        ),
        Claim(
            "Projectron++ makes fewer mistakes than Projectron on almost all data sets and budgets (here: "
            "two in three).",
            over(below("projectron++", "projectron"), ALMOST_ALL),
        ),
        Claim(
            "At the largest budget BOGD is comparable to the Perceptrons with a budget or better (here: at "
            "most a point worse than the best of them).",
            over(at("largest", best_near(("bogd",), PERCEPTRONS, within=ALIKE))),
        ),
        Claim(
            "At the largest budget BOGD++ makes the fewest mistakes in most cases.",
            over(at("largest", first(("bogd++",), among=BUDGETED)), MOST),
        ),
        Claim(
            "At the smallest budget BOGD++ is the best or close to it, but for german and spambase (here: "
            "within a point).",
            over(
                at(
                    "smallest",
                    on(
                        ("w8a", "magic04", "ijcnn1", "codrna"),
                        best_near(("bogd++",), BUDGETED, within=ALIKE),
                    ),
                )
            ),
        ),
        Claim(
            "BOGD++ makes significantly fewer mistakes than Perceptron without a budget on german, "
            "w8a, magic04, ijcnn1 and codrna (here: at the largest budget).",
            over(
                at(
                    "largest",
                    on(
                        ("german", "w8a", "magic04", "ijcnn1", "codrna"),
                        significantly_below("bogd++", "perceptron"),
                    ),
                )
            ),
        ),
        Claim(
            "Projectron and Projectron++ take longer than all others with a budget.",
            over(
                all_below(("rbp", "forgetron", "bogd", "bogd++"), ("projectron", "projectron++"), "seconds")
            ),
        ),
        Claim(
            "BOGD and BOGD++ take about as long as RBP and Forgetron (here: at most half as long again).",
            over(all_below(("bogd", "bogd++"), ("rbp", "forgetron"), "seconds", by=SLOWER)),
        ),
        Claim(
            "BOGD++ takes a little longer than BOGD.", over(below("bogd", "bogd++", "seconds"), ALMOST_ALL)
        ),
        Claim(
            "On codrna at B = 1000, BOGD++ is about 30 times faster than Projectron++ (here: 20 times).",
            over(only("codrna at B = 1000", below("bogd++", "projectron++", "seconds", by=20))),
        ),
        Claim(
            "On codrna at B = 1000, BOGD++ is about 60 times faster than OGD (here: 40 times).",
            over(only("codrna at B = 1000", below("bogd++", "ogd", "seconds", by=40))),
        ),
        Claim(
            "On codrna at B = 2000, Projectron++ is the slowest with a budget (more than half an hour).",
            over(
                only("codrna at B = 2000", first(("projectron++",), "seconds", most=True, among=BUDGETED))
            ),
        ),
    ),
}
"""The claims about each table."""
