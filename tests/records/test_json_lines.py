"""Lines of records: the keys of a record itself, whatever is known of it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from msmq_wire import Anomaly, DecodeError, Record, build_message
from msmq_wire.engines.text.escaping import json_line
from msmq_wire.records.json_lines import record_line
from msmq_wire.records.view import record_view
from msmq_wire.spec import SpecRef

_ANOMALY = Anomaly(
    code="base_header.signature",
    message='Signature must be "LIOR"',
    path="base_header.signature",
    offset=4,
    length=4,
    spec=SpecRef("MS-MQMQ", "2.2.19.1"),
)
_MESSAGE = Record(id=1, type="user_message", packet=build_message(r"DIRECT=OS:host\private$\q", b"text"))


@pytest.mark.parametrize(
    "known",
    [
        {},
        {"id": 1 << 40, "parent": 7, "type": "message_packet"},
        {"capture": 'C:\\a "b"\u202e\n\udc80\x7f.pcap'},
        {"frames": (3,)},
        {"frames": (3, 4, 9)},
        {"time": 0},
        {"time": 1_700_000_000_123_456_789},
        {"time": -1},
        {"time": 1 << 80},
        {"src": "192.0.2.1:1801", "dst": "[2001:db8::1]:1801"},
        {"src": "192.0.2.1:1801", "dst": None},
        {"stream": 0},
        {"stream": 12, "offset": 1 << 33, "length": 600, "consumed": 500, "remainder": b"\0\xff more"},
        {"anomalies": (_ANOMALY,)},
        {"anomalies": (_ANOMALY, msgspec.structs.replace(_ANOMALY, offset=9, path="a[3].b"))},
        {"error": DecodeError("missing-bytes", "cut", path="user_header", offset=3)},
        {"reason": "loss", "event": "fin"},
        {"type": "gap", "missing": 5, "reason": "loss", "packet": None},
        {"type": "gap", "missing": None},
        {"type": "error", "reason": "damaged", "packet": None},
        {"packet": None},
        {"packet": "text"},
        {"packet": build_message(r"DIRECT=OS:host\private$\q", "text that a program put where bytes belong")},
    ],
)
def test_what_is_known_of_a_record_is_in_its_line_as_in_its_view(known: dict[str, Any]) -> None:
    record = msgspec.structs.replace(_MESSAGE, **known)
    assert record_line(record) == json_line(record_view(record))
