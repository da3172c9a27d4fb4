"""The JSON view of a deviation: what ``replay --format jsonl`` prints."""

from __future__ import annotations

from typing import Any

from msmq_wire.records.joined_capture import located
from msmq_wire.records.view import time_text
from msmq_wire.replay.deviation import ReplayDeviation


def deviation_view(one: ReplayDeviation) -> dict[str, Any]:
    """A deviation as a row: times as RFC 3339 in UTC, the rule by its number in the coverage table."""
    one = located(one)
    return {
        "kind": str(one.kind),
        "certain": one.certain,
        "server": one.server,
        "interface": one.interface,
        "method": one.method,
        "queue": one.queue,
        "message": one.message,
        "expected": one.expected,
        "came": one.came,
        "rule": str(one.rule),
        "spec": str(one.spec),
        "capture": one.capture,
        "record": one.record,
        "frames": list(one.frames),
        "time": time_text(one.time),
        "src": one.src,
        "dst": one.dst,
        "path": one.path,
    }
