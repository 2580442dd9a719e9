"""Where a model may be saved: only a regular file, or nothing, gives way to it."""

import os
import socket
import stat
import sys

import pytest

from budgetron import SaveError, load
from tests.helpers import forked
from tests.helpers.cases import each
from tests.helpers.command import called, written
from tests.helpers.members import fitted, same_state


def fifo(path):
    os.mkfifo(path)


def bound(path):
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))


def device(path):
    try:
        os.mknod(path, 0o600 | stat.S_IFCHR, os.makedev(1, 3))
    except PermissionError:
        pytest.skip("only root makes devices, and not everywhere")


def link_to_a_fifo(path):
    os.mkfifo(f"{path}.fifo")
    os.symlink(f"{path}.fifo", path)


@each("make", [fifo, bound, device, link_to_a_fifo])
def test_what_is_no_regular_file_stays(make, tmp_path):
    path = tmp_path / "m"
    make(path)
    before = os.stat(path)
    with pytest.raises(SaveError, match=r"could not be saved: it is not a regular file[.]$"):
        fitted().save(path)
    assert os.path.samestat(os.stat(path), before)
    assert not (tmp_path / ".m.partial").exists()


def test_the_command_line_refuses_before_the_first_row(tmp_path, capsys):
    path = tmp_path / "m"
    fifo(path)
    rows = written(tmp_path / "rows.svm", 50)
    ended = called(capsys, "run", "rbp", rows, "--budget", "5", "--save", path)
    assert ended.code == 1
    assert ended.err == f"budgetron: {path}: cannot be written: it is not a regular file.\n"
    assert stat.S_ISFIFO(os.stat(path).st_mode)


@each("kind", ["partial", "previous"])
@each("make", [fifo, os.mkdir, lambda path: os.symlink("elsewhere", path)])
def test_neighbours_that_no_save_has_left(make, kind, path):
    model = fitted()
    model.save(path)
    kept, neighbour = path.read_bytes(), path.parent / f".{path.name}.{kind}"
    make(neighbour)
    before = os.lstat(neighbour)
    with pytest.raises(SaveError, match=f"{kind} is in the way, and is not a regular file[.]$"):
        fitted(n=80).save(path)
    assert os.path.samestat(os.lstat(neighbour), before)
    assert path.read_bytes() == kept
    assert not (path.parent / "elsewhere").exists()


@pytest.mark.parametrize("kind", ["partial", "previous"])
def test_neighbours_of_another_user(kind, path, monkeypatch):
    """Seen from a user that is another one."""
    neighbour = path.parent / f".{path.name}.{kind}"
    neighbour.write_bytes(b"theirs")
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    with pytest.raises(SaveError, match=f"{kind} is in the way, and belongs to another user[.]$"):
        fitted().save(path)
    assert neighbour.read_bytes() == b"theirs"
    assert not path.exists()


def test_neighbours_that_a_save_has_left_are_taken_over(path):
    old, new = fitted(), fitted(n=80)
    old.save(path)
    (path.parent / f".{path.name}.partial").write_bytes(b"half")
    os.link(path, path.parent / f".{path.name}.previous")
    new.save(path)
    assert os.listdir(path.parent) == [path.name]
    assert same_state(load(path), new)


@each("wrong", [b"model", 3, None, 1.5, ["model"]], ids=str)
def test_paths_that_are_none(wrong):
    sentence = r"^path must be a str, or an os.PathLike that gives one, got .*[.]$"
    with pytest.raises(TypeError, match=sentence):
        fitted().save(wrong)
    with pytest.raises(TypeError, match=sentence):
        load(wrong)


def test_a_path_with_a_null_character():
    for use in (fitted().save, load):
        with pytest.raises(ValueError, match=r"^path must not contain a null character"):
            use("mod\0el")


def test_the_package_is_imported_where_there_are_no_unix_locks():
    """As on Windows."""
    code = "import sys; sys.modules['fcntl'] = None; import budgetron; budgetron.OnlineClassifier"
    words = [sys.executable, "-c", code]
    run = forked.run(words, capture_output=True, text=True, timeout=100, libraries=True)
    assert run.returncode == 0, run.stderr
