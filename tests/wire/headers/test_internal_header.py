"""InternalHeader, [MS-MQQB] 2.2.1."""

from __future__ import annotations

from msmq_wire.wire.headers.internal_header import InternalHeader
from tests.wire.cases import Cases

CASES = Cases(
    data=bytes.fromhex(
        "00 00 "  # Reserved
        "12 00 "  # Flags: PT 2, CS
    ),
    value=InternalHeader(reserved=0, flags=0x12),
    bits="pt:4 cs x5 x6 x7 x8 x9 x10 x11 x12 x13 x14 x15",
    kept=[({2: "f2ff"}, "flags", 65522)],
    broken=[
        ({0: "0001"}, [("reserved", "reserved", 0, 2)]),
        ({2: "04"}, [("packet-type", "flags", 2, 2)]),
        ({2: "11"}, [("connection-state", "flags", 2, 2)]),
    ],
    borders=[{2: "01"}, {2: "13"}],
    refused=[({}, 1, ("missing-bytes", "reserved", 0)), ({}, 3, ("missing-bytes", "flags", 2))],
    contradictions=[
        ({"flags": 1 << 16}, "flags"),
    ],
)
