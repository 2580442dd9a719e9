"""Exercise 2: a solution."""

from budgetron import PythonBudget


class MyRemoveRandom(PythonBudget):
    """A full budget replaces a random support vector."""

    budget: int

    def insert(self, f, term):
        if f.size < self.budget:
            f.append(term)
        else:
            f.replace(f.below(f.size), term)
