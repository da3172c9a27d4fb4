"""How a structure's test file declares what its bytes are, as data, and what judges bent bytes.

`tests.wire.test_cases` checks every declaration; the file itself tests only what is its structure's own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

import pytest

from msmq_wire.engines.codec import decode, encode, inspect
from msmq_wire.errors import DecodeError, EncodeError
from tests.hex_files import hex_bytes

_PACKETS = Path(__file__).resolve().parents[2] / "fixtures" / "packets"

Change = Mapping[int, str] | bytes
"""Hex digits to write at byte offsets, which may reach past the end; or all the bytes."""
Spot = tuple[str, str, int, int]
"""Code, path, offset and length of an anomaly."""
Refusal = tuple[str, str, int]
"""Code, path and offset of an error."""

_T = TypeVar("_T")


@dataclass(frozen=True, kw_only=True)
class Cases(Generic[_T]):
    """A value of a structure, its bytes, and one row for each change of either that tells something.

    The code of a `Spot` in a row lacks the stem. The first one is that of the MUST the row is for.
    """

    data: bytes
    value: _T
    bits: str = ""
    """The figure of its bits, from bit 0: ``"pr:3 in sh"``."""
    kept: Sequence[tuple[Change, str, object]] = ()
    """Bytes without a meaning, and what a field keeps of them."""
    broken: Sequence[tuple[Change, Sequence[Spot]]] = ()
    """One row for each of its MUSTS, in their order."""
    wrapping: Sequence[tuple[Change, Sequence[Spot]]] = ()
    """Sums that wrap in 32 bits: the bytes end in an error, and a MUST is named beside it."""
    elsewhere: Set[str] = frozenset()
    """MUSTS that these bytes cannot break: they have tests of their own."""
    borders: Sequence[Change] = ()
    """Values that are only just allowed."""
    refused: Sequence[tuple[Change, int | None, Refusal]] = ()
    """Bytes, where to cut them, and the error they end in."""
    contradictions: Sequence[tuple[Mapping[str, object], str]] = ()
    """Fields to replace, and the path of the error that the value cannot be written for."""


def bent(data: bytes, change: Change) -> bytes:
    """Some bytes after a change."""
    if isinstance(change, bytes):
        return change
    for offset, digits in change.items():
        new = bytes.fromhex(digits)
        data = data[:offset] + new + data[offset + len(new) :]
    return data


def judge(stem: str, data: bytes) -> list[Spot]:
    """The anomalies of some bytes, which must survive decode and encode."""
    result = inspect(data, stem)
    assert result.error is None, str(result.error)
    assert encode(result.packet) == data[: result.consumed]
    return [(found.code, found.path, found.offset, found.length) for found in result.anomalies]


def refusal(stem: str, data: bytes) -> Refusal:
    """The error that some bytes end in."""
    with pytest.raises(DecodeError) as caught:
        decode(data, stem)
    error = caught.value
    assert error.spec is not None
    return error.code, error.path, error.offset


def contradiction(value: object) -> str:
    """The path of the error that a value cannot be written for."""
    with pytest.raises(EncodeError) as caught:
        encode(value)
    return caught.value.path


def packet_bytes(name: str) -> bytes:
    """The bytes of a fixture by its name, as in ``user_message/everything``."""
    return hex_bytes(_PACKETS / f"{name}.hex")
