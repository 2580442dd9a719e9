"""What Le et al. 2016 say of their tables (Sections 7.1 to 7.3)."""

from __future__ import annotations

from budgetron_reproduction.claims.claim import Claim
from budgetron_reproduction.claims.judges import MOST, all_below, below, best_near, near, on, only, over

FIXED = ("rbp", "forgetron", "bpa-s", "bogd")
BSGDS = ("bsgd, under", "bsgd, over")
COMPARABLE = 2.0
"""Accuracies at most this many points apart are comparable."""
COMPARABLE_RMSE = 0.1

CLAIMS = {
    1: (
        Claim(
            "Removal takes less time than projection.",
            over(below("nbsgd, removal", "nbsgd, projection", "seconds")),
        ),
        Claim(
            "Removal and projection are comparable in NBSGD (here: within 2 points).",
            over(near("nbsgd, removal", "nbsgd, projection", COMPARABLE)),
        ),
        Claim(
            "Removal with the logistic loss is the best (here: not worse than projection with it).",
            over(only("logistic", best_near(("nbsgd, removal",), ("nbsgd, projection",)))),
        ),
    ),
    2: (
        Claim(
            "SGD has the least error.",
            over(best_near(("sgd",), (*BSGDS, "nbsgd"))),
        ),
        Claim(
            "NBSGD and BSGD take less time than SGD.",
            over(all_below((*BSGDS, "nbsgd"), ("sgd",), "seconds")),
        ),
        Claim(
            "NBSGD and BSGD have smaller models than SGD.",
            over(all_below((*BSGDS, "nbsgd"), ("sgd",), "support")),
        ),
        Claim(
            "NBSGD and BSGD have comparable errors to SGD (here: an RMSE at most 0.1 larger).",
            over(all_below(("nbsgd", *BSGDS), ("sgd",), within=COMPARABLE_RMSE)),
        ),
        Claim(
            "NBSGD has less error than BSGD with a smaller budget.",
            over(below("nbsgd", "bsgd, under")),
        ),
    ),
    3: (
        Claim(
            "NBSGD has a smaller model than SGD and the budget algorithms.",
            over(all_below(("nbsgd",), (*FIXED, "sgd"), "support")),
        ),
        Claim("NBSGD takes less time than SGD.", over(below("nbsgd", "sgd", "seconds"))),
        Claim(
            "NBSGD takes less time than the budget algorithms in most cases.",
            over(all_below(("nbsgd",), FIXED, "seconds"), MOST),
        ),
        Claim(
            "NBSGD is more accurate than SGD, but for a9a.",
            over(on(("dna", "ijcnn"), below("nbsgd", "sgd"))),
        ),
        Claim(
            "NBSGD is more accurate than RBP, Forgetron, BPA-S and BOGD.",
            over(all_below(("nbsgd",), FIXED)),
        ),
        Claim(
            "NBSGD is more accurate than Projectron++ on a9a and ijcnn.",
            over(on(("a9a", "ijcnn"), below("nbsgd", "projectron++"))),
        ),
        Claim(
            "NBSGD has a smaller model than Projectron++ on a9a and ijcnn.",
            over(on(("a9a", "ijcnn"), below("nbsgd", "projectron++", "support"))),
        ),
        Claim("NBSGD takes less time than Projectron++.", over(below("nbsgd", "projectron++", "seconds"))),
    ),
}
"""The claims about each table."""
