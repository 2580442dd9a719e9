"""Exercise 1: the rule of the Perceptron."""

from budgetron import PythonRule


class MyPerceptron(PythonRule):
    """Step if the prediction was wrong: beta = weight * eta * y. Otherwise beta is 0.

    The new term beta k(x,.) then joins f. ``round`` has what is needed: ``y`` (-1 or 1), ``mistake``,
    ``weight``, and the score f(x) as ``score``.
    """

    eta: float = 1.0

    def propose(self, round):
        raise NotImplementedError("write this")  # return beta
