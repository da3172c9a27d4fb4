"""EstablishConnection, [MS-MQQB] 2.2.3."""

from __future__ import annotations

from msmq_wire.wire.headers.base_header import BaseHeader
from msmq_wire.wire.headers.establish_connection_header import EstablishConnectionHeader
from msmq_wire.wire.headers.internal_header import InternalHeader
from msmq_wire.wire.packets.establish_connection import EstablishConnection
from msmq_wire.wire.types.guid import GUID
from tests.wire.cases import Cases

CASES = Cases(
    data=bytes.fromhex(
        "10 cd 0b 00 "  # BaseHeader
        "4c 49 4f 52 "
        "3c 02 00 00 "  # PacketSize
        "ff ff ff ff "  # TimeToReachQueue
        "00 00 02 00 "  # InternalHeader
        "d4c3b2a1 f6e5 8947 8abcdef012345678 "  # ClientGuid
        "00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 "  # ServerGuid
        "4e ca de 1d 10 03 00 00 "  # TimeStamp, OperatingSystem, Reserved
    )
    + b"\x5a" * 512,
    value=EstablishConnection(
        base_header=BaseHeader(reserved=0xCD, flags=0x0B, packet_size=572),
        internal_header=InternalHeader(flags=2),
        establish_connection_header=EstablishConnectionHeader(
            client_guid=GUID.parse("a1b2c3d4-e5f6-4789-8abc-def012345678"), time_stamp=501140046
        ),
    ),
    broken=[
        ({18: "01"}, [("packet-type", "internal_header.flags", 18, 2)]),
        ({2: "1b"}, [("session-header", "base_header.flags", 2, 2)]),
        ({2: "03"}, [("internal", "base_header.flags", 2, 2)]),
        ({2: "2b"}, [("no-debug-header", "base_header.flags", 2, 2)]),
        ({12: "00"}, [("time-to-reach-queue", "base_header.time_to_reach_queue", 12, 4)]),
        ({8: "40020000", 572: "aabbccdd"}, [("undeclared", "undeclared", 572, 4)]),
    ],
    borders=[{1: "00"}, {2: "08"}],
    refused=[
        ({}, 16, ("missing-bytes", "internal_header.reserved", 16)),
        ({}, 19, ("missing-bytes", "internal_header.flags", 18)),
        ({8: "12000000"}, None, ("past-packet-size", "internal_header.flags", 18)),
        ({8: "00000000"}, None, ("past-packet-size", "internal_header.reserved", 16)),
        ({8: "3b020000"}, None, ("past-packet-size", "establish_connection_header.padding", 60)),
        ({8: "ffffffff"}, None, ("missing-bytes", "undeclared", 572)),
    ],
    contradictions=[
        ({"undeclared": b"abcd"}, "undeclared"),
        ({"base_header": BaseHeader(packet_size=20)}, "undeclared"),
    ],
)
