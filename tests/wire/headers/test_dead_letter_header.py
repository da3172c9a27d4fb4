"""DeadLetterHeader, [MS-MQRR] 2.2.5.4."""

from __future__ import annotations

from msmq_wire.wire.headers.dead_letter_header import DeadLetterHeader
from msmq_wire.wire.types.wchar_text import WcharText
from tests.wire.cases import Cases

CASES = Cases(
    data=bytes.fromhex(
        "14 00 00 00 "  # HeaderSize
        "4f 00 53 00 3a 00 68 00 5c 00 71 00 00 00 "  # DeadLetterPathName "OS:h\q"
        "00 00 "  # padding
    ),
    value=DeadLetterHeader(header_size=20, dead_letter_path_name=WcharText.of("OS:h\\q"), padding=b"\0\0"),
    broken=[
        ({0: "18", 20: "00000000"}, [("header-size", "header_size", 0, 4)]),
        ({18: "0100"}, [("padding", "padding", 18, 2)]),
    ],
    borders=[{16: "41000000", 0: "14"}],
    refused=[
        ({}, 3, ("missing-bytes", "header_size", 0)),
        ({}, 17, ("missing-bytes", "dead_letter_path_name", 4)),
        ({}, 19, ("missing-bytes", "padding", 18)),
        ({0: "11"}, None, ("negative-length", "padding", 18)),
        ({0: "ffffffff"}, None, ("missing-bytes", "padding", 18)),
    ],
    contradictions=[
        ({"header_size": 19}, "padding"),
        ({"dead_letter_path_name": WcharText(b"a\0")}, "dead_letter_path_name"),
    ],
)
