"""ObjectID, [MS-MQMQ] 2.2.8."""

from __future__ import annotations

from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.object_id import ObjectID
from tests.wire.cases import Cases

CASES = Cases(
    data=bytes.fromhex(
        "d4c3b2a1 f6e5 8947 8abcdef012345678 "  # Lineage
        "0f 00 00 80 "  # Uniquifier
    ),
    value=ObjectID(lineage=GUID.parse("a1b2c3d4-e5f6-4789-8abc-def012345678"), uniquifier=0x8000000F),
    refused=[({}, 15, ("missing-bytes", "lineage", 0)), ({}, 19, ("missing-bytes", "uniquifier", 16))],
    contradictions=[
        ({"lineage": GUID(bytes(17))}, "lineage"),
        ({"uniquifier": -1}, "uniquifier"),
    ],
)
