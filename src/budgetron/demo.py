"""A demonstration: ten learners over handwritten digits, each row predicted and then learned.

Run ``python -m budgetron.demo``.
"""

from sklearn.datasets import load_digits

from budgetron import algorithms
from budgetron.evaluate import compare
from budgetron.kernels import Gaussian
from budgetron.learners import Learner


def learners(budget: int = 100) -> dict[str, Learner]:
    """Two learners without a budget, and eight with one."""
    k = Gaussian.of_width(8)
    return {
        "perceptron": algorithms.perceptron(k),
        "ogd": algorithms.ogd(k, eta=0.5),
        "stoptron": algorithms.stoptron(k, budget=budget),
        "rbp": algorithms.rbp(k, budget=budget),
        "forgetron": algorithms.forgetron(k, budget=budget),
        "budget_perceptron": algorithms.budget_perceptron(k, budget=budget),
        "projectron": algorithms.projectron(k, budget=budget),
        "bpa_s": algorithms.bpa_s(k, budget=budget),
        "bpa_nn": algorithms.bpa_nn(k, budget=budget),
        "bogd": algorithms.bogd(k, budget=budget, eta=0.5),
    }


def main(orders: int = 20) -> None:
    """Compare the learners over ``orders`` random orders of the digits."""
    X, y = load_digits(return_X_y=True)
    print(f"Handwritten digits: {len(X)} rows, {X.shape[1]} features, 10 classes, budget 100.")
    print("Each row is predicted, then learned.\n", flush=True)
    print(compare(learners(), (X, y), permutations=orders, every=len(y)).table())


if __name__ == "__main__":
    main()
