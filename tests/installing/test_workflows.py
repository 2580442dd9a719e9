"""The workflows run only actions of which the commit is known: a tag can be moved."""

import re
from pathlib import Path

FOLDER = Path(__file__).parents[2] / ".github" / "workflows"
USES = re.compile(r"uses: (.*)")
PINNED = re.compile(r"[\w-]+/[\w-]+@[0-9a-f]{40}  # v\d+\.\d+\.\d+")


def test_actions_are_pinned_by_commit_and_one_action_by_one():
    used = {found for path in FOLDER.glob("*.yml") for found in USES.findall(path.read_text())}
    assert used
    assert [one for one in used if not PINNED.fullmatch(one)] == []
    assert len(used) == len({one.partition("@")[0] for one in used})
