"""SID, [MS-DTYP] 2.4.2.2."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import pytest

from msmq_wire.engines.codec import decode, encode
from msmq_wire.errors import DecodeError
from msmq_wire.wire.fields import WireStruct
from msmq_wire.wire.types.sid import SID

Judge = Callable[[str, bytes, Mapping[int, str]], list[tuple[str, str, int, int]]]
Refusal = Callable[[str, bytes], tuple[str, str, int]]

_DATA = bytes.fromhex(
    "01 "  # Revision
    "02 "  # SubAuthorityCount
    "00 00 00 00 00 05 "  # IdentifierAuthority, big-endian
    "20 00 00 00 20 02 00 00 "  # SubAuthority, little-endian
)
_VALUE = SID(revision=1, sub_authority_count=2, identifier_authority=5, sub_authority=(32, 544))

_BROKEN = [
    ({0: "02"}, [("revision", "revision", 0, 1)]),
    ({1: "10", 16: "00" * 56}, [("sub-authority-count", "sub_authority_count", 1, 1)]),
]


def test_the_fields_lie_where_the_section_puts_them() -> None:
    assert decode(_DATA, "sid") == _VALUE
    assert encode(_VALUE) == _DATA


@pytest.mark.parametrize(("patch", "spots"), _BROKEN, ids=[spots[0][0] for _, spots in _BROKEN])
def test_a_broken_must_is_named_where_it_lies(
    patch: dict[int, str], spots: list[tuple[str, str, int, int]], judge: Judge
) -> None:
    expected = [(f"sid.{code}", path, offset, length) for code, path, offset, length in spots]
    assert judge("sid", _DATA, patch) == expected


def test_every_must_is_broken_once_and_held_once(judge: Judge) -> None:
    assert [spots[0][0] for _, spots in _BROKEN] == [must.code for must in SID.MUSTS]
    assert judge("sid", _DATA, {}) == []


@pytest.mark.parametrize("patch", [{1: "0f", 16: "00" * 52}, {1: "00"}])
def test_values_at_the_border_are_no_anomaly(patch: dict[int, str], judge: Judge) -> None:
    assert judge("sid", _DATA, patch) == []


@pytest.mark.parametrize(
    ("patch", "cut", "expected"),
    [
        ({}, 1, ("missing-bytes", "sub_authority_count", 1)),
        ({}, 7, ("missing-bytes", "identifier_authority", 2)),
        ({1: "ff"}, None, ("missing-bytes", "sub_authority[2]", 16)),
    ],
)
def test_bytes_that_cannot_be_decoded_are_refused_where_they_fail(
    patch: dict[int, str],
    cut: int | None,
    expected: tuple[str, str, int],
    refusal: Refusal,
    bent: Callable[[bytes, Any], bytes],
) -> None:
    assert refusal("sid", bent(_DATA, patch)[:cut]) == expected


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"sub_authority_count": 3}, "sub_authority"),
        ({"sub_authority": (32, 1 << 32)}, "sub_authority[1]"),
        ({"identifier_authority": 1 << 48}, "identifier_authority"),
    ],
)
def test_a_value_that_contradicts_itself_is_not_written(
    changes: dict[str, Any], path: str, contradiction: Callable[[WireStruct], str]
) -> None:
    assert contradiction(msgspec.structs.replace(_VALUE, **changes)) == path


def test_the_text_is_the_usual_one() -> None:
    assert str(_VALUE) == "S-1-5-32-544"


def test_a_cut_keeps_the_sub_authorities_before_it() -> None:
    with pytest.raises(DecodeError) as caught:
        decode(_DATA[:15], "sid")
    assert caught.value.partial.sub_authority == (32,)
