"""Includes of the native code point one way: from a higher room to a lower one."""

import re
from pathlib import Path

from tests.helpers.cases import each

CPP = Path(__file__).parents[2] / "cpp"
# A room may include itself and every room of an earlier line; rooms of one line do not include each other.
ORDER = [
    {"simd"},
    {"state"},
    {"linalg", "drift"},
    {"input"},
    {"support"},
    {"model"},
    {"budgets", "features", "dual", "local"},
    {"python"},
]
LEVEL = {room: level for level, rooms in enumerate(ORDER) for room in rooms}
OWN = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
SYSTEM = re.compile(r"^\s*#\s*include\s+<([^>]+)>", re.MULTILINE)
PROCESSOR = re.compile(r"\w*intrin\.h|arm_\w+\.h|altivec\.h")  # instructions of one kind of processor

FILES = sorted(path for path in CPP.rglob("*") if path.suffix in (".hpp", ".cpp"))


def against_the_order(room, text):
    """The includes of a file in a room that name no room, or a room that it must not know."""
    allowed = {other for other, level in LEVEL.items() if level < LEVEL[room]} | {room}
    return [path for path in OWN.findall(text) if path.partition("/")[0] not in allowed or "/" not in path]


def of_one_processor(text):
    """The system headers that only one kind of processor has."""
    return [header for header in SYSTEM.findall(text) if PROCESSOR.fullmatch(header)]


def test_every_room_has_its_place_in_the_order():
    assert {path.name for path in CPP.iterdir() if path.is_dir()} == set(LEVEL)
    assert {path.relative_to(CPP).parts[0] for path in FILES} == set(LEVEL)


@each("path", FILES, ids=lambda path: str(path.relative_to(CPP)))
def test_includes_point_one_way(path):
    text = path.read_text()
    assert against_the_order(path.relative_to(CPP).parts[0], text) == []
    assert all((CPP / included).exists() for included in OWN.findall(text))


def test_headers_of_one_processor_stay_in_simd():
    using = {path.relative_to(CPP).parts[0] for path in FILES if of_one_processor(path.read_text())}
    assert using == {"simd"}


def test_wrong_directions_are_noticed():
    own = ["model/budget.hpp", "budgets/removal.hpp", "loose.hpp"]
    text = "#include <vector>\n" + "".join(f'#include "{path}"\n' for path in own)
    assert against_the_order("python", text) == own[2:]
    assert against_the_order("dual", text) == own[1:]
    assert against_the_order("simd", text) == own
    assert of_one_processor("#include <immintrin.h>\n#include <cmath>\n#include <arm_neon.h>\n") == [
        "immintrin.h",
        "arm_neon.h",
    ]
