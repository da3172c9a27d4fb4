"""MQFFormatNameElement, [MS-MQMQ] 2.2.18.1.4."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import pytest

from msmq_wire.engines.codec import decode, encode
from msmq_wire.wire.fields import WireStruct
from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.mqf_direct_queue_format_name import MQFDirectQueueFormatName
from msmq_wire.wire.types.mqf_format_name_element import MQFFormatNameElement
from msmq_wire.wire.types.private_queue_format_name import PrivateQueueFormatName

Judge = Callable[[str, bytes, Mapping[int, str]], list[tuple[str, str, int, int]]]
Refusal = Callable[[str, bytes], tuple[str, str, int]]

_DATA = bytes.fromhex(
    "02 00 "  # FormatType
    "a5 5a "  # padding up to a multiple of 4
    "d4c3b2a1 f6e5 8947 8abcdef012345678 "  # SourceQueueManager
    "2a 00 00 00 "  # PrivateQueueIdentifier
)
_VALUE = MQFFormatNameElement(
    format_type=2,
    padding=b"\xa5\x5a",
    format_name=PrivateQueueFormatName(
        source_queue_manager=GUID.parse("a1b2c3d4-e5f6-4789-8abc-def012345678"), private_queue_identifier=42
    ),
)


def test_the_fields_lie_where_the_section_puts_them() -> None:
    assert decode(_DATA, "mqf_format_name_element") == _VALUE
    assert encode(_VALUE) == _DATA


@pytest.mark.parametrize(("patch", "field", "value"), [({2: "0000"}, "padding", b"\x00\x00")])
def test_bytes_without_a_meaning_are_kept_and_not_judged(
    patch: dict[int, str], field: str, value: int | bytes, judge: Judge, bent: Callable[[bytes, Any], bytes]
) -> None:
    assert getattr(decode(bent(_DATA, patch), "mqf_format_name_element"), field) == value
    assert judge("mqf_format_name_element", _DATA, patch) == []


@pytest.mark.parametrize(
    ("patch", "cut", "expected"),
    [
        ({}, 1, ("missing-bytes", "format_type", 0)),
        ({}, 3, ("missing-bytes", "padding", 2)),
        ({}, 19, ("missing-bytes", "format_name.source_queue_manager", 4)),
        ({}, 23, ("missing-bytes", "format_name.private_queue_identifier", 20)),
        ({0: "0000"}, None, ("unknown-selector", "format_name", 4)),
        ({0: "0400"}, None, ("unknown-selector", "format_name", 4)),
        ({0: "0500"}, None, ("unknown-selector", "format_name", 4)),
        ({0: "0700"}, None, ("unknown-selector", "format_name", 4)),
    ],
)
def test_bytes_that_cannot_be_decoded_are_refused_where_they_fail(
    patch: dict[int, str],
    cut: int | None,
    expected: tuple[str, str, int],
    refusal: Refusal,
    bent: Callable[[bytes, Any], bytes],
) -> None:
    assert refusal("mqf_format_name_element", bent(_DATA, patch)[:cut]) == expected


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"format_type": 1}, "format_name"),
        ({"format_type": 4}, "format_name"),
        ({"padding": b""}, "padding"),
        ({"format_name": MQFDirectQueueFormatName()}, "format_name"),
    ],
)
def test_a_value_that_contradicts_itself_is_not_written(
    changes: dict[str, Any], path: str, contradiction: Callable[[WireStruct], str]
) -> None:
    assert contradiction(msgspec.structs.replace(_VALUE, **changes)) == path


@pytest.mark.parametrize(("format_type", "size"), [(1, 20), (2, 24), (3, 4), (6, 20)])
def test_the_type_decides_the_layout(format_type: int, size: int) -> None:
    data = bytes((format_type, 0)) + bytes(size - 2)
    value = decode(data, "mqf_format_name_element")
    assert len(value.padding) == (0 if format_type == 3 else 2)
    assert encode(value) == data
