"""Builds the site: ``python docs/site/build.py FOLDER``. Needs ``budgetron[docs]``, and no network."""

import os
import shutil
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


def main(folder: Path) -> int:
    """Collect the pages beside the folder, build them into it, and check what was built."""
    sys.path.insert(0, str(HERE))
    import check
    import reference
    import sources
    from sphinx.cmd.build import main as sphinx

    os.environ.setdefault("MPLBACKEND", "agg")
    source, trees = (folder.parent / f"{folder.name}-{name}" for name in ("source", "trees"))
    sources.collect(source, reference.reference)
    if (folder / ".buildinfo").exists():  # what Sphinx wrote before: pages that are gone would stay
        shutil.rmtree(folder)
    flags = ["-W", "--keep-going", "-q", "-j", "auto"]
    done = sphinx(["-b", "html", "-c", str(HERE), "-d", str(trees), *flags, str(source), str(folder)])
    if done:
        return done
    problems = [*check.problems(folder), *reference.lost(folder)]
    print(*problems, sep="\n", end="\n" if problems else "")
    pages = len(check.pages(folder))
    print(f"{pages} pages, {len(problems)} problems: {folder / 'index.html'}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve()))
