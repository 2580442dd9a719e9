"""What it costs that classes and columns come one by one."""

import json
import sys
import time

import pytest

from budgetron import OnlineClassifier, OnlineRegressor
from tests.helpers import forked

resource = pytest.importorskip("resource")

CLASSES = 1000
MOST = 224  # columns before others are hashed

COSTS = """
import json, sys, warnings
warnings.simplefilter('ignore')
from tests.estimators import test_growth
print(json.dumps(test_growth.cost(sys.argv[1])))
"""


def cost(case):
    """Seconds of processor time and MiB of memory that a case takes in this process."""
    begun, before = time.process_time(), _peak()
    CASES[case]()
    return [time.process_time() - begun, _peak() - before]


def _peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (
        1 << (20 if sys.platform == "darwin" else 10)
    )


def classes_come():
    X = [{"a": float(i % 7)} for i in range(CLASSES)]
    y = [f"class {i}" for i in range(CLASSES)]
    model = OnlineClassifier(random_state=0).partial_fit(X, y)
    assert len(model.classes_) == CLASSES


def columns_come():
    X = [{f"column {i}": 1.0} for i in range(MOST)]
    model = OnlineRegressor(random_state=0).partial_fit(X, [float(i % 3) for i in range(MOST)])
    assert len(model.encoding_.columns) == MOST


CASES = {
    "classes": classes_come,
    "columns": columns_come,
}


@pytest.mark.timing
@pytest.mark.parametrize("case", CASES)
def test_growing_takes_seconds_and_little_memory(case):
    """At most 5 s and 96 MiB: the peak of 1,000 classes is 39 to 45; a copy for each would take 6,000."""
    words = [sys.executable, "-c", COSTS, case]
    ended = forked.run(words, capture_output=True, text=True, timeout=300)
    assert ended.returncode == 0, ended.stderr
    seconds, mib = json.loads(ended.stdout)
    assert seconds < 5
    assert mib < 96
