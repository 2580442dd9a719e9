"""Check an exercise: python examples/exercises/check.py rbp [FILE.py]

Your class and the native one learn the same rows, and every score must be the same to 1e-9.
"""

import importlib.util
import sys
from pathlib import Path

import numpy as np

from budgetron import Gaussian, Kernelized, Perceptron, Unbounded, evaluate, projectron, rbp

HERE = Path(__file__).parent
KERNEL = Gaussian(0.5)


def rows(classes=2, n=200, weighted=False):
    """Rows of three columns, some of them twice; labels that can partly be learned; weights."""
    random = np.random.default_rng(7)
    X = random.standard_normal((n, 3))
    again = random.random(n) < 0.1
    X[again] = X[random.integers(0, n, again.sum())]
    y = np.digitize(np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2], np.linspace(-1, 1, classes + 1)[1:-1])
    return X, y, random.integers(0, 4, n).astype(float) if weighted else None


def of_rule(kind, **parameters):
    """The learner with the student's rule, and the native one."""
    return Kernelized(KERNEL, kind(**parameters), Unbounded()), Kernelized(
        KERNEL, Perceptron(**parameters), Unbounded()
    )


def of_rbp(kind, budget):
    """The same for a budget that removes at random."""
    return Kernelized(KERNEL, Perceptron(), kind(budget)), rbp(KERNEL, budget=budget)


def of_projectron(kind, budget, eta=0.0):
    """The same for the projection."""
    mine = Kernelized(KERNEL, Perceptron(), kind(budget, eta))
    return mine, projectron(KERNEL, budget=budget, eta=eta)


EXERCISES = {
    "perceptron": (
        "MyPerceptron",
        of_rule,
        [
            ("two classes", {}, {}, "step only where round.mistake is true."),
            ("the size of a step", {"eta": 0.25}, {}, "beta is proportional to eta."),
            ("weights", {}, {"weighted": True}, "a weight of 2 makes the step twice as long."),
            ("five classes", {}, {"classes": 5}, "round.y is 1 there; f is lifted for you."),
        ],
    ),
    "rbp": (
        "MyRemoveRandom",
        of_rbp,
        [
            ("before the budget is full", {"budget": 500}, {}, "append each term."),
            ("a full budget", {"budget": 10}, {}, "draw one number for each term: f.below(f.size)."),
            ("a budget of one", {"budget": 1}, {}, "replace also if there is one support vector."),
            ("five classes and weights", {"budget": 10}, {"classes": 5, "weighted": True}, ""),
        ],
    ),
    "projectron": (
        "MyProjection",
        of_projectron,
        [
            ("no threshold", {"budget": 500}, {}, "rows that are there twice are in the span."),
            (
                "a threshold",
                {"budget": 500, "eta": 0.5},
                {},
                "compare the distance, not its square, with eta.",
            ),
            ("a full budget", {"budget": 8}, {}, "a full budget projects every term."),
            ("five classes and weights", {"budget": 8, "eta": 0.2}, {"classes": 5, "weighted": True}, ""),
        ],
    ),
}


def written(path, name):
    """The class of that name in a file."""
    spec = importlib.util.spec_from_file_location(f"exercise_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, name)


def check(exercise, path):
    """Print what is right, up to the first mistake; whether all is right."""
    name, pair, cases = EXERCISES[exercise]
    kind = written(path, name)
    for case, parameters, data, hint in cases:
        X, y, weights = rows(**data)
        try:
            found = evaluate.difference(*pair(kind, **parameters), (X, y), sample_weight=weights)
        except Exception as error:
            print(f"wrong: {case}. {type(error).__name__}: {error}")
            return False
        if found:
            output = int(np.argmax(np.abs(found.scores[found.row] - found.others[found.row])))
            mine, right = found.scores[found.row, output], found.others[found.row, output]
            print(
                f"wrong: {case}. The score of row {found.row} (the first is 0) is {mine:.4g}, "
                f"and should be {right:.4g}."
            )
            print(f"Hint: {hint}" if hint else "")
            return False
        print(f"right: {case}")
    print("All is right.")
    return True


if __name__ == "__main__":
    words = sys.argv[1:]
    if not words or words[0] not in EXERCISES:
        sys.exit(f"usage: python check.py EXERCISE [FILE.py]; there are {', '.join(EXERCISES)}.")
    file = Path(words[1]) if len(words) > 1 else HERE / f"{words[0]}.py"
    sys.exit(0 if check(words[0], file) else 1)
