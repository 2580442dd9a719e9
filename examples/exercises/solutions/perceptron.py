"""Exercise 1: a solution."""

from budgetron import PythonRule


class MyPerceptron(PythonRule):
    """Step if the prediction was wrong."""

    eta: float = 1.0

    def propose(self, round):
        return round.weight * self.eta * round.y if round.mistake else 0.0
