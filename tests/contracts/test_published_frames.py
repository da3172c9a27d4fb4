"""The eight frames whose bytes [MS-MQQB] 4.1 prints. Where its prose says something else, the bytes win."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import pytest

from msmq_wire.engines.codec import decode, encode, inspect
from msmq_wire.errors import DecodeError
from msmq_wire.records.view import view

Load = Callable[[str], bytes]

_FRAMES = {
    1: "ping/frame_1_request",
    2: "ping/frame_2_response",
    3: "establish_connection/frame_3_request",
    4: "establish_connection/frame_4_response",
    5: "connection_parameters/frame_5_request",
    6: "connection_parameters/frame_6_response",
    7: "user_message/frame_7_cut",
    8: "session_ack/frame_8",
}
_SIZES = {1: 24, 2: 24, 3: 572, 4: 572, 5: 32, 6: 32, 7: 1650, 8: 36}


@pytest.mark.parametrize("number", _FRAMES)
def test_a_frame_has_the_bytes_the_document_prints(number: int, packet_bytes: Load) -> None:
    assert len(packet_bytes(_FRAMES[number])) == _SIZES[number]


@pytest.mark.parametrize("number", [number for number in _FRAMES if number != 7])
def test_a_frame_is_recognised_and_written_back_byte_for_byte(number: int, packet_bytes: Load) -> None:
    data = packet_bytes(_FRAMES[number])
    packet = decode(data)
    assert type(packet).stem() == _FRAMES[number].partition("/")[0]
    assert encode(packet) == data


@pytest.mark.parametrize("number", [number for number in _FRAMES if number != 7])
def test_honest_frames_break_no_must(number: int, packet_bytes: Load) -> None:
    assert inspect(packet_bytes(_FRAMES[number])).anomalies == ()


def test_the_cut_frame_keeps_its_label_and_says_where_it_ends(packet_bytes: Load) -> None:
    data = packet_bytes(_FRAMES[7])
    with pytest.raises(DecodeError) as caught:
        decode(data)
    error = caught.value
    assert (error.code, error.path) == ("missing-bytes", "message_properties_header.message_body")
    assert error.offset == 222
    assert str(error.spec) == "[MS-MQMQ] 2.2.19.3"
    properties = cast(Any, error.partial).message_properties_header
    assert properties.label.text == "mqsender label"
    assert properties.message_body == data[222:]
    result = inspect(data)
    assert (result.type, result.consumed, result.remainder) == ("user_message", 1650, b"")


def test_the_completed_frame_is_the_cut_one_and_its_body_repeated(packet_bytes: Load) -> None:
    cut, whole = packet_bytes(_FRAMES[7]), packet_bytes("user_message/frame_7_completed_synthetic")
    assert whole[:1650] == cut
    assert whole[1650:2222] == b"a\0" * 286
    assert encode(decode(whole)) == whole


def test_both_pings_carry_the_cookie_and_garbage_in_the_unused_flags(packet_bytes: Load) -> None:
    request, response = decode(packet_bytes(_FRAMES[1])), decode(packet_bytes(_FRAMES[2]))
    assert (request.flags, response.flags) == (0x7D01, 0xB295)
    assert request.cookie == response.cookie == 4


def test_guids_are_mixed_endian_although_the_prose_reverses_them(packet_bytes: Load) -> None:
    assert str(decode(packet_bytes(_FRAMES[1])).qm_guid) == "557358d1-9150-9595-4997-b6e611ea26c6"
    packet = inspect(packet_bytes(_FRAMES[7])).packet
    assert str(packet.user_header.source_queue_manager) == "557358d1-9150-9595-4997-b6e611ea26c6"


def test_the_establish_response_names_other_queue_managers_than_the_request(packet_bytes: Load) -> None:
    request = decode(packet_bytes(_FRAMES[3])).establish_connection_header
    response = decode(packet_bytes(_FRAMES[4])).establish_connection_header
    assert str(response.client_guid) == "1f742305-be5e-4177-bc77-c4dd7719e474"
    assert str(response.server_guid) == "3c3a6aeb-f567-4143-87d3-85cf4d68ceb4"
    assert request.client_guid != response.client_guid
    assert request.server_guid != response.server_guid
    assert request.time_stamp == response.time_stamp == 501140046


def test_the_establish_response_has_its_words_in_the_order_of_the_section(packet_bytes: Load) -> None:
    header = decode(packet_bytes(_FRAMES[4])).establish_connection_header
    assert (header.operating_system, header.reserved) == (0x0310, 0)
    assert (header.bit("re"), header.bit("se"), header.bit("os"), header.bit("qs")) == (0x10, 1, 1, 0)


@pytest.mark.parametrize(("number", "reserved"), [(3, 0xC0), (4, 0x5A), (8, 0xCD)])
def test_reserved_bytes_are_whatever_was_in_memory(number: int, reserved: int, packet_bytes: Load) -> None:
    assert decode(packet_bytes(_FRAMES[number])).base_header.reserved == reserved


def test_both_parameters_frames_are_the_same_bytes(packet_bytes: Load) -> None:
    assert packet_bytes(_FRAMES[5]) == packet_bytes(_FRAMES[6])
    header = decode(packet_bytes(_FRAMES[5])).connection_parameters_header
    assert (header.recoverable_ack_timeout, header.ack_timeout) == (0x5D8, 0x1D4C0)
    assert (header.reserved, header.window_size) == (0, 0x40)


def test_the_session_header_of_a_session_ack_is_inside_packet_size(packet_bytes: Load) -> None:
    packet = decode(packet_bytes(_FRAMES[8]))
    assert packet.base_header.packet_size == 36
    assert packet.base_header.flags == 0x1B
    assert packet.session_header.window_size == 0x40
    assert packet.undeclared == b""


# Prose of [MS-MQQB] 4.1.7: SentTime 1141966310, no acknowledgments, AllocationBodySize 20, a cipher 0x6601,
# a label of 15 bytes, a body of 20, no SecurityData.
@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("user_header.sent_time", 0x524F494C),
        ("message_properties_header.flags", 0x0F),
        ("message_properties_header.label_length", 15),
        ("message_properties_header.message_size", 2000),
        ("message_properties_header.allocation_body_size", 2000),
        ("message_properties_header.body_type", 8),
        ("message_properties_header.encryption_algorithm", 0x6801),
        ("message_properties_header.hash_algorithm", 0x8004),
        ("security_header.sender_id_size", 28),
        ("base_header.packet_size", 2224),
    ],
)
def test_the_bytes_of_the_user_message_win_over_its_prose(path: str, value: int, packet_bytes: Load) -> None:
    header, name = path.split(".")
    assert getattr(getattr(inspect(packet_bytes(_FRAMES[7])).packet, header), name) == value


def test_the_user_message_carries_a_sid_although_ai_is_clear(packet_bytes: Load) -> None:
    result = inspect(packet_bytes(_FRAMES[7]))
    header = result.packet.security_header
    assert (header.bit("ai"), header.bit("st"), len(header.security_data.security_id)) == (0, 1, 28)
    shown = view(result.packet)["security_header"]["security_data"]["security_id"]
    assert shown == "S-1-5-21-3181267629-1039849782-3663111779-1000"


def test_the_padding_of_the_user_message_is_two_bytes(packet_bytes: Load) -> None:
    packet = decode(packet_bytes("user_message/frame_7_completed_synthetic"))
    assert len(packet.message_properties_header.padding) == 2


def test_the_user_message_asks_for_acknowledgments_and_names_no_queue_for_them(packet_bytes: Load) -> None:
    (anomaly,) = inspect(packet_bytes(_FRAMES[7])).anomalies
    assert anomaly.code == "user_message.admin-queue-missing"
    assert (anomaly.path, anomaly.offset, anomaly.length) == ("user_header.flags", 60, 4)
