"""MQFFormatNameElement, [MS-MQMQ] 2.2.18.1.4."""

from __future__ import annotations

import pytest

from msmq_wire.engines.codec import decode, encode
from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.mqf_direct_queue_format_name import MQFDirectQueueFormatName
from msmq_wire.wire.types.mqf_format_name_element import MQFFormatNameElement
from msmq_wire.wire.types.private_queue_format_name import PrivateQueueFormatName
from tests.wire.cases import Cases

CASES = Cases(
    data=bytes.fromhex(
        "02 00 "  # FormatType
        "a5 5a "  # padding up to a multiple of 4
        "d4c3b2a1 f6e5 8947 8abcdef012345678 "  # SourceQueueManager
        "2a 00 00 00 "  # PrivateQueueIdentifier
    ),
    value=MQFFormatNameElement(
        format_type=2,
        padding=b"\xa5\x5a",
        format_name=PrivateQueueFormatName(
            source_queue_manager=GUID.parse("a1b2c3d4-e5f6-4789-8abc-def012345678"),
            private_queue_identifier=42,
        ),
    ),
    kept=[({2: "0000"}, "padding", b"\x00\x00")],
    refused=[
        ({}, 1, ("missing-bytes", "format_type", 0)),
        ({}, 3, ("missing-bytes", "padding", 2)),
        ({}, 19, ("missing-bytes", "format_name.source_queue_manager", 4)),
        ({}, 23, ("missing-bytes", "format_name.private_queue_identifier", 20)),
        ({0: "0000"}, None, ("unknown-selector", "format_name", 4)),
        ({0: "0400"}, None, ("unknown-selector", "format_name", 4)),
        ({0: "0500"}, None, ("unknown-selector", "format_name", 4)),
        ({0: "0700"}, None, ("unknown-selector", "format_name", 4)),
    ],
    contradictions=[
        ({"format_type": 1}, "format_name"),
        ({"format_type": 4}, "format_name"),
        ({"padding": b""}, "padding"),
        ({"format_name": MQFDirectQueueFormatName()}, "format_name"),
    ],
)


@pytest.mark.parametrize(("format_type", "size"), [(1, 20), (2, 24), (3, 4), (6, 20)])
def test_the_type_decides_the_layout(format_type: int, size: int) -> None:
    data = bytes((format_type, 0)) + bytes(size - 2)
    value = decode(data, "mqf_format_name_element")
    assert len(value.padding) == (0 if format_type == 3 else 2)
    assert encode(value) == data
