"""SRMPEnvelopeHeader, [MS-MQRR] 2.2.5.1.2.1."""

from __future__ import annotations

from msmq_wire.wire.headers.srmp_envelope_header import SRMPEnvelopeHeader
from msmq_wire.wire.types.wchar_text import WcharText
from tests.wire.cases import Cases

CASES = Cases(
    data=bytes.fromhex(
        "00 00 "  # HeaderId
        "a5 5a "  # Reserved
        "03 00 00 00 "  # DataLength
        "3c 00 3e 00 00 00 "  # Data "<>"
        "64 00 "  # padding
    ),
    value=SRMPEnvelopeHeader(
        header_id=0, reserved=0x5AA5, data_length=3, data=WcharText.of("<>"), padding=b"d\0"
    ),
    kept=[
        ({0: "ffff"}, "header_id", 65535),
        ({2: "0000"}, "reserved", 0),
        ({14: "0000"}, "padding", b"\x00\x00"),
    ],
    broken=[
        ({12: "21"}, [("data-terminated", "data", 8, 6)]),
    ],
    wrapping=[
        ({4: "03000080", 14: "0000"}, [("data-length-wrap", "data_length", 4, 4)]),
        ({4: "fcffff7f", 14: "0000"}, [("data-length-wrap", "data_length", 4, 4)]),
    ],
    refused=[
        ({}, 7, ("missing-bytes", "data_length", 4)),
        ({}, 13, ("missing-bytes", "data", 8)),
        ({}, 15, ("missing-bytes", "padding", 14)),
        ({4: "ffffffff"}, None, ("missing-bytes", "data", 8)),
    ],
    contradictions=[
        ({"data_length": 2}, "data"),
        ({"padding": b""}, "padding"),
    ],
)
