"""RemoteRead: the sections in which a message is sent, byte for byte. [MS-MQRR] 2.2.6, 3.1.4.7"""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from msmq_wire.engines.codec import decode, encode
from msmq_wire.engines.fit import fit
from msmq_wire.model.remote_read_packet import packet_sections
from msmq_wire.reassembly.sections import join_sections
from msmq_wire.wire.fields import WireStruct
from msmq_wire.wire.headers.compound_message_header import CompoundMessageHeader
from msmq_wire.wire.headers.extended_address_header import ExtendedAddressHeader
from msmq_wire.wire.headers.extension_header import ExtensionHeader
from msmq_wire.wire.headers.srmp_envelope_header import SRMPEnvelopeHeader
from msmq_wire.wire.headers.subqueue_header import SubqueueHeader
from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.section_buffer import SectionBuffer
from tests.model.remote_read_scene import PEEK_CURRENT, TRANSACTION, Scene
from tests.model.scene import make_packet, put

FULL, BINARY_FIRST, BINARY_SECOND, SRMP_FIRST, SRMP_SECOND = range(5)
READS: dict[str, tuple[int, GUID | None]] = {
    "peek": (PEEK_CURRENT, None),
    "receive": (0, None),
    "in a transaction": (0, TRANSACTION),
}
reads = pytest.mark.parametrize(("action", "transaction"), READS.values(), ids=list(READS))
BODY = b"0123456789"


def _packet(*, trailers: bool, **headers: WireStruct) -> bytes:
    packet = decode(make_packet(b"" if headers else BODY), as_="message_packet")
    if trailers:
        headers |= {
            "extension_header": ExtensionHeader(),
            "subqueue_header": SubqueueHeader(),
            "extended_address_header": ExtendedAddressHeader(),
        }
    return encode(fit(msgspec.structs.replace(packet, **headers)))


def _srmp(*, trailers: bool) -> bytes:
    return _packet(
        trailers=trailers,
        srmp_envelope_header=SRMPEnvelopeHeader(),
        compound_message_header=CompoundMessageHeader(http_body_size=10, data=BODY, padding=bytes(2)),
    )


def _sections(
    packet: bytes,
    body_size: int,
    compound_size: int,
    action: int,
    transaction: GUID | None,
) -> tuple[SectionBuffer, ...]:
    scene = Scene()
    put(scene.orders, packet=packet)
    handle = scene.client.open(scene.orders)
    call = scene.client.begin(
        handle,
        action,
        transaction=transaction,
        max_body_size=body_size,
        max_compound_message_size=compound_size,
    )
    assert call.answer is not None
    response = call.answer.response
    assert response.pdw_number_of_sections == len(response.pp_packet_sections)
    sections: tuple[SectionBuffer, ...] = response.pp_packet_sections
    return sections


def _numbers(section: SectionBuffer) -> tuple[int, int, int]:
    return int(section.section_buffer_type), section.section_size_alloc, section.section_size


@pytest.mark.rule(
    "MQRR-2.2.6-1",
    "MQRR-2.2.6-2",
    "MQRR-2.2.6-4",
    "MQRR-3.1.1.4-1",
    "MQRR-3.1.4.7-32",
    "MQRR-3.1.4.7-114",
    "MQRR-3.1.4.7-115",
    "MQRR-3.1.4.7-117",
    "MQRR-3.1.4.7-118",
    "MQRR-3.1.4.7-119",
    "MQRR-3.1.4.7-120",
    "MQRR-3.1.4.7-132",
    "MQRR-3.1.4.13-32",
    "MQRR-3.1.4.13-100",
    "MQRR-3.1.4.13-101",
    "MQRR-3.1.4.13-103",
    "MQRR-3.1.4.13-104",
    "MQRR-3.1.4.13-105",
    "MQRR-3.1.4.13-106",
    "MQRR-3.1.4.13-118",
)
@reads
@pytest.mark.parametrize("limit", [10, 11, 0xFFFFFFFF])
def test_a_body_that_the_reader_wants_comes_whole(limit: int, action: int, transaction: GUID | None) -> None:
    packet = _packet(trailers=True)
    sections = _sections(packet, limit, 0, action, transaction)
    assert [_numbers(one) for one in sections] == [(FULL, len(packet), len(packet))]
    assert sections[0].data == packet


@pytest.mark.rule(
    "MQRR-2.2.6-1",
    "MQRR-2.2.6-2",
    "MQRR-2.2.6-3",
    "MQRR-2.2.6-4",
    "MQRR-3.1.1.4-2",
    "MQRR-3.1.4.7-121",
    "MQRR-3.1.4.7-123",
    "MQRR-3.1.4.7-124",
    "MQRR-3.1.4.7-125",
    "MQRR-3.1.4.7-127",
    "MQRR-3.1.4.7-129",
    "MQRR-3.1.4.7-130",
    "MQRR-3.1.4.13-107",
    "MQRR-3.1.4.13-109",
    "MQRR-3.1.4.13-110",
    "MQRR-3.1.4.13-111",
    "MQRR-3.1.4.13-113",
    "MQRR-3.1.4.13-115",
    "MQRR-3.1.4.13-116",
)
@reads
@pytest.mark.parametrize("limit", [0, 1, 9])
def test_a_body_that_is_too_long_is_cut_and_what_follows_it_comes_second(
    limit: int, action: int, transaction: GUID | None
) -> None:
    packet = _packet(trailers=True)
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
@reads
def test_a_cut_packet_without_trailers_is_one_section(action: int, transaction: GUID | None) -> None:
    packet = _packet(trailers=False)
    start = packet.index(BODY)
    (first,) = _sections(packet, 3, 0, action, transaction)
    assert _numbers(first) == (BINARY_FIRST, start + 10, start + 3)
    assert first.data == packet[: start + 3]


@pytest.mark.rule(
    "MQRR-3.1.4.7-31", "MQRR-3.1.4.7-116", "MQRR-3.1.4.13-31", "MQRR-3.1.4.13-102", "MQRR-3.1.1.4-1"
)
@reads
def test_the_limit_of_bodies_does_not_cut_an_srmp_message(action: int, transaction: GUID | None) -> None:
    packet = _srmp(trailers=False)
    (only,) = _sections(packet, 0, 26, action, transaction)
    assert (_numbers(only), only.data) == ((FULL, len(packet), len(packet)), packet)


@pytest.mark.rule(
    "MQRR-2.2.6-3",
    "MQRR-3.1.4.7-116",
    "MQRR-3.1.4.7-122",
    "MQRR-3.1.4.7-123",
    "MQRR-3.1.4.7-128",
    "MQRR-3.1.4.13-102",
    "MQRR-3.1.4.13-108",
    "MQRR-3.1.4.13-114",
)
@reads
def test_an_srmp_message_is_cut_in_its_compound_message(action: int, transaction: GUID | None) -> None:
    packet = _srmp(trailers=True)
    start = packet.index(BODY)
    first, second = _sections(packet, 0, 20, action, transaction)
    # The header's 16 bytes count, so that four of the data come.
    assert _numbers(first) == (SRMP_FIRST, start + 10, start + 4)
    assert first.data == packet[: start + 4]
    trailers = packet[start + 12 :]
    assert _numbers(second) == (SRMP_SECOND, len(trailers), len(trailers))
    assert second.data == trailers


@pytest.mark.rule("MQRR-3.1.4.7-131", "MQRR-3.1.4.13-117")
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
        (only,) = _sections(packet, limit, 0, action, transaction)
        assert int.from_bytes(only.data[12:16], "little") == expected
        assert only.data[:12] + only.data[16:] == (packet[:12] + packet[16:])[: len(only.data) - 4]


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
