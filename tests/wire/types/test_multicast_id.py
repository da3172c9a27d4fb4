"""MulticastID, [MS-MQMQ] 2.2.10."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from msmq_wire.engines.codec import decode, encode
from msmq_wire.wire.fields import WireStruct
from msmq_wire.wire.types.multicast_id import MulticastID

Refusal = Callable[[str, bytes], tuple[str, str, int]]

_DATA = bytes.fromhex(
    "e0 00 01 02 "  # m_address
    "d2 04 00 00 "  # m_port
)
_VALUE = MulticastID(address=0x020100E0, port=1234)


def test_the_fields_lie_where_the_section_puts_them() -> None:
    assert decode(_DATA, "multicast_id") == _VALUE
    assert encode(_VALUE) == _DATA


@pytest.mark.parametrize(
    ("patch", "cut", "expected"),
    [({}, 3, ("missing-bytes", "address", 0)), ({}, 7, ("missing-bytes", "port", 4))],
)
def test_bytes_that_cannot_be_decoded_are_refused_where_they_fail(
    patch: dict[int, str],
    cut: int | None,
    expected: tuple[str, str, int],
    refusal: Refusal,
    bent: Callable[[bytes, Any], bytes],
) -> None:
    assert refusal("multicast_id", bent(_DATA, patch)[:cut]) == expected


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"port": 1 << 32}, "port"),
    ],
)
def test_a_value_that_contradicts_itself_is_not_written(
    changes: dict[str, Any], path: str, contradiction: Callable[[WireStruct], str]
) -> None:
    assert contradiction(msgspec.structs.replace(_VALUE, **changes)) == path
