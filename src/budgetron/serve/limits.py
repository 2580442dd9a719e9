"""The limits of a service: nothing that a client sends may grow without a bound."""

from dataclasses import dataclass

MIB = 2**20


@dataclass(frozen=True)
class Limits:
    """What a service accepts, keeps and waits for."""

    body: int = 8 * MIB
    json: int = MIB  # one JSON document is parsed at once, and nothing else is answered meanwhile
    rows: int = 50_000
    columns: int = 4096
    values: int = 5_000_000  # of a table: Arrow writes many equal ones as one
    text: int = 4096  # characters of a name, a text or a label
    classes: int = 1000
    probabilities: int = 1_000_000  # rows times classes of one answer
    body_seconds: float = 30.0
    connections: int = 1000
    header_bytes: int = 16 * 1024
    header_lines: int = 100
    header_seconds: float = 10.0
    send_seconds: float = 30.0  # without a byte of the answer being read
    idle_seconds: int = 75  # between two requests of a connection
    queue_rows: int = 100_000
    queue_bytes: int = 64 * MIB
    group_rows: int = 5000
    keys: int = 100_000
    key_bytes: int = 64 * MIB
    key_seconds: float = 86_400.0
    kept_rows: int = 2_000_000
    kept_bytes: int = 512 * MIB
    kept_seconds: float = 60 * 86_400.0
    snapshot_rows: int = 10_000
    snapshot_bytes: int = 64 * MIB
    snapshot_seconds: float = 60.0
    keep_log: bool = False
    log_bytes: int = 64 * MIB  # of rows that could be replayed onto the oldest snapshot that is kept
    keep_hourly: int = 24  # snapshots: the first of each of so many hours, days and weeks
    keep_daily: int = 7
    keep_weekly: int = 4
    keep_asked: int = 10  # and the newest of those that someone asked for, or that a change left
    models: int = 100
    aliases: int = 1000
    model_file: int = 2**30  # of a leader, for a replica
    webhooks: int = 10  # of a model
    private_webhooks: bool = False  # whether they may have addresses of this machine or network
    event_readers: int = 64
    events_behind: int = 256


_NO = 2**60
UNLIMITED = Limits(
    body=_NO, json=_NO, values=_NO, rows=_NO, columns=_NO, text=_NO, classes=_NO, probabilities=_NO
)
"""For what was learned under limits of its own time."""
