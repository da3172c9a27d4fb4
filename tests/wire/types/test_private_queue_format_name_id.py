"""PrivateQueueFormatNameId, [MS-MQMQ] 2.2.18.1.5.1."""

from __future__ import annotations

from msmq_wire.wire.types.private_queue_format_name_id import PrivateQueueFormatNameId
from tests.wire.cases import Cases

CASES = Cases(
    data=bytes.fromhex(
        "0f 00 00 80 "  # PrivateQueueIdentifier
    ),
    value=PrivateQueueFormatNameId(private_queue_identifier=0x8000000F),
    refused=[({}, 3, ("missing-bytes", "private_queue_identifier", 0))],
    contradictions=[
        ({"private_queue_identifier": 1 << 32}, "private_queue_identifier"),
    ],
)
