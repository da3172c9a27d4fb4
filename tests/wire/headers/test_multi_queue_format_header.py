"""MultiQueueFormatHeader, [MS-MQMQ] 2.2.20.1."""

from __future__ import annotations

import pytest

from msmq_wire.engines.codec import decode, encode
from msmq_wire.wire.headers.mqf_address_header import MQFAddressHeader
from msmq_wire.wire.headers.mqf_signature_header import MQFSignatureHeader
from msmq_wire.wire.headers.multi_queue_format_header import MultiQueueFormatHeader
from tests.wire.cases import Cases

CASES = Cases(
    data=bytes.fromhex(
        "0c 00 00 00 64 00 00 00 00 00 00 00 "  # Destination
        "0c 00 00 00 c8 00 00 00 00 00 00 00 "  # Administration
        "0c 00 00 00 2c 01 00 00 00 00 00 00 "  # Response
        "5e 01 00 00 00 00 00 00 "  # Signature
    ),
    value=MultiQueueFormatHeader(
        destination=MQFAddressHeader(),
        administration=MQFAddressHeader(header_id=0xC8),
        response=MQFAddressHeader(header_id=0x12C),
        signature=MQFSignatureHeader(),
    ),
    broken=[
        ({4: "c8"}, [("destination-id", "destination.header_id", 4, 2)]),
    ],
    refused=[
        ({}, 3, ("missing-bytes", "destination.header_size", 0)),
        ({}, 11, ("missing-bytes", "destination.element_count", 8)),
        ({}, 23, ("missing-bytes", "administration.element_count", 20)),
        ({}, 43, ("missing-bytes", "signature.size", 40)),
    ],
    contradictions=[
        ({"destination": MQFAddressHeader(header_size=8)}, "destination.padding"),
    ],
)


@pytest.mark.parametrize("present", range(8))
def test_a_part_is_present_if_its_identifier_stands_where_it_belongs(present: int) -> None:
    parts = (CASES.data[12:24], CASES.data[24:36], CASES.data[36:44])
    data = CASES.data[:12] + b"".join(part for bit, part in enumerate(parts) if present >> bit & 1)
    value = decode(data, "multi_queue_format_header")
    found = (value.administration, value.response, value.signature)
    assert [part is not None for part in found] == [bool(present >> bit & 1) for bit in range(3)]
    assert encode(value) == data
