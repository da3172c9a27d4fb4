"""MQFDirectQueueFormatName, [MS-MQMQ] 2.2.18.1.4.1."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import pytest

from msmq_wire.engines.codec import decode, encode
from msmq_wire.wire.fields import WireStruct
from msmq_wire.wire.types.mqf_direct_queue_format_name import MQFDirectQueueFormatName
from msmq_wire.wire.types.wchar_text import WcharText

Judge = Callable[[str, bytes, Mapping[int, str]], list[tuple[str, str, int, int]]]
Refusal = Callable[[str, bytes], tuple[str, str, int]]

_DATA = bytes.fromhex(
    "4f 00 53 00 3a 00 68 00 5c 00 71 00 00 00 "  # DirectFormatName "OS:h\q"
)
_VALUE = MQFDirectQueueFormatName(direct_format_name=WcharText.of("OS:h\\q"))

_BROKEN = [
    ({0: "58"}, [("direct-format-name", "direct_format_name", 0, 14)]),
]


def test_the_fields_lie_where_the_section_puts_them() -> None:
    assert decode(_DATA, "mqf_direct_queue_format_name") == _VALUE
    assert encode(_VALUE) == _DATA


@pytest.mark.parametrize(("patch", "spots"), _BROKEN, ids=[spots[0][0] for _, spots in _BROKEN])
def test_a_broken_must_is_named_where_it_lies(
    patch: dict[int, str], spots: list[tuple[str, str, int, int]], judge: Judge
) -> None:
    expected = [
        (f"mqf_direct_queue_format_name.{code}", path, offset, length) for code, path, offset, length in spots
    ]
    assert judge("mqf_direct_queue_format_name", _DATA, patch) == expected


def test_every_must_is_broken_once_and_held_once(judge: Judge) -> None:
    assert [spots[0][0] for _, spots in _BROKEN] == [must.code for must in MQFDirectQueueFormatName.MUSTS]
    assert judge("mqf_direct_queue_format_name", _DATA, {}) == []


@pytest.mark.parametrize(
    ("patch", "cut", "expected"),
    [
        ({}, 12, ("missing-bytes", "direct_format_name", 0)),
        ({}, 13, ("missing-bytes", "direct_format_name", 0)),
        ({}, 0, ("missing-bytes", "direct_format_name", 0)),
    ],
)
def test_bytes_that_cannot_be_decoded_are_refused_where_they_fail(
    patch: dict[int, str],
    cut: int | None,
    expected: tuple[str, str, int],
    refusal: Refusal,
    bent: Callable[[bytes, Any], bytes],
) -> None:
    assert refusal("mqf_direct_queue_format_name", bent(_DATA, patch)[:cut]) == expected


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"direct_format_name": WcharText(b"A\0")}, "direct_format_name"),
        ({"direct_format_name": WcharText(b"A\0\0\0\0\0")}, "direct_format_name"),
        ({"direct_format_name": WcharText()}, "direct_format_name"),
    ],
)
def test_a_value_that_contradicts_itself_is_not_written(
    changes: dict[str, Any], path: str, contradiction: Callable[[WireStruct], str]
) -> None:
    assert contradiction(msgspec.structs.replace(_VALUE, **changes)) == path


def test_zeros_across_two_characters_end_nothing() -> None:
    data = b"\x00\x4f\x00\x50\x41\x00\x00\x42\x00\x00"
    assert decode(data, "mqf_direct_queue_format_name").direct_format_name == data
