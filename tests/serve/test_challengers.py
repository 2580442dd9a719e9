"""Models that learn the same rows beside another one, and how they compare."""

import json
import re
import sqlite3
import threading
from functools import partial

import httpx
import numpy as np
import pytest
from scipy.integrate import quad

from budgetron import OnlineClassifier, Standardised, algorithms, model_files
from budgetron.client import Client
from budgetron.estimators.online import progressive
from budgetron.parts.kernels import Gaussian
from budgetron.serve import changes, comparison, settings
from budgetron.serve.sequential import ALPHA, RATE, SCALE, Sequential, log_evidence, relative
from tests.helpers.command import called
from tests.helpers.served import offline_history
from tests.serve.conftest import SMALL, held, learn, until
from tests.serve.test_lifecycle import A, B, C, bits, made, refused, roll_back, snapshot
from tests.serve.test_replica import following

RBP = {"algorithm": "rbp", "parameters": {"budget": 5, "kernel": {"type": "Gaussian", "gamma": 1.0}}}
BESIDE = "/v1/models/beside"


def challenge(client, name="beside", path="/v1", **more):
    return client.put(f"{path}/challengers/{name}", json=RBP | more)


def beside():
    """What the challenger learns with."""
    return OnlineClassifier(algorithms.rbp(Gaussian(1.0), budget=5), random_state=0)


def rbp(*parts):
    """The bytes of the challenger that learned these rows and nothing else."""
    model, rows = (
        beside(),
        [r for part in parts for r in part],
    )
    model.partial_fit([row["x"] for row in rows], [row["y"] for row in rows])
    return b"".join(model_files.encoded(model))


def after(folder, *parts):
    model, rows = settings.read(folder).estimator(), [row for part in parts for row in part]
    model.partial_fit([row["x"] for row in rows], [row["y"] for row in rows])
    return b"".join(model_files.encoded(model))


def stream(n, seed=0, noise=0.1, task="classification"):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    if task == "regression":
        y = (X[:, 0] * X[:, 1] + noise * rng.normal(size=n)).tolist()
    else:
        y = ["ny"[int(v)] for v in (X[:, 0] * X[:, 1] > 0) ^ (rng.random(n) < noise)]
    return [{"x": {"a": a, "b": b}, "y": v} for (a, b), v in zip(X.tolist(), y, strict=True)]


# ---- learning


def test_a_challenger_learns_the_same_rows_from_one_request_and_one_answers(inside):
    with inside(keep_log=True) as client:
        learn(client, A)
        assert challenge(client).status_code == 201
        own = learn(client, B)
        assert own["first"] == 5  # adding it took a number
        theirs = learn(client, C, f"{BESIDE}/learn")
        assert theirs["first"] == 9
        assert bits(client) == after(client.folder, A, B, C)
        assert bits(client, BESIDE) == rbp(B, C)
        model = beside()
        model.partial_fit([row["x"] for row in B], [row["y"] for row in B])
        wanted = model.progressive_predict([row["x"] for row in C], [row["y"] for row in C])
        assert theirs["predictions"] == wanted.tolist()
        said = client.get(f"{BESIDE}/model").json()
        assert (said["version"], said["challenger_of"], said["metrics"]["rows"]) == (13, "default", 8)
        with sqlite3.connect(client.folder / "log.sqlite", timeout=0) as db, pytest.raises(sqlite3.Error):
            db.execute("select count(*) from log").fetchone()  # it is the service's alone
        assert len(client.service.models.get("default").learned(5)) == 2  # one entry for a request
    with inside(keep_log=True) as client:
        assert bits(client) == after(client.folder, A, B, C)
        assert bits(client, BESIDE) == rbp(B, C)
        learn(client, A)
        assert bits(client, BESIDE) == rbp(B, C, A)
    assert offline_history(client.folder) == after(client.folder, A, B, C, A)
    assert offline_history(client.folder, "beside") == rbp(B, C, A)


def test_a_challenger_may_learn_the_rows_of_the_log_first(inside):
    with inside() as client:
        learn(client, A)
        learn(client, B)
        answer = challenge(client, replay=True).json()
        assert answer == {"version": 9, "to": 0, "replayed": 8, "refused": 0, "challenger": "beside"}
        assert bits(client, BESIDE) == rbp(A, B)
        learn(client, C)
        wanted = rbp(A, B, C)
    for file in client.folder.glob("snapshot-*"):
        file.unlink()
    with inside() as client:  # from the log alone
        assert bits(client, BESIDE) == wanted
        assert bits(client) == after(client.folder, A, B, C)


GAP = [{"x": {"a": None, "b": 0.1}, "y": "no"}]
"""Standardised learners take the mean for what is missing, and others refuse the row."""


def test_rows_that_only_the_challenger_refuses(inside):
    open_ = partial(inside, learner=Standardised(SMALL), keep_log=True)
    with open_() as client:
        challenge(client).raise_for_status()
        learn(client, A)
        assert learn(client, GAP)["first"] == 5
        learn(client, B)
        wanted = after(client.folder, A, GAP, B), rbp(A, B)
        assert (bits(client), bits(client, BESIDE)) == wanted
        own, other = compared(client)["models"]
        assert [(each["rows"], each["refused"]) for each in (own, other)] == [(9, 0), (8, 1)]
        assert {test["rows"] for test in compared(client)["tests"] if test["measure"] == "error"} == {8}
        assert client.get(f"{BESIDE}/model").json()["metrics"]["rows"] == 8
        assert client.get(f"{BESIDE}/model").json()["version"] == 10
    for file in client.folder.glob("**/snapshot-*"):
        file.unlink()
    with open_() as client:  # replayed from the log
        assert (bits(client), bits(client, BESIDE)) == wanted
        assert challenge(client, "late", replay=True).json()["refused"] == 1
        assert bits(client, "/v1/models/late") == rbp(A, B)


def test_the_one_that_is_asked_must_take_the_rows_too(inside):
    with inside(learner=Standardised(SMALL)) as client:
        challenge(client).raise_for_status()
        learn(client, A)
        before = bits(client), bits(client, BESIDE)
        answer = client.post(f"{BESIDE}/learn", json=[*B, *GAP])
        assert (refused(answer), answer.json()["row"]) == ((422, "bad-row"), 4)
        assert (bits(client), bits(client, BESIDE)) == before
        assert client.get("/v1/model").json()["version"] == 5
        learn(client, B, f"{BESIDE}/learn")
        assert (bits(client), bits(client, BESIDE)) == (after(client.folder, A, B), rbp(A, B))


class Waiting(threading.Thread):
    """A request that waits for the writer; `answer` waits for it."""

    def __init__(self, client, *request, json=None):
        super().__init__()
        self.client, self.request, self.json = client, request, json
        queue = client.service.models.get("default").writer._queue
        before = len(queue)
        self.start()
        until(lambda: len(queue) > before)

    def run(self):
        with httpx.Client(base_url=self.client.base_url, timeout=60) as own:
            self.answered = own.request(*self.request, json=self.json)

    @property
    def answer(self):
        self.join(60)
        return self.answered


def test_a_group_in_which_the_one_asked_refuses_is_learned_without_that_request(inside):
    with inside(learner=Standardised(SMALL)) as client:
        challenge(client).raise_for_status()
        learn(client, A)
        with held(client.service.models.get("default")):
            sent = [("default", B), ("beside", GAP), ("beside", C)]
            asked = [Waiting(client, "POST", f"/v1/models/{name}/learn", json=rows) for name, rows in sent]
        assert [each.answer.status_code for each in asked] == [200, 422, 200]
        assert (bits(client), bits(client, BESIDE)) == (after(client.folder, A, B, C), rbp(A, B, C))


@pytest.mark.parametrize("gone", [True, False])
def test_requests_that_wait_for_a_challenger_that_goes_or_gets_another_name(inside, gone):
    with inside(group_rows=1) as client:  # what comes later is learned later
        learn(client, A)
        challenge(client, replay=True).raise_for_status()
        model, one = client.service.models.get("default"), {"x": A[0]["x"]}
        [number] = client.post(f"{BESIDE}/predict?keep=1", json=one).json()["ids"]
        change = ("DELETE", BESIDE) if gone else ("POST", f"{BESIDE}/rename")
        with held(model):
            asked = [
                Waiting(client, "POST", f"{BESIDE}/learn", json=B),
                Waiting(client, "POST", f"{BESIDE}/predict?id=own", json=one),
                Waiting(client, "POST", f"{BESIDE}/label", json={"id": number, "y": "no"}),
            ]
            changed = Waiting(client, *change, json=None if gone else {"to": "better"})
            model.writer._queue.rotate()  # the change comes first
        assert changed.answer.status_code == 200
        if gone:
            assert [refused(each.answer) for each in asked] == [(404, "not-found")] * 3
            assert client.get("/v1/model").json()["version"] == 6
            assert client.get("/v1/retention").json()["rows"] == 1
        else:
            assert [each.answer.status_code for each in asked] == [200] * 3
            expected = beside()
            expected.partial_fit([row["x"] for row in A], [row["y"] for row in A])
            wanted = expected.progressive_predict([row["x"] for row in B], [row["y"] for row in B])
            assert asked[0].answer.json()["predictions"] == wanted.tolist()
            assert bits(client, "/v1/models/better") == rbp(A, B, [one | {"y": "no"}])


def late(client, *names):
    """Labels that came later, and mistakes, as models count them."""
    counts = [client.get(f"/v1/models/{name}/model").json()["metrics"]["late"] for name in names]
    return [(each["rows"], each["mistakes"]) for each in counts]


def test_a_late_label_counts_for_the_model_that_predicted(inside):
    def predict(name, own):
        found = client.post(f"/v1/models/{name}/predict?id={own}", json={"x": A[0]["x"]})
        return found.raise_for_status().json()["predictions"][0]

    def label(name, *pairs):
        body = [{"id": own, "y": y} for own, y in pairs]
        client.post(f"/v1/models/{name}/label", json=body).raise_for_status()

    with inside() as client:
        learn(client, A)
        challenge(client, replay=True).raise_for_status()
        challenge(client, "third", replay=True).raise_for_status()
        client.put("/v1/aliases/champion", json={"model": "default"}).raise_for_status()
        said = {own: predict("champion", own) for own in ("a", "b", "c")}
        client.put("/v1/aliases/champion", json={"model": "beside"}).raise_for_status()
        said |= {own: predict("champion", own) for own in ("d", "e")}
        predict("third", "f")
        label("champion", ("a", "?"), ("d", said["d"]))
        assert late(client, "default", "beside", "third") == [(1, 1), (1, 0), (0, 0)]
        client.delete("/v1/aliases/champion").raise_for_status()
        client.post(f"{BESIDE}/rename", json={"to": "new"}).raise_for_status()
        client.delete("/v1/models/third").raise_for_status()
        challenge(client, "third", replay=True).raise_for_status()  # another one of that name
        label("default", ("e", said["e"]), ("f", "?"))
        assert late(client, "default", "new", "third") == [(1, 1), (2, 0), (0, 0)]
        assert client.get("/v1/retention").json()["rows"] == 2
    with inside() as client:
        label("third", ("b", said["b"]))
        assert late(client, "default", "new", "third") == [(2, 1), (2, 0), (0, 0)]


def test_a_late_label_counts_for_no_branch_that_was_left(inside):
    def predicted(own):
        for name in ("default", "beside"):
            path = f"/v1/models/{name}/predict?id={own}-{name}"
            client.post(path, json={"x": A[0]["x"]}).raise_for_status()

    def counted(own):
        body = [{"id": f"{own}-{name}", "y": "no"} for name in ("default", "beside")]
        client.post("/v1/label", json=body).raise_for_status()
        return [rows for rows, _ in late(client, "default", "beside")]

    with inside() as client:
        learn(client, A)
        challenge(client, replay=True).raise_for_status()
        for own in ("trunk", "trunk too", "trunk at last"):
            predicted(own)
        version = snapshot(client)
        learn(client, B)
        for own in ("left", "left too"):
            predicted(own)
        roll_back(client, to=version, replay=True).raise_for_status()
        predicted("new")
        assert counted("left") == [0, 0]
        assert counted("trunk") == [1, 1]
        again = snapshot(client)
        assert counted("new") == [2, 2]
        roll_back(client, to=again).raise_for_status()
    with inside() as client:
        assert counted("left too") == [1, 1]
        assert counted("trunk too") == [2, 2]
        client.post("/v1/reset").raise_for_status()
        learn(client, B)
        assert counted("trunk at last") == [0, 0]


def test_labels_that_come_later_and_retries(inside):
    with inside() as client:
        learn(client, A)
        challenge(client).raise_for_status()
        learn(client, B)
        headers = {"Idempotency-Key": "once"}
        first = client.post(f"{BESIDE}/learn", json=C, headers=headers)
        assert client.post("/v1/learn", json=C, headers=headers).content == first.content
        ids = client.post(f"{BESIDE}/predict?keep=1", json={"x": A[0]["x"]}).json()["ids"]
        client.post(f"{BESIDE}/label", json={"id": ids[0], "y": "no"}).raise_for_status()
        assert [rows for rows, _ in late(client, "default", "beside")] == [0, 1]
        row = [{"x": A[0]["x"], "y": "no"}]
        assert bits(client, BESIDE) == rbp(B, C, row)
        assert bits(client) == after(client.folder, A, B, C, row)


# ---- its life


def test_promoted_by_alias_in_one_step(inside):
    with inside() as client:
        client.put("/v1/aliases/champion", json={"model": "default"}).raise_for_status()
        challenge(client, path="/v1/models/champion").raise_for_status()
        learn(client, A, "/v1/models/champion/learn")
        client.put("/v1/aliases/champion", json={"model": "beside"}).raise_for_status()
        assert bits(client, "/v1/models/champion") == rbp(A)
        assert refused(client.delete(BESIDE)) == (409, "in-use")
        learn(client, B, "/v1/models/champion/learn")
        challenge(client, "third", path="/v1/models/champion").raise_for_status()
    with inside() as client:
        assert bits(client, "/v1/models/champion") == rbp(A, B)
        assert bits(client) == after(client.folder, A, B)
        known = {m["name"]: m.get("challenger_of") for m in client.get("/v1/models").json()["models"]}
        assert known == {"default": None, "beside": "default", "third": "default"}


def test_roll_backs_and_resets_concern_all_models_of_a_stream(inside):
    with inside() as client:
        learn(client, A)
        early = snapshot(client)
        challenge(client).raise_for_status()
        learn(client, B)  # rows 5 to 8
        version = snapshot(client)
        learn(client, C)
        roll_back(client, to=version).raise_for_status()
        assert (bits(client), bits(client, BESIDE)) == (after(client.folder, A, B), rbp(B))
        leave_out = [{"from": 9, "until": 10}]
        roll_back(client, to=version, replay=True, leave_out=leave_out).raise_for_status()
        assert (bits(client), bits(client, BESIDE)) == (after(client.folder, A, B, C[1:]), rbp(B, C[1:]))
        assert client.get(f"{BESIDE}/model").json()["metrics"]["rows"] == 7
        roll_back(client, to=early, replay=True).raise_for_status()  # it was not there yet
        assert (bits(client), bits(client, BESIDE)) == (after(client.folder, A, B, C), rbp(B, C))
        roll_back(client, to=early).raise_for_status()
        assert bits(client) == after(client.folder, A)
        assert refused(client.post(f"{BESIDE}/predict", json={"x": A[0]["x"]})) == (409, "nothing-learned")
    with inside() as client:
        learn(client, C)
        assert (bits(client), bits(client, BESIDE)) == (after(client.folder, A, C), rbp(C))
        client.post("/v1/reset").raise_for_status()
        learn(client, B)
        assert (bits(client), bits(client, BESIDE)) == (after(client.folder, B), rbp(B))
        assert client.get("/v1/comparison").json()["rows"] == len(B)
    with inside() as client:
        assert (bits(client), bits(client, BESIDE)) == (after(client.folder, B), rbp(B))


@pytest.mark.parametrize("what", ["reset", "freeze", "thaw", "rollback"])
def test_what_concerns_all_models_is_not_asked_of_a_challenger(inside, what):
    with inside() as client:
        learn(client, A)
        challenge(client).raise_for_status()
        assert refused(client.post(f"{BESIDE}/{what}", json={"to": 4})) == (409, "in-use")
        assert bits(client) == after(client.folder, A)


def test_a_frozen_stream_freezes_its_challengers_too(inside):
    with inside() as client:
        learn(client, A)
        challenge(client).raise_for_status()
        client.post("/v1/freeze").raise_for_status()
        assert refused(client.post(f"{BESIDE}/learn", json=B)) == (409, "frozen")
        assert client.get(f"{BESIDE}/model").json()["frozen"]
        assert client.get(f"{BESIDE}/snapshots").json() == client.get("/v1/snapshots").json()
        assert client.post(f"{BESIDE}/snapshot").json() == {"version": 5}


def test_renamed_and_removed(inside):
    with inside() as client:
        made(client, "a")
        challenge(client, path="/v1/models/a").raise_for_status()
        client.put("/v1/aliases/champion", json={"model": "beside"}).raise_for_status()
        learn(client, B, f"{BESIDE}/learn")
        client.post(f"{BESIDE}/rename", json={"to": "better"}).raise_for_status()
        assert bits(client, "/v1/models/champion") == bits(client, "/v1/models/better") == rbp(B)
        assert refused(client.get(f"{BESIDE}/model")) == (404, "not-found")
        client.post("/v1/models/a/rename", json={"to": "z"}).raise_for_status()
        learn(client, C, "/v1/models/better/learn")
        assert client.get("/v1/models/better/model").json()["challenger_of"] == "z"
        assert refused(client.delete("/v1/models/z")) == (409, "in-use")
    with inside() as client:
        assert bits(client, "/v1/models/champion") == rbp(B, C)
        client.delete("/v1/aliases/champion").raise_for_status()
        assert client.delete("/v1/models/better").json() == {"deleted": "better"}
        assert refused(client.get("/v1/models/better/model")) == (404, "not-found")
        assert client.get("/v1/models/z/comparison").json()["models"] == []
        learn(client, A, "/v1/models/z/learn")
    with inside() as client:
        assert [each["name"] for each in client.get("/v1/models").json()["models"]] == ["default", "z"]
        assert client.delete("/v1/models/z").status_code == 200


def test_a_roll_back_finds_challengers_by_their_names_of_then(inside, tmp_path):
    folder = tmp_path / "models"
    with inside(folder) as client:
        for name in ("beside", "third"):
            challenge(client, name, seed=len(name)).raise_for_status()
        learn(client, A)
        version, then = snapshot(client), bits(client, BESIDE)
        client.post(f"{BESIDE}/rename", json={"to": "other"}).raise_for_status()
        client.delete("/v1/models/third").raise_for_status()
        challenge(client, "third", seed=5).raise_for_status()  # the same settings, but another model
        learn(client, B)
        roll_back(client, to=version).raise_for_status()
        assert bits(client, "/v1/models/other") == then
        assert client.get("/v1/models/third/model/file").status_code == 409  # nothing learned
        [renamed] = client.get("/v1/events?what=rename challenger").json()["events"]
        assert (renamed["challenger"], renamed["new_name"]) == ("beside", "other")
    with inside(folder) as client:
        assert bits(client, "/v1/models/other") == then


@pytest.mark.parametrize("what", ["challenge", "roll back"])
def test_changes_of_other_models_do_not_wait_for_a_replay(inside, monkeypatch, what):
    begun, go_on = threading.Event(), threading.Event()
    replayed = changes._replayed

    def slow(*args, **more):
        if args[2].replay:
            begun.set()
            assert go_on.wait(60)
        return replayed(*args, **more)

    monkeypatch.setattr(changes, "_replayed", slow)
    with inside() as client:
        made(client, "a", "b")
        learn(client, A)
        learn(client, B, "/v1/models/b/learn")
        challenge(client, "beside-b", path="/v1/models/b").raise_for_status()
        version = snapshot(client)
        learn(client, B)
        change = partial(challenge, client, replay=True)
        if what == "roll back":
            change = partial(roll_back, client, to=version, replay=True)
        waiting = [threading.Thread(target=change)]
        waiting[0].start()
        try:
            assert begun.wait(60)
            for _ in range(10):  # these wait for their model
                waiting.append(threading.Thread(target=client.post, args=("/v1/freeze",)))
                waiting[-1].start()
            for method, path, body in OF_OTHERS:
                answer = client.request(method, f"/v1/{path}", json=body, timeout=20)
                assert answer.status_code in (200, 201), path
            assert client.get("/v1/model").json()["version"] == len(A + B)
            if what == "challenge":
                assert refused(client.put("/v1/models/beside", json={})) == (503, "busy")
                assert refused(client.get("/v1/models/beside/model")) == (503, "busy")
                assert refused(challenge(client, "another")) == (503, "busy")
        finally:
            go_on.set()
            for thread in waiting:
                thread.join()
        assert client.get("/v1/aliases").json()["aliases"] == {"champion": "default", "old": "b-2"}


OF_OTHERS = [
    ("PUT", "aliases/champion", {"model": "default"}),  # a name is changed at once
    ("PUT", "aliases/old", {"model": "b"}),
    ("POST", "models/b/freeze", None),
    ("POST", "models/b/thaw", None),
    ("POST", "models/b/snapshot", None),
    ("POST", "models/beside-b/rename", {"to": "beside-b2"}),
    ("POST", "models/b/rename", {"to": "b-2"}),
    ("PUT", "models/b-2/retention", {"rows": 5}),
    ("PUT", "models/b-2/challengers/more", RBP | {"replay": False}),
    ("POST", "models/b-2/reset", None),
    ("DELETE", "models/a", None),
    ("PUT", "models/new", {}),
]


def test_a_challenger_decides_as_the_model_beside_it(inside):
    with inside() as client:
        known = {"costs": {"no": 50}, "coverage": 0.9}
        client.put("/v1/models/shop", json=known).raise_for_status()
        own = {"costs": {"no": 2}, "coverage": 0.5}
        for name, more in {"alike": {}, "own": own}.items():
            body = {"algorithm": "auto"} | more
            client.put(f"/v1/models/shop/challengers/{name}", json=body).raise_for_status()
        challenge(client, "without", "/v1/models/shop").raise_for_status()
        made = {name: client.get(f"/v1/models/{name}/model").json() for name in ("alike", "own", "without")}
        assert [(each["costs"], each["coverage"]) for each in made.values()] == [
            ([{"label": "no", "cost": 50.0}], 0.9),
            ([{"label": "no", "cost": 2.0}], 0.5),
            (None, None),
        ]


def test_a_service_that_ended_while_it_renamed_a_challenger(inside):
    with inside() as client:
        learn(client, A)
        challenge(client).raise_for_status()
        client.put("/v1/aliases/champion", json={"model": "beside"}).raise_for_status()
        client.post(f"{BESIDE}/rename", json={"to": "better"}).raise_for_status()
        client.service.models._aliases.write({"champion": "beside"}, {"beside": "better"})
    with inside() as client:
        assert client.get("/v1/aliases").json() == {"aliases": {"champion": "better"}}


def test_names_and_settings_that_are_refused(inside):
    with inside() as client:
        made(client, "a")
        client.put("/v1/aliases/b", json={"model": "a"}).raise_for_status()
        for name in ("a", "b", "default"):
            assert refused(challenge(client, name)) == (409, "exists")
        assert refused(challenge(client, "B")) == (400, "malformed")
        assert refused(challenge(client, "c", algorithm="nothing")) == (400, "malformed")
        assert refused(challenge(client, "c", task="regression")) == (400, "malformed")
        assert refused(challenge(client, "c", path="/v1/models/nothing")) == (404, "not-found")
        assert challenge(client, "c").status_code == 201
        assert refused(challenge(client, "c")) == (409, "exists")
        assert refused(client.put("/v1/models/c", json={})) == (409, "exists")


def test_the_limit_on_models_counts_challengers(inside):
    with inside(models=2) as client:
        assert challenge(client, "a").status_code == 201
        assert refused(challenge(client, "b")) == (413, "too-large")


def test_fsck_loads_challengers(inside, capsys):
    with inside() as client:
        learn(client, A)
        challenge(client).raise_for_status()
        learn(client, B)
    said = called(capsys, "fsck", client.folder.parent)
    assert (said.code, "its challenger 'beside' loads" in said.out) == (0, True), said.out


def test_a_folder_with_the_name_of_a_challenger_is_refused(inside):
    with inside() as client:
        made(client, "a")
        learn(client, A)
        root = client.folder.parent
    (root / "a").rename(root / ".aside")
    with inside() as client:
        challenge(client, "a").raise_for_status()
    (root / ".aside").rename(root / "a")
    with pytest.raises(Exception, match="another model 'a'"), inside():
        pass


def test_replicas_follow_challengers(inside, monkeypatch):
    monkeypatch.setattr("budgetron.serve.replica.PAUSE", 0.05)
    with inside() as leader, following(str(leader.base_url)) as replica:
        learn(leader, A)
        challenge(leader).raise_for_status()
        learn(leader, B)
        leader.put("/v1/aliases/champion", json={"model": "beside"}).raise_for_status()

        def followed():
            known = replica.get("/v1/models").json()
            return known == leader.get("/v1/models").json() and "beside" in str(known)

        until(followed)
        until(lambda: replica.get("/v1/models/champion/model/file").status_code == 200)
        assert bits(replica, "/v1/models/champion") == rbp(B)
        learn(leader, C, f"{BESIDE}/learn")
        until(followed)
        assert (bits(replica, BESIDE), bits(replica)) == (rbp(B, C), after(leader.folder, A, B, C))
        assert refused(replica.get("/v1/comparison")) == (409, "read-only")
        assert refused(challenge(replica, "x")) == (409, "read-only")
        leader.put("/v1/aliases/champion", json={"model": "default"}).raise_for_status()
        leader.delete(BESIDE).raise_for_status()
        until(lambda: replica.get("/v1/models").json() == leader.get("/v1/models").json())


# ---- the comparison


def compared(client, name="default"):
    return client.get(f"/v1/models/{name}/comparison").raise_for_status().json()


def without_time(known):
    for each in known["models"]:
        del each["seconds"], each["windows"]["seconds"], each["bytes"], each["windows"]["bytes"]
    return known


def test_the_comparison_is_that_of_the_definition(inside):
    rows = stream(2300)
    with inside() as client:
        challenge(client).raise_for_status()
        losses = {name: [] for name in ("default", "beside")}
        for i in range(0, len(rows), 100):
            part = rows[i : i + 100]
            name = ["default", "beside"][i // 100 % 2]
            learn(client, part, f"/v1/models/{name}/learn")
        for name, made in (
            ("default", settings.read(client.folder).estimator()),
            ("beside", beside()),
        ):
            X, y = [row["x"] for row in rows], [row["y"] for row in rows]
            losses[name] = (progressive(made, X, y)[0] != np.array(y)).astype(float)
        known = compared(client)
    assert (known["model"], known["rows"], known["since"]) == ("default", 2300, 1)
    assert known["windows"] == {"rows": 1000, "ends": [1001, 2001, 2301]}
    for each in known["models"]:
        wrong = losses[each["name"]]
        assert each["error"] == pytest.approx(wrong.mean())
        cut = [wrong[:1000].mean(), wrong[1000:2000].mean(), wrong[2000:].mean()]
        assert each["windows"]["error"] == pytest.approx(cut)
        assert each["windows"]["rows"] == [1000, 1000, 300]
        assert each["recent"]["rate"] == pytest.approx(wrong[-1000:].mean())
        assert min(each["seconds"], each["bytes"]) > 0
        assert each["refused"] == 0
    test = next(each for each in known["tests"] if each["measure"] == "error")
    assert test["models"] == ["default", "beside"]
    assert test["difference"] == pytest.approx((losses["default"] - losses["beside"]).mean())


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_the_same_rows_give_the_same_comparison_for_any_requests_and_after_restarts(inside, tmp_path, task):
    rows, found = stream(1500, task=task), []
    learner = (
        algorithms.fogd(Gaussian(0.5), components=10)
        if task == "classification"
        else algorithms.ogd(Gaussian(0.5), eta=0.1)
    )
    other = {"algorithm": "fogd", "parameters": {"components": 20, "kernel": RBP["parameters"]["kernel"]}}
    for size in (1, 250, 1500):
        folder = tmp_path / f"{task}{size}"
        for begin in (0, 750):
            with inside(folder, learner=learner, task=task) as client:
                if begin == 0:
                    challenge(client, **other).raise_for_status()
                    if size == 1500:
                        client.post("/v1/learn", json=rows).raise_for_status()
                part = [] if size == 1500 else rows[begin : begin + 750]
                for i in range(0, len(part), size):
                    learn(client, part[i : i + size])
                known = without_time(compared(client))
        found.append(known)
    assert found[0] == found[1] == found[2]
    with inside(folder, learner=learner, task=task) as client:
        snapshots = list(client.folder.glob("**/snapshot-*"))
    for file in snapshots:
        file.unlink()
    with inside(folder, learner=learner, task=task) as client:  # replayed from the log
        assert without_time(compared(client)) == found[0]


def test_windows_are_halved_when_there_are_many(monkeypatch):
    monkeypatch.setattr(comparison, "WINDOW", 10)
    monkeypatch.setattr(comparison, "MOST", 6)
    rng = np.random.default_rng(0)
    wrong = rng.random(247) < 0.3
    made = comparison.Comparison(5, targets=False)
    made.join("", 5)
    monkeypatch.setattr(
        comparison, "losses", lambda parts, *_, **__: (np.concatenate([p.y for p in parts]), None)
    )

    class Learned:
        def __init__(self, y):
            self.y = y

    for i in range(0, 247, 13):
        part = wrong[i : i + 13].astype(float)
        taken = comparison.Taken(Learned(part), None, False, 0.0)
        made.add([comparison.Lesson(5 + i, len(part), {"": taken})], {})
        made.values()
    values = made.values()
    width, curve = values["windows"]["rows"], values["models"][""]["windows"]
    assert width == 80
    cuts = [wrong[i : i + width] for i in range(0, 247, width)]
    assert curve["error"] == pytest.approx([cut.mean() for cut in cuts])
    assert values["windows"]["ends"] == [min(5 + i + width, 252) for i in range(0, 247, width)]
    assert comparison.Comparison.of(made.state()).values() == values


# ---- the test


def evidence(s, v):
    """The mixture, by its definition."""

    def psi(rate):
        return (-np.log(1 - SCALE * rate) - SCALE * rate) / SCALE**2

    def density(rate):
        return (1 - SCALE * rate) ** (RATE - 1) * np.exp(-RATE * (1 - SCALE * rate))

    def grown(rate):
        return np.exp(rate * s - psi(rate) * v) * density(rate)

    whole = quad(density, 0, 1 / SCALE, epsabs=0, epsrel=1e-12)[0]
    return np.log(quad(grown, 0, 1 / SCALE, epsabs=0, epsrel=1e-12, limit=500)[0] / whole)


@pytest.mark.parametrize(("s", "v"), [(0, 0), (1, 0.5), (5, 3), (20, 40), (-3, 10), (60, 300), (0, 1000)])
def test_the_evidence_is_that_of_the_definition(s, v):
    assert log_evidence(np.array([float(s)]), np.array([float(v)]))[0] == pytest.approx(
        evidence(s, v), abs=1e-8
    )


def reference(d):
    """The sums of the test, and since when there is a difference, row by row."""
    total = variance = 0.0
    since = 0
    for n, x in enumerate(d, 1):
        mean = total / (n - 1) if n > 1 else 0.0
        total, variance = total + x, variance + (x - mean) ** 2
        known = log_evidence(np.array([abs(total)]), np.array([variance]))[0] >= np.log(2 / ALPHA)
        since = (since or n) if known else 0
    return total, variance, since


@pytest.mark.parametrize("shift", [0.0, 0.4, -0.4])
def test_the_test_row_by_row_and_cut_in_any_way(shift):
    rng = np.random.default_rng(1)
    d = np.clip(np.round(rng.normal(shift, 0.7, 400)), -1, 1)
    d[300:] = np.sign(-shift) if shift > 0 else d[300:]  # it turns, and is undecided in between
    whole = Sequential()
    whole.add(d)
    assert (whole.sum, whole.variance, whole.decided) == reference(d)
    cut = Sequential()
    for part in np.split(d, [1, 2, 50, 50, 399]):
        cut.add(part)
        cut = Sequential.of(json.loads(json.dumps(cut.state())))
    assert cut.state() == whole.state()
    low, high = whole.interval()
    assert bool(whole.decided) == (low > 0 or high < 0)


def alarms(draw, rows, seeds):
    """The share of streams in which a difference was told at some row."""
    found = 0
    for seed in range(seeds):
        test, d = Sequential(), draw(np.random.default_rng(seed), rows)
        sums = np.cumsum(d)
        before = np.concatenate([[0], sums[:-1] / np.arange(1, rows)])
        variances = np.cumsum((d - before) ** 2)
        found += bool((log_evidence(np.abs(sums), variances) >= np.log(2 / ALPHA)).any())
        test.add(d)
    return found / seeds


def differing(share, better):
    """Mistakes of two models that differ in a share of the rows, the other one being right in a share."""

    def draw(rng, rows):
        return np.where(rng.random(rows) < share, np.where(rng.random(rows) < better, 1.0, -1.0), 0.0)

    return draw


def test_false_alarms_at_any_row_are_rare_and_a_difference_is_found():
    assert alarms(differing(0.1, 0.5), 10_000, 200) <= ALPHA
    assert alarms(differing(1.0, 0.5), 10_000, 200) <= ALPHA
    assert alarms(differing(0.1, 0.7), 10_000, 20) == 1.0


def test_relative_differences_of_errors():
    one, other = (
        np.array([0.0, 3.0, 1.0, np.inf, 2.0, np.inf, 1e-300]),
        np.array([0.0, 1.0, 3.0, 1.0, np.inf, np.inf, 1e300]),
    )
    assert relative(one, other) == pytest.approx([0.0, 0.5, -0.5, 1.0, -1.0, 0.0, -1.0])


# ---- client and command


SERIES = re.compile(r'(budgetron_\w+)((?:\{(?:\w+="(?:[^"\\\n]|\\[\\n"])*",?)+\})?) \S+')


def series(text):
    """The series of /metrics: names with labels. Each once, under its type, and with those of its name."""
    kinds, found, name = {}, [], None
    for line in text.splitlines():
        if line.startswith("# TYPE"):
            *_, name, kind = line.split(" ")
            assert name not in kinds
            kinds[name] = kind
        elif not line.startswith("# HELP budgetron_"):
            metric, labels = SERIES.fullmatch(line).groups()
            parts = [metric, re.sub("_(bucket|sum|count)$", "", metric)]
            assert name == parts[kinds[name] == "histogram"]
            found.append(metric + labels)
    assert len(set(found)) == len(found)
    assert len(re.findall("# HELP", text)) == len(kinds)
    return set(found)


def test_metrics_have_what_challengers_share_once(inside):
    own = ["rows_learned_total", "mistakes_total", "error_window", "support_vectors", "model_bytes"]
    shared = ["queue_rows", "queue_bytes", "log_bytes", "kept_rows", "kept_dropped_total", "learning"]
    shared += ["snapshot_age_seconds", "commit_seconds_count"]
    odd = [{"x": {"a": i / 9, "b": 0.5}, "y": 'a "b"\\\n{c="d"} 1' if i == 9 else "no"} for i in range(30)]
    with inside() as client:
        learn(client, A)
        challenge(client).raise_for_status()
        learn(client, B)
        learn(client, odd)
        client.post(f"{BESIDE}/predict", json={"x": A[0]["x"]}).raise_for_status()
        text = client.get("/metrics").text
        found = series(text)
        for name in own + shared:
            assert f'budgetron_{name}{{model="default"}}' in found
            assert (f'budgetron_{name}{{model="beside"}}' in found) == (name in own)
        assert f'budgetron_rows_learned_total{{model="beside"}} {len(B) + len(odd)}\n' in text
        assert any(each.startswith('budgetron_class_recall{model="beside"') for each in found)


def test_by_the_client_and_the_command(inside, capsys):
    with inside() as server:
        made(server, "a")
        with Client(str(server.base_url), "a") as client:
            parameters = {"parameters": RBP["parameters"]}
            assert client.add_challenger("beside", "rbp", replay=True, **parameters)["replayed"] == 4
            client.learn([row["x"] for row in B], [row["y"] for row in B])
            assert [each["name"] for each in client.comparison()["models"]] == ["a", "beside"]

        def said(*argv, code=0):
            ended = called(capsys, "models", server.base_url, *argv)
            assert ended.code == code, ended.err
            return ended.err if code else ended.out

        assert said(
            "challenge",
            "a",
            "third",
            "rbp",
            "--set",
            "budget=7",
            "--replay",
            "--set",
            'kernel={"type": "Gaussian", "gamma": 1.0}',
        ) == ("third learns beside a; 8 rows replayed; version 10\n")
        assert "no difference yet" in said("compare", "a")
        assert "challenger of a" in said()
        assert said("compare", "default") == "there are no challengers\n"
        assert "--set is for challenge" in said("list", "--set", "a=1", code=2)
        assert "value in JSON" in said("challenge", "a", "b", "rbp", "--set", "a=x", code=2)
        assert said("delete", "third", "--yes") == "deleted third\n"
