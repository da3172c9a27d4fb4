"""Sizes and alignment applied to packets of known length: where headers start and end, what is left."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from msmq_wire.engines.codec import decode, inspect
from msmq_wire.engines.reference import layout

Load = Callable[[str], bytes]

_STEMS = ("user_message", "message_packet")


# name, bytes, PacketSize, offset of the MessagePropertiesHeader, end of the last header, bytes left over
@pytest.mark.parametrize(
    ("name", "length", "size", "properties", "end", "left"),
    [
        ("frame_7_completed_synthetic", 2224, 2224, 0x88, 2224, 0),
        ("golden_srmp_origin_2404", 2404, 2404, 0xA4, 2392, 12),
        ("golden_srmp_origin_2380", 2380, 2380, 0xA4, 2368, 12),
        ("golden_226_of_230", 230, 226, 0x6C, 180, 46),
        ("golden_256_altered_frame_7", 256, 256, 0x88, 240, 16),
        ("golden_233_naked_probe", 233, 233, 0x7C, 232, 1),
    ],
)
def test_headers_start_and_end_where_the_rules_put_them(
    name: str, length: int, size: int, properties: int, end: int, left: int, packet_bytes: Load
) -> None:
    data = packet_bytes(f"user_message/{name}")
    packet = decode(data, "user_message")
    spans = layout(packet)
    assert len(data) == length
    assert packet.base_header.packet_size == size
    assert spans["message_properties_header"].offset == properties
    assert spans["undeclared"].offset == end
    assert len(packet.undeclared) == left
    assert len(inspect(data, "user_message").remainder) == length - size


@pytest.mark.parametrize(("name", "end"), [("2404", 2392), ("2380", 2368)])
def test_what_is_left_of_an_srmp_origin_packet_is_an_extension_header(
    name: str, end: int, packet_bytes: Load
) -> None:
    packet = decode(packet_bytes(f"message_packet/golden_srmp_origin_{name}"), "message_packet")
    extension = packet.extension_header
    assert layout(packet)["extension_header"].offset == end
    assert (extension.header_size, extension.remaining_headers_size, extension.flags) == (12, 0, 0)
    assert packet.undeclared == b""


@pytest.mark.parametrize("stem", _STEMS)
def test_the_parts_of_an_srmp_origin_packet_lie_where_they_were_seen(stem: str, packet_bytes: Load) -> None:
    data = packet_bytes(f"{stem}/golden_srmp_origin_2404")
    packet = decode(data, stem)
    spans = layout(packet)
    assert spans["srmp_envelope_header"].offset == 228
    envelope = spans["srmp_envelope_header.data"]
    assert (envelope.offset, envelope.offset + envelope.length) == (236, 1314)
    assert packet.srmp_envelope_header.data_length == 539
    assert spans["srmp_envelope_header.padding"].length == 2
    assert spans["compound_message_header"].offset == 1316
    assert spans["compound_message_header.data"].offset == 1332
    assert packet.compound_message_header.msg_body_offset == 995
    assert packet.compound_message_header.message_body == b"Message"
    assert packet.message_properties_header.message_size == 0
    assert (packet.srmp_envelope_header.header_id, packet.compound_message_header.header_id) == (0, 500)


@pytest.mark.parametrize("stem", _STEMS)
@pytest.mark.parametrize(("name", "left"), [("2404", 2176), ("2380", 2152)])
def test_an_envelope_whose_length_has_its_top_bit_set_stops_the_parse(
    name: str, left: int, stem: str, packet_bytes: Load
) -> None:
    data = packet_bytes(f"{stem}/golden_srmp_origin_{name}_top_bit")
    result = inspect(data, stem)
    assert result.error is not None
    assert (result.error.code, result.error.path) == ("past-packet-size", "srmp_envelope_header.data")
    envelope = result.error.offset - 8
    assert (envelope, len(data) - envelope) == (228, left)
    assert result.packet.srmp_envelope_header.data_length == 0x80000000 + 539
    codes = [anomaly.code for anomaly in result.anomalies]
    assert "srmp_envelope_header.data-length-wrap" in codes
