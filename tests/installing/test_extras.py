"""What a message proposes to install: packages that an index has, which this library is not."""

import re
import tomllib
from pathlib import Path

from budgetron._util.extras import pip_install
from tests.helpers.cases import each

ROOT = Path(__file__).parents[2]
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
SOURCES = [path.read_text() for path in (ROOT / "src").rglob("*.py")]
PROPOSED = sorted({name for text in SOURCES for name in re.findall(r"pip_install\('(\w+)'\)", text)})


@each("extra", [*PROPOSED, "redis", "nats", "kafka"])
def test_the_packages_of_an_extra(extra):
    packages = [one.partition(";")[0] for one in EXTRAS[extra]]
    assert pip_install(extra).replace("'", "") == " ".join(["pip", "install", *packages])


def test_no_message_proposes_what_no_index_has():
    assert len(PROPOSED) > 5
    assert [text for text in SOURCES if "pip install 'budgetron" in text] == []
