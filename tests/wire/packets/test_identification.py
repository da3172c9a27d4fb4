"""Which packet some bytes are, [MS-MQQB] 3.1.5.1.1."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from msmq_wire.engines.codec import decode, inspect
from msmq_wire.errors import DecodeError
from msmq_wire.wire.packets.identification import recognise
from tests.wire.cases import packet_bytes


def _base(flags: int, packet_type: int = 0) -> bytes:
    start = struct.pack("<BBHIII", 0x10, 0, flags, 0x524F494C, 600, 0xFFFFFFFF)
    return start + struct.pack("<HH", 0, packet_type)


@pytest.mark.parametrize(
    ("data", "stem"),
    [
        pytest.param(_base(0x0B, 2), "establish_connection", id="PT 2"),
        pytest.param(_base(0x0B, 0xFF12), "establish_connection", id="PT 2, refused, reserved bits"),
        pytest.param(_base(0x0B, 3), "connection_parameters", id="PT 3"),
        pytest.param(_base(0x1B, 1), "session_ack", id="PT 1"),
        pytest.param(_base(0x03), "user_message", id="IN clear"),
        pytest.param(_base(0x13), "user_message", id="IN clear, SH set"),
        pytest.param(b"\x11" + _base(0x03)[1:], "user_message", id="another version is judged, not refused"),
        pytest.param(bytes.fromhex("017d 4855 04000000") + bytes(16), "ping", id="a ping"),
    ],
)
def test_a_packet_is_recognised_by_its_first_bytes(data: bytes, stem: str) -> None:
    assert recognise(data).stem() == stem


@pytest.mark.parametrize(
    ("data", "code", "path", "offset"),
    [
        (b"", "missing-bytes", "base_header.signature", 0),
        (bytes.fromhex("1000"), "missing-bytes", "base_header.signature", 2),
        (bytes.fromhex("10000300 4c494f"), "missing-bytes", "base_header.signature", 4),
        (b"GET / HTTP/1.1\r\n", "signature", "base_header.signature", 4),
        (bytes(64), "signature", "base_header.signature", 4),
        (_base(0x5548), "packet-type", "internal_header.flags", 18),
        (_base(0x0B, 0), "packet-type", "internal_header.flags", 18),
        (_base(0x0B, 4), "packet-type", "internal_header.flags", 18),
        (_base(0x0B, 15), "packet-type", "internal_header.flags", 18),
    ],
)
def test_what_is_no_packet_is_refused(data: bytes, code: str, path: str, offset: int) -> None:
    with pytest.raises(DecodeError) as caught:
        decode(data)
    assert (caught.value.code, caught.value.path, caught.value.offset) == (code, path, offset)
    assert caught.value.spec is not None
    assert inspect(data).type is None


def test_an_internal_packet_of_unknown_type_keeps_both_headers() -> None:
    result = inspect(_base(0x0B, 7) + bytes(8))
    assert result.packet.base_header.packet_size == 600
    assert result.packet.internal_header.flags == 7
    assert (result.consumed, len(result.remainder)) == (20, 8)


@pytest.mark.parametrize("cut", range(8, 20))
def test_an_internal_packet_that_is_cut_before_its_type_is_missing_bytes(cut: int) -> None:
    with pytest.raises(DecodeError) as caught:
        decode(_base(0x0B, 2)[:cut])
    assert caught.value.code == "missing-bytes"


@given(st.binary(max_size=80))
def test_any_bytes_are_a_packet_or_a_decode_error(data: bytes) -> None:
    result = inspect(data)
    assert data == data[: result.consumed] + result.remainder
    if result.error is None:
        assert decode(data) == result.packet
        return
    with pytest.raises(DecodeError) as caught:
        decode(data)
    assert (caught.value.code, caught.value.offset) == (result.error.code, result.error.offset)


def test_a_label_alone_makes_no_acknowledgment() -> None:
    data = packet_bytes("order_ack/private_queue_four")
    assert inspect(data).type == "order_ack"
    assert inspect(data, "user_message").type == "user_message"
    assert inspect(data[:2] + b"\3" + data[3:]).type == "user_message"


@pytest.mark.parametrize(
    ("case", "known_from", "kinds"),
    [
        # The queue takes 4 bytes behind the 64 before it, MessageClass stands 4 bytes into the next header.
        ("order_ack/private_queue_four", 68, ["user_message", "order_ack"]),
        # The name is there without its end, with half of that, and whole.
        ("order_ack/direct_tcp", 138, ["user_message", "order_ack", "user_message", "order_ack"]),
        ("final_ack/received", 68, ["user_message", "order_ack", "final_ack"]),
    ],
)
def test_an_acknowledgment_that_was_cut_is_known_by_what_is_there(
    case: str, known_from: int, kinds: list[str]
) -> None:
    whole = packet_bytes(case)
    types = [inspect(whole[:length]).type for length in range(20, len(whole))]
    assert types.index("order_ack") == known_from - 20
    assert [one for one, before in zip(types, [None, *types], strict=False) if one != before] == kinds


def test_a_message_that_was_cut_is_none() -> None:
    whole = packet_bytes("user_message/admin_direct_response_direct")
    assert {inspect(whole[:length]).type for length in range(20, len(whole))} == {"user_message"}
