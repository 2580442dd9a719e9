"""Webhooks: signed, sent again until they arrive, never in the way, and not to private addresses."""

import base64
import hashlib
import hmac
import http.server
import json
import socket
import threading
import time
from contextlib import contextmanager, suppress

import pytest

from budgetron.cli import main
from budgetron.serve import addresses, history, webhooks
from budgetron.serve.problems import Problem
from budgetron.serve.tokens import Tokens, _digest
from tests.helpers.cases import each
from tests.helpers.served import SMALL, served
from tests.serve.conftest import ROWS, learn, until

PRIVATE = ("--private-webhooks",)


@contextmanager
def listening(answers=()):
    """A receiver; ``got`` has the messages. It gives these statuses first, then 204."""
    answers, got = list(answers), []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["content-length"]))
            got.append((dict(self.headers), body))
            status = answers.pop(0) if answers else 204
            self.send_response(status)
            if status == 302:
                self.send_header("Location", "/elsewhere")
            self.end_headers()

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/hook?a=b", got
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def put(client, url, name="ops", **more):
    return client.put(f"/v1/webhooks/{name}", json={"url": url, **more})


def refused(answer):
    return answer.status_code, answer.json()["type"].removeprefix("urn:budgetron:")


def kinds(got):
    return [json.loads(body)["type"] for _, body in got]


def test_events_arrive_signed_and_in_order(inside):
    with listening() as (url, got), inside(private_webhooks=True) as client:
        secret = put(client, url).raise_for_status().json()["secret"]
        learn(client)
        client.post("/v1/snapshot").raise_for_status()
        client.post("/v1/reset").raise_for_status()
        until(lambda: len(got) == 2)
        assert kinds(got) == ["new class", "reset"]  # a snapshot is sent only where it is asked for
        headers, body = got[0]
        signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
        key = base64.b64decode(secret.removeprefix("whsec_"))
        right = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
        assert headers["webhook-signature"] == f"v1,{right}"
        assert abs(int(headers["webhook-timestamp"]) - time.time()) < 60
        event = json.loads(body)["data"]
        assert event.pop("model") == "default"
        assert event == client.get("/v1/events").json()["events"][0]
        assert len({headers["webhook-id"] for headers, _ in got}) == 2


def test_a_webhook_gets_the_events_that_it_asks_for(inside):
    with listening() as (url, got), inside(private_webhooks=True) as client:
        put(client, url, events=["snapshot"]).raise_for_status()
        learn(client)
        client.post("/v1/snapshot").raise_for_status()
        until(lambda: got)
        assert kinds(got) == ["snapshot"]
        assert client.delete("/v1/webhooks/ops").json() == {"removed": "ops"}
        learn(client)
        client.post("/v1/snapshot").raise_for_status()
        time.sleep(0.3)
        assert len(got) == 1
        assert refused(client.delete("/v1/webhooks/ops")) == (404, "not-found")


@each("status", [500, 404, 302])
def test_a_failed_message_is_sent_again(inside, tmp_path, monkeypatch, status):
    monkeypatch.setattr(webhooks, "FIRST_PAUSE", 0.02)
    with (
        listening([status] * 3) as (url, got),
        inside(tmp_path / str(status), private_webhooks=True) as client,
    ):
        put(client, url).raise_for_status()
        learn(client)
        until(lambda: len(got) == 4)
        assert len({headers["webhook-id"] for headers, _ in got}) == 1
        until(lambda: client.get("/v1/webhooks").json()["webhooks"][0]["arrived"] == 1)
        [told] = client.get("/v1/webhooks").json()["webhooks"]
        assert "secret" not in told
        assert (told["name"], told["failures"], told["trouble"]) == ("ops", 0, None)


def test_an_event_that_never_arrives_is_given_up(inside, monkeypatch):
    monkeypatch.setattr(webhooks, "FIRST_PAUSE", 0.02)
    monkeypatch.setattr(webhooks, "GIVE_UP", 0.1)
    with listening([500] * 1000) as (url, got), inside(private_webhooks=True) as client:
        put(client, url).raise_for_status()
        learn(client)
        until(lambda: client.get("/v1/webhooks").json()["webhooks"][0]["given_up"] == 1)
        assert client.get("/v1/webhooks").json()["webhooks"][0]["trouble"] == "it answered 500"
        assert len(got) > 1


def test_kill_9_with_messages_that_wait(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    with served(tmp_path / "d", *SMALL, *PRIVATE) as server:
        put(server.http, f"http://127.0.0.1:{port}/").raise_for_status()
        learn(server.http)
        until(lambda: server.http.get("/v1/webhooks").json()["webhooks"][0]["failures"])
        server.kill()
    with listening() as (url, got), served(tmp_path / "d", *SMALL, *PRIVATE) as server:
        put(server.http, url).raise_for_status()  # the same webhook, at another address
        until(lambda: got)
        server.http.post("/v1/reset").raise_for_status()
        until(lambda: len(got) == 2)
        assert kinds(got) == ["new class", "reset"]
        server.kill()
    with listening() as (_, got), served(tmp_path / "d", *SMALL, *PRIVATE) as server:
        learn(server.http)
        time.sleep(0.3)
        assert got == []  # what arrived is not sent again


@each("how", ["hangs", "drips", "refuses"])
def test_a_webhook_that_hangs_is_in_nobodys_way(inside, tmp_path, how):
    """Learning, predicting, deleting and stopping do not wait for it."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.settimeout(0.1)
        ended, taken = threading.Event(), []

        def drip():
            while not ended.wait(0.05):
                with suppress(TimeoutError):
                    taken.append(silent.accept()[0])
                for each in taken if how == "drips" else ():
                    each.send(b"H")

        thread = threading.Thread(target=drip)
        if how == "refuses":
            silent.close()
        else:
            thread.start()
        port = 1 if how == "refuses" else silent.getsockname()[1]
        with inside(tmp_path / how, private_webhooks=True) as client:
            for i in range(3):
                put(client, f"http://127.0.0.1:{port}/", f"hook{i}").raise_for_status()
            learn(client)
            until(lambda: how == "refuses" or len(taken) >= 3)
            began = time.monotonic()
            for _ in range(20):
                learn(client)
                client.post("/v1/predict", json={"x": ROWS[0]["x"]}).raise_for_status()
            client.put("/v1/models/other", json={}).raise_for_status()
            put(client, f"http://127.0.0.1:{port}/").raise_for_status()
            client.delete("/v1/models/other").raise_for_status()
            assert client.delete("/v1/webhooks/hook1").status_code == 200
        assert time.monotonic() - began < 8  # and the service has ended; a webhook waits for 10 seconds
        ended.set()
        if how != "refuses":
            thread.join()
        for each in taken:
            each.close()


@each(
    "address",
    [
        "127.0.0.1",
        "10.1.2.3",
        "192.168.0.1",
        "169.254.169.254",
        "0.0.0.0",
        "::1",
        "fe80::1",
        "fd00::1",
        "224.0.0.1",
        "::ffff:127.0.0.1",
        "::ffff:10.0.0.1",
        "64:ff9b::7f00:1",
        "2002:7f00:1::",
        "100.64.0.1",
        "255.255.255.255",
        "fec0::1",
        "::10.0.0.1",
        "64:ff9b:1::7f00:1",
    ],
)
def test_private_addresses_are_known(address):
    assert not addresses.is_public(address)


@each("address", ["93.184.216.34", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808", "1.1.1.1"])
def test_public_addresses_are_known(address):
    assert addresses.is_public(address)


@each(
    "url",
    [
        "http://127.0.0.1/",
        "http://localhost:9/",
        "https://[::1]/",
        "http://2130706433/",
        "http://0x7f.1/",
        "http://127.1/",
        "https://a..b/",
        "https://" + "a" * 64 + ".example/",
    ],
)
def test_private_addresses_are_refused(client, url):
    assert refused(put(client, url)) in [(403, "private-address"), (400, "malformed")]


def test_a_name_is_looked_up_once_for_each_message(monkeypatch):
    """A name that means another address a moment later is not followed there."""
    asked = []

    def look_up(host, port, **_):
        asked.append(host)
        address = "127.0.0.1" if len(asked) > 1 else "93.184.216.34"
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))]

    connected = []
    monkeypatch.setattr(socket, "getaddrinfo", look_up)

    def connect(address, *_):
        connected.append(address)
        raise ConnectionRefusedError

    monkeypatch.setattr(socket, "create_connection", connect)
    with pytest.raises(ConnectionRefusedError):
        addresses.post("http://example.com/", b"", {}, private=False)
    with pytest.raises(addresses.PrivateAddressError):
        addresses.post("http://example.com/", b"", {}, private=False)
    assert connected == [("93.184.216.34", 80)]


@each(
    "url",
    [
        "",
        "ftp://example.com/",
        "http://",
        "http://user:pass@example.com/",
        "http://example.com/#x",
        "http://a b/",
        "http://example.com:99999/",
        "http://example.com:0/",
        "http://\n.com/",
        "http://" + "a" * 3000,
        "file:///etc/passwd",
    ],
)
def test_bad_addresses_are_refused(url):
    with pytest.raises(Problem):
        addresses.checked(url)


def test_webhooks_are_for_admins_and_bounded(inside):
    tokens = {"r" * 20: "read", "l" * 20: "learn", "a" * 20: "admin"}
    known = Tokens({_digest(token.encode()): role for token, role in tokens.items()})
    with inside(tokens=known, private_webhooks=True, webhooks=2) as client:
        for token, role in tokens.items():
            client.headers["Authorization"] = f"Bearer {token}"
            expected = 200 if role == "admin" else 403
            assert put(client, "http://127.0.0.1:1/").status_code == expected
            assert client.get("/v1/webhooks").status_code == expected
            assert client.put("/v1/retention", json={"rows": 5}).status_code == expected
        put(client, "http://127.0.0.1:1/", "second").raise_for_status()
        assert refused(put(client, "http://127.0.0.1:1/", "third")) == (413, "too-large")
        assert refused(put(client, "http://127.0.0.1:1/", "NO")) == (400, "malformed")
        assert refused(put(client, "http://127.0.0.1:1/", secret="whsec_short")) == (400, "malformed")
        assert refused(put(client, "http://127.0.0.1:1/", secrets=1)) == (400, "malformed")
        own = "whsec_" + base64.b64encode(b"k" * 24).decode()
        assert put(client, "http://127.0.0.1:1/", secret=own).json()["secret"] == own


@each("name", ["webhooks.json", "retention.json"])
def test_fsck_finds_files_with_which_the_service_does_not_start(inside, capsys, name):
    with inside() as client:
        learn(client)
    (client.folder / name).write_text('{"rows')
    assert main(["fsck", str(client.folder.parent)]) == 1
    assert f"{name}: cannot be read" in capsys.readouterr().out
    (client.folder / name).unlink()


def test_events_that_come_from_elsewhere_are_bounded(monkeypatch):
    monkeypatch.setattr(history, "EACH", 3)
    here = history.History()
    here.put([{"number": i, "version": i, "what": "drift" if i % 2 else "snapshot"} for i in range(1, 11)])
    assert [each["number"] for each in here.events(0, 100)] == [5, 6, 7, 8, 9, 10]
    here.close()
