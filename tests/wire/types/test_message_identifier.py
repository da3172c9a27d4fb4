"""MessageIdentifier, [MS-MQMQ] 2.2.18.1.3."""

from __future__ import annotations

from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.message_identifier import MessageIdentifier
from tests.wire.cases import Cases

CASES = Cases(
    data=bytes.fromhex(
        "d4c3b2a1 f6e5 8947 8abcdef012345678 "  # QueueManagerGuid
        "01 08 00 00 "  # Ordinal
    ),
    value=MessageIdentifier(
        queue_manager_guid=GUID.parse("a1b2c3d4-e5f6-4789-8abc-def012345678"), ordinal=2049
    ),
    refused=[
        ({}, 15, ("missing-bytes", "queue_manager_guid", 0)),
        ({}, 19, ("missing-bytes", "ordinal", 16)),
    ],
    contradictions=[
        ({"queue_manager_guid": GUID(bytes(15))}, "queue_manager_guid"),
        ({"ordinal": 1 << 32}, "ordinal"),
    ],
)


def test_the_text_names_the_queue_manager_and_the_number() -> None:
    assert str(CASES.value) == "a1b2c3d4-e5f6-4789-8abc-def012345678\\2049"
