"""Damaged, shortened and missing files: nothing acknowledged is lost without a word. What is trimmed."""

import random
import shutil
import sqlite3
import subprocess
import sys
import time
from collections import namedtuple
from contextlib import closing

import pytest

from budgetron import model_files
from budgetron._util.errors import DataError, ModelFileError
from budgetron.cli import main
from budgetron.serve.end import End
from budgetron.serve.entries import CHANGE, Answer, Group, LoggedRequest, refusing
from budgetron.serve.limits import Limits
from budgetron.serve.log import Log, create
from budgetron.serve.log_check import check, mend
from budgetron.serve.models import Models
from budgetron.serve.settings import Settings
from tests.helpers.served import SMALL, served
from tests.serve.conftest import SMALL as LEARNER

ROWS = [
    {"x": {"a": i / 7, "b": (-1) ** i * 0.3, "c": f"text {i % 5}"}, "y": ["no", "yes"][i % 2]}
    for i in range(50)
]
Left = namedtuple("Left", "folder file answers kept")
"""A folder after kill -9, the model as it was, all answers by key, and the ids of kept rows."""


@pytest.fixture(scope="module")
def left(tmp_path_factory):
    """Fifty acknowledged rows with keys, a snapshot of thirty, five kept rows, then kill -9."""
    folder, answers = tmp_path_factory.mktemp("left") / "d", {}
    with served(folder, *SMALL) as server:
        for i, row in enumerate(ROWS):
            headers = {"Idempotency-Key": f"key {i}"}
            answers[f"key {i}"] = server.http.post("/v1/learn", json=row, headers=headers).content
            if i == 29:
                server.http.post("/v1/snapshot").raise_for_status()
        kept = [{"x": row["x"]} for row in ROWS[:5]]
        ids = server.http.post("/v1/predict?keep=1", json=kept).json()["ids"]
        file = server.http.get("/v1/model/file").content
        server.kill()
    return Left(folder, file, answers, ids)


@pytest.fixture(scope="module")
def checkpointed(left, tmp_path_factory):
    """The same, with all rows in log.sqlite."""
    folder = tmp_path_factory.mktemp("checkpointed") / "d"
    shutil.copytree(left.folder, folder)
    Log(folder / "default").close()
    return left._replace(folder=folder)


def flip(path, place):
    """Flip a bit of a file."""
    content = bytearray(path.read_bytes())
    content[place // 8] ^= 1 << place % 8
    path.write_bytes(content)


def copied(left, folder):
    shutil.rmtree(folder, ignore_errors=True)
    return shutil.copytree(left.folder, folder) / "default"


def refused(folder):
    """The sentence with which a service refuses the folder, or None if it opens and is closed again."""
    models = Models(folder, Limits())
    try:
        models.open(Settings.of("classification", LEARNER))
    except (DataError, ModelFileError) as error:
        return str(error)
    models.close()
    return None


def check_refused_or_whole(left, folder, capsys):
    """Returns whether it was refused; then fsck says so, too."""
    models = Models(folder, Limits())
    try:
        models.open(Settings.of("classification", LEARNER))
    except (DataError, ModelFileError):
        assert main(["fsck", str(folder)]) != 0
        said = capsys.readouterr()
        assert "BAD: " in said.out or "holds no models" in said.err
        return True
    with closing(models):
        model = models.get("default")
        assert model.published.version == len(ROWS)
        assert b"".join(model_files.encoded(model.published.estimator)) == left.file
        assert {key: model.log.answer(key).answer for key in left.answers} == left.answers
        assert all(model.log.kept_row(number) for number in left.kept)
    return False


def places(draw, path, count):
    """Bits of a file: anywhere, and near its end."""
    bits = 8 * path.stat().st_size
    return [draw.randrange(*draw.choice([(bits,), (max(0, bits - 2000), bits)])) for _ in range(count)]


def shortened(draw, count):
    """Files and the lengths that they get; None removes them."""
    names = ("log.sqlite", "log.sqlite-wal", "log.end", "model.json")
    for i in range(count):
        yield names[i % 4], (None, 0, draw.random(), 0.999)[i // 4 % 4]


def shorten(path, share):
    if share is None:
        path.unlink()
    else:
        with path.open("r+b") as file:
            file.truncate(int(path.stat().st_size * share))


# ---- acknowledged rows


@pytest.mark.parametrize(
    ("name", "share"),
    [("log.sqlite-wal", None), ("log.sqlite-wal", 0), ("log.sqlite", 0), ("log.sqlite", None)],
)
def test_a_log_without_its_end_is_refused(left, tmp_path, capsys, name, share):
    """The service itself says so, fsck says so, and nothing is changed: the file can be put back."""
    folder = copied(left, tmp_path / "d")
    before = (folder / name).read_bytes()
    shorten(folder / name, share)
    with pytest.raises(RuntimeError, match=r"acknowledged requests are (missing|lost)"):
        served(tmp_path / "d").__enter__()
    assert main(["fsck", str(tmp_path / "d")]) == 1
    assert "acknowledged requests are" in capsys.readouterr().out
    (folder / name).write_bytes(before)
    assert not check_refused_or_whole(left, tmp_path / "d", capsys)


def test_flipped_bits_are_refused_or_harmless(left, checkpointed, tmp_path, capsys):
    """A small part of the campaign below."""
    draw, count = random.Random(4), {True: 0, False: 0}
    for kind, name in ((left, "log.sqlite-wal"), (checkpointed, "log.sqlite")):
        for place in places(draw, kind.folder / "default" / name, 10):
            flip(copied(kind, tmp_path / "d") / name, place)
            count[check_refused_or_whole(kind, tmp_path / "d", capsys)] += 1
    assert count[True] > 5


def test_files_that_are_shortened_or_gone_are_refused_or_harmless(left, tmp_path, capsys):
    draw, found = random.Random(5), []
    for name, share in shortened(draw, 16):
        shorten(copied(left, tmp_path / "d") / name, share)
        found.append(check_refused_or_whole(left, tmp_path / "d", capsys))
    assert any(found)


@pytest.mark.slow
def test_200_flipped_bits_and_50_shortened_files(left, checkpointed, tmp_path):
    """With real processes: each is refused with a sentence, or answers as if nothing had happened."""
    draw, refusals = random.Random(6), 0
    for kind, name in ((left, "log.sqlite-wal"), (checkpointed, "log.sqlite")):
        for place in places(draw, kind.folder / "default" / name, 100):
            flip(copied(kind, tmp_path / "d") / name, place)
            refusals += check_process(kind, tmp_path / "d")
    for i, (name, share) in enumerate(shortened(draw, 50)):
        kind = checkpointed if i % 3 == 0 and not name.endswith("-wal") else left
        shorten(copied(kind, tmp_path / "d") / name, share)
        refusals += check_process(kind, tmp_path / "d")
    assert refusals > 100


def check_process(left, folder):
    """Returns whether the service refuses to start; if not, whether all is there."""
    try:
        with served(folder) as server:
            assert server.http.get("/v1/model/file").content == left.file
            for i, (key, answer) in enumerate(left.answers.items()):
                again = server.http.post("/v1/learn", json=ROWS[i], headers={"Idempotency-Key": key})
                assert again.content == answer
            labels = [{"id": number, "y": "no"} for number in left.kept]
            assert server.http.post("/v1/label", json=labels).json()["first"] == len(ROWS)
            return False
    except RuntimeError as refused:
        [line] = str(refused).splitlines()
        assert line.startswith("budgetron: ")
        assert line.endswith(".")
        assert main(["fsck", str(folder)]) != 0
        return True


def test_another_log_is_refused(left, tmp_path):
    """One of another model, also with its end mark."""
    folder = copied(left, tmp_path / "d")
    with served(tmp_path / "other", *SMALL) as server:
        for row in ROWS:
            server.http.post("/v1/learn", json=row).raise_for_status()
        server.kill()
    for name in ("log.sqlite", "log.sqlite-wal"):
        shutil.copy(tmp_path / "other/default" / name, folder)
    assert "is not the log that log.end belongs to" in refused(tmp_path / "d")
    shutil.copy(tmp_path / "other/default/log.end", folder)
    assert "has another history" in refused(tmp_path / "d")


def test_settings_that_changed_are_refused(left, tmp_path):
    """Another seed would replay the log to another model."""
    path = copied(left, tmp_path / "d") / "model.json"
    path.write_text(path.read_text().replace('"seed": 0', '"seed": 1'))
    assert "changed or damaged" in refused(tmp_path / "d")


def test_fsck_cuts_what_cannot_be_saved_and_a_retry_learns_it_again(left, tmp_path, capsys):
    folder = copied(left, tmp_path / "d")
    (folder / "log.sqlite-wal").unlink()
    assert main(["fsck", str(tmp_path / "d"), "--cut"]) == 0
    assert "it ends at row 30 now" in capsys.readouterr().out
    assert main(["fsck", str(tmp_path / "d")]) == 0
    with served(tmp_path / "d") as server:
        for i in range(30, 50):
            server.http.post("/v1/learn", json=ROWS[i], headers={"Idempotency-Key": f"key {i}"})
        assert server.http.get("/v1/model/file").content == left.file


def test_fsck_does_not_cut_what_it_cannot_read(left, tmp_path, capsys):
    folder = copied(left, tmp_path / "d")
    (folder / "log.sqlite").write_bytes(b"")
    assert main(["fsck", str(tmp_path / "d"), "--cut"]) == 1
    shutil.copytree(left.folder / "default", tmp_path / "d/other")
    (tmp_path / "d/other/model.json").unlink()
    shutil.copytree(left.folder / "default", folder, dirs_exist_ok=True)
    assert main(["fsck", str(tmp_path / "d")]) == 1
    assert "other: has a log, but no model.json" in capsys.readouterr().out


@pytest.mark.parametrize(("text", "left"), [(b"key3aaaa", 5), (b"application/x-ndjson", 4)])
def test_texts_that_are_damaged_can_be_cut(tmp_path, text, left):
    create(tmp_path)
    with closing(Log(tmp_path)) as log:
        for i in range(5):
            answer = Answer(f"key{i}aaaa", b"d", b"{}")
            log.commit(
                Group(requests=[LoggedRequest(i, 1, "application/x-ndjson", "y", b"{}")], answers=[answer])
            )
    content = bytearray((tmp_path / "log.sqlite").read_bytes())
    content[content.index(text) + 2] = 0xFF  # in the last row, and in the index of keys
    (tmp_path / "log.sqlite").write_bytes(content)
    assert mend(tmp_path, None, lambda _: True) == left
    with closing(Log(tmp_path)) as log:
        assert log.state.end == left


def test_an_end_record_that_cannot_be_written_leaves_a_log_that_opens(tmp_path, monkeypatch):
    create(tmp_path)
    rows = [LoggedRequest(i, 1, "application/x-ndjson", "y", b"{}") for i in range(6)]
    with closing(Log(tmp_path)) as log:
        for row in rows[:5]:
            log.commit(Group(requests=[row]))
        with monkeypatch.context() as patched:
            patched.setattr(End, "write", failing)
            with pytest.raises(OSError, match="no more"):
                log.remove(3)
        log.commit(Group(requests=[rows[5]]))
    with closing(Log(tmp_path)) as log:
        assert log.state.end == 6


def failing(*_):
    raise OSError("no more")


def test_damage_before_the_newest_snapshot_costs_nothing(left, tmp_path, capsys):
    folder = copied(left, tmp_path / "d")
    Log(folder).close()
    with closing(sqlite3.connect(folder / "log.sqlite")) as db, db:
        db.execute("update log set label = 'z' where first = 7")
    assert main(["fsck", str(tmp_path / "d")]) == 1
    assert main(["fsck", str(tmp_path / "d"), "--cut"]) == 0
    assert "it ends at row 50 now" in capsys.readouterr().out
    assert not check_refused_or_whole(left, tmp_path / "d", capsys)


# ---- keys and kept rows


def test_kept_rows_are_trimmed_without_learning(inside):
    with inside(kept_rows=10, kept_bytes=10_000) as client:
        client.post("/v1/learn", json=ROWS).raise_for_status()

        def keep(x):
            said = client.post("/v1/predict?keep=1", json=[{"x": ROWS[0]["x"] | x}] * 4)
            return said.json()["ids"]

        def known(number):
            return client.post("/v1/label", json={"id": number, "y": "no"}).status_code == 200

        ids = [number for i in range(5) for number in keep({"a": i})]
        assert [known(number) for number in ids] == [False] * 10 + [True] * 10
        ids = keep({"a": 1}) + keep({"c": "x" * 3000})
        assert [known(number) for number in ids] == [False] * 5 + [True] * 3


def test_changes_are_found_without_a_look_at_the_rows(tmp_path):
    create(tmp_path)
    with closing(Log(tmp_path)) as log:
        for first in range(0, 300, 3):
            rows = LoggedRequest(first, 2, "text/plain", "y", b"x" * 100)
            log.commit(Group(requests=[rows, LoggedRequest(first + 2, 1, CHANGE, "", b"{}")]))
        log._db.execute("drop index changes")  # as in a log that is older than it
    with closing(Log(tmp_path)) as log:
        assert [each.first for each in log.changes(0)] == [*range(2, 300, 3)]
        log.remove(150)
        assert [each.first for each in log.changes(0)] == [*range(152, 300, 3)]
        rows = [LoggedRequest(first, 1, "text/plain", "y", b"x") for first in range(300, 1000)]
        log.commit(Group(requests=[*rows, LoggedRequest(1000, 1, CHANGE, "", b"{}")]))
        steps = []
        log._db.set_progress_handler(lambda: steps.append(1), 10)  # each of ten instructions of SQLite
        assert [each.first for each in log.changes(297)] == [299, 1000]
        assert len(steps) < 10
    assert check(tmp_path, End(tmp_path).read()).end == 1001


def test_a_clock_that_jumps_removes_nothing(inside, monkeypatch):
    with inside() as client:
        client.post("/v1/learn", json=ROWS[:9]).raise_for_status()

        def learn():
            return client.post("/v1/learn", json=ROWS[9], headers={"Idempotency-Key": "one"})

        answer = learn().content
        [kept] = client.post("/v1/predict?keep=1", json={"x": ROWS[0]["x"]}).json()["ids"]
        now = time.time
        for days in (2, -400):
            monkeypatch.setattr(time, "time", lambda days=days: now() + 86_400 * days)
            client.post("/v1/learn", json=ROWS[9]).raise_for_status()
            client.post("/v1/snapshot").raise_for_status()
            assert learn().content == answer
        assert client.post("/v1/label", json={"id": kept, "y": "no"}).status_code == 200


def test_age_is_the_time_that_the_service_ran(inside):
    """Also before a restart, but not while it was stopped."""

    def learn(client, key):
        said = client.post("/v1/learn", json=ROWS[0], headers={"Idempotency-Key": key})
        return said.json()["first"]

    with inside(key_seconds=3600.0) as client:
        assert learn(client, "one") == 0
        log = client.service.models.get("default").log
        log._opened -= 2000.0
        assert learn(client, "two") == 1
    with inside(key_seconds=3600.0) as client:
        assert learn(client, "one") == 0
        log = client.service.models.get("default").log
        log._opened -= 2000.0
        learn(client, "three")
        client.post("/v1/snapshot").raise_for_status()
        assert learn(client, "two") == 1  # 2,000 seconds old
        assert learn(client, "one") == 3  # 4,000 seconds old: it is forgotten


def test_snapshots_are_due_whatever_the_clock_says(inside, monkeypatch):
    with inside(snapshot_seconds=0.1) as client:
        now = time.time
        monkeypatch.setattr(time, "time", lambda: now() - 86_400)
        client.post("/v1/learn", json=ROWS).raise_for_status()
        until = time.monotonic() + 20
        while not list(client.folder.glob("snapshot-*")):
            assert time.monotonic() < until
            time.sleep(0.05)


# ---- files


def test_nobody_else_reads_the_folder(tmp_path):
    (tmp_path / "d").mkdir(mode=0o755)
    (tmp_path / "d").chmod(0o755)

    def modes():
        return {
            path.stat().st_mode & 0o777
            for path in (tmp_path / "d").rglob("*")
            if path.is_dir() == (path.name == "default")
        }

    for _ in range(2):
        with served(tmp_path / "d", *SMALL) as server:
            server.http.post("/v1/learn", json=ROWS).raise_for_status()
            server.http.post("/v1/snapshot").raise_for_status()
            names = {path.name for path in (tmp_path / "d/default").iterdir()}
            assert {"log.sqlite", "log.sqlite-wal", "model.json"} < names
            assert modes() == {0o600, 0o700}
            assert (tmp_path / "d").stat().st_mode & 0o777 == 0o700
            server.kill()
        for path in [tmp_path / "d", *(tmp_path / "d").rglob("*")]:
            path.chmod(0o755 if path.is_dir() else 0o644)


def test_a_creation_that_was_interrupted_is_done_again(inside, monkeypatch):
    def failing(*_):
        raise OSError("a test")

    with monkeypatch.context() as patched:
        patched.setattr(Settings, "write", failing)
        with pytest.raises(OSError, match="a test"), inside():
            pass
    with inside() as client:
        client.post("/v1/learn", json=ROWS).raise_for_status()
        (client.folder.with_name("thesis")).mkdir()
        (client.folder.with_name("thesis") / "thesis.tex").touch()
        said = client.put("/v1/models/thesis", json={})
        assert (said.status_code, "is in the way" in said.json()["detail"]) == (503, True)
    (client.folder / "model.json").unlink()
    with pytest.raises(DataError, match=r"has a log, but no model\.json"), inside():
        pass


@pytest.mark.parametrize(
    ("mount", "words"),
    [
        ("mount --bind . . && mount -o remount,ro,bind . && cd .", "make the disk and the file writable"),
        ("mount -t tmpfs -o size=40k none new && cd new && mkdir d", ": make room, then start again"),
    ],
)
def test_a_disk_that_is_read_only_or_full_is_not_called_damaged(left, tmp_path, mount, words):
    """In a name space of its own, where the machine allows that."""
    shutil.copytree(left.folder, tmp_path / "d")
    (tmp_path / "new").mkdir()
    apart = ["unshare", "--map-root-user", "--mount", "sh", "-c"]
    if shutil.which("unshare") is None or subprocess.run([*apart, "true"], check=False).returncode:
        pytest.skip("needs unshare")
    serve = f"cd {tmp_path} && {mount} && timeout 60 {sys.executable} -m budgetron serve d --port 0"
    ended = subprocess.run([*apart, serve], capture_output=True, text=True, check=False)
    assert words in ended.stderr
    assert "backup" not in ended.stderr
    assert ended.returncode == 3


def test_errors_of_sqlite_are_sentences(tmp_path):
    def said(address, *statements):
        file = f"file:{address}"
        try:
            with refusing(tmp_path / "log"), closing(sqlite3.connect(file, uri=True, timeout=0)) as db:
                for statement in statements:
                    db.execute(statement)
        except DataError as error:
            return str(error)

    path, insert = tmp_path / "a", "insert into t values(zeroblob(100000))"
    full = said(path, "create table t(x)", "pragma max_page_count=3", insert)
    assert "the disk is full: make room" in full
    assert "read-only: make it writable" in said(f"{path}?mode=ro", insert)
    assert "check the owner and the permissions" in said(tmp_path / "none/a", insert)
    with closing(sqlite3.connect(path)) as db:
        db.execute("begin exclusive")
        assert "in use by another process" in said(path, insert)
    path.write_bytes(b"x" * 5000)
    assert "is damaged (file is not a database): restore a backup" in said(path, insert)
