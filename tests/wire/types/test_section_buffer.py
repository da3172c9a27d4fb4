"""SectionBuffer, [MS-MQRR] 2.2.6."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import pytest

from msmq_wire.engines.codec import decode, encode
from msmq_wire.wire.fields import WireStruct
from msmq_wire.wire.types.section_buffer import SectionBuffer

Judge = Callable[[str, bytes, Mapping[int, str]], list[tuple[str, str, int, int]]]
Refusal = Callable[[str, bytes], tuple[str, str, int]]

_DATA = bytes.fromhex(
    "01 00 00 00 "  # SectionBufferType
    "06 00 00 00 "  # SectionSizeAlloc
    "03 00 00 00 "  # SectionSize
    "aa bb cc "  # what pSectionBuffer points at
)
_VALUE = SectionBuffer(section_buffer_type=1, section_size_alloc=6, section_size=3, data=b"\xaa\xbb\xcc")

_BROKEN = [
    ({0: "05", 4: "03"}, [("section-buffer-type", "section_buffer_type", 0, 4)]),
    ({0: "02"}, [("section-size-alloc-whole", "section_size_alloc", 4, 4)]),
    ({4: "02"}, [("section-size-alloc", "section_size_alloc", 4, 4)]),
]


def test_the_fields_lie_where_the_section_puts_them() -> None:
    assert decode(_DATA, "section_buffer") == _VALUE
    assert encode(_VALUE) == _DATA


@pytest.mark.parametrize(("patch", "spots"), _BROKEN, ids=[spots[0][0] for _, spots in _BROKEN])
def test_a_broken_must_is_named_where_it_lies(
    patch: dict[int, str], spots: list[tuple[str, str, int, int]], judge: Judge
) -> None:
    expected = [(f"section_buffer.{code}", path, offset, length) for code, path, offset, length in spots]
    assert judge("section_buffer", _DATA, patch) == expected


def test_every_must_is_broken_once_and_held_once(judge: Judge) -> None:
    assert [spots[0][0] for _, spots in _BROKEN] == [must.code for must in SectionBuffer.MUSTS]
    assert judge("section_buffer", _DATA, {}) == []


@pytest.mark.parametrize(
    "patch",
    [{0: "00", 4: "03"}, {0: "02", 4: "03"}, {0: "04", 4: "03"}, {0: "03"}, {4: "03"}, {4: "ffffffff"}],
)
def test_values_at_the_border_are_no_anomaly(patch: dict[int, str], judge: Judge) -> None:
    assert judge("section_buffer", _DATA, patch) == []


@pytest.mark.parametrize(
    ("patch", "cut", "expected"),
    [
        ({}, 3, ("missing-bytes", "section_buffer_type", 0)),
        ({}, 14, ("missing-bytes", "data", 12)),
        ({8: "ffffffff"}, None, ("missing-bytes", "data", 12)),
    ],
)
def test_bytes_that_cannot_be_decoded_are_refused_where_they_fail(
    patch: dict[int, str],
    cut: int | None,
    expected: tuple[str, str, int],
    refusal: Refusal,
    bent: Callable[[bytes, Any], bytes],
) -> None:
    assert refusal("section_buffer", bent(_DATA, patch)[:cut]) == expected


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"section_size": 2}, "data"),
        ({"section_size_alloc": 1 << 32}, "section_size_alloc"),
    ],
)
def test_a_value_that_contradicts_itself_is_not_written(
    changes: dict[str, Any], path: str, contradiction: Callable[[WireStruct], str]
) -> None:
    assert contradiction(msgspec.structs.replace(_VALUE, **changes)) == path
