"""MQFDistributionQueueFormatName, [MS-MQMQ] 2.2.18.1.4.2."""

from __future__ import annotations

from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.mqf_distribution_queue_format_name import MQFDistributionQueueFormatName
from tests.wire.cases import Cases

CASES = Cases(
    data=bytes.fromhex(
        "d4c3b2a1 f6e5 8947 8abcdef012345678 "  # DistributionListIdentifier
    ),
    value=MQFDistributionQueueFormatName(
        distribution_list_identifier=GUID.parse("a1b2c3d4-e5f6-4789-8abc-def012345678")
    ),
    refused=[({}, 15, ("missing-bytes", "distribution_list_identifier", 0))],
    contradictions=[
        ({"distribution_list_identifier": GUID()}, "distribution_list_identifier"),
    ],
)
