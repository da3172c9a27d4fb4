"""SoapHeader, [MS-MQMQ] 2.2.20.7."""

from __future__ import annotations

import msgspec

from msmq_wire.engines.codec import decode, encode
from msmq_wire.wire.headers.soap_header import SoapHeader
from msmq_wire.wire.types.wchar_text import WcharText
from tests.wire.cases import Cases, contradiction

CASES = Cases(
    data=bytes.fromhex(
        "20 03 "  # HeaderSectionID
        "a5 5a "  # Reserved
        "03 00 00 00 "  # HeaderDataLength
        "3c 00 3e 00 00 00 "  # Header "<>"
        "11 22 "  # padding
        "84 03 "  # BodySectionID
        "5a a5 "  # Reserved1
        "02 00 00 00 "  # BodyDataLength
        "62 00 00 00 "  # Body "b"
    ),
    value=SoapHeader(
        header_section_id=0x320,
        reserved=0x5AA5,
        header_data_length=3,
        header=WcharText.of("<>"),
        header_padding=b"\x11\x22",
        body_section_id=0x384,
        reserved1=0xA55A,
        body_data_length=2,
        body=WcharText.of("b"),
        padding=b"",
    ),
    kept=[
        ({2: "0000"}, "reserved", 0),
        ({18: "0000"}, "reserved1", 0),
        ({14: "0000"}, "header_padding", b"\x00\x00"),
    ],
    broken=[
        ({0: "2103"}, [("header-section-id", "header_section_id", 0, 2)]),
        (
            {16: "8503", 4: "04000000"},
            [("body-section-id", "body_section_id", 16, 2), ("header-terminated", "header", 8, 8)],
        ),
        ({12: "3f"}, [("header-terminated", "header", 8, 6)]),
        ({26: "01"}, [("body-terminated", "body", 24, 4)]),
    ],
    wrapping=[
        ({4: "fcffff7f"}, [("header-size-wrap", "header_data_length", 4, 4)]),
        ({20: "ffffffff"}, [("body-size-wrap", "body_data_length", 20, 4)]),
    ],
    refused=[
        ({}, 1, ("missing-bytes", "header_section_id", 0)),
        ({}, 13, ("missing-bytes", "header", 8)),
        ({}, 27, ("missing-bytes", "body", 24)),
        ({4: "ffffffff"}, None, ("missing-bytes", "header", 8)),
        ({20: "00000080"}, None, ("missing-bytes", "body", 24)),
    ],
    contradictions=[
        ({"header_data_length": 2}, "header"),
        ({"body_data_length": 3}, "body"),
        ({"padding": b"abcd"}, "padding"),
    ],
)


def test_a_body_section_directly_behind_an_odd_header_is_found_too() -> None:
    data = CASES.data[:14] + CASES.data[16:] + b"\xa5\x5a"
    value = decode(data, "soap_header")
    assert (value.header_padding, value.body.text, value.padding) == (b"", "b", b"\xa5\x5a")
    assert encode(value) == data


def test_a_padding_that_no_decode_gives_is_not_written() -> None:
    assert contradiction(msgspec.structs.replace(CASES.value, header_padding=b"abc")) == "header_padding"


def test_padding_that_is_not_there_is_not_missed() -> None:
    data = CASES.data[:20] + bytes.fromhex("01000000 0000")
    value = decode(data, "soap_header")
    assert (value.body.text, value.padding) == ("", b"")
    assert decode(data + b"\x01\x02", "soap_header").padding == b"\x01\x02"
