"""SessionHeader, [MS-MQMQ] 2.2.20.4."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import pytest

from msmq_wire.engines.codec import decode, encode
from msmq_wire.wire.fields import WireStruct
from msmq_wire.wire.headers.session_header import SessionHeader

Judge = Callable[[str, bytes, Mapping[int, str]], list[tuple[str, str, int, int]]]
Refusal = Callable[[str, bytes], tuple[str, str, int]]

_DATA = bytes.fromhex(
    "03 00 "  # AckSequenceNumber
    "02 00 "  # RecoverableMsgAckSeqNumber
    "05 00 00 80 "  # RecoverableMsgAckFlags
    "09 00 "  # UserMsgSequenceNumber
    "08 00 "  # RecoverableMsgSeqNumber
    "40 00 "  # WindowSize
    "ce fa "  # Reserved
)
_VALUE = SessionHeader(
    ack_sequence_number=3,
    recoverable_msg_ack_seq_number=2,
    recoverable_msg_ack_flags=0x80000005,
    user_msg_sequence_number=9,
    recoverable_msg_seq_number=8,
    window_size=0x40,
    reserved=0xFACE,
)

_BROKEN = [
    ({12: "0000"}, [("window-size", "window_size", 12, 2)]),
]


def test_the_fields_lie_where_the_section_puts_them() -> None:
    assert decode(_DATA, "session_header") == _VALUE
    assert encode(_VALUE) == _DATA


@pytest.mark.parametrize(("patch", "field", "value"), [({14: "0000"}, "reserved", 0)])
def test_bytes_without_a_meaning_are_kept_and_not_judged(
    patch: dict[int, str], field: str, value: int | bytes, judge: Judge, bent: Callable[[bytes, Any], bytes]
) -> None:
    assert getattr(decode(bent(_DATA, patch), "session_header"), field) == value
    assert judge("session_header", _DATA, patch) == []


@pytest.mark.parametrize(("patch", "spots"), _BROKEN, ids=[spots[0][0] for _, spots in _BROKEN])
def test_a_broken_must_is_named_where_it_lies(
    patch: dict[int, str], spots: list[tuple[str, str, int, int]], judge: Judge
) -> None:
    expected = [(f"session_header.{code}", path, offset, length) for code, path, offset, length in spots]
    assert judge("session_header", _DATA, patch) == expected


def test_every_must_is_broken_once_and_held_once(judge: Judge) -> None:
    assert [spots[0][0] for _, spots in _BROKEN] == [must.code for must in SessionHeader.MUSTS]
    assert judge("session_header", _DATA, {}) == []


@pytest.mark.parametrize("patch", [{12: "0100"}, {12: "ffff"}, {0: "ffffffffffffffffffffffff"}])
def test_values_at_the_border_are_no_anomaly(patch: dict[int, str], judge: Judge) -> None:
    assert judge("session_header", _DATA, patch) == []


@pytest.mark.parametrize(
    ("patch", "cut", "expected"),
    [({}, 7, ("missing-bytes", "recoverable_msg_ack_flags", 4)), ({}, 15, ("missing-bytes", "reserved", 14))],
)
def test_bytes_that_cannot_be_decoded_are_refused_where_they_fail(
    patch: dict[int, str],
    cut: int | None,
    expected: tuple[str, str, int],
    refusal: Refusal,
    bent: Callable[[bytes, Any], bytes],
) -> None:
    assert refusal("session_header", bent(_DATA, patch)[:cut]) == expected


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"window_size": 1 << 16}, "window_size"),
    ],
)
def test_a_value_that_contradicts_itself_is_not_written(
    changes: dict[str, Any], path: str, contradiction: Callable[[WireStruct], str]
) -> None:
    assert contradiction(msgspec.structs.replace(_VALUE, **changes)) == path
