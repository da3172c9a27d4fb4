"""DeadLetterHeader, [MS-MQRR] 2.2.5.4."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import pytest

from msmq_wire.engines.codec import decode, encode
from msmq_wire.wire.fields import WireStruct
from msmq_wire.wire.headers.dead_letter_header import DeadLetterHeader
from msmq_wire.wire.types.wchar_text import WcharText

Judge = Callable[[str, bytes, Mapping[int, str]], list[tuple[str, str, int, int]]]
Refusal = Callable[[str, bytes], tuple[str, str, int]]

_DATA = bytes.fromhex(
    "14 00 00 00 "  # HeaderSize
    "4f 00 53 00 3a 00 68 00 5c 00 71 00 00 00 "  # DeadLetterPathName "OS:h\q"
    "00 00 "  # padding
)
_VALUE = DeadLetterHeader(header_size=20, dead_letter_path_name=WcharText.of("OS:h\\q"), padding=b"\0\0")

_BROKEN = [
    ({0: "18", 20: "00000000"}, [("header-size", "header_size", 0, 4)]),
    ({18: "0100"}, [("padding", "padding", 18, 2)]),
]


def test_the_fields_lie_where_the_section_puts_them() -> None:
    assert decode(_DATA, "dead_letter_header") == _VALUE
    assert encode(_VALUE) == _DATA


@pytest.mark.parametrize(("patch", "spots"), _BROKEN, ids=[spots[0][0] for _, spots in _BROKEN])
def test_a_broken_must_is_named_where_it_lies(
    patch: dict[int, str], spots: list[tuple[str, str, int, int]], judge: Judge
) -> None:
    expected = [(f"dead_letter_header.{code}", path, offset, length) for code, path, offset, length in spots]
    assert judge("dead_letter_header", _DATA, patch) == expected


def test_every_must_is_broken_once_and_held_once(judge: Judge) -> None:
    assert [spots[0][0] for _, spots in _BROKEN] == [must.code for must in DeadLetterHeader.MUSTS]
    assert judge("dead_letter_header", _DATA, {}) == []


@pytest.mark.parametrize("patch", [{16: "41000000", 0: "14"}])
def test_values_at_the_border_are_no_anomaly(patch: dict[int, str], judge: Judge) -> None:
    assert judge("dead_letter_header", _DATA, patch) == []


@pytest.mark.parametrize(
    ("patch", "cut", "expected"),
    [
        ({}, 3, ("missing-bytes", "header_size", 0)),
        ({}, 17, ("missing-bytes", "dead_letter_path_name", 4)),
        ({}, 19, ("missing-bytes", "padding", 18)),
        ({0: "11"}, None, ("negative-length", "padding", 18)),
        ({0: "ffffffff"}, None, ("missing-bytes", "padding", 18)),
    ],
)
def test_bytes_that_cannot_be_decoded_are_refused_where_they_fail(
    patch: dict[int, str],
    cut: int | None,
    expected: tuple[str, str, int],
    refusal: Refusal,
    bent: Callable[[bytes, Any], bytes],
) -> None:
    assert refusal("dead_letter_header", bent(_DATA, patch)[:cut]) == expected


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"header_size": 19}, "padding"),
        ({"dead_letter_path_name": WcharText(b"a\0")}, "dead_letter_path_name"),
    ],
)
def test_a_value_that_contradicts_itself_is_not_written(
    changes: dict[str, Any], path: str, contradiction: Callable[[WireStruct], str]
) -> None:
    assert contradiction(msgspec.structs.replace(_VALUE, **changes)) == path
