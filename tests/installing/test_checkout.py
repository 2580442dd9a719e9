"""What the source distribution and the newcomer get: what git tracks, and nothing that lies beside it."""

import importlib
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CI = Path(__file__).parents[2] / ".ci"
pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")


@pytest.fixture
def scripts(monkeypatch):
    """A module of .ci by name."""
    monkeypatch.syspath_prepend(str(CI))
    for name in ("checkout", "wheels"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return importlib.import_module


def test_untracked_files_stay(scripts, tmp_path, monkeypatch):
    root, made = tmp_path / "root", tmp_path / "tracked"
    (root / "folder").mkdir(parents=True)
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    for name in ("a b.txt", "folder/ü.txt", "gone.txt", "secret.txt"):
        (root / name).write_text("old")
    subprocess.run(["git", "add", "a b.txt", "folder", "gone.txt"], cwd=root, check=True)
    (root / "a b.txt").write_text("new")
    (root / "gone.txt").unlink()
    wheels, packed = scripts("wheels"), []
    for name, value in {"ROOT": root, "WORK": tmp_path, "DIST": tmp_path}.items():
        monkeypatch.setattr(wheels, name, value)
    monkeypatch.setattr(wheels, "run", lambda *words: packed.append(words[-1]))
    with pytest.raises(ValueError, match="unpack"):  # nothing was built
        wheels.source_distribution("python")
    assert packed == [made]
    found = {path.relative_to(made).as_posix() for path in made.rglob("*.txt")}
    assert found == {"a b.txt", "folder/ü.txt"}
    assert (made / "a b.txt").read_text() == "new"
