"""ExtensionHeader, [MS-MQRR] 2.2.5.2."""

from __future__ import annotations

from msmq_wire.wire.headers.extension_header import ExtensionHeader
from tests.wire.cases import Cases

CASES = Cases(
    data=bytes.fromhex(
        "0c 00 00 00 "  # HeaderSize
        "b0 00 00 00 "  # RemainingHeadersSize
        "12 "  # Flags: SQ, EA
        "a5 5a ff "  # Reserved
    ),
    value=ExtensionHeader(header_size=12, remaining_headers_size=176, flags=0x12, reserved=b"\xa5\x5a\xff"),
    bits="dl sq x2 di ea x5 x6 x7",
    kept=[({9: "000000"}, "reserved", b"\x00\x00\x00"), ({8: "f6"}, "flags", 246), ({8: "1a"}, "flags", 26)],
    broken=[
        ({0: "0e", 12: "aabb"}, [("header-size", "header_size", 0, 4)]),
        ({8: "10"}, [("subqueue", "flags", 8, 1)]),
        ({8: "02"}, [("extended-address", "flags", 8, 1)]),
    ],
    borders=[{8: "13"}],
    refused=[
        ({}, 3, ("missing-bytes", "header_size", 0)),
        ({}, 11, ("missing-bytes", "reserved", 9)),
        ({0: "0b"}, None, ("negative-length", "undeclared", 12)),
        ({0: "ffffffff"}, None, ("missing-bytes", "undeclared", 12)),
    ],
    contradictions=[
        ({"header_size": 13}, "undeclared"),
        ({"reserved": b""}, "reserved"),
    ],
)
