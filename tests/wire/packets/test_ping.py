"""Ping, [MS-MQQB] 2.2.7."""

from __future__ import annotations

from msmq_wire.wire.packets.ping import Ping
from msmq_wire.wire.types.guid import GUID
from tests.wire.cases import Cases

CASES = Cases(
    data=bytes.fromhex(
        "01 7d "  # Flags: RC and garbage
        "48 55 "  # Signature
        "04 00 00 00 "  # Cookie
        "d4c3b2a1 f6e5 8947 8abcdef012345678 "  # QMGuid
    ),
    value=Ping(
        flags=0x7D01, signature=0x5548, cookie=4, qm_guid=GUID.parse("a1b2c3d4-e5f6-4789-8abc-def012345678")
    ),
    bits="rc rf x:14",
    kept=[({0: "feff"}, "flags", 65534)],
    broken=[
        ({2: "49"}, [("signature", "signature", 2, 2)]),
    ],
    borders=[{4: "ffffffff"}],
    refused=[
        ({}, 0, ("missing-bytes", "flags", 0)),
        ({}, 7, ("missing-bytes", "cookie", 4)),
        ({}, 23, ("missing-bytes", "qm_guid", 8)),
    ],
    contradictions=[
        ({"qm_guid": GUID()}, "qm_guid"),
        ({"flags": 1 << 16}, "flags"),
    ],
)
