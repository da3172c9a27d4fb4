"""PublicQueueFormatName, [MS-MQMQ] 2.2.18.1.7.1."""

from __future__ import annotations

from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.public_queue_format_name import PublicQueueFormatName
from tests.wire.cases import Cases

CASES = Cases(
    data=bytes.fromhex(
        "d4c3b2a1 f6e5 8947 8abcdef012345678 "  # PublicQueueIdentifier
    ),
    value=PublicQueueFormatName(public_queue_identifier=GUID.parse("a1b2c3d4-e5f6-4789-8abc-def012345678")),
    refused=[({}, 15, ("missing-bytes", "public_queue_identifier", 0))],
    contradictions=[
        ({"public_queue_identifier": GUID()}, "public_queue_identifier"),
    ],
)
