"""MultiQueueFormatHeader, [MS-MQMQ] 2.2.20.1."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import pytest

from msmq_wire.engines.codec import decode, encode
from msmq_wire.wire.fields import WireStruct
from msmq_wire.wire.headers.mqf_address_header import MQFAddressHeader
from msmq_wire.wire.headers.mqf_signature_header import MQFSignatureHeader
from msmq_wire.wire.headers.multi_queue_format_header import MultiQueueFormatHeader

Judge = Callable[[str, bytes, Mapping[int, str]], list[tuple[str, str, int, int]]]
Refusal = Callable[[str, bytes], tuple[str, str, int]]

_DATA = bytes.fromhex(
    "0c 00 00 00 64 00 00 00 00 00 00 00 "  # Destination
    "0c 00 00 00 c8 00 00 00 00 00 00 00 "  # Administration
    "0c 00 00 00 2c 01 00 00 00 00 00 00 "  # Response
    "5e 01 00 00 00 00 00 00 "  # Signature
)
_VALUE = MultiQueueFormatHeader(
    destination=MQFAddressHeader(),
    administration=MQFAddressHeader(header_id=0xC8),
    response=MQFAddressHeader(header_id=0x12C),
    signature=MQFSignatureHeader(),
)

_BROKEN = [
    ({4: "c8"}, [("destination-id", "destination.header_id", 4, 2)]),
]


def test_the_fields_lie_where_the_section_puts_them() -> None:
    assert decode(_DATA, "multi_queue_format_header") == _VALUE
    assert encode(_VALUE) == _DATA


@pytest.mark.parametrize(("patch", "spots"), _BROKEN, ids=[spots[0][0] for _, spots in _BROKEN])
def test_a_broken_must_is_named_where_it_lies(
    patch: dict[int, str], spots: list[tuple[str, str, int, int]], judge: Judge
) -> None:
    expected = [
        (f"multi_queue_format_header.{code}", path, offset, length) for code, path, offset, length in spots
    ]
    assert judge("multi_queue_format_header", _DATA, patch) == expected


def test_every_must_is_broken_once_and_held_once(judge: Judge) -> None:
    assert [spots[0][0] for _, spots in _BROKEN] == [must.code for must in MultiQueueFormatHeader.MUSTS]
    assert judge("multi_queue_format_header", _DATA, {}) == []


@pytest.mark.parametrize(
    ("patch", "cut", "expected"),
    [
        ({}, 3, ("missing-bytes", "destination.header_size", 0)),
        ({}, 11, ("missing-bytes", "destination.element_count", 8)),
        ({}, 23, ("missing-bytes", "administration.element_count", 20)),
        ({}, 43, ("missing-bytes", "signature.size", 40)),
    ],
)
def test_bytes_that_cannot_be_decoded_are_refused_where_they_fail(
    patch: dict[int, str],
    cut: int | None,
    expected: tuple[str, str, int],
    refusal: Refusal,
    bent: Callable[[bytes, Any], bytes],
) -> None:
    assert refusal("multi_queue_format_header", bent(_DATA, patch)[:cut]) == expected


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"destination": MQFAddressHeader(header_size=8)}, "destination.padding"),
    ],
)
def test_a_value_that_contradicts_itself_is_not_written(
    changes: dict[str, Any], path: str, contradiction: Callable[[WireStruct], str]
) -> None:
    assert contradiction(msgspec.structs.replace(_VALUE, **changes)) == path


@pytest.mark.parametrize("present", range(8))
def test_a_part_is_present_if_its_identifier_stands_where_it_belongs(present: int) -> None:
    parts = (_DATA[12:24], _DATA[24:36], _DATA[36:44])
    data = _DATA[:12] + b"".join(part for bit, part in enumerate(parts) if present >> bit & 1)
    value = decode(data, "multi_queue_format_header")
    found = (value.administration, value.response, value.signature)
    assert [part is not None for part in found] == [bool(present >> bit & 1) for bit in range(3)]
    assert encode(value) == data
