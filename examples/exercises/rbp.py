"""Exercise 2: the budget of the Randomised Budget Perceptron (Cavallanti, Cesa-Bianchi & Gentile 2007)."""

from budgetron import PythonBudget


class MyRemoveRandom(PythonBudget):
    """While there are fewer than ``budget`` support vectors, the new term is appended.

    Later it replaces one of them, drawn uniformly: ``f.below(n)`` draws a number from 0 to n - 1.
    ``f.size`` is the number of support vectors, ``f.append(term)`` and ``f.replace(i, term)`` change them.
    """

    budget: int

    def insert(self, f, term):
        raise NotImplementedError("write this")
