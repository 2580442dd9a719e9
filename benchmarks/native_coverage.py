"""The native lines that the tests reached, from the counts of gcov. Run ``make coverage``.

python -m benchmarks.native_coverage FOLDER [--missing], FOLDER being that of the objects.
"""

from __future__ import annotations

import argparse
import json
import subprocess
from collections import defaultdict
from pathlib import Path

SOURCES = Path(__file__).resolve().parents[1] / "cpp"


def counts(folder: Path) -> dict[str, dict[int, int]]:
    """How often each line of each file ran, summed over all object files that include it."""
    lines: dict[str, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    for data in sorted(folder.resolve().rglob("*.gcda")):
        text = subprocess.run(
            ["gcov", "--json-format", "--stdout", str(data)], capture_output=True, check=True, text=True
        ).stdout
        for report in map(json.loads, text.splitlines()):
            for source in report["files"]:
                path = Path(report["current_working_directory"], source["file"]).resolve()
                if SOURCES in path.parents:
                    for line in source["lines"]:
                        lines[str(path.relative_to(SOURCES))][line["line_number"]] += line["count"]
    return lines


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--missing", action="store_true", help="say which lines did not run")
    options = parser.parse_args()
    reached = total = 0
    for name, lines in sorted(counts(options.folder).items()):
        missing = sorted(line for line, count in lines.items() if count == 0)
        reached, total = reached + len(lines) - len(missing), total + len(lines)
        listed = " ".join(map(str, missing)) if options.missing else ""
        print(f"{name:<24}{len(lines) - len(missing):>6} of{len(lines):>6}  {listed}".rstrip())
    if total == 0:
        raise SystemExit(f"No counts in {options.folder}.")
    print(f"{'all':<24}{reached:>6} of{total:>6}  {reached / total:.2%}")


if __name__ == "__main__":
    main()
