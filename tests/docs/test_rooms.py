"""Every room of the package has a folder of tests with its name, and every such folder a room."""

from pathlib import Path

TESTS = Path(__file__).parents[1]
ROOMS = TESTS.parent / "src" / "budgetron"
OF_NO_ROOM = {"benchmarks", "bounds", "core", "docs", "helpers", "installing", "portability", "references"}
IN_THE_ROOM = {"cli/commands", "evaluate/metrics", "export/formulas"}  # tested with the room


def folders(root):
    """The folders with Python files, as paths from the root."""
    return {path.parent.relative_to(root).as_posix() for path in root.rglob("*.py")} - {"."}


def test_every_room_has_its_folder():
    assert folders(ROOMS) - folders(TESTS) == IN_THE_ROOM


def test_every_folder_has_its_room():
    rooms = {path.relative_to(ROOMS).with_suffix("").as_posix() for path in ROOMS.rglob("*.py")}
    tested = {name for name in folders(TESTS) if name.split("/")[0] not in OF_NO_ROOM}
    assert tested <= rooms | folders(ROOMS)
    assert {path.name for path in TESTS.iterdir()} >= OF_NO_ROOM


def test_the_page_names_every_folder():
    page = (TESTS / "README.md").read_text()
    assert [name for name in folders(TESTS) if f"`{name}" not in page] == []
