"""MQFDirectQueueFormatName, [MS-MQMQ] 2.2.18.1.4.1."""

from __future__ import annotations

from msmq_wire.engines.codec import decode
from msmq_wire.wire.types.mqf_direct_queue_format_name import MQFDirectQueueFormatName
from msmq_wire.wire.types.wchar_text import WcharText
from tests.wire.cases import Cases

CASES = Cases(
    data=bytes.fromhex(
        "4f 00 53 00 3a 00 68 00 5c 00 71 00 00 00 "  # DirectFormatName "OS:h\q"
    ),
    value=MQFDirectQueueFormatName(direct_format_name=WcharText.of("OS:h\\q")),
    broken=[
        ({0: "58"}, [("direct-format-name", "direct_format_name", 0, 14)]),
    ],
    refused=[
        ({}, 12, ("missing-bytes", "direct_format_name", 0)),
        ({}, 13, ("missing-bytes", "direct_format_name", 0)),
        ({}, 0, ("missing-bytes", "direct_format_name", 0)),
    ],
    contradictions=[
        ({"direct_format_name": WcharText(b"A\0")}, "direct_format_name"),
        ({"direct_format_name": WcharText(b"A\0\0\0\0\0")}, "direct_format_name"),
        ({"direct_format_name": WcharText()}, "direct_format_name"),
    ],
)


def test_zeros_across_two_characters_end_nothing() -> None:
    data = b"\x00\x4f\x00\x50\x41\x00\x00\x42\x00\x00"
    assert decode(data, "mqf_direct_queue_format_name").direct_format_name == data
