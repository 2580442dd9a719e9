"""Writing model files: whatever fails, the old file or the new one is there in full."""

import errno
import os
import signal
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest

from budgetron import ModelFileError, SaveError, load
from tests.helpers import forked
from tests.helpers.cases import each
from tests.helpers.command import PATIENCE
from tests.helpers.members import fitted, same_state

CALLS = ("open", "write", "fsync", "ftruncate", "fchmod", "link", "replace", "close")


class Layer:
    """The system's file calls, counted; the k-th of a kind fails, or kills the process."""

    def __init__(self, monkeypatch, name, k, error):
        self.real, self.k, self.error, self.count = getattr(os, name), k, error, 0
        monkeypatch.setattr(os, name, self)

    def __call__(self, *args, **kwargs):
        self.count += 1
        if self.count == self.k:
            raise self.error
        return self.real(*args, **kwargs)


@each("exists", [True, False])
@each("name", [call for call in CALLS if call != "close"])
def test_every_failure_leaves_what_was_there(name, exists, path, monkeypatch):
    old, new = fitted(), fitted(n=80)
    failures = 0
    for k in range(1, 100):
        if exists:
            old.save(path)
        elif path.exists():
            path.unlink()
        kept = path.read_bytes() if exists else None
        with monkeypatch.context() as patched:
            layer = Layer(patched, name, k, OSError(errno.ENOSPC, "No space left on device"))
            if layer_reached(new, path, layer):
                failures += 1
            else:
                break
        assert (path.read_bytes() if exists else None) == kept
        assert os.listdir(path.parent) == [path.name] * exists
    assert same_state(load(path), new)
    assert failures >= (0 if name == "fchmod" and not exists else 1)


def layer_reached(model, path, layer):
    """Whether saving failed, as it must if the layer did."""
    try:
        model.save(path)
    except SaveError as error:
        assert str(error) == f"{path}: could not be saved: No space left on device."  # noqa: PT017
        assert error.errno == errno.ENOSPC  # noqa: PT017
        return True
    assert layer.count < layer.k
    return False


@pytest.mark.parametrize("name", ["fsync", "replace"])
def test_windows_keeps_what_was_there_too(name, path, monkeypatch):
    monkeypatch.setattr("budgetron.model.files.durable._POSIX", False)
    old, new = fitted(), fitted(n=80)
    old.save(path)
    with monkeypatch.context() as patched:
        Layer(patched, name, 1, OSError(errno.ENOSPC, "No space left on device"))
        with pytest.raises(SaveError, match="No space left on device"):
            new.save(path)
    assert same_state(load(path), old)
    new.save(path)
    assert same_state(load(path), new)
    assert os.listdir(path.parent) == [path.name]


def test_short_writes_are_continued(path, monkeypatch):
    write = os.write
    monkeypatch.setattr(os, "write", lambda file, piece: write(file, piece[:7]))
    model = fitted()
    model.save(path)
    monkeypatch.undo()
    assert same_state(load(path), model)


@pytest.mark.parametrize("interrupt", [KeyboardInterrupt, MemoryError])
def test_an_interrupt_leaves_what_was_there(interrupt, path, monkeypatch):
    fitted().save(path)
    kept = path.read_bytes()
    for name in ("write", "fsync", "replace"):
        with monkeypatch.context() as patched:
            Layer(patched, name, 1, interrupt())
            with pytest.raises(interrupt):
                fitted(n=80).save(path)
        assert path.read_bytes() == kept
        assert os.listdir(path.parent) == [path.name]


def test_file_systems_without_links(path, monkeypatch):
    fitted().save(path)
    Layer(monkeypatch, "link", 1, OSError(errno.EPERM, "Operation not permitted"))
    new = fitted(n=80)
    new.save(path)
    assert same_state(load(path), new)


def test_file_systems_without_locks(path, monkeypatch):
    def flock(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("fcntl.flock", flock)
    model = fitted()
    model.save(path)
    assert same_state(load(path), model)


@pytest.fixture
def foreign():
    """A directory that an ordinary user may not write to."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o555)
    yield folder
    folder.rmdir()


@contextmanager
def ordinary():
    """Root becomes nobody, who may be unable to read the modules of this checkout: import them before."""
    root = os.geteuid() == 0
    if root:
        os.seteuid(65534)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)


def refusal(model, path):
    """What saving is refused with."""
    try:
        model.save(path)
    except SaveError as error:
        return error
    return None


def test_a_directory_that_is_not_ours(foreign, path):
    model = fitted()
    model.save(path)
    assert refusal(model, path.parent) is not None  # all that saving and failing import is there now
    with ordinary():
        error = refusal(model, foreign / "model")
    assert "could not be saved: Permission denied" in str(error)
    assert error.errno == errno.EACCES
    assert os.listdir(foreign) == []


def test_places_that_are_none(path, tmp_path):
    with pytest.raises(SaveError, match="could not be saved: it is a directory"):
        fitted().save(tmp_path)
    with pytest.raises(SaveError, match="No such file or directory"):
        fitted().save(tmp_path / "none" / "model")
    with pytest.raises(FileNotFoundError):
        load(path)
    with pytest.raises(IsADirectoryError):
        load(tmp_path)
    with pytest.raises(ModelFileError, match="is not a regular file"):
        load("/dev/zero")


def test_a_link_is_followed_and_the_mode_stays(path, tmp_path):
    link = tmp_path / "link"
    link.symlink_to(path)
    fitted().save(link)
    path.chmod(0o600)
    model = fitted(n=80)
    model.save(link)
    assert link.is_symlink()
    assert path.stat().st_mode & 0o777 == 0o600
    assert same_state(load(path), model)


SAVE_IN_A_CHILD = """
import os, resource, signal, sys
sys.path.insert(0, {tests!r})
from tests.helpers.members import fitted
name, k = sys.argv[2], int(sys.argv[3])
model = fitted(n=80)
if name == "size":
    resource.setrlimit(resource.RLIMIT_FSIZE, (k, k))
elif name != "none":
    real, count = getattr(os, name), 0
    def dying(*args, **kwargs):
        global count
        count += 1
        if count == k:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*args, **kwargs)
    setattr(os, name, dying)
try:
    model.save(sys.argv[1])
except OSError as error:
    print(error)
"""


def save_in_a_child(path, name, k):
    code = SAVE_IN_A_CHILD.format(tests=str(Path(__file__).parents[3]))
    command = [sys.executable, "-c", code, str(path), name, str(k)]
    return forked.run(command, capture_output=True, text=True, timeout=PATIENCE)


@each("name", ["write", "fsync", "replace", "link"])
def test_a_killed_process_leaves_what_was_there(name, path):
    old, new = fitted(), fitted(n=80)
    old.save(path)
    run = save_in_a_child(path, name, 2 if name in ("write", "fsync") else 1)
    assert run.returncode == -signal.SIGKILL, run.stderr
    assert len(os.listdir(path.parent)) > 1
    assert same_state(load(path), new if name == "fsync" else old)
    old.save(path)
    assert os.listdir(path.parent) == [path.name]
    assert same_state(load(path), old)


def test_a_full_disk(path):
    """The kernel itself refuses to write beyond a limit."""
    old = fitted()
    old.save(path)
    run = save_in_a_child(path, "size", 1000)
    assert run.stdout == f"{path}: could not be saved: File too large.\n", run.stderr
    assert os.listdir(path.parent) == [path.name]
    assert same_state(load(path), old)


def test_two_at_once_do_not_mix(path, monkeypatch):
    """A second save of the same file while the first is at it is refused, and does not disturb it."""
    first, second = fitted(), fitted(n=80)
    write, refusals = os.write, []

    def meanwhile(file, piece):
        if not refusals:
            refusals.append(None)
            with pytest.raises(SaveError, match="being saved by another process"):
                second.save(path)
        return write(file, piece)

    monkeypatch.setattr(os, "write", meanwhile)
    first.save(path)
    assert refusals
    assert same_state(load(path), first)
