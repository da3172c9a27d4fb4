"""SubqueueHeader, [MS-MQRR] 2.2.5.3."""

from __future__ import annotations

from msmq_wire.engines.codec import decode
from msmq_wire.wire.headers.subqueue_header import SubqueueHeader
from msmq_wire.wire.types.wchar_text import FixedWcharText
from tests.wire.cases import Cases

CASES = Cases(
    data=bytes.fromhex(
        "94 00 00 00 "  # HeaderSize
        "00 00 01 80 "  # TM 0, AcknowledgementClass 0x8000, Reserved 0x4000
        "05 00 00 00 "  # AbortCounter
        "06 00 00 00 "  # MoveCounter
        "07 00 00 00 "  # LastMoveTime
        "73 00 71 00 "  # SubqueueName "sq"
    )
    + bytes(124),
    value=SubqueueHeader(
        header_size=148,
        flags=0x80010000,
        abort_counter=5,
        move_counter=6,
        last_move_time=7,
        subqueue_name=FixedWcharText.padded("sq", 64),
        target_subqueue_name=FixedWcharText(64),
    ),
    bits="tm acknowledgement_class:16 reserved:15",
    kept=[({4: "00000080"}, "flags", 2147483648)],
    broken=[
        ({0: "98", 148: "01020304"}, [("header-size", "header_size", 0, 4)]),
        ({4: "01"}, [("tm", "flags", 4, 4)]),
        ({82: "0100"}, [("subqueue-name-filled", "subqueue_name", 20, 64)]),
        ({88: "0100"}, [("target-subqueue-name-filled", "target_subqueue_name", 84, 64)]),
    ],
    borders=[{20: "6100" * 32}, {84: "6100" * 31}],
    refused=[
        ({}, 19, ("missing-bytes", "last_move_time", 16)),
        ({}, 83, ("missing-bytes", "subqueue_name", 20)),
        ({}, 147, ("missing-bytes", "target_subqueue_name", 84)),
        ({0: "93"}, None, ("negative-length", "undeclared", 148)),
        ({0: "ffffffff"}, None, ("missing-bytes", "undeclared", 148)),
    ],
    contradictions=[
        ({"subqueue_name": FixedWcharText(62)}, "subqueue_name"),
        ({"header_size": 149}, "undeclared"),
    ],
)


def test_a_name_ends_at_its_first_nul_or_fills_the_field() -> None:
    assert CASES.value.subqueue_name.text == "sq"
    assert CASES.value.target_subqueue_name.text == ""
    full = decode(CASES.data[:20] + b"a\0" * 32 + CASES.data[84:], "subqueue_header")
    assert full.subqueue_name.text == "a" * 32
