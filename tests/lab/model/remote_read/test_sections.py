"""RemoteRead: the sections in which a message is sent, byte for byte. [MS-MQRR] 2.2.6, 3.1.4.7"""

from __future__ import annotations

import struct
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from msmq_wire.engines.codec import decode, encode, inspect
from msmq_wire.engines.fit import fit
from msmq_wire.engines.message_builder import build_message
from msmq_wire.lab.model.data.elements import ModelMessage
from msmq_wire.lab.model.data.message_packet import message_packet, packet_sections
from msmq_wire.lab.model.data.stored_message import message_of
from msmq_wire.lab.model.interface_server import CallResult
from msmq_wire.lab.model.remote_read.client_values import received_of
from msmq_wire.reassembly.sections import join_sections
from msmq_wire.records.view import view
from msmq_wire.rpc.interfaces.remote_read import StartReceiveResponse
from msmq_wire.wire.fields import WireStruct
from msmq_wire.wire.headers.compound_message_header import CompoundMessageHeader
from msmq_wire.wire.headers.debug_header import DebugHeader
from msmq_wire.wire.headers.extended_address_header import ExtendedAddressHeader
from msmq_wire.wire.headers.extension_header import ExtensionHeader
from msmq_wire.wire.headers.mqf_address_header import MQFAddressHeader
from msmq_wire.wire.headers.multi_queue_format_header import MultiQueueFormatHeader
from msmq_wire.wire.headers.security_header import SecurityData, SecurityHeader
from msmq_wire.wire.headers.soap_header import SoapHeader
from msmq_wire.wire.headers.srmp_envelope_header import SRMPEnvelopeHeader
from msmq_wire.wire.headers.subqueue_header import SubqueueHeader
from msmq_wire.wire.headers.transaction_header import TransactionHeader
from msmq_wire.wire.headers.user_header import AddressOverlay
from msmq_wire.wire.types.enumerations import MQFFormatType
from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.mqf_format_name_element import MQFFormatNameElement
from msmq_wire.wire.types.public_queue_format_name import PublicQueueFormatName
from msmq_wire.wire.types.section_buffer import SectionBuffer
from msmq_wire.wire.types.wchar_text import WcharText
from tests.lab.model.remote_read.scene import PEEK_CURRENT, TRANSACTION, Scene
from tests.lab.model.scene import make_packet, put

FULL, BINARY_FIRST, BINARY_SECOND, SRMP_FIRST, SRMP_SECOND = range(5)
READS: dict[str, tuple[int, GUID | None]] = {
    "peek": (PEEK_CURRENT, None),
    "receive": (0, None),
    "in a transaction": (0, TRANSACTION),
}
reads = pytest.mark.parametrize(("action", "transaction"), READS.values(), ids=list(READS))
BODY = b"0123456789"


def _packet(**headers: WireStruct) -> bytes:
    """A packet with all that a server adds: it is sent as it is."""
    packet = decode(make_packet(b"" if headers else BODY), as_="message_packet")
    address: dict[str, Any] = {"address_length": 4, "address_type": 1}
    overlay = AddressOverlay(**address, address=bytes((192, 0, 2, 7, 0, 0, 0, 0)))
    complete: dict[str, WireStruct] = {
        "base_header": msgspec.structs.replace(packet.base_header, packet_size=0),
        "user_header": msgspec.structs.replace(packet.user_header, queue_manager_address=overlay),
        "extension_header": ExtensionHeader(),
        "subqueue_header": SubqueueHeader(),
        "extended_address_header": ExtendedAddressHeader(
            **address, address=bytes((192, 0, 2, 7)) + bytes(12)
        ),
    }
    return encode(fit(msgspec.structs.replace(packet, **complete, **headers)))


def _srmp() -> bytes:
    return _packet(
        srmp_envelope_header=SRMPEnvelopeHeader(),
        compound_message_header=CompoundMessageHeader(http_body_size=10, data=BODY, padding=bytes(2)),
    )


def _sections(
    packet: bytes, body_size: int, compound_size: int, action: int, transaction: GUID | None
) -> tuple[SectionBuffer, ...]:
    scene = Scene()
    put(scene.queue, packet=packet)
    handle = scene.client.open(scene.queue)
    limits = {"max_body_size": body_size, "max_compound_message_size": compound_size}
    call = scene.client.begin(handle, action, transaction=transaction, **limits)
    response = call.response
    assert response.pdw_number_of_sections == len(response.pp_packet_sections)
    sections: tuple[SectionBuffer, ...] = response.pp_packet_sections
    return sections


def _numbers(section: SectionBuffer) -> tuple[int, int, int]:
    return int(section.section_buffer_type), section.section_size_alloc, section.section_size


@pytest.mark.rule("MQRR-2.2.6-1", "MQRR-2.2.6-2", "MQRR-2.2.6-4", "MQRR-3.1.1.4-1", "MQRR-3.1.4.7-32")
@pytest.mark.rule("MQRR-3.1.4.7-114", "MQRR-3.1.4.7-115", "MQRR-3.1.4.7-117", "MQRR-3.1.4.7-118")
@pytest.mark.rule("MQRR-3.1.4.7-119", "MQRR-3.1.4.7-120", "MQRR-3.1.4.7-132", "MQRR-3.1.4.13-32")
@pytest.mark.rule("MQRR-3.1.4.13-100", "MQRR-3.1.4.13-101", "MQRR-3.1.4.13-103", "MQRR-3.1.4.13-104")
@pytest.mark.rule("MQRR-3.1.4.13-105", "MQRR-3.1.4.13-106", "MQRR-3.1.4.13-118", "MQRR-2.2.7-1")
@reads
@pytest.mark.parametrize("limit", [10, 11, 0xFFFFFFFF])
def test_a_body_that_the_reader_wants_comes_whole(limit: int, action: int, transaction: GUID | None) -> None:
    packet = _packet()
    sections = _sections(packet, limit, 0, action, transaction)
    assert [_numbers(one) for one in sections] == [(FULL, len(packet), len(packet))]
    assert sections[0].data == packet


@pytest.mark.rule("MQRR-2.2.6-1", "MQRR-2.2.6-2", "MQRR-2.2.6-3", "MQRR-2.2.6-4", "MQRR-3.1.1.4-2")
@pytest.mark.rule("MQRR-3.1.4.7-121", "MQRR-3.1.4.7-123", "MQRR-3.1.4.7-124", "MQRR-3.1.4.7-125")
@pytest.mark.rule("MQRR-3.1.4.7-127", "MQRR-3.1.4.7-129", "MQRR-3.1.4.7-130", "MQRR-3.1.4.13-107")
@pytest.mark.rule("MQRR-3.1.4.13-109", "MQRR-3.1.4.13-110", "MQRR-3.1.4.13-111", "MQRR-3.1.4.13-113")
@pytest.mark.rule("MQRR-3.1.4.13-115", "MQRR-3.1.4.13-116", "MQRR-2.2.7-2", "MQRR-2.2.7-3")
@reads
@pytest.mark.parametrize("limit", [0, 1, 9])
def test_a_body_that_is_too_long_is_cut_and_what_follows_it_comes_second(
    limit: int, action: int, transaction: GUID | None
) -> None:
    packet = _packet()
    start = packet.index(BODY)
    sections = _sections(packet, limit, 0xFFFFFFFF, action, transaction)
    first, second = sections
    assert _numbers(first) == (BINARY_FIRST, start + 10, start + limit)
    assert first.data == packet[: start + limit]
    # The ten bytes of the body are padded to twelve.
    trailers = packet[start + 12 :]
    assert _numbers(second) == (BINARY_SECOND, len(trailers), len(trailers))
    assert second.data == trailers


@pytest.mark.rule("MQRR-3.1.4.7-126", "MQRR-3.1.4.13-112", "MQRR-2.2.6-1")
def test_a_cut_packet_without_trailers_is_one_section() -> None:
    packet = make_packet(BODY)
    start = packet.index(BODY)
    (first,) = packet_sections(packet, 3, 0)
    assert _numbers(first) == (BINARY_FIRST, start + 10, start + 3)
    assert first.data == packet[: start + 3]


@pytest.mark.rule("MQRR-3.1.4.7-31", "MQRR-3.1.4.7-116", "MQRR-3.1.4.13-31", "MQRR-3.1.4.13-102")
@pytest.mark.rule("MQRR-3.1.1.4-1", "MQRR-2.2.7-1")
@reads
def test_the_limit_of_bodies_does_not_cut_an_srmp_message(action: int, transaction: GUID | None) -> None:
    packet = _srmp()
    (only,) = _sections(packet, 0, 26, action, transaction)
    assert (_numbers(only), only.data) == ((FULL, len(packet), len(packet)), packet)


@pytest.mark.rule("MQRR-2.2.6-3", "MQRR-3.1.4.7-116", "MQRR-3.1.4.7-122", "MQRR-3.1.4.7-123")
@pytest.mark.rule("MQRR-3.1.4.7-128", "MQRR-3.1.4.13-102", "MQRR-3.1.4.13-108", "MQRR-3.1.4.13-114")
@pytest.mark.rule("MQRR-2.2.7-4", "MQRR-2.2.7-5")
@reads
def test_an_srmp_message_is_cut_in_its_compound_message(action: int, transaction: GUID | None) -> None:
    packet = _srmp()
    start = packet.index(BODY)
    first, second = _sections(packet, 0, 20, action, transaction)
    # The header's 16 bytes count, so that four of the data come.
    assert _numbers(first) == (SRMP_FIRST, start + 10, start + 4)
    assert first.data == packet[: start + 4]
    trailers = packet[start + 12 :]
    assert _numbers(second) == (SRMP_SECOND, len(trailers), len(trailers))
    assert second.data == trailers


@pytest.mark.rule("MQRR-3.1.4.7-131", "MQRR-3.1.4.13-117", "MQRR-2.2.5.1-3")
@reads
@pytest.mark.parametrize(
    ("sent", "lasts", "expected"),
    [
        (1_700_000_000, 60, 1_700_000_060),
        (1_700_000_000, 0, 1_700_000_000),
        (1_700_000_000, 0xFFFFFFFF, 0xFFFFFFFF),
        (0xFFFFFFF0, 0x0E, 0xFFFFFFFE),
        (0xFFFFFFF0, 0x10, 0xFFFFFFFF),
        (0xFFFFFFF0, 0xFFFFFFFE, 0xFFFFFFFF),
    ],
)
def test_the_time_to_reach_the_queue_becomes_a_time(
    sent: int, lasts: int, expected: int, action: int, transaction: GUID | None
) -> None:
    packet = make_packet(BODY, sent_time=sent, time_to_reach_queue=lasts)
    for limit in (3, 100):
        first = _sections(packet, limit, 0, action, transaction)[0].data
        assert int.from_bytes(first[12:16], "little") == expected
        assert int.from_bytes(first[52:56], "little") == sent


_V4, _V6 = "04000100 00000000", "10000600 00000000"


@pytest.mark.rule("MQRR-2.2.5.1-5", "MQRR-2.2.5.1-7", "MQRR-2.2.5.1-8", "MQRR-2.2.5.1-9", "MQRR-2.2.5.1-10")
@pytest.mark.rule("MQRR-2.2.5.1-11", "MQRR-2.2.5.1-12", "MQRR-2.2.5.1-13", "MQRR-2.2.5.2-1", "MQRR-2.2.5.2-2")
@pytest.mark.rule("MQRR-2.2.5.2-4", "MQRR-2.2.5.2-5", "MQRR-2.2.5.2-7", "MQRR-2.2.5.2-8", "MQRR-2.2.5.3-1")
@pytest.mark.rule("MQRR-2.2.5.3-2", "MQRR-2.2.5.3-8", "MQRR-2.2.5.3-11", "MQRR-2.2.5.3-14", "MQRR-2.2.5.5-1")
@pytest.mark.rule("MQRR-2.2.5.5-2", "MQRR-2.2.5.5-3", "MQRR-2.2.5.5-4", "MQRR-2.2.5.5-6", "MQRR-2.2.5.5-7")
@pytest.mark.rule("MQRR-2.2.5.5-8")
@reads
@pytest.mark.parametrize(
    ("source", "host", "kind", "whole"),
    [
        ("192.0.2.7", "192.0.2.7", _V4, "c0000207"),
        ("::ffff:192.0.2.7", "192.0.2.7", _V4, "c0000207"),
        ("2001:db8::5:1", "2001:db8::5:1", _V6, "20010db8 00000000 00000000 00050001"),
        ("fe80::1%3", "fe80::1", "10000600 03000000", "fe800000 00000000 00000000 00000001"),
        ("fe80::1%eth0", "fe80::1", _V6, "fe800000 00000000 00000000 00000001"),
        ("", "127.0.0.1", _V4, "7f000001"),
        ("no address", "127.0.0.1", _V4, "7f000001"),
    ],
)
def test_a_packet_tells_the_host_that_a_message_came_from_in_both_its_places(
    source: str, host: str, kind: str, whole: str, action: int, transaction: GUID | None
) -> None:
    scene = Scene()
    message = put(scene.queue, packet=make_packet(BODY))
    message.source_address = source
    handle = scene.client.open(scene.queue)
    call = scene.client.begin(handle, action, transaction=transaction)
    (only,) = call.response.pp_packet_sections
    found = inspect(only.data, "message_packet")
    assert (found.error, found.remainder, found.anomalies) == (None, b"", ())
    address = bytes.fromhex(whole)
    assert only.data[32:48] == bytes.fromhex(kind) + address[:8].ljust(8, b"\0")
    assert only.data[-188:-176] == bytes.fromhex("0c000000 b0000000 12 000000")
    assert only.data[-176:-28] == struct.pack("<I144x", 148)
    assert only.data[-28:] == struct.pack("<I", 28) + bytes.fromhex(kind) + address.ljust(16, b"\0")
    assert view(found.packet)["extended_address_header"]["address"] == host
    # What is stored is still what came.
    assert message.packet == make_packet(BODY)


_TRAILERS = (
    bytes.fromhex("0c000000 b0000000 12 000000")
    + struct.pack("<I144x", 148)
    + bytes.fromhex("1c000000 04000100 00000000 c0000207")
    + bytes(12)
)
_OVERLAY = bytes.fromhex("04000100 00000000 c0000207 00000000")
_COUNTED_TRAILERS = 188
_SOURCE = b"queue manager 16"
# One piece of each header, in the order of the document.
_PIECES = {
    "transaction_header": b"to the connector",
    "security_header": b"who has sent it!",
    "message_properties_header": BODY,
    "debug_header": b"reports go there",
    "srmp_envelope_header": "envelope\0".encode("utf-16-le"),
    "compound_message_header": b"POST /msmq",
    "soap_header": "soap\0".encode("utf-16-le"),
    "multi_queue_format_header": b"one of many left",
}
_OF_SRMP = ("srmp_envelope_header", "compound_message_header")


def _stored(srmp: bool) -> bytes:
    """A stored message with all headers that a binary or an SRMP message may have."""
    element = MQFFormatNameElement(
        format_type=MQFFormatType.PUBLIC,
        format_name=PublicQueueFormatName(public_queue_identifier=GUID(_PIECES["multi_queue_format_header"])),
    )
    headers: dict[str, WireStruct] = {
        "transaction_header": TransactionHeader(connector_qm_guid=GUID(_PIECES["transaction_header"])),
        "security_header": SecurityHeader(security_data=SecurityData(security_id=_PIECES["security_header"])),
        "debug_header": DebugHeader(queue_identifier=GUID(_PIECES["debug_header"])),
        "srmp_envelope_header": SRMPEnvelopeHeader(data=WcharText(_PIECES["srmp_envelope_header"])),
        "compound_message_header": CompoundMessageHeader(data=_PIECES["compound_message_header"]),
        "soap_header": SoapHeader(header=WcharText(_PIECES["soap_header"])),
        "multi_queue_format_header": MultiQueueFormatHeader(
            destination=MQFAddressHeader(format_name_list=(element,))
        ),
    }
    sent = decode(make_packet(BODY, priority=0, delivery="recoverable", source_queue_manager=GUID(_SOURCE)))
    kept = {name: header for name, header in headers.items() if srmp or name not in _OF_SRMP}
    return encode(fit(msgspec.structs.replace(sent, **kept)))


@pytest.mark.rule("MQRR-2.2.5-1", "MQRR-2.2.5-2", "MQRR-2.2.5-3", "MQRR-2.2.5.1-1", "MQRR-2.2.5.1-2")
@pytest.mark.rule("MQRR-2.2.5.1-4", "MQRR-2.2.5.1-14", "MQRR-2.2.5.1-15", "MQRR-2.2.5.1.1-1")
@pytest.mark.rule("MQRR-2.2.5.1.1-2", "MQRR-2.2.5.1.2-1", "MQRR-2.2.5.1.2-2", "MQRR-2.2.5.1.2.1-1")
@pytest.mark.rule("MQRR-2.2.5.1.2.2-1")
@pytest.mark.parametrize("srmp", [False, True])
def test_what_a_message_has_goes_on_in_its_order_before_what_the_server_adds(srmp: bool) -> None:
    stored = _stored(srmp)
    data = message_packet(ModelMessage(packet=stored, source_address="192.0.2.7"))
    size = struct.pack("<I", len(stored) + _COUNTED_TRAILERS)
    assert data == stored[:8] + size + stored[12:32] + _OVERLAY + stored[48:] + _TRAILERS
    assert data[16:32] == _SOURCE
    # AH is bit 25 of Flags, the 44 bytes before it begin UserHeader.
    assert bool(data[63] & 0x02) is srmp
    pieces = [piece for name, piece in _PIECES.items() if srmp or name not in _OF_SRMP]
    places = [data.index(piece) for piece in pieces]
    assert places == sorted(places)
    assert all((_PIECES[name] in data) is srmp for name in _OF_SRMP)


@pytest.mark.rule("MQRR-2.2.5.1-16", "MQRR-2.2.5.1-17")
def test_a_session_header_is_there_where_sh_says_so_and_is_not_counted() -> None:
    sent = make_packet(BODY)
    (flags,) = struct.unpack_from("<H", sent, 2)
    session = bytes.fromhex("0100 0000 00000000 0100 0000 4000 0000")
    carried = sent[:2] + struct.pack("<H", flags | 0x10) + sent[4:] + session
    size = struct.pack("<I", len(sent) + _COUNTED_TRAILERS)
    expected = carried[:8] + size + carried[12:32] + _OVERLAY + carried[48:] + _TRAILERS
    assert message_packet(ModelMessage(packet=carried, source_address="192.0.2.7")) == expected
    # What comes over a session is stored without: it speaks of the session.
    message = message_of(decode(carried))
    message.source_address = "192.0.2.7"
    expected = sent[:8] + size + sent[12:32] + _OVERLAY + sent[48:] + _TRAILERS
    assert message_packet(message) == expected


_IGNORED = {
    "CMQRR-2.2.5.1.2.1-1: Reserved": ("srmp_envelope_header", {"reserved": 0xFFFF}),
    "CMQRR-2.2.5.1.2.2-1: Reserved": ("compound_message_header", {"reserved": 0xFFFF}),
    "CMQRR-2.2.5.2-1: X2, X5, X6, X7": ("extension_header", {"flags": 0xF6}),
    "CMQRR-2.2.5.2-1: Reserved": ("extension_header", {"reserved": b"\xff" * 3}),
    "CMQRR-2.2.5.2-2: DI without DeadLetterHeader": ("extension_header", {"flags": 0x1A}),
    "CMQRR-2.2.5.3-1: a header without SubqueueName": (
        "subqueue_header",
        {"abort_counter": 7, "move_counter": 8, "last_move_time": 9},
    ),
    "CMQRR-2.2.5.3-2: Reserved": ("subqueue_header", {"flags": 0xFFFE0000}),
    "CMQRR-2.2.5.5-1: a header with AddressType 0": (
        "extended_address_header",
        {"address_type": 0, "address_length": 99, "address_scope": 99, "address": b"\xff" * 16},
    ),
}


@pytest.mark.rule("CMQRR-2.2.5.1.2.1-1", "CMQRR-2.2.5.1.2.2-1", "CMQRR-2.2.5.2-1", "CMQRR-2.2.5.2-2")
@pytest.mark.rule("CMQRR-2.2.5.3-1", "CMQRR-2.2.5.3-2", "CMQRR-2.2.5.5-1")
@pytest.mark.parametrize("case", _IGNORED.values(), ids=_IGNORED)
def test_a_client_takes_a_packet_whatever_is_in_what_it_ignores(case: tuple[str, dict[str, Any]]) -> None:
    name, changes = case
    packet = decode(message_packet(ModelMessage(packet=_stored(srmp=True))), as_="message_packet")
    header = msgspec.structs.replace(getattr(packet, name), **changes)
    data = encode(msgspec.structs.replace(packet, **{name: header}))
    found = inspect(data, "message_packet")
    assert (found.error, found.anomalies) == (None, ())
    received = received_of(CallResult(response=_answer(data)))
    assert received is not None
    assert (received.status, received.packet, received.missing) == (0, data, ())


def _answer(data: bytes) -> StartReceiveResponse:
    section = SectionBuffer(
        section_buffer_type=FULL, section_size_alloc=len(data), section_size=len(data), data=data
    )
    return StartReceiveResponse(pdw_number_of_sections=1, pp_packet_sections=(section,), status=0)


@pytest.mark.rule("MQRR-2.2.5.1-6")
def test_a_packet_for_a_queue_of_another_name_keeps_its_guid() -> None:
    packet = encode(
        build_message(f"PUBLIC={GUID(bytes(range(16)))}", BODY, queue_manager_address=GUID(bytes(range(16))))
    )
    found = decode(message_packet(ModelMessage(packet=packet, source_address="192.0.2.7")), "message_packet")
    assert found.user_header.queue_manager_address == GUID(bytes(range(16)))
    assert found.extended_address_header.address[:4] == bytes((192, 0, 2, 7))


@pytest.mark.rule("MQRR-2.2.5.3-3")
def test_a_packet_tells_the_class_that_an_application_gave_a_message() -> None:
    message = ModelMessage(packet=make_packet(BODY), user_acknowledgement_class=0xC004)
    data = message_packet(message)
    assert decode(data, "message_packet").subqueue_header.bit("acknowledgement_class") == 0xC004
    # TM is the lowest bit, the class the next 16.
    assert data[-176:-168] == struct.pack("<II", 148, 0xC004 << 1)


@given(st.binary(max_size=200))
def test_bytes_that_are_no_packet_get_nothing_added(data: bytes) -> None:
    assert message_packet(ModelMessage(packet=b"\0" + data)) == b"\0" + data


@given(st.binary(max_size=200), st.integers(0, 300), st.integers(0, 300))
def test_bytes_that_are_no_packet_are_sent_whole(data: bytes, body: int, compound: int) -> None:
    (only,) = packet_sections(b"\0" + data, body, compound)
    assert (only.data, _numbers(only)) == (b"\0" + data, (FULL, len(data) + 1, len(data) + 1))


@given(st.binary(max_size=40), st.integers(0, 50))
def test_what_is_sent_joins_to_the_packet_but_for_what_was_left_out(body: bytes, limit: int) -> None:
    packet = make_packet(body)
    joined = join_sections(packet_sections(packet, limit, 0))
    assert not joined.problems
    assert joined.complete == (limit >= len(body))
    kept = packet
    for start, length in reversed(joined.missing):
        kept = kept[:start] + kept[start + length :]
    assert joined.data == kept
