"""EstablishConnectionHeader, [MS-MQQB] 2.2.3.1."""

from __future__ import annotations

from msmq_wire.wire.headers.establish_connection_header import EstablishConnectionHeader
from msmq_wire.wire.types.guid import GUID, NULL_GUID
from tests.wire.cases import Cases

CASES = Cases(
    data=bytes.fromhex(
        "d4c3b2a1 f6e5 8947 8abcdef012345678 "  # ClientGuid
        "00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 "  # ServerGuid
        "4e ca de 1d "  # TimeStamp
        "10 03 "  # OperatingSystem: RE 0x10, SE, OS
        "00 00 "  # Reserved
    )
    + b"\xa5" * 512,
    value=EstablishConnectionHeader(
        client_guid=GUID.parse("a1b2c3d4-e5f6-4789-8abc-def012345678"),
        server_guid=NULL_GUID,
        time_stamp=501140046,
        operating_system=0x0310,
        reserved=0,
        padding=b"\xa5" * 512,
    ),
    bits="re:8 se os qs x11 x12 x13 x14 x15",
    kept=[({36: "10ff"}, "operating_system", 65296), ({32: "00000000"}, "time_stamp", 0)],
    broken=[
        ({36: "00"}, [("operating-system", "operating_system", 36, 2)]),
        ({38: "0100"}, [("reserved", "reserved", 38, 2)]),
    ],
    refused=[
        ({}, 15, ("missing-bytes", "client_guid", 0)),
        ({}, 39, ("missing-bytes", "reserved", 38)),
        ({}, 551, ("missing-bytes", "padding", 40)),
    ],
    contradictions=[
        ({"padding": bytes(511)}, "padding"),
    ],
)
