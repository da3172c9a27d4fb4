"""ExtendedAddressHeader, [MS-MQRR] 2.2.5.5."""

from __future__ import annotations

from msmq_wire.wire.headers.extended_address_header import ExtendedAddressHeader
from tests.wire.cases import Cases

CASES = Cases(
    data=bytes.fromhex(
        "1c 00 00 00 "  # HeaderSize
        "10 00 "  # AddressLength
        "06 00 "  # AddressType
        "03 00 00 00 "  # AddressScope
        "fe 80 00 00 00 00 00 00 00 00 00 00 00 00 00 01 "  # Address
    ),
    value=ExtendedAddressHeader(
        header_size=28,
        address_length=16,
        address_type=6,
        address_scope=3,
        address=bytes.fromhex("fe80") + bytes(13) + bytes((1,)),
    ),
    broken=[
        ({0: "20", 28: "01020304"}, [("header-size", "header_size", 0, 4)]),
        ({6: "02", 8: "00"}, [("address-type", "address_type", 6, 2)]),
        ({4: "08"}, [("address-length", "address_length", 4, 2)]),
        ({4: "04000100"}, [("address-scope", "address_scope", 8, 4)]),
    ],
    borders=[{4: "0400010000000000"}, {6: "0000"}, {4: "0000000000000000"}, {8: "00000000"}],
    refused=[
        ({}, 11, ("missing-bytes", "address_scope", 8)),
        ({}, 27, ("missing-bytes", "address", 12)),
        ({0: "1b"}, None, ("negative-length", "undeclared", 28)),
        ({0: "ffffffff"}, None, ("missing-bytes", "undeclared", 28)),
    ],
    contradictions=[
        ({"address": bytes(8)}, "address"),
        ({"address_length": 1 << 16}, "address_length"),
    ],
)
