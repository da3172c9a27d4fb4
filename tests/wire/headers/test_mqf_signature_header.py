"""MQFSignatureHeader, [MS-MQMQ] 2.2.20.3."""

from __future__ import annotations

from msmq_wire.engines.codec import decode, encode
from msmq_wire.wire.headers.mqf_signature_header import MQFSignatureHeader
from tests.wire.cases import Cases

CASES = Cases(
    data=bytes.fromhex(
        "5e 01 "  # ID
        "a5 5a "  # Reserved
        "05 00 00 00 "  # Size
        "01 02 03 04 05 "  # Signature
        "11 22 33 "  # padding
    ),
    value=MQFSignatureHeader(
        id=0x15E, reserved=0x5AA5, size=5, signature=b"\1\2\3\4\5", padding=b"\x11\x22\x33"
    ),
    kept=[({2: "0000"}, "reserved", 0), ({13: "000000"}, "padding", b"\x00\x00\x00")],
    broken=[
        ({0: "5f"}, [("id", "id", 0, 2)]),
    ],
    wrapping=[({4: "f8ffffff"}, [("size-wrap", "size", 4, 4)])],
    borders=[{4: "00"}],
    refused=[
        ({}, 7, ("missing-bytes", "size", 4)),
        ({}, 12, ("missing-bytes", "signature", 8)),
        ({4: "ffffffff"}, None, ("missing-bytes", "signature", 8)),
    ],
    contradictions=[
        ({"size": 4}, "signature"),
        ({"padding": b"ab"}, "padding"),
    ],
)


def test_padding_that_is_not_there_is_not_missed() -> None:
    value = decode(CASES.data[:13], "mqf_signature_header")
    assert (value.padding, encode(value)) == (b"", CASES.data[:13])
