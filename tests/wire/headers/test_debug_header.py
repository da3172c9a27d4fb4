"""DebugHeader, [MS-MQMQ] 2.2.20.8."""

from __future__ import annotations

from msmq_wire.wire.headers.debug_header import DebugHeader
from msmq_wire.wire.types.guid import GUID
from tests.wire.cases import Cases

CASES = Cases(
    data=bytes.fromhex(
        "01 00 "  # Flags: QT 1
        "a5 5a "  # Reserved
        "d4c3b2a1 f6e5 8947 8abcdef012345678 "  # QueueIdentifier
    ),
    value=DebugHeader(
        flags=1, reserved=0x5AA5, queue_identifier=GUID.parse("a1b2c3d4-e5f6-4789-8abc-def012345678")
    ),
    bits="qt:2 x2 x3 x4 x5 x6 x7 x8 x9 x10 x11 x12 x13 x14 x15",
    kept=[({0: "fdff"}, "flags", 65533), ({2: "0000"}, "reserved", 0)],
    broken=[
        ({0: "02"}, [("queue-type", "flags", 0, 2)]),
    ],
    borders=[{0: "00"}],
    refused=[
        ({}, 1, ("missing-bytes", "flags", 0)),
        ({}, 3, ("missing-bytes", "reserved", 2)),
        ({}, 19, ("missing-bytes", "queue_identifier", 4)),
    ],
    contradictions=[
        ({"queue_identifier": None}, "queue_identifier"),
        ({"flags": 0}, "queue_identifier"),
        ({"flags": 3}, "queue_identifier"),
    ],
)
