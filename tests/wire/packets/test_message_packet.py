"""The message packet of remote read, [MS-MQRR] 2.2.5."""

from __future__ import annotations

import struct
from typing import Literal

import msgspec
import pytest

from msmq_wire.engines.codec import decode, encode, inspect
from msmq_wire.engines.fit import fit
from msmq_wire.engines.reference import layout
from msmq_wire.errors import EncodeError
from msmq_wire.wire.headers.base_header import BaseHeader
from msmq_wire.wire.headers.extended_address_header import ExtendedAddressHeader
from msmq_wire.wire.headers.extension_header import ExtensionHeader
from msmq_wire.wire.headers.message_properties_header import MessagePropertiesHeader
from msmq_wire.wire.headers.subqueue_header import SubqueueHeader
from msmq_wire.wire.headers.user_header import AddressOverlay, UserHeader
from msmq_wire.wire.packets.message_packet import MessagePacket
from msmq_wire.wire.stream import Span
from msmq_wire.wire.types.guid import GUID
from tests.wire.cases import Cases, bent, packet_bytes

_SUBQUEUE = struct.pack("<5I", 148, 0, 0, 0, 0) + bytes(128)
_DEAD_LETTER = bytes.fromhex("10000000 4f0053003a0068000000 0000")
_ADDRESS = struct.pack("<IHHI", 28, 4, 1, 0) + bytes((192, 0, 2, 7)) + bytes(12)
_IPV4 = bytes.fromhex("0400 0100 00000000 c0000207 00000000")
_DIRECT = bytes.fromhex("1000 4f0053003a00680031005c0071000000 a55a")


def _extension(flags: int, remaining: int) -> bytes:
    return struct.pack("<IIB3x", 12, remaining, flags)


_TRAILERS = _extension(0x12, 176) + _SUBQUEUE + _ADDRESS


def _packet(
    after: bytes = _TRAILERS,
    *,
    base: int = 3,
    user: int = 0x200000,
    address: bytes = bytes(16),
    queues: bytes = b"",
    acks: int = 0,
    counted: bool = True,
    behind: bytes = b"",
) -> bytes:
    header = bytes(range(16)) + address + struct.pack("<4I", 0xFFFFFFFF, 0, 1, user) + queues
    size = 16 + len(header) + 56 + (len(after) if counted else 0)
    start = struct.pack("<BBHIII", 0x10, 0, base, 0x524F494C, size, 0x5F5E1000)
    return start + header + bytes((acks,)) + bytes(55) + after + behind


_SESSION = struct.pack("<HHIHHHH", 12, 0, 0, 9, 2, 64, 0)
_ANNOUNCED = _packet(base=0x13)
_TEXT_ORDER = _ANNOUNCED[:120] + _SESSION + _TRAILERS
_OTHER_ORDER = _ANNOUNCED + _SESSION

_TRANSACTIONAL = packet_bytes("message_packet/transactional_secured")

CASES = Cases(
    data=_packet(),
    value=MessagePacket(
        base_header=BaseHeader(flags=3, packet_size=308, time_to_reach_queue=0x5F5E1000),
        user_header=UserHeader(source_queue_manager=GUID(bytes(range(16))), message_id=1, flags=0x200000),
        message_properties_header=MessagePropertiesHeader(hash_algorithm=0, encryption_algorithm=0),
        extension_header=ExtensionHeader(remaining_headers_size=176, flags=0x12),
        subqueue_header=SubqueueHeader(),
        extended_address_header=ExtendedAddressHeader(
            address_length=4, address_type=1, address=bytes((192, 0, 2, 7)) + bytes(12)
        ),
    ),
    broken=[
        (_packet(base=0x0B), [("not-internal", "base_header.flags", 2, 2)]),
        (bent(_TRANSACTIONAL, {2: "03"}), [("transaction-priority", "base_header.flags", 2, 2)]),
        (_packet(acks=1), [("admin-queue-missing", "user_header.flags", 60, 4)]),
        (
            _packet(user=0x204000, queues=bytes(4)),
            [("admin-queue-unasked", "user_header.admin_queue", 64, 4)],
        ),
        (
            _packet(_extension(0x12, 177) + _SUBQUEUE + _ADDRESS),
            [("remaining-headers-size", "extension_header.remaining_headers_size", 124, 4)],
        ),
        (_packet(counted=False), [("trailers-outside", "extension_header", 120, 12)]),
        (_packet(_TRAILERS + b"\1\2\3\4"), [("undeclared", "undeclared", 308, 4)]),
    ],
    borders=[_TRANSACTIONAL],
    refused=[
        ({}, 268, ("missing-bytes", "subqueue_header.target_subqueue_name", 216)),
        ({}, 281, ("missing-bytes", "extended_address_header.header_size", 280)),
        ({}, 307, ("missing-bytes", "extended_address_header.address", 292)),
    ],
    contradictions=[
        ({"extension_header": None}, "subqueue_header"),
        ({"subqueue_header": None}, "subqueue_header"),
        ({"extension_header": ExtensionHeader(flags=0x10)}, "subqueue_header"),
        ({"undeclared": b"\1"}, "undeclared"),
    ],
)


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(_packet(), id="all that a server adds"),
        pytest.param(_packet(b""), id="no trailing headers"),
        pytest.param(
            _packet(_extension(0x13, 192) + _SUBQUEUE + _DEAD_LETTER + _ADDRESS), id="a dead-letter queue"
        ),
        pytest.param(_packet(user=0x201C00, queues=_DIRECT, address=_IPV4), id="a host in the header"),
        pytest.param(_TEXT_ORDER, id="a SessionHeader, by the text"),
        pytest.param(_OTHER_ORDER, id="a SessionHeader behind the trailing headers"),
    ],
)
def test_an_honest_packet_breaks_no_must(data: bytes) -> None:
    result = inspect(data, "message_packet")
    assert (result.error, result.remainder, result.anomalies) == (None, b"", ())
    assert encode(result.packet) == data


def test_trailing_headers_are_found_inside_and_behind_packet_size() -> None:
    inside, behind = decode(_packet(), "message_packet"), decode(_packet(counted=False), "message_packet")
    assert inside.base_header.packet_size == behind.base_header.packet_size + 188
    names = ("extension_header", "subqueue_header", "dead_letter_header", "extended_address_header")
    assert [getattr(inside, name) for name in names] == [getattr(behind, name) for name in names]


@pytest.mark.parametrize("engine", ["rows", "reference"])
@pytest.mark.parametrize(
    ("data", "place"),
    [
        pytest.param(_TEXT_ORDER, 120, id="by the text"),
        pytest.param(_OTHER_ORDER, 308, id="behind the trailing headers"),
        pytest.param(_packet(b"", base=0x13) + _SESSION, 120, id="no trailing headers"),
        pytest.param(
            _packet(base=0x13, counted=False)[:120] + _SESSION + _TRAILERS, 120, id="trailing headers outside"
        ),
    ],
)
def test_a_session_header_stands_before_the_trailing_headers_or_behind_them(
    data: bytes, place: int, engine: Literal["rows", "reference"]
) -> None:
    result = inspect(data, "message_packet", engine=engine)
    packet = result.packet
    assert (result.error, result.remainder, packet.undeclared) == (None, b"", b"")
    name = "session_header" if place == 120 else "trailing_session_header"
    assert getattr(packet, name).user_msg_sequence_number == 9
    assert layout(packet)[name] == Span(place, 16)
    assert (packet.session_header is None) != (packet.trailing_session_header is None)
    assert (packet.extension_header is None) == (_TRAILERS not in data)
    assert encode(packet, engine=engine) == data
    assert fit(packet) == packet


@pytest.mark.parametrize("number", [12, 188, 255])
def test_a_session_header_is_not_taken_for_an_extension_header(number: int) -> None:
    session = struct.pack("<HHIHHHH", number, 0, 0, 9, 2, 64, 0)
    data = _ANNOUNCED[:120] + session + _TRAILERS
    assert decode(data, "message_packet").session_header.ack_sequence_number == number


def test_a_packet_has_one_session_header_if_it_says_so() -> None:
    packet = decode(_TEXT_ORDER, "message_packet")
    plain = msgspec.structs.replace(packet.base_header, flags=3)
    for changes in (
        {"trailing_session_header": packet.session_header},
        {"session_header": None},
        {"base_header": plain},
    ):
        with pytest.raises(EncodeError):
            encode(msgspec.structs.replace(packet, **changes))
    bare = fit(msgspec.structs.replace(packet, session_header=None))
    assert encode(bare) == _packet()
    behind = msgspec.structs.replace(bare, session_header=None, trailing_session_header=packet.session_header)
    assert encode(fit(behind)) == _OTHER_ORDER


@pytest.mark.parametrize("size", [0, 11, 256, 0xFFFFFFFF])
def test_bytes_without_the_shape_of_an_extension_header_are_undeclared(size: int) -> None:
    after = struct.pack("<II", size, 0) + bytes(4)
    packet = decode(_packet(after), "message_packet")
    assert packet.extension_header is None
    assert packet.undeclared == after


def test_what_follows_a_packet_without_trailing_headers_is_the_remainder() -> None:
    result = inspect(_packet(b"", behind=b"\xff\xff\xff\xffmore of it"), "message_packet")
    assert (result.error, result.packet.extension_header) == (None, None)
    assert result.remainder == b"\xff\xff\xff\xffmore of it"


def test_a_direct_destination_gives_the_address_another_meaning() -> None:
    data = _packet(user=0x201C00, queues=_DIRECT, address=_IPV4)
    overlay = decode(data, "message_packet").user_header.queue_manager_address
    assert overlay == AddressOverlay(address=bytes((192, 0, 2, 7, 0, 0, 0, 0)))
    assert isinstance(decode(data, "user_message").user_header.queue_manager_address, GUID)


def test_any_other_destination_leaves_it_a_guid() -> None:
    data = _packet(user=0x200C00, queues=bytes(4), address=bytes(range(16)))
    address = decode(data, "message_packet").user_header.queue_manager_address
    assert address == GUID(bytes(range(16)))


@pytest.mark.parametrize(
    ("address", "code", "offset", "length"),
    [
        ("0400 0200 00000000 c0000207 00000000", "address-type", 34, 2),
        ("0000 0000 00000000 00000000 00000000", "address-type", 34, 2),
        ("0400 0100 01000000 c0000207 00000000", "address-scope", 36, 4),
        ("0800 0100 00000000 c0000207 00000000", "address-length", 32, 2),
        ("0800 0600 00000000 fe800000 00000000", "address-length", 32, 2),
    ],
)
def test_an_address_that_contradicts_itself_is_an_anomaly(
    address: str, code: str, offset: int, length: int
) -> None:
    data = _packet(user=0x201C00, queues=_DIRECT, address=bytes.fromhex(address))
    (anomaly,) = inspect(data, "message_packet").anomalies
    assert anomaly.code == f"address_overlay.{code}"
    assert (anomaly.offset, anomaly.length) == (offset, length)
    assert str(anomaly.spec) == "[MS-MQRR] 2.2.5.1"


def test_an_ipv6_address_is_longer_than_its_field() -> None:
    address = bytes.fromhex("1000 0600 03000000 fe80000000000000")
    data = _packet(user=0x201C00, queues=_DIRECT, address=address)
    assert inspect(data, "message_packet").anomalies == ()


def test_a_message_packet_is_never_guessed() -> None:
    assert inspect(_packet()).type == "user_message"
