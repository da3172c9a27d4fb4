"""UserMessage, [MS-MQMQ] 2.2.20."""

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
from msmq_wire.wire.headers.message_properties_header import MessagePropertiesHeader
from msmq_wire.wire.headers.session_header import SessionHeader
from msmq_wire.wire.headers.transaction_header import TransactionHeader
from msmq_wire.wire.headers.user_header import UserHeader
from msmq_wire.wire.packets.user_message import UserMessage
from msmq_wire.wire.types.guid import GUID
from tests.wire.cases import Cases, packet_bytes

_MP = 0x200000
_SESSION = bytes.fromhex("0300 0200 05000080 0900 0800 4000 cefa")
_TRANSACTION = struct.pack("<5I", 0, 7, 42, 1, 0)
_DIRECT = bytes.fromhex("1000 4f0053003a00680031005c0071000000 a55a")
_NUMBER = bytes.fromhex("04000000")


def _packet(
    *,
    base: int = 3,
    user: int = _MP,
    address: bytes = bytes(16),
    queues: bytes = b"",
    before: bytes = b"",
    acks: int = 0,
    after: bytes = b"",
    size: int | None = None,
    session: bytes = b"",
) -> bytes:
    """A message without label, extension and body; ``before`` and ``after`` stand around its properties."""
    header = bytes(range(16)) + address + struct.pack("<4I", 0xFFFFFFFF, 0, 1, user) + queues
    body = header + before + bytes((acks,)) + bytes(55) + after
    whole = 16 + len(body) if size is None else size
    return struct.pack("<BBHIII", 0x10, 0, base, 0x524F494C, whole, 0xFFFFFFFF) + body + session


CASES = Cases(
    data=_packet(),
    value=UserMessage(
        base_header=BaseHeader(flags=3, packet_size=120),
        user_header=UserHeader(source_queue_manager=GUID(bytes(range(16))), message_id=1, flags=_MP),
        message_properties_header=MessagePropertiesHeader(hash_algorithm=0, encryption_algorithm=0),
    ),
    broken=[
        (_packet(base=0x0B), [("not-internal", "base_header.flags", 2, 2)]),
        (
            _packet(user=_MP | 0x100020, before=_TRANSACTION),
            [("transaction-priority", "base_header.flags", 2, 2)],
        ),
        (_packet(acks=0x01), [("admin-queue-missing", "user_header.flags", 60, 4)]),
        (
            _packet(user=_MP | 0x4000, queues=_NUMBER),
            [("admin-queue-unasked", "user_header.admin_queue", 64, 4)],
        ),
        (
            _packet(user=_MP | 0x2000000, after=struct.pack("<HHIHH", 0, 0, 1, 0, 0) + bytes(16)),
            [("over-http", "user_header.flags", 60, 4)],
        ),
        (
            _packet(user=_MP | 0x1C00, address=bytes(range(16)), queues=_DIRECT),
            [("queue-manager-address", "user_header.queue_manager_address", 32, 16)],
        ),
        (_packet(after=b"\1\2\3\4"), [("undeclared", "undeclared", 120, 4)]),
    ],
    refused=[
        (_packet(size=0), None, ("past-packet-size", "user_header.source_queue_manager", 16)),
        (_packet(size=15), None, ("past-packet-size", "user_header.source_queue_manager", 16)),
        (_packet(size=63), None, ("past-packet-size", "user_header.flags", 60)),
        (_packet(size=64), None, ("past-packet-size", "message_properties_header.flags", 64)),
        (_packet(size=119), None, ("past-packet-size", "message_properties_header.extension_size", 116)),
        (_packet(size=121), None, ("missing-bytes", "undeclared", 120)),
        (_packet(size=0xFFFFFFFF), None, ("missing-bytes", "undeclared", 120)),
    ],
    contradictions=[
        ({"transaction_header": TransactionHeader()}, "transaction_header"),
        ({"session_header": SessionHeader()}, "session_header"),
        ({"message_properties_header": None}, "message_properties_header"),
        ({"undeclared": b"\1"}, "undeclared"),
    ],
)


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(_packet(), id="the smallest"),
        pytest.param(_packet(base=0, user=_MP | 0x100020, before=_TRANSACTION), id="priority 0"),
        pytest.param(_packet(user=_MP | 0x4000, queues=_NUMBER, acks=0x0F), id="an administration queue"),
        pytest.param(_packet(acks=0xF0), id="unused bits ask for nothing"),
        pytest.param(_packet(user=_MP | 0x1C00, queues=_DIRECT), id="a direct destination"),
        pytest.param(_packet(user=_MP | 0x0C00, queues=_NUMBER), id="a private destination, NULL address"),
        pytest.param(_packet(base=0x13, session=_SESSION), id="a session header"),
        pytest.param(_packet(base=0xFEC3, user=_MP | 0xED000080), id="reserved bits"),
    ],
)
def test_an_honest_message_breaks_no_must(data: bytes) -> None:
    result = inspect(data)
    assert (result.type, result.error, result.remainder) == ("user_message", None, b"")
    assert result.anomalies == ()
    assert encode(result.packet) == data


def test_the_headers_stand_in_the_order_of_the_section() -> None:
    packet = decode(packet_bytes("user_message/everything"))
    spans = layout(packet)
    order = [
        "base_header",
        "user_header",
        "transaction_header",
        "security_header",
        "message_properties_header",
        "debug_header",
        "soap_header",
        "multi_queue_format_header",
        "session_header",
    ]
    assert all(getattr(packet, name) is not None for name in order)
    assert sorted(order, key=lambda name: spans[name].offset) == order


def test_the_session_header_lies_behind_packet_size() -> None:
    data = _packet(base=0x13, session=_SESSION)
    result = inspect(data + b"next")
    assert result.packet.base_header.packet_size == 120
    assert result.packet.session_header.user_msg_sequence_number == 9
    assert (result.consumed, result.remainder) == (136, b"next")


def test_bytes_that_no_header_claims_stand_before_the_session_header() -> None:
    data = _packet(base=0x13, after=b"\1\2\3\4", session=_SESSION)
    packet = decode(data)
    assert packet.undeclared == b"\1\2\3\4"
    assert packet.session_header.reserved == 0xFACE
    assert encode(packet) == data


def test_both_srmp_headers_come_with_ah() -> None:
    packet = decode(_packet(user=_MP | 0x2000000, after=struct.pack("<HHIHH", 0, 0, 1, 0, 0) + bytes(16)))
    assert packet.srmp_envelope_header.data == b"\0\0"
    assert packet.compound_message_header.data == b""


def test_trailing_headers_of_remote_read_are_not_looked_for() -> None:
    extension = bytes.fromhex("0c000000 00000000 00 000000")
    assert decode(_packet(after=extension)).undeclared == extension


def test_bytes_behind_packet_size_never_fill_a_header() -> None:
    data = _packet(size=100) + bytes(100)
    result = inspect(data)
    assert result.error is not None
    assert result.error.code == "past-packet-size"
    assert result.packet.message_properties_header.message_size == 0
    assert result.consumed == 100


def test_a_body_that_a_section_split_left_out_has_its_place_in_the_packet() -> None:
    body = bytes(range(10))
    numbers = struct.pack("<8I", 10, 10, 0, 0, 0, 0, 0, 0)[:24]
    properties = bytes(32) + numbers + body + b"\xa5\x5a"
    whole = (
        struct.pack("<BBHIII", 0x10, 0, 3, 0x524F494C, 136, 0xFFFFFFFF)
        + bytes(44)
        + _MP.to_bytes(4, "little")
        + properties
        + b"\1\2\3\4"
    )
    missing = ((124, 6),)
    cut = whole[:124] + whole[130:]
    packet = decode(cut, missing=missing)
    assert packet.message_properties_header.message_body == body[:4]
    assert packet.message_properties_header.padding == b"\xa5\x5a"
    assert packet.undeclared == b"\1\2\3\4"
    assert encode(packet, missing=missing) == cut
    assert layout(packet, missing)["undeclared"].offset == 132
    assert decode(whole).message_properties_header.message_body == body


_CIPHER_TEXT = bytes(range(0xA0, 0xB0))


def _encrypted(size: int, *, security: int = 0x20, sent: int = 16, after: bytes = b"") -> bytes:
    """MessageSize ``size`` and AllocationBodySize 16; ``sent`` bytes of the cipher text are there."""
    header = struct.pack("<4HII", security, 0, 4, 0, 0, 0) + b"key\0"
    body = _CIPHER_TEXT[:sent]
    properties = bytes(32) + struct.pack("<6I", size, 16, 5, 0x800E, 0x6610, 0) + body + bytes(-sent & 3)
    start = bytes(32) + struct.pack("<4I", 0xFFFFFFFF, 0, 1, _MP | 0x80000)
    rest = start + header + properties + after
    return struct.pack("<BBHIII", 0x10, 0, 3, 0x524F494C, 16 + len(rest), 0xFFFFFFFF) + rest


@pytest.mark.parametrize("engine", ["rows", "reference"])
@pytest.mark.parametrize(
    ("data", "body", "undeclared"),
    [
        pytest.param(_encrypted(5), 16, 0, id="a padded cipher text"),
        pytest.param(_encrypted(13), 16, 0, id="one that ends in the same word"),
        pytest.param(_encrypted(16), 16, 0, id="both sizes agree"),
        pytest.param(_encrypted(5, after=bytes(4)), 16, 4, id="bytes behind it"),
        pytest.param(_encrypted(5, sent=5), 5, 0, id="PacketSize has no room for it"),
        pytest.param(_encrypted(5, security=0), 5, 8, id="not encrypted"),
    ],
)
def test_an_encrypted_body_has_the_size_that_was_allocated_where_packet_size_has_room(
    data: bytes, body: int, undeclared: int, engine: Literal["rows", "reference"]
) -> None:
    result = inspect(data, engine=engine)
    assert (result.error, result.remainder) == (None, b"")
    properties = result.packet.message_properties_header
    assert properties.message_body == _CIPHER_TEXT[:body]
    assert len(result.packet.undeclared) == undeclared
    assert encode(result.packet, engine=engine) == data
    assert fit(result.packet) == result.packet


@pytest.mark.parametrize("body", [b"", b"12345", b"1" * 13, b"1" * 16, b"1" * 40])
@pytest.mark.parametrize("size", [5, 13, 16])
def test_another_encrypted_body_is_fitted_to_sizes_that_read_it_whole(size: int, body: bytes) -> None:
    packet = decode(_encrypted(size))
    header = msgspec.structs.replace(packet.message_properties_header, message_body=body)
    fitted = fit(msgspec.structs.replace(packet, message_properties_header=header))
    assert decode(encode(fitted)) == fitted
    assert fitted.message_properties_header.message_body == body


def test_an_encrypted_body_that_no_size_holds_is_refused() -> None:
    packet = decode(_encrypted(5))
    header = msgspec.structs.replace(packet.message_properties_header, message_body=b"1234567")
    with pytest.raises(EncodeError, match="the length field says 16"):
        encode(msgspec.structs.replace(packet, message_properties_header=header))


def test_properties_by_themselves_have_a_body_of_message_size() -> None:
    header = _encrypted(5)[84:]
    result = inspect(header, "message_properties_header")
    assert (result.packet.message_body, result.remainder) == (_CIPHER_TEXT[:5], _CIPHER_TEXT[8:])
