"""
Two moons, learned row by row
=============================

Each frame shows the classifier after 30 more rows: the regions of the classes, the boundary between them,
and the support vectors as rings. The learner is `bpa_p` with a budget of 20. When a row needs a place,
the learner removes the support vector that it can best express by the others, and they absorb its weight.
"""

from sklearn.datasets import make_moons

from budgetron import Gaussian, OnlineClassifier, bpa_p, plots

X, y = make_moons(600, noise=0.22, random_state=0)
model = OnlineClassifier(bpa_p(Gaussian(2.0), budget=20), random_state=0)
film = plots.learning(model, X, y, every=30, resolution=120)

# %%
# `film.save("moons.gif", writer="pillow", fps=8)` writes it to a file. The title counts the rows that
# were predicted wrongly before they were learned.
print(f"{model.n_support_} support vectors, {model.memory_bytes_:,} bytes")

# %%
# **Lesson:** the budget is full after 40 rows; from then on the model exchanges support vectors instead
# of growing, and errs on one row in twenty.
