"""MQFAddressHeader, [MS-MQMQ] 2.2.20.2."""

from __future__ import annotations

from msmq_wire.engines.codec import decode, encode, inspect
from msmq_wire.wire.headers.mqf_address_header import MQFAddressHeader
from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.mqf_direct_queue_format_name import MQFDirectQueueFormatName
from msmq_wire.wire.types.mqf_format_name_element import MQFFormatNameElement
from msmq_wire.wire.types.public_queue_format_name import PublicQueueFormatName
from msmq_wire.wire.types.wchar_text import WcharText
from tests.wire.cases import Cases

CASES = Cases(
    data=bytes.fromhex(
        "32 00 00 00 "  # HeaderSize, the padding not counted
        "64 00 "  # HeaderID
        "a5 5a "  # Reserved
        "02 00 00 00 "  # ElementCount
        "01 00 11 22 "  # public name behind its padding
        "d4c3b2a1 f6e5 8947 8abcdef012345678 "
        "03 00 "  # direct name
        "4f 00 53 00 3a 00 68 00 31 00 5c 00 71 00 00 00 "  # "OS:h1\q"
        "33 44 "  # padding
    ),
    value=MQFAddressHeader(
        header_size=50,
        header_id=0x64,
        reserved=0x5AA5,
        element_count=2,
        format_name_list=(
            MQFFormatNameElement(
                format_type=1,
                padding=b"\x11\x22",
                format_name=PublicQueueFormatName(
                    public_queue_identifier=GUID.parse("a1b2c3d4-e5f6-4789-8abc-def012345678")
                ),
            ),
            MQFFormatNameElement(
                format_type=3,
                format_name=MQFDirectQueueFormatName(direct_format_name=WcharText.of("OS:h1\\q")),
            ),
        ),
        padding=b"\x33\x44",
    ),
    kept=[
        ({6: "0000"}, "reserved", 0),
        ({50: "0000"}, "padding", b"\x00\x00"),
        ({0: "34"}, "header_size", 52),
    ],
    broken=[
        ({0: "0b", 8: "00"}, [("header-size", "header_size", 0, 4)]),
        ({4: "6500"}, [("header-id", "header_id", 4, 2)]),
        ({0: "35", 52: "aabbccdd"}, [("header-size-exact", "header_size", 0, 4)]),
        (
            {8: "03", 32: "0400"},
            [("element-count", "element_count", 8, 4), ("undecoded", "undecoded", 32, 18)],
        ),
        ({8: "01"}, [("undecoded", "undecoded", 32, 18)]),
    ],
    borders=[{4: "c800"}, {4: "2c01"}, {4: "5e01"}],
    refused=[
        ({}, 3, ("missing-bytes", "header_size", 0)),
        ({}, 11, ("missing-bytes", "element_count", 8)),
        ({}, 31, ("missing-bytes", "format_name_list[0].format_name.public_queue_identifier", 16)),
        ({}, 47, ("missing-bytes", "format_name_list[1].format_name.direct_format_name", 34)),
        ({}, 51, ("missing-bytes", "padding", 50)),
        ({0: "0b000000"}, None, ("negative-length", "padding", 50)),
        ({0: "ffffffff"}, None, ("missing-bytes", "undecoded", 50)),
        ({0: "10"}, None, ("negative-length", "padding", 50)),
    ],
    contradictions=[
        ({"element_count": 1}, "format_name_list"),
        ({"header_size": 56}, "undecoded"),
        ({"padding": b""}, "padding"),
    ],
)


def test_a_size_below_the_fixed_part_is_named_beside_the_error() -> None:
    result = inspect(b"\x0b" + CASES.data[1:], "mqf_address_header")
    assert result.error is not None
    assert [anomaly.code for anomaly in result.anomalies] == ["mqf_address_header.header-size"]
    assert len(result.packet.format_name_list) == 2


def test_the_rest_behind_an_element_of_unknown_type_is_kept() -> None:
    data = CASES.data[:32] + b"\x04" + CASES.data[33:]
    value = decode(data, "mqf_address_header")
    assert len(value.format_name_list) == 1
    assert value.undecoded == data[32:50]
    assert encode(value) == data
