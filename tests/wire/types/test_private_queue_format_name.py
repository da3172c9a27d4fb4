"""PrivateQueueFormatName, [MS-MQMQ] 2.2.18.1.7.2."""

from __future__ import annotations

from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.private_queue_format_name import PrivateQueueFormatName
from tests.wire.cases import Cases

CASES = Cases(
    data=bytes.fromhex(
        "d4c3b2a1 f6e5 8947 8abcdef012345678 "  # SourceQueueManager
        "2a 00 00 00 "  # PrivateQueueIdentifier
    ),
    value=PrivateQueueFormatName(
        source_queue_manager=GUID.parse("a1b2c3d4-e5f6-4789-8abc-def012345678"), private_queue_identifier=42
    ),
    refused=[
        ({}, 15, ("missing-bytes", "source_queue_manager", 0)),
        ({}, 19, ("missing-bytes", "private_queue_identifier", 16)),
    ],
    contradictions=[
        ({"private_queue_identifier": -1}, "private_queue_identifier"),
    ],
)
