"""PrivateQueueFormatNameId, [MS-MQMQ] 2.2.18.1.5.1."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from msmq_wire.engines.codec import decode, encode
from msmq_wire.wire.fields import WireStruct
from msmq_wire.wire.types.private_queue_format_name_id import PrivateQueueFormatNameId

Refusal = Callable[[str, bytes], tuple[str, str, int]]

_DATA = bytes.fromhex(
    "0f 00 00 80 "  # PrivateQueueIdentifier
)
_VALUE = PrivateQueueFormatNameId(private_queue_identifier=0x8000000F)


def test_the_fields_lie_where_the_section_puts_them() -> None:
    assert decode(_DATA, "private_queue_format_name_id") == _VALUE
    assert encode(_VALUE) == _DATA


@pytest.mark.parametrize(
    ("patch", "cut", "expected"), [({}, 3, ("missing-bytes", "private_queue_identifier", 0))]
)
def test_bytes_that_cannot_be_decoded_are_refused_where_they_fail(
    patch: dict[int, str],
    cut: int | None,
    expected: tuple[str, str, int],
    refusal: Refusal,
    bent: Callable[[bytes, Any], bytes],
) -> None:
    assert refusal("private_queue_format_name_id", bent(_DATA, patch)[:cut]) == expected


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"private_queue_identifier": 1 << 32}, "private_queue_identifier"),
    ],
)
def test_a_value_that_contradicts_itself_is_not_written(
    changes: dict[str, Any], path: str, contradiction: Callable[[WireStruct], str]
) -> None:
    assert contradiction(msgspec.structs.replace(_VALUE, **changes)) == path
