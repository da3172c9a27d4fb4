"""BaseHeader, [MS-MQMQ] 2.2.19.1."""

from __future__ import annotations

import pytest

from msmq_wire.wire.headers.base_header import BaseHeader
from tests.wire.cases import Cases

CASES = Cases(
    data=bytes.fromhex(
        "10 "  # VersionNumber
        "5a "  # Reserved
        "0b 00 "  # Flags: PR 3, IN
        "4c 49 4f 52 "  # Signature
        "3c 02 00 00 "  # PacketSize
        "00 46 05 00 "  # TimeToReachQueue
    ),
    value=BaseHeader(
        version_number=0x10,
        reserved=0x5A,
        flags=0x000B,
        signature=0x524F494C,
        packet_size=572,
        time_to_reach_queue=345600,
    ),
    bits="pr:3 in sh dh x9 x8 tr x6 x5 x4 x3 x2 x1 x0",
    kept=[({1: "cd"}, "reserved", 205), ({2: "c3fe"}, "flags", 65219)],
    broken=[
        ({0: "11"}, [("version-number", "version_number", 0, 1)]),
        ({4: "4d"}, [("signature", "signature", 4, 4)]),
        ({8: "01004000"}, [("packet-size-maximum", "packet_size", 8, 4)]),
        ({2: "0b01"}, [("tracing", "flags", 2, 2)]),
    ],
    borders=[{8: "00004000"}, {8: "00000000"}, {2: "2b01"}, {12: "ffffffff"}],
    refused=[
        ({}, 3, ("missing-bytes", "flags", 2)),
        ({}, 15, ("missing-bytes", "time_to_reach_queue", 12)),
        ({}, 0, ("missing-bytes", "version_number", 0)),
    ],
    contradictions=[
        ({"version_number": 256}, "version_number"),
        ({"flags": -1}, "flags"),
        ({"packet_size": 1 << 32}, "packet_size"),
    ],
)


def test_the_names_of_bits_are_checked() -> None:
    with pytest.raises(ValueError, match="no bit 'x7'"):
        CASES.value.bit("x7")
    assert (CASES.value.bit("pr"), CASES.value.bit("in"), CASES.value.bit("sh")) == (3, 1, 0)
