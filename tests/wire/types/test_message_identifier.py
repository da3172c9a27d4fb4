"""MessageIdentifier, [MS-MQMQ] 2.2.18.1.3."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from msmq_wire.engines.codec import decode, encode
from msmq_wire.wire.fields import WireStruct
from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.message_identifier import MessageIdentifier

Refusal = Callable[[str, bytes], tuple[str, str, int]]

_DATA = bytes.fromhex(
    "d4c3b2a1 f6e5 8947 8abcdef012345678 "  # QueueManagerGuid
    "01 08 00 00 "  # Ordinal
)
_VALUE = MessageIdentifier(
    queue_manager_guid=GUID.parse("a1b2c3d4-e5f6-4789-8abc-def012345678"), ordinal=2049
)


def test_the_fields_lie_where_the_section_puts_them() -> None:
    assert decode(_DATA, "message_identifier") == _VALUE
    assert encode(_VALUE) == _DATA


@pytest.mark.parametrize(
    ("patch", "cut", "expected"),
    [({}, 15, ("missing-bytes", "queue_manager_guid", 0)), ({}, 19, ("missing-bytes", "ordinal", 16))],
)
def test_bytes_that_cannot_be_decoded_are_refused_where_they_fail(
    patch: dict[int, str],
    cut: int | None,
    expected: tuple[str, str, int],
    refusal: Refusal,
    bent: Callable[[bytes, Any], bytes],
) -> None:
    assert refusal("message_identifier", bent(_DATA, patch)[:cut]) == expected


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"queue_manager_guid": GUID(15)}, "queue_manager_guid"),
        ({"ordinal": 1 << 32}, "ordinal"),
    ],
)
def test_a_value_that_contradicts_itself_is_not_written(
    changes: dict[str, Any], path: str, contradiction: Callable[[WireStruct], str]
) -> None:
    assert contradiction(msgspec.structs.replace(_VALUE, **changes)) == path


def test_the_text_names_the_queue_manager_and_the_number() -> None:
    assert str(_VALUE) == "a1b2c3d4-e5f6-4789-8abc-def012345678\\2049"
