"""What Lu et al. 2016 say of their tables (Sections 7.1 to 7.5)."""

from __future__ import annotations

from budgetron_reproduction.claims.claim import Claim
from budgetron_reproduction.claims.judges import (
    ALMOST_ALL,
    MOST,
    all_below,
    below,
    best_near,
    first,
    on,
    over,
)

FUNCTIONS = ("fogd", "nogd")
UNBOUNDED = ("perceptron", "ogd")
REMOVING, PROJECTING = ("rbp", "forgetron"), ("projectron", "projectron++")
BUDGETED = (*REMOVING, *PROJECTING, "bpa-s", "bogd", *FUNCTIONS)
REGRESSION = (*REMOVING, "projectron", "bogd")
BATCH, BSGDS = ("libsvm", "llsvm"), ("bsgd-m", "bsgd-r")
COMPETITIVE = 2.0
"""An accuracy is slightly lower if it is at most this many points below."""

BEST = "FOGD or NOGD has the least error of all with a budget in most cases."

CLAIMS = {
    3: (
        Claim(
            "The online learners take less time to train than LIBSVM and LLSVM in most cases.",
            over(all_below((*BSGDS, *FUNCTIONS), BATCH, "seconds"), MOST),
        ),
        Claim(
            "FOGD and NOGD are slightly less accurate than LIBSVM at most (here: the better, by 2 points).",
            over(best_near(FUNCTIONS, ("libsvm",), within=COMPETITIVE)),
        ),
        Claim(
            "BSGD-R makes the most errors of the four online learners on most data sets.",
            over(first(("bsgd-r",), most=True, among=(*BSGDS, *FUNCTIONS)), MOST),
        ),
        Claim(
            "BSGD-M takes the most time of the four.",
            over(first(("bsgd-m",), "seconds", most=True, among=(*BSGDS, *FUNCTIONS))),
        ),
        Claim(
            "NOGD is the most accurate of the four in most cases.",
            over(first(("nogd",), among=(*BSGDS, *FUNCTIONS)), MOST),
        ),
        Claim(
            "FOGD is more accurate than BSGD-M and BSGD-R on most data sets.",
            over(all_below(("fogd",), BSGDS), MOST),
        ),
        Claim("NOGD is more accurate than FOGD.", over(below("nogd", "fogd"))),
    ),
    5: (
        Claim(
            "Learners with a budget take less time than Perceptron and OGD in most cases.",
            over(all_below(BUDGETED, UNBOUNDED, "seconds"), MOST),
        ),
        Claim(
            "Learners with a budget are generally worse than OGD, but for FOGD (here: two in three).",
            over(all_below(("ogd",), tuple(each for each in BUDGETED if each != "fogd")), ALMOST_ALL),
        ),
        Claim(BEST, over(first(FUNCTIONS, among=BUDGETED), MOST)),
        Claim(
            "FOGD makes fewer mistakes than OGD on w7a, w8a and ijcnn1.",
            over(on(("w7a", "w8a", "ijcnn1"), below("fogd", "ogd"))),
        ),
        Claim("FOGD makes fewer mistakes than NOGD in most cases.", over(below("fogd", "nogd"), MOST)),
        Claim(
            "FOGD takes the least time of all with a budget.",
            over(first(("fogd",), "seconds", among=BUDGETED)),
        ),
    ),
    7: (
        Claim(
            "Learners with a budget take less time than Perceptron and OGD in most cases.",
            over(all_below(BUDGETED, UNBOUNDED, "seconds"), MOST),
        ),
        Claim("OGD makes fewer mistakes than the Perceptron.", over(below("ogd", "perceptron"))),
        Claim("OGD takes more time than the Perceptron.", over(below("perceptron", "ogd", "seconds"))),
        Claim(
            "Projectron and Projectron++ make fewer mistakes than RBP and Forgetron.",
            over(all_below(PROJECTING, REMOVING)),
        ),
        Claim(
            "RBP and Forgetron take less time than Projectron and Projectron++.",
            over(all_below(REMOVING, PROJECTING, "seconds")),
        ),
        Claim(
            "BPA-S takes the most time of all with a budget in most cases.",
            over(first(("bpa-s",), "seconds", most=True, among=BUDGETED), MOST),
        ),
        Claim(BEST, over(first(FUNCTIONS, among=BUDGETED), MOST)),
        Claim(
            "FOGD and NOGD take less time than all others with a budget.",
            over(
                all_below(FUNCTIONS, tuple(each for each in BUDGETED if each not in FUNCTIONS), "seconds")
            ),
        ),
    ),
    9: (
        Claim(
            "Learners with a budget take less time than those without in most cases.",
            over(all_below((*REGRESSION, *FUNCTIONS), (*UNBOUNDED, "norma"), "seconds"), MOST),
        ),
        Claim(
            "NORMA takes less time than OGD and Perceptron.",
            over(all_below(("norma",), UNBOUNDED, "seconds")),
        ),
        Claim(
            "FOGD takes the least time of all with a budget.",
            over(first(("fogd",), "seconds", among=(*REGRESSION, *FUNCTIONS))),
        ),
        Claim(
            "Projectron has the least error of RBP, Forgetron, BOGD and Projectron.",
            over(first(("projectron",), among=REGRESSION)),
        ),
        Claim(BEST, over(first(FUNCTIONS, among=(*REGRESSION, *FUNCTIONS)), MOST)),
    ),
}
"""The claims about each table."""
