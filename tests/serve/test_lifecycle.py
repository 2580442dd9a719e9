"""Snapshots that are kept, roll-backs, resets, frozen models, names and aliases."""

import json
import random
import threading
import time
from collections import Counter
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial

import httpx
import pytest

from budgetron import model_files
from budgetron.client import Client, ServiceError
from budgetron.serve import archive, settings
from budgetron.serve.archive import Archive, Kept
from budgetron.serve.limits import Limits
from budgetron.serve.problems import Problem
from budgetron.serve.retention import Wanted
from budgetron.serve.tokens import Tokens, _digest
from budgetron.serve.webhooks import Webhook
from tests.helpers.command import called
from tests.helpers.served import SMALL, bodies, offline_history, offline_models, served
from tests.serve.conftest import ROWS, learn, until
from tests.serve.test_replica import following

FOGD = {"components": 10, "kernel": {"type": "Gaussian", "gamma": 0.5}}
A, B, C = ROWS[:4], ROWS[4:8], ROWS[8:]
EARLIER, LATER = "2026-01-01T00:00:00Z", "2026-01-01T01:00:00Z"


def bits(client, path="/v1"):
    return client.get(f"{path}/model/file").raise_for_status().content


def after(folder, *parts):
    """The bytes of a model that learned these rows and nothing else."""
    model, rows = settings.read(folder).estimator(), [row for part in parts for row in part]
    model.partial_fit([row["x"] for row in rows], [row["y"] for row in rows])
    return b"".join(model_files.encoded(model))


def snapshot(client):
    return client.post("/v1/snapshot").raise_for_status().json()["version"]


def roll_back(client, **body):
    return client.post("/v1/rollback", json=body)


def refused(answer):
    return answer.status_code, answer.json()["type"].removeprefix("urn:budgetron:")


# ---- roll-backs and resets


def test_a_roll_back_gives_the_bits_of_the_snapshot_and_the_model_goes_on_from_there(inside):
    with inside() as client:
        learn(client, A)
        before, version = bits(client), snapshot(client)
        learn(client, B)
        lost = bits(client)
        answer = roll_back(client, to=version).raise_for_status().json()
        assert answer == {"version": 9, "to": 4, "replayed": 0, "refused": 0}
        assert bits(client) == before
        assert client.get("/v1/model").json()["metrics"]["rows"] == 4
        assert learn(client, C)["first"] == 9
        assert bits(client) == after(client.folder, A, C)
        kept = client.get("/v1/snapshots").json()
        assert [(each["version"], each["why"]) for each in kept["snapshots"]] == [
            (4, "asked"),
            (8, "before a change"),
        ]
        assert kept["changes"] == [
            {"row": 8, "what": "roll back", "to": 4, "replay": False, "left_out": []}
        ]
        roll_back(client, to=8).raise_for_status()  # the other branch is there as well
        assert bits(client) == lost
    with inside() as client:
        assert bits(client) == lost


def test_rows_are_replayed_onto_a_snapshot_but_for_a_bad_hour(inside):
    with inside(keep_log=True) as client:
        learn(client, A)
        version = snapshot(client)
        time.sleep(0.01)
        began = datetime.now(UTC)
        learn(client, B)
        ended = datetime.now(UTC)
        time.sleep(0.01)
        learn(client, C)
        bad_hour = {"from": began.isoformat(), "until": ended.isoformat()}
        answer = roll_back(client, to=version, replay=True, leave_out=[bad_hour]).json()
        assert (answer["version"], answer["replayed"]) == (13, 4)
        assert bits(client) == after(client.folder, A, C)
        assert client.get("/v1/model").json()["metrics"]["rows"] == 8
        [change] = client.get("/v1/snapshots").json()["changes"]
        assert change["left_out"] == [[4, 8]]
        # by numbers, also a part of a request; and from the first row
        leave_out = [{"from": 1, "until": 5}, {"from": 10, "until": 11}]
        answer = roll_back(client, to=0, replay=True, leave_out=leave_out).json()
        assert answer["replayed"] == 7
        assert bits(client) == after(client.folder, A[:1], B[1:], C[:2], C[3:])
        last = bits(client)
    assert offline_history(client.folder) == last
    with inside() as client:
        assert bits(client) == last


def test_a_roll_back_is_made_again_where_the_snapshot_after_it_is_lost(inside):
    with inside() as client:
        learn(client, A)
        version = snapshot(client)
        learn(client, B)
        roll_back(client, to=version, replay=True, leave_out=[{"from": 5, "until": 6}]).raise_for_status()
        wanted = bits(client)
    (client.folder / f"snapshot-{9:020d}.safetensors").unlink()
    with inside() as client:
        assert bits(client) == wanted == after(client.folder, A, B[:1], B[2:])
        learn(client, C)
        assert bits(client) == after(client.folder, A, B[:1], B[2:], C)


def test_a_reset_model_has_learned_nothing_and_learns_other_columns(inside):
    with inside() as client:
        learn(client, A)
        assert client.post("/v1/reset").json()["version"] == 5
        assert refused(client.post("/v1/predict", json=A[0] | {"y": None})) == (400, "malformed")
        assert refused(client.post("/v1/predict", json={"x": A[0]["x"]})) == (409, "nothing-learned")
        said = client.get("/v1/model").json()
        assert (said["version"], said["metrics"]["rows"], "support_vectors" in said) == (5, 0, False)
    with inside() as client:
        assert client.get("/v1/model").json()["version"] == 5
        assert refused(client.get("/v1/model/file")) == (409, "nothing-learned")
        rows = [{"x": [i / 3, 1.0], "y": i % 2} for i in range(6)]
        assert learn(client, rows)["first"] == 5
        wanted = bits(client)
        assert wanted == after(client.folder, rows)
        answer = roll_back(client, to=4, replay=True).json()
        assert (answer["replayed"], answer["refused"]) == (0, 6)  # rows that the older model does not take
        assert bits(client) == after(client.folder, A)
    with inside() as client:
        assert bits(client) == after(client.folder, A)


def test_a_roll_back_is_done_once_for_its_key(inside):
    with inside() as client:
        learn(client, A)
        version, headers = snapshot(client), {"Idempotency-Key": "once"}
        learn(client, B)
        first = client.post("/v1/rollback", json={"to": version}, headers=headers)
        learn(client, C)
        again = client.post("/v1/rollback", json={"to": version}, headers=headers)
        assert first.content == again.content
        assert bits(client) == after(client.folder, A, C)
        other = client.post("/v1/rollback", json={"to": 8}, headers=headers)
        assert refused(other) == (422, "key-reused")


@pytest.mark.parametrize(
    ("body", "status", "problem"),
    [
        ({}, 400, "malformed"),
        ({"to": -1}, 400, "malformed"),
        ({"to": 3}, 404, "not-found"),
        ({"to": 4, "leave_out": [{"from": 1, "until": 2}]}, 400, "malformed"),
        ({"to": 4, "replay": True, "leave_out": [{"from": 1, "until": "2026-01-01T00:00:00Z"}]}, 400, None),
        ({"to": 4, "replay": True, "leave_out": [{"from": "2026-01-01T00:00:00", "until": 1}]}, 400, None),
        ({"to": 4, "replay": True, "leave_out": [{"from": 6, "until": 4}]}, 400, None),
        ({"to": 4, "replay": True, "leave_out": [{"from": -1, "until": 4}]}, 400, None),
        ({"to": 4, "replay": True, "leave_out": [{"from": LATER, "until": EARLIER}]}, 400, None),
    ],
)
def test_a_roll_back_that_cannot_be_changes_nothing(client, body, status, problem):
    learn(client, A)
    snapshot(client)
    learn(client, B)
    before = bits(client)
    answer = roll_back(client, **body)
    assert (answer.status_code, refused(answer)[1]) == (status, problem or "malformed")
    assert bits(client) == before
    assert client.get("/v1/model").json()["version"] == 8


def test_rows_that_the_log_no_longer_has_are_not_replayed(inside):
    with inside(snapshot_rows=1, log_bytes=300) as client:
        learn(client, A)
        version = snapshot(client)
        for row in B + C:
            learn(client, [row])
        until(lambda: client.get("/v1/model").json()["snapshot_version"] == 12)
        assert refused(roll_back(client, to=version, replay=True)) == (410, "log-removed")
        roll_back(client, to=version).raise_for_status()
        assert bits(client) == after(client.folder, A)


def test_the_snapshot_of_a_roll_back_stays_when_the_one_before_it_is_kept(inside):
    with inside(keep_asked=1, keep_hourly=0, keep_daily=0, keep_weekly=0) as client:
        learn(client, A)
        before = bits(client)
        client.post("/v1/reset").raise_for_status()
        learn(client, B)
        roll_back(client, to=4).raise_for_status()
        assert bits(client) == before


# ---- the schedule


def test_the_first_snapshot_of_each_hour_day_and_week_is_kept(tmp_path, monkeypatch):
    kept = Archive(tmp_path, Limits(keep_hourly=3, keep_daily=2, keep_weekly=2, keep_asked=1))
    monday, clock = datetime(2026, 1, 5, tzinfo=UTC), [0.0]
    monkeypatch.setattr(archive.time, "time", lambda: clock[0])
    for half_hour in range(2 * 24 * 20):  # of twenty days
        clock[0] = (monday + timedelta(hours=half_hour / 2)).timestamp()
        (tmp_path / f"snapshot-{half_hour:020d}.safetensors").write_bytes(b"model")
        kept.keep(half_hour, archive.SCHEDULE, {"rows": half_hour})
    day, last = 48, 48 * 20
    assert [each.version for each in kept.kept] == [
        day * 7,
        day * 14,
        day * 18,
        day * 19,
        last - 6,
        last - 4,
        last - 2,
    ]
    kept.keep(last - 1, archive.ASKED, {})
    assert kept.kept[-1] == Kept(last - 1, clock[0], archive.ASKED, 5, {})
    assert Archive(tmp_path, Limits()).kept == kept.kept
    assert len(list((tmp_path / archive.FOLDER).glob("snapshot-*"))) == 8
    (tmp_path / archive.FOLDER / archive.INDEX).write_bytes(b"{")  # the files are what counts
    assert [each.version for each in Archive(tmp_path, Limits()).kept] == [e.version for e in kept.kept]


def test_snapshots_are_kept_as_they_are_saved_and_have_figures(inside):
    with inside(snapshot_rows=4) as client:
        learn(client, A)
        until(lambda: client.get("/v1/snapshots").json()["snapshots"])
        [kept] = client.get("/v1/snapshots").json()["snapshots"]
        assert (kept["version"], kept["why"], kept["figures"]["rows"]) == (4, "schedule", 4)
        assert kept["bytes"] > 100
        assert set(kept["figures"]["window"]) >= {"rate", "log_loss"}


# ---- frozen, renamed, deleted; aliases


def test_a_frozen_model_only_predicts_also_after_a_restart(inside):
    with inside() as client:
        headers = {"Idempotency-Key": "before"}
        first = client.post("/v1/learn", json=A, headers=headers)
        kept = client.post("/v1/predict?keep=1", json={"x": A[0]["x"]}).json()["ids"][0]
        assert client.post("/v1/freeze").json() == {"frozen": True, "version": 4}
        assert refused(client.post("/v1/learn", json=B)) == (409, "frozen")
        assert refused(client.post("/v1/label", json={"id": kept, "y": "no"})) == (409, "frozen")
        assert client.post("/v1/learn", json=A, headers=headers).content == first.content
        assert client.post("/v1/predict", json={"x": B[0]["x"]}).status_code == 200
    with inside() as client:
        assert client.get("/v1/model").json()["frozen"]
        assert refused(client.post("/v1/learn", json=B)) == (409, "frozen")
        assert client.post("/v1/thaw").json() == {"frozen": False, "version": 4}
        assert client.post("/v1/label", json={"id": kept, "y": "no"}).json()["first"] == 4


def made(client, *names):
    for name in names:
        body = {"algorithm": "rbp", "parameters": {"budget": 5, "kernel": {"type": "Gaussian", "gamma": 1}}}
        client.put(f"/v1/models/{name}", json=body).raise_for_status()
        learn(client, A, f"/v1/models/{name}/learn")


def test_an_alias_is_another_name_and_switches_in_one_step(inside):
    with inside() as client:
        made(client, "a", "b")
        learn(client, B, "/v1/models/b/learn")
        assert client.put("/v1/aliases/champion", json={"model": "a"}).status_code == 200
        assert client.get("/v1/models/champion/model").json()["name"] == "a"
        assert learn(client, C, "/v1/models/champion/learn")["first"] == 4
        client.put("/v1/aliases/champion", json={"model": "b"})
        assert client.get("/v1/models/champion/model").json()["name"] == "b"
        assert client.post("/v2/models/champion/infer", json={}).status_code == 400
    with inside() as client:
        assert client.get("/v1/aliases").json() == {"aliases": {"champion": "b"}}
        assert client.get("/v1/models").json()["aliases"] == {"champion": "b"}
        assert refused(client.delete("/v1/models/b")) == (409, "in-use")
        assert client.delete("/v1/aliases/champion").json() == {"removed": "champion"}
        assert refused(client.delete("/v1/aliases/champion")) == (404, "not-found")
        assert refused(client.get("/v1/models/champion/model")) == (404, "not-found")


def test_names_that_are_taken_or_wrong_are_refused(client):
    made(client, "a")
    alias = "/v1/aliases/"
    assert refused(client.put(alias + "a", json={"model": "default"})) == (409, "exists")
    assert refused(client.put(alias + "b", json={"model": "nothing"})) == (404, "not-found")
    assert refused(client.put(alias + "B", json={"model": "a"})) == (400, "malformed")
    client.put(alias + "b", json={"model": "a"}).raise_for_status()
    assert refused(client.put("/v1/models/b", json={})) == (409, "exists")
    assert refused(client.post("/v1/models/a/rename", json={"to": "b"})) == (409, "exists")
    assert refused(client.post("/v1/models/a/rename", json={"to": "default"})) == (409, "exists")
    assert refused(client.post("/v1/models/a/rename", json={"to": "../a"})) == (400, "malformed")
    assert refused(client.post("/v1/models/default/rename", json={"to": "c"})) == (409, "in-use")
    assert refused(client.delete("/v1/models/default")) == (409, "in-use")
    assert refused(client.delete("/v1/models/nothing")) == (404, "not-found")
    answer = client.patch("/v1/models/a")
    assert answer.status_code == 405


def test_a_renamed_model_keeps_all_it_has(inside):
    with inside() as client:
        made(client, "a")
        client.put("/v1/aliases/champion", json={"model": "a"})
        before = bits(client, "/v1/models/a")
        assert client.post("/v1/models/a/rename", json={"to": "z"}).json() == {"name": "z"}
        assert bits(client, "/v1/models/champion") == before
        assert refused(client.get("/v1/models/a/model")) == (404, "not-found")
        assert learn(client, B, "/v1/models/z/learn")["first"] == 4
    with inside() as client:
        assert client.get("/v1/models/champion/model").json()["version"] == 8


def test_a_service_that_ended_while_it_renamed_a_model(inside):
    for renamed in (True, False):
        with inside() as client:
            name = "a" if renamed else "z"
            if renamed:
                made(client, "a")
            client.put("/v1/aliases/champion", json={"model": name})
            client.service.models._aliases.begin_renaming(name, "z" if renamed else "y")
            root = client.folder.parent
        if renamed:
            (root / "a").rename(root / "z")
        with inside() as client:
            assert client.get("/v1/aliases").json() == {"aliases": {"champion": "z"}}
            assert json.loads((root / "aliases.json").read_bytes())["renaming"] is None


def test_aliases_that_were_changed_by_hand_are_refused(inside):
    with inside() as client:
        client.put("/v1/aliases/b", json={"model": "default"}).raise_for_status()
        path = client.folder.parent / "aliases.json"
    path.write_bytes(path.read_bytes().replace(b'"b"', b'"c"'))
    with pytest.raises(Exception, match="changed or damaged"), inside():
        pass


def test_what_comes_while_a_model_is_moved_is_refused_and_writes_nothing(inside):
    with inside(private_webhooks=True) as client:
        made(client, "a")
        model = client.service.models.get("a")
        client.post("/v1/models/a/rename", json={"to": "z"}).raise_for_status()
        made(client, "a")  # another one has its folder
        hook = Webhook("http://127.0.0.1:9/")
        for late in (
            partial(model.freeze, True),
            partial(model.retain, Wanted(rows=1)),
            partial(model.webhooks.put, "w", hook),
            partial(model.webhooks.remove, "w"),
        ):
            with pytest.raises(Problem, match="being changed: try again") as refusal:
                late()
            assert refusal.value.status == 503
        assert client.get("/v1/models/a/model").json()["frozen"] is False
        assert client.get("/v1/models/a/retention").json()["limits"]["rows"] > 1
        names = {path.name for path in (client.folder.parent / "a").iterdir()}
        assert not names & {"frozen", "retention.json", "webhooks.json"}


def test_a_deleted_model_is_gone_and_its_name_is_free(inside):
    with inside() as client:
        made(client, "a")
        assert client.delete("/v1/models/a").json() == {"deleted": "a"}
        assert refused(client.get("/v1/models/a/model")) == (404, "not-found")
        assert [path.name for path in client.folder.parent.iterdir()] == ["default"]
        made(client, "a")
        left = [client.folder.parent / name for name in (".b.deleted", ".c.new")]
        for folder in left:
            folder.mkdir()
    with inside() as client:
        assert client.get("/v1/models/a/model").json()["version"] == 4
        assert not any(folder.exists() for folder in left)


def test_nothing_is_left_of_a_model_that_could_not_be_made(client, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(settings.Settings, "write", full)
    assert refused(client.put("/v1/models/a", json={})) == (503, "learning-stopped")
    assert [path.name for path in client.folder.parent.iterdir()] == ["default"]


CHANGING = [
    ("DELETE", "/v1/models/a", None),
    ("POST", "/v1/models/a/rename", {"to": "b"}),
    *(("POST", f"/v1/models/a/{what}", None) for what in ("freeze", "thaw", "reset", "snapshot")),
    ("POST", "/v1/models/a/rollback", {"to": 4}),
    ("PUT", "/v1/aliases/x", {"model": "a"}),
    ("DELETE", "/v1/aliases/x", None),
]


@pytest.mark.parametrize(("method", "path", "body"), CHANGING)
def test_changes_are_the_admins(inside, method, path, body):
    words = {role: f"{role}-token-of-the-test" for role in ("read", "learn", "admin")}
    tokens = Tokens({_digest(word.encode()): role for role, word in words.items()})
    with inside(tokens=tokens) as client:
        for role in ("read", "learn"):
            headers = {"Authorization": f"Bearer {words[role]}"}
            answer = client.request(method, path, json=body, headers=headers)
            assert refused(answer) == (403, "role-needed")
        foreign = {"Authorization": f"Bearer {words['admin']}", "Origin": "http://evil.example"}
        assert refused(client.request(method, path, json=body, headers=foreign)) == (403, "foreign-origin")


# ---- the client


def test_everything_by_the_client(inside):
    with inside() as server:
        made(server, "a")
        with Client(str(server.base_url), "a") as client:
            assert client.save_snapshot()["version"] == 4
            client.learn([row["x"] for row in B], [row["y"] for row in B])
            hour = datetime.now(UTC) - timedelta(hours=1), datetime.now(UTC) + timedelta(hours=1)
            assert client.roll_back(4, replay=True, leave_out=[hour])["replayed"] == 0
            assert [each["version"] for each in client.snapshots()["snapshots"]] == [4, 8]
            assert client.freeze()["frozen"]
            with pytest.raises(ServiceError, match="frozen"):
                client.learn(A[0]["x"], A[0]["y"])
            assert not client.thaw()["frozen"]
            assert client.set_alias("champion") == {"alias": "champion", "model": "a"}
            assert client.rename("b") == {"name": "b"}
            assert client.describe()["name"] == "b"
            assert client.models()["aliases"] == {"champion": "b"}
            assert client.reset()["version"] == 10
            client.remove_alias("champion")
            assert client.delete() == {"deleted": "b"}
            with pytest.raises(ServiceError, match="no model"):
                client.describe()


# ---- the command


def test_everything_by_the_command(inside, capsys):
    with inside() as server:
        made(server, "a")
        hour = "2020-01-01T00:00Z,2090-01-01T00:00Z"

        def said(*argv, code=0):
            ended = called(capsys, "models", server.base_url, *argv)
            assert ended.code == code, ended.err
            return ended.err if code else ended.out

        assert said("snapshot", "a") == "saved version 4\n"
        learn(server, B, "/v1/models/a/learn")
        assert said("alias", "champion", "a") == "champion is a\n"
        assert said("freeze", "a") == "frozen at version 8\n"
        assert said().split() == ["a", "8", "frozen", "champion", "default", "0"]
        rolled = said("roll-back", "a", "4", "--replay", "--leave-out", hour, "--yes")
        assert rolled == "as in version 4; 0 rows replayed; version 9\n"
        rolled = said(
            "roll-back", "a", "4", "--replay", "--leave-out", "4,5", "--leave-out", "7,8", "--yes"
        )
        assert rolled == "as in version 4; 2 rows replayed; version 10\n"
        listed = said("snapshots", "a")
        assert "row 8: roll back to version 4 with replay" in listed
        assert [line.split()[0] for line in listed.splitlines()[1:5]] == ["4", "8", "9", "row"]
        assert said("thaw", "a") == "learns again from version 10\n"
        assert said("reset", "a", "--yes") == "nothing learned; version 11\n"
        assert said("rename", "a", "b") == "renamed to b\n"
        assert "in-use" not in said("delete", "b", "--yes", code=1)
        assert said("unalias", "champion") == "removed champion\n"
        assert said("delete", "b", "--yes") == "deleted b\n"
        assert "no model 'b'" in said("freeze", "b", code=1)


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["melt", "a"], "there is no action 'melt'"),
        (["freeze"], "freeze: expected MODEL"),
        (["rename", "a"], "rename: expected MODEL NAME"),
        (["delete", "a"], "confirm it with --yes"),
        (["roll-back", "a", "x", "--yes"], "expected a whole number"),
        (["roll-back", "a", "4", "--leave-out", "1,2", "--yes"], "--leave-out needs --replay"),
        (["freeze", "a", "--replay"], "--replay is for roll-back"),
        (["roll-back", "a", "4", "--replay", "--leave-out", "2026-01-01T00:00,1", "--yes"], "a time zone"),
    ],
)
def test_wrong_use_of_the_command(capsys, argv, words):
    ended = called(capsys, "models", "http://127.0.0.1:9", *argv)
    assert (ended.code, words in ended.err) == (2, True), ended.err


# ---- replicas


def test_a_replica_follows_roll_backs_resets_names_aliases_and_deletions(inside, monkeypatch):
    monkeypatch.setattr("budgetron.serve.replica.PAUSE", 0.05)
    with inside() as leader, following(str(leader.base_url)) as replica:
        made(leader, "a", "b")
        leader.put("/v1/aliases/champion", json={"model": "a"}).raise_for_status()
        until(lambda: replica.get("/v1/aliases").json() == leader.get("/v1/aliases").json())
        learn(leader, A)
        version = snapshot(leader)
        learn(leader, B)
        until(lambda: replica.get("/v1/model").json()["version"] == 8)
        roll_back(leader, to=version).raise_for_status()
        until(lambda: replica.get("/v1/model").json()["version"] == 9)
        assert bits(replica) == bits(leader) == after(leader.folder, A)
        learn(leader, C)
        until(lambda: replica.get("/v1/model").json()["version"] == 13)
        assert bits(replica) == bits(leader)
        leader.post("/v1/reset").raise_for_status()
        until(lambda: replica.get("/v1/model").json()["version"] == 14)
        assert refused(replica.post("/v1/predict", json={"x": A[0]["x"]})) == (409, "nothing-learned")
        learn(leader, B)
        until(lambda: replica.get("/v1/model").json()["version"] == 18)
        assert bits(replica) == bits(leader) == after(leader.folder, B)
        leader.put("/v1/aliases/champion", json={"model": "b"}).raise_for_status()
        until(lambda: replica.get("/v1/models/champion/model").json()["name"] == "b")
        leader.post("/v1/models/b/rename", json={"to": "z"}).raise_for_status()
        leader.post("/v1/models/z/freeze").raise_for_status()
        leader.delete("/v1/models/a").raise_for_status()
        until(lambda: replica.get("/v1/models").json() == leader.get("/v1/models").json())
        assert replica.get("/v1/models/champion/model").json()["name"] == "z"
        until(lambda: replica.get("/v2/health/ready").status_code == 200)
        for method, path, body in CHANGING:
            path = path.replace("/a", "/z", 1) if "models" in path else path
            assert refused(replica.request(method, path, json=body)) == (409, "read-only")


def test_a_replica_begins_with_a_model_that_was_reset(inside):
    with inside() as leader:
        learn(leader, A)
        leader.post("/v1/reset").raise_for_status()
        with following(str(leader.base_url)) as replica:
            until(lambda: replica.get("/v2/health/ready").status_code == 200)
            assert replica.get("/v1/model").json()["version"] == 5
            learn(leader, B)
            until(lambda: replica.get("/v1/model").json()["version"] == 9)
            assert bits(replica) == bits(leader)


# ---- kills


class Clients:
    """Clients that learn, switch an alias, roll back, and change challengers until the service has gone."""

    def __init__(self, server, turn, seed):
        self.server, self.turn, self.draw = server, turn, random.Random(seed)
        self.learned, self.switched, self.sent = [], [], []
        work = [partial(self._learn, c) for c in range(3)]
        work += [self._switch, self._roll_back, self._challenge]
        self.threads = [threading.Thread(target=self._until_gone, args=(each,)) for each in work]
        for thread in self.threads:
            thread.start()

    def _until_gone(self, work):
        with suppress(httpx.HTTPError), httpx.Client(base_url=self.server.url, timeout=60) as http:
            while True:
                work(http)

    def _learn(self, c, http):
        i = 1_000_000 * self.turn + 100_000 * c + sum(1 for each in self.sent if each[1] == c)
        rows = [
            {"x": {"i": i, "a": (i * 7 + j) % 5 / 5}, "y": "ny"[(i + j) % 3 % 2]} for j in range(1 + i % 3)
        ]
        self.sent.append((i, c))
        answer = http.post(f"/v1/models/{'champion' if c else 'a'}/learn", json=rows)
        if answer.status_code == 200:
            self.learned.append((i, len(rows), answer.json()["first"]))

    def _switch(self, http):
        name = ["a", "b", "beside-a"][len(self.switched) % 3]
        self.switched.append([name, False])
        self.switched[-1][1] = http.put("/v1/aliases/champion", json={"model": name}).status_code == 200
        time.sleep(self.draw.uniform(0, 0.01))

    def _roll_back(self, http):
        path = f"/v1/models/{self.draw.choice('ab')}"
        http.post(f"{path}/snapshot")
        kept = http.get(f"{path}/snapshots").json()["snapshots"]
        if not kept or self.draw.random() < 0.1:
            http.post(f"{path}/reset")
            return
        to = self.draw.choice(kept)["version"]
        body = {"to": to, "replay": self.draw.random() < 0.7}
        if body["replay"]:
            begin = to + self.draw.randrange(5)
            body["leave_out"] = [{"from": begin, "until": begin + self.draw.randrange(5)}]
        assert http.post(f"{path}/rollback", json=body).status_code in (200, 503)
        time.sleep(self.draw.uniform(0, 0.02))

    def _challenge(self, http):
        of = self.draw.choice("ab")
        name, other = f"other-{of}", f"another-{of}"
        for each in self.draw.sample([name, other], 2):
            body = CHALLENGER | {"seed": self.draw.randrange(9), "replay": self.draw.random() < 0.3}
            done = [
                http.put(f"/v1/models/{of}/challengers/{each}", json=body),
                http.post(f"/v1/models/{name}/rename", json={"to": other}),
                http.get(f"/v1/models/{of}/comparison"),
            ]
            if self.draw.random() < 0.5:
                done.append(http.delete(f"/v1/models/{each}"))
            assert {answer.status_code for answer in done} <= {200, 201, 404, 409, 503}
            time.sleep(self.draw.uniform(0, 0.02))


CHALLENGER = {"algorithm": "rbp", "parameters": {"budget": 5, "kernel": {"type": "Gaussian", "gamma": 0.5}}}


def killed(folder, kills, seed):
    """Kill the service again and again; checks at each start that the alias is one that was set."""
    draw, turns, expected = random.Random(seed), [], {"a"}
    with served(folder, *SMALL, "--keep-log") as server:
        for name in "ab":
            learner = {"algorithm": "fogd", "parameters": FOGD}
            server.http.put(f"/v1/models/{name}", json=learner).raise_for_status()
        server.http.put("/v1/models/a/challengers/beside-a", json=CHALLENGER).raise_for_status()
        server.http.put("/v1/aliases/champion", json={"model": "a"}).raise_for_status()
        server.kill()
    for turn in range(1, kills + 1):
        with served(folder, "--keep-log", "--snapshot-rows", "20") as server:
            assert server.http.get("/v1/aliases").json()["aliases"]["champion"] in expected
            clients = Clients(server, turn, draw.random())
            wanted = draw.randrange(2, 40)
            until(lambda: len(clients.learned) >= wanted, 60)  # noqa: B023
            time.sleep(draw.uniform(0, 0.03))
            server.kill()
            for thread in clients.threads:
                thread.join(60)
        done = [name for name, acknowledged in clients.switched if acknowledged]
        expected = set(done[-1:]) or expected
        expected |= {name for name, _ in clients.switched[-1:]}  # it may be on disk without an answer
        turns.append(clients)
    return turns


def check_killed(folder, turns):
    with served(folder, "--keep-log") as server:
        known = server.http.get("/v1/models").json()["models"]
        of = {each["name"]: each.get("challenger_of") for each in known}
        files = {name: server.http.get(f"/v1/models/{name}/model/file") for name in of}
        compared = [server.http.get(f"/v1/models/{name}/comparison").json() for name in "ab"]
        assert server.stop() == 0
    for folder_name in "ab":
        learned = offline_models(folder / folder_name)
        assert set(learned) == {"", *(name for name, beside in of.items() if beside == folder_name)}
        for name, wanted in learned.items():
            file = files[name or folder_name]
            assert (file.content if file.status_code == 200 else None) == wanted
    for each in compared:
        assert (
            len({one["rows"] + one["refused"] for one in each["models"] if one["since"] == each["since"]})
            <= 1
        )
    found = Counter()
    for name in "ab":
        parts = bodies(folder / name)
        numbers = {row["x"]["i"]: first for first, rows in parts for row in rows}
        found.update(rows[0]["x"]["i"] for _, rows in parts)
        for clients in turns:
            for i, _, first in clients.learned:
                assert numbers.get(i, first) == first
    acknowledged = [i for clients in turns for i, *_ in clients.learned]
    assert all(found[i] == 1 for i in acknowledged)
    assert max(found.values()) == 1
    return len(acknowledged)


def test_killed_while_aliases_switch_and_models_are_rolled_back(tmp_path):
    assert check_killed(tmp_path / "d", killed(tmp_path / "d", kills=3, seed=1)) > 5


@pytest.mark.slow
def test_killed_200_times_while_aliases_switch_and_models_are_rolled_back(tmp_path):
    assert check_killed(tmp_path / "d", killed(tmp_path / "d", kills=200, seed=2)) > 2000
