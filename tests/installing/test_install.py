"""The installer behind `make demo`: what it says where something is missing, and what it installs."""

import importlib.util
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / ".ci" / "install.py"


@pytest.fixture
def install(tmp_path, monkeypatch):
    """The script as a module, with its logs in a folder of the test."""
    spec = importlib.util.spec_from_file_location("install", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setattr(module, "BUILD", tmp_path / "build")
    monkeypatch.delenv("CXX", raising=False)
    return module


def sentence(raised):
    """What the script said when it stopped: one sentence."""
    text = raised.value.code
    assert text.startswith("budgetron: ")
    assert text.endswith(".")
    assert "\n" not in text
    return text


def test_a_python_that_is_too_old(install, monkeypatch):
    monkeypatch.setattr(install.sys, "version_info", (3, 10, 13))
    with pytest.raises(SystemExit) as raised:
        install.main()
    assert "Python 3.11 or later" in sentence(raised)
    assert "make demo PYTHON=" in sentence(raised)


@pytest.mark.parametrize("module", ["venv", "ensurepip"])
def test_a_python_without_venv(module, install, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(SystemExit) as raised:
        install.environment(tmp_path / ".venv")
    assert "apt install python3-venv" in sentence(raised)


def test_a_compiler_that_does_not_work(install, monkeypatch):
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(SystemExit) as raised:
        install.compiler_settings(sys.executable)
    assert "CXX=no-such-compiler" in sentence(raised)


def test_without_a_compiler_clang_is_fetched(install, monkeypatch, capsys):
    monkeypatch.setattr(install, "compiles", lambda _: False)
    fetched = []

    class Fetch:
        def __init__(self, *arguments):
            fetched.append(arguments)

        def finish(self):
            (install.BUILD / "zig").mkdir(parents=True)

    monkeypatch.setattr(install, "pip_install", Fetch)
    settings = install.compiler_settings(sys.executable)
    assert "ziglang" in fetched[0]
    [said] = capsys.readouterr().out.splitlines()
    assert "no C++20 compiler found" in said
    compiler = Path(settings["cmake.define.CMAKE_CXX_COMPILER"])
    assert "c++ -target " in compiler.read_text()
    assert compiler.stat().st_mode & 0o111


def test_extras_may_name_each_other(install):
    project = {
        "name": "p",
        "dependencies": ["numpy"],
        "optional-dependencies": {"a": ["x>=1"], "b": ["p[a,c]", "y"], "c": ["p[b]", "z"]},
    }
    assert install.requirements(project, []) == ["numpy"]
    assert sorted(install.requirements(project, ["b"])) == ["numpy", "x>=1", "y", "z"]


def test_a_failure_shows_the_end_of_the_output(install, capsys):
    code = "print('first'); print('last'); raise SystemExit(3)"
    with pytest.raises(SystemExit) as raised:
        install.run("Trying", [sys.executable, "-c", code])
    assert sentence(raised) == "budgetron: Trying failed; all of its output is in build/trying.log."
    assert capsys.readouterr().err.splitlines() == ["first", "last"]
