"""A leading underscore means: of this module alone."""

import importlib.util
from pathlib import Path

ROOT = Path(__file__).parents[2]
SAMPLE = """
from budgetron.there import _hidden
class Here:
    def __init__(self, other): self._own, self.other = other._own, other._theirs
    def reach(self): return getattr(self.other, "_later"), self._inherited, self.__class__
"""


def reaches(folder):
    spec = importlib.util.spec_from_file_location("reaches", ROOT / ".ci" / "reaches.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    return script.reaches(folder)


def test_a_private_name_of_another_module_is_found(tmp_path):
    (tmp_path / "here.py").write_text(SAMPLE)
    places = {place.partition(": ")[2] for place in reaches(tmp_path)}
    assert places == {"from budgetron.there._hidden", "other._theirs", "self.other._later"}


def test_no_module_uses_a_private_name_of_another():
    places = reaches(ROOT / "src" / "budgetron")
    assert places == [], "\n".join(places)
