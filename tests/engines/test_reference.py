"""The reference engine: it defines what bytes mean, and keeps what it could decode."""

from __future__ import annotations

import struct
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from msmq_wire.engines import reference
from msmq_wire.engines.codec import inspect
from msmq_wire.errors import DecodeError, EncodeError
from msmq_wire.wire.headers.base_header import BaseHeader
from msmq_wire.wire.packets.user_message import UserMessage
from msmq_wire.wire.registry import STRUCTURES
from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.wchar_text import WcharText
from tests.effort import examples


def test_a_structure_is_read_from_the_start_and_says_how_far_it_went() -> None:
    data = reference.build(UserMessage())
    assert reference.parse(UserMessage, data + b"more") == (UserMessage(), 120)
    assert reference.parse(GUID, bytes(20)) == (GUID(bytes(16)), 16)
    assert reference.parse(WcharText, b"a\0b\0") == (b"a\0b\0", 4)


@pytest.mark.parametrize("value", [None, 5, "text", b"bytes", object()])
def test_what_is_no_structure_is_not_written(value: Any) -> None:
    with pytest.raises(EncodeError):
        reference.build(value)


@pytest.mark.parametrize("cls", [GUID, BaseHeader])
def test_a_class_is_no_value(cls: type) -> None:
    with pytest.raises(EncodeError):
        reference.build(cls)


# Once for every structure, so each takes a share of the examples.
@settings(max_examples=max(examples(20), settings().max_examples // len(STRUCTURES)))
@pytest.mark.parametrize("stem", sorted(STRUCTURES))
@given(data=st.binary(max_size=200))
def test_any_bytes_decode_and_come_back_or_are_a_decode_error(stem: str, data: bytes) -> None:
    cls = STRUCTURES[stem]
    # inspect raises nothing but hands over what this engine raised.
    error = inspect(data, stem).error
    if error is None:
        value, consumed = reference.parse(cls, data)
        assert reference.build(value) == data[:consumed]
    else:
        assert error.spec is not None
        assert 0 <= error.offset <= len(data)
        with pytest.raises(DecodeError):
            reference.parse(cls, data)


def test_the_layout_of_a_partial_value_ends_where_it_was_cut() -> None:
    data = reference.build(UserMessage())
    with pytest.raises(DecodeError) as caught:
        reference.parse(UserMessage, data[:62])
    spans = reference.layout(caught.value.partial)
    assert spans["user_header.message_id"].offset == 56
    assert "user_header.flags" not in spans
    assert reference.decoded_size(caught.value.partial) == 60


def test_missing_ranges_are_in_packet_offsets() -> None:
    data = reference.build(UserMessage())
    value, consumed = reference.parse(UserMessage, data + b"tail", missing=((200, 10),))
    assert (value, consumed) == (UserMessage(), 120)


def _queues(count: int) -> bytes:
    """A message to ``count`` queues whose direct names are empty."""
    queues = struct.pack("<IHHI", 12 + 4 * count, 0x64, 0, count) + b"\3\0\0\0" * count
    rest = bytes(44) + struct.pack("<I", 0xA00000) + bytes(56) + queues
    return struct.pack("<BBHIII", 0x10, 0, 3, 0x524F494C, 16 + len(rest), 0xFFFFFFFF) + rest


def test_anomalies_are_counted_up_to_a_limit() -> None:
    assert len(inspect(_queues(99)).anomalies) == 99
    result = inspect(_queues(500))
    assert result.error is None
    assert len(result.anomalies) == reference.MAX_ANOMALIES == 100


def test_anomalies_come_in_the_order_of_the_structures() -> None:
    anomalies = inspect(_queues(5)).anomalies
    assert [anomaly.offset for anomaly in anomalies] == [134 + 4 * index for index in range(5)]
    assert anomalies[4].path == (
        "multi_queue_format_header.destination.format_name_list[4].format_name.direct_format_name"
    )


def test_a_structure_that_is_no_struct_has_no_anomalies() -> None:
    assert reference.find_anomalies(GUID(bytes(16))) == ()
    assert reference.find_anomalies(None) == ()


def test_a_partial_value_is_judged_as_far_as_it_goes() -> None:
    header = msgspec.structs.replace(BaseHeader(), version_number=0x11, packet_size=msgspec.UNSET)
    (anomaly,) = reference.find_anomalies(header)
    assert (anomaly.code, anomaly.offset, anomaly.length) == ("base_header.version-number", 0, 1)
