"""PublicQueueFormatName, [MS-MQMQ] 2.2.18.1.7.1."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from msmq_wire.engines.codec import decode, encode
from msmq_wire.wire.fields import WireStruct
from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.public_queue_format_name import PublicQueueFormatName

Refusal = Callable[[str, bytes], tuple[str, str, int]]

_DATA = bytes.fromhex(
    "d4c3b2a1 f6e5 8947 8abcdef012345678 "  # PublicQueueIdentifier
)
_VALUE = PublicQueueFormatName(public_queue_identifier=GUID.parse("a1b2c3d4-e5f6-4789-8abc-def012345678"))


def test_the_fields_lie_where_the_section_puts_them() -> None:
    assert decode(_DATA, "public_queue_format_name") == _VALUE
    assert encode(_VALUE) == _DATA


@pytest.mark.parametrize(
    ("patch", "cut", "expected"), [({}, 15, ("missing-bytes", "public_queue_identifier", 0))]
)
def test_bytes_that_cannot_be_decoded_are_refused_where_they_fail(
    patch: dict[int, str],
    cut: int | None,
    expected: tuple[str, str, int],
    refusal: Refusal,
    bent: Callable[[bytes, Any], bytes],
) -> None:
    assert refusal("public_queue_format_name", bent(_DATA, patch)[:cut]) == expected


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"public_queue_identifier": GUID()}, "public_queue_identifier"),
    ],
)
def test_a_value_that_contradicts_itself_is_not_written(
    changes: dict[str, Any], path: str, contradiction: Callable[[WireStruct], str]
) -> None:
    assert contradiction(msgspec.structs.replace(_VALUE, **changes)) == path
