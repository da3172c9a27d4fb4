"""Rows of a timeline: one for each item of a capture, and rows as Timesketch takes them.

The rule kept here: Timesketch needs ``message``, ``datetime`` and ``timestamp_desc`` in every row; what has
no time is no row there. It keeps its own marks in ``label``, so that of a message has another name there.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC
from typing import Any

from msmq_wire.records.call import call_of
from msmq_wire.records.join_keys import JoinKeys, join_keys, keys_of
from msmq_wire.records.message import message_of
from msmq_wire.records.record import Record
from msmq_wire.records.seen_at import seen_at
from msmq_wire.records.summary import summary
from msmq_wire.records.view import date_time, time_text
from msmq_wire.units import MICROSECOND

Row = dict[str, Any]

_QUIET = frozenset(("established", "closed", "start_midstream", "capture_end", "evicted"))
"""Steps of connections of which another row tells, or that the capture does not show."""
_TOLD = ("queue", "label", "message_id", "message_class_name", "body_size")
_CALLED = ("queue", "method", "status_name")
STEP_COLUMNS = (
    *("record", "type", "capture", "frame", "time", "src", "dst"),
    *("what", "detail", "told_by", "seen_at"),
    *dict.fromkeys((*_TOLD, *_CALLED)),
)
"""All keys that a row can have, in order."""
_RENAMED = {"label": "message_label"}
TIMESKETCH_COLUMNS = (
    *("message", "datetime", "timestamp_desc", "timestamp", "tag"),
    *JoinKeys._fields,
    *(_RENAMED.get(name, name) for name in STEP_COLUMNS),
)
"""The columns of a file for Timesketch, the three that it needs first."""


def item_row(record: Record) -> Row | None:
    """The row of an item; None for a step of a connection that says nothing."""
    if record.event in _QUIET and record.type == "tcp_stream":
        return None
    points = seen_at(record)
    row: Row = {
        "record": record.id,
        "type": record.type,
        "capture": record.capture,
        "frame": record.frames[-1] if record.frames else None,
        "time": time_text(record.time),
        "src": record.src,
        "dst": record.dst,
        "what": "connection" if record.type == "tcp_stream" else record.type.replace("_", " "),
        "detail": summary(record),
        **({"seen_at": list(points)} if points else {}),
    }
    message, call = message_of(record, acknowledgments=True), call_of(record)
    if message is not None:
        row |= {name: message.json(name) for name in _TOLD}
    elif call is not None:
        row |= {name: call.json(name) for name in _CALLED}
    return row


def timesketch_row(row: Mapping[str, Any], time: int | None, record: Record | None = None) -> Row | None:
    """A row of a timeline for Timesketch, ``time`` nanoseconds since 1970; None for one without a time.

    ``record`` is the item that the row is of; steps of messages and sessions came by TCP.
    """
    moment = date_time(time)
    if moment is None or time is None:
        return None
    src, dst = row["src"], row["dst"]
    ends = f"{src or 'somebody'} to {dst or 'somebody'}: " if src or dst else ""
    keys = join_keys(src, dst, udp=False) if record is None else keys_of(record)
    return {
        "message": f"{ends}{' '.join(filter(None, (row['what'], row['detail'])))}",
        "datetime": moment.astimezone(UTC).isoformat(timespec="microseconds"),
        "timestamp_desc": "Frame captured",
        "timestamp": time // MICROSECOND,
        "tag": ["msmq", *(("anomaly",) if record is not None and record.anomalies else ())],
        **keys._asdict(),
        **{_RENAMED.get(name, name): value for name, value in row.items()},
    }
