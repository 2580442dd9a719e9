"""Flags of ``budgetron run`` for brokers and for files."""

import sys

import pytest

from tests.helpers.cases import each
from tests.helpers.command import COLUMNS, called, written

URL = "redis://me:secret@localhost:1/orders"


@each(
    ("words", "sentence"),
    [
        (["run", URL], "--target NAME, the member with the label, must be given"),
        (["run", URL, "--target", "y", "--features", "3"], "--features is not for messages"),
        (["run", URL, "--target", "y", "--format", "csv"], "--format is not for messages"),
        (["run", URL, "--target", "y", "--dense"], "--dense is not for messages"),
        (["run", "redis://localhost", "--target", "y"], "the name of the stream"),
        (["run", URL, "--target", "y", "--rows", "0"], "expected a whole number of at least 1"),
        (["run", "synthetic", "--until-end"], "--until-end is only for brokers"),
        (["compare", URL, "--target", "y"], "by run and serve only"),
        (["tune", URL, "--learner", "rbp", "--budget", "9", "--target", "y"], "by run and serve only"),
    ],
)
def test_wrong_usage(words, sentence, capsys):
    ended = called(capsys, *words)
    assert ended.code == 2
    assert sentence in ended.err
    assert "secret" not in ended.err


def test_rows_end_a_run_over_a_file(tmp_path, capsys):
    file, model = written(tmp_path / "rows.svm", 3500), tmp_path / "model"
    words = ["run", "rbp", file, "--budget", "20", "--sigma", "1", *COLUMNS, "--save", model]
    for count in ("1234", "1234", "2500"):
        ended = called(capsys, *words, "--resume", "--rows", count)
        assert ended.code == 0
        assert ended.out.splitlines()[-1].split()[0] == count
    in_parts = model.read_bytes()
    assert called(capsys, *words, "--rows", "2500").code == 0
    assert model.read_bytes() == in_parts


@pytest.mark.parametrize(
    ("url", "package", "needed"),
    [
        ("redis://localhost/s", "redis", "redis>=5"),
        ("nats://localhost/s", "nats", "nats-py>=2.7"),
        ("kafka://localhost/s", "confluent_kafka", "confluent-kafka>=2.4"),
    ],
)
def test_a_client_that_is_not_installed(url, package, needed, monkeypatch, capsys):
    for name in ("redis_streams", "nats_jetstream", "kafka"):
        monkeypatch.delitem(sys.modules, f"budgetron.streams.brokers.{name}", raising=False)
    monkeypatch.setitem(sys.modules, package, None)
    ended = called(capsys, "run", url, "--target", "y")
    assert ended.code == 1
    assert f"pip install '{needed}'." in ended.err
