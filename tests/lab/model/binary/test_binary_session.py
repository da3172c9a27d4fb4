"""`BinarySession`: how it is opened and refused, what it counts, and every timer. [MS-MQQB] 3.1.5, 3.1.6"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from msmq_wire import GUID
from msmq_wire.engines.codec import decode, encode
from msmq_wire.engines.fit import fit
from msmq_wire.lab.model.binary.acknowledgments import final_ack, order_ack, order_queue
from msmq_wire.lab.model.binary.binary_session import BinarySession
from msmq_wire.lab.model.binary.outgoing import TransmissionQueue
from msmq_wire.lab.model.binary.protocol import BinaryProtocol
from msmq_wire.lab.model.binary.session_opening import SessionState
from msmq_wire.lab.model.binary.settings import BinarySettings
from msmq_wire.lab.model.data.timers import Timers
from msmq_wire.wire.fields import WireStruct
from msmq_wire.wire.headers.connection_parameters_header import ConnectionParametersHeader
from msmq_wire.wire.headers.session_header import SessionHeader
from msmq_wire.wire.headers.transaction_header import TransactionHeader
from msmq_wire.wire.packets.connection_parameters import ConnectionParameters
from msmq_wire.wire.packets.establish_connection import EstablishConnection
from msmq_wire.wire.packets.final_ack import FinalAck
from msmq_wire.wire.packets.identification import recognise
from msmq_wire.wire.packets.order_ack import OrderAck
from msmq_wire.wire.packets.session_ack import SessionAck
from msmq_wire.wire.packets.user_message import UserMessage
from msmq_wire.wire.types.enumerations import MessageClass
from msmq_wire.wire.types.guid import NULL_GUID
from msmq_wire.wire.types.tx_sequence_id import TxSequenceID
from msmq_wire.wire.types.wchar_text import WcharText
from tests.lab.model.binary.world import RECEIVER, SENDER, World, bodies, frame, message, queue_manager

OTHER = GUID.parse("00000000-0000-4000-8000-000000000001")


def protocol(identifier: GUID = RECEIVER, **settings: Any) -> BinaryProtocol:
    return BinaryProtocol(queue_manager("receiver", identifier, Timers()), BinarySettings(**settings))


def acceptor() -> BinarySession:
    return protocol().accept("192.0.2.21")


def initiator(known: GUID = NULL_GUID) -> BinarySession:
    one = protocol(SENDER)
    return one.initiate(one.outgoing_queue(remote_queue_manager=known, remote_host_name="192.0.2.10"))


def request(server: GUID = NULL_GUID, client: GUID = SENDER) -> EstablishConnection:
    packet = EstablishConnection()
    header = replace(packet.establish_connection_header, client_guid=client, server_guid=server)
    return replace(packet, establish_connection_header=header)


def refused(packet: Any) -> Any:
    internal = packet.internal_header
    return replace(packet, internal_header=internal.with_bits(cs=1))


def opened(role: str = "acceptor") -> BinarySession:
    if role == "acceptor":
        session = acceptor()
        session.feed(encode(request()))
    else:
        session = initiator()
        session.feed(encode(request(RECEIVER)))
    session.feed(encode(ConnectionParameters()))
    session.take()
    assert session.state is SessionState.OPEN
    return session


@pytest.fixture
def session() -> BinarySession:
    return opened()


def advance(session: BinarySession, milliseconds: int) -> None:
    timers = session.host.ledger.manager.timers
    timers.advance(timers.now + milliseconds)


def queue_of(session: BinarySession) -> TransmissionQueue:
    """What the session sends."""
    assert session.outgoing is not None
    return session.outgoing


def acknowledge(session: BinarySession, **counts: int) -> None:
    """Bring a session a SessionAck."""
    session.feed(encode(SessionAck(session_header=SessionHeader(**counts))))


def user_packet(number: int = 1, kind: Any = "express", **more: Any) -> bytes:
    return encode(message(kind, b"%d" % number, message_id=number, sent_time=1, **more))


def sent(session: BinarySession) -> list[Any]:
    """The packets that a session has to send."""
    data, found = session.take(), []
    while data:
        packet = decode(data)
        size = len(encode(packet))
        found.append(packet)
        data = data[size:]
    return found


@pytest.mark.rule("MQQB-3.1.5.1.1-1", "MQQB-3.1.5.1.1-2", "MQQB-3.1.5.1.1-3", "MQQB-3.1.5.1.1-6")
@pytest.mark.parametrize(
    ("flags", "internal", "expected"),
    [
        (0x000B, 0x0002, EstablishConnection),
        (0x000B, 0x0012, EstablishConnection),
        (0x000B, 0x0003, ConnectionParameters),
        (0x001B, 0x0001, SessionAck),
        (0x000B, 0x0001, SessionAck),
        (0x0003, 0x0002, UserMessage),
        (0x0013, 0x0001, UserMessage),
        (0x0000, 0x0003, UserMessage),
    ],
)
def test_a_packet_is_what_its_flags_say(flags: int, internal: int, expected: type[WireStruct]) -> None:
    base = bytes.fromhex("1000") + flags.to_bytes(2, "little") + bytes.fromhex("4c494f52 14000000 ffffffff")
    assert recognise(base + bytes(2) + internal.to_bytes(2, "little")) is expected


def _acknowledgments() -> Iterator[Any]:
    """Acknowledgments as they are, and with one mark that is another."""
    queue, header = order_queue(SENDER, "", direct=False), TransactionHeader(tx_sequence_number=1)
    about, received = message("transactional", message_id=5), MessageClass.MQMSG_CLASS_ACK_RECEIVE
    for name in (queue, f"PRIVATE={SENDER}\\00000005"):
        marked = name == queue
        order, final = (
            order_ack(name, RECEIVER, TxSequenceID(ordinal=1), 1),
            final_ack(name, RECEIVER, about, header, received),
        )
        yield pytest.param(order, OrderAck if marked else UserMessage, id=f"order_{name[-1]}")
        yield pytest.param(final, FinalAck if marked else UserMessage, id=f"final_{name[-1]}")
        if not marked:
            continue
        for packet, kind, class_ in ((order, OrderAck, 0x3FFF), (final, FinalAck, 0x3FFF)):
            assert packet is not None
            properties, base = packet.message_properties_header, packet.base_header
            assert properties is not None
            label = WcharText.of("QM Ordering Nak")
            short = replace(properties, message_body=bytes(35), message_size=35, allocation_body_size=35)
            for name, stem, changed, expected in (
                ("priority", "base_header", replace(base, flags=3), UserMessage),
                ("label", "message_properties_header", replace(properties, label=label), UserMessage),
                (
                    "class",
                    "message_properties_header",
                    replace(properties, message_class=class_),
                    UserMessage,
                ),
                ("size", "message_properties_header", short, UserMessage if kind is OrderAck else FinalAck),
            ):
                yield pytest.param(
                    fit(replace(packet, **{stem: changed})), expected, id=f"{kind.stem()}_{name}"
                )


@pytest.mark.rule("MQQB-3.1.5.1.1-4", "MQQB-3.1.5.1.1-5", "MQQB-3.1.5.1.1-6")
@pytest.mark.parametrize(("packet", "expected"), list(_acknowledgments()))
def test_an_acknowledgment_is_known_by_all_its_marks(packet: UserMessage, expected: type[WireStruct]) -> None:
    assert type(decode(encode(packet))) is expected


@pytest.mark.rule("MQQB-3.1.5.10-1")
def test_a_session_on_an_accepted_connection_waits_for_an_establish_connection_packet() -> None:
    assert acceptor().state is SessionState.WAITING_EC_MSG


@pytest.mark.rule(
    "MQQB-3.1.5.3.1-1",
    "MQQB-3.1.5.3.1-2",
    "MQQB-3.1.5.3.1-4",
    "MQQB-3.1.5.3.1-5",
    "MQQB-3.1.5.3.1-7",
    "MQQB-3.1.5.3.1-8",
    "MQQB-3.1.5.3.1-9",
    "MQQB-3.1.5.3.1-11",
    "MQQB-3.1.5.3.1-12",
    "MQQB-3.1.5.4.1-4",
    "MQQB-3.1.5.4.1-8",
)
def test_the_request_of_the_published_conversation_is_answered_as_there() -> None:
    # The published response names two queue managers of another conversation, so the names are ours.
    session = protocol(GUID.parse("43cd8907-394c-8f11-4445-9078909ea0fc")).accept()
    session.feed(frame("establish_connection/frame_3_request"))
    answer = session.take()
    published = frame("establish_connection/frame_4_response")
    assert answer[2:20] == published[2:20]
    assert answer[20:52] == frame("establish_connection/frame_3_request")[20:52]
    assert answer[52:56] == bytes.fromhex("4ecade1d")
    assert answer[56:] == published[56:]
    assert bytes(session.remote_queue_manager) == frame("establish_connection/frame_3_request")[20:36]
    session.feed(frame("connection_parameters/frame_5_request"))
    assert session.take()[2:] == frame("connection_parameters/frame_6_response")[2:]
    assert session.state is SessionState.OPEN
    assert (session.recoverable_ack_send_timeout, session.ack_wait_timeout) == (0x5D8, 0x1D4C0)


@pytest.mark.rule(
    "MQQB-3.1.5.2.2-1",
    "MQQB-3.1.5.2.3-2",
    "MQQB-3.1.5.2.3-3",
    "MQQB-3.1.5.2.3-4",
    "MQQB-3.1.5.2.3-6",
    "MQQB-3.1.5.2.3-7",
    "MQQB-3.1.5.2.3-8",
    "MQQB-3.1.5.2.3-9",
)
def test_an_initiator_says_who_it_is_and_when() -> None:
    one = protocol(SENDER)
    one.manager.timers.advance(0x1_0000_0203)
    session = one.initiate(one.outgoing_queue(remote_queue_manager=RECEIVER), ping_sent=True)
    data = session.take()
    assert data[:20] == bytes.fromhex("10000b00 4c494f52 3c020000 ffffffff 00000200")
    assert (data[20:36], data[36:52]) == (bytes(SENDER), bytes(RECEIVER))
    # The low 32 bits of the time, RE and OS, and SE only where no ping was sent.
    assert data[52:60] == bytes.fromhex("03020000 1002 0000")
    assert one.initiate(one.outgoing_queue()).take()[56:58] == bytes.fromhex("1003")
    assert len(data) == 572
    assert session.state is SessionState.WAITING_ECR_MSG


@pytest.mark.rule("MQQB-3.1.5.3.2-1", "MQQB-3.1.5.3.2-3", "MQQB-3.1.5.3.2-4", "MQQB-3.1.5.3.2-5")
def test_an_initiator_proposes_eight_round_trips_within_limits() -> None:
    for waited, expected in ((0, 500), (100, 800), (60_000 - 1, 120_000)):
        session = initiator()
        (asked,) = sent(session)
        advance(session, waited)
        answer = replace(
            asked,
            establish_connection_header=replace(asked.establish_connection_header, server_guid=RECEIVER),
        )
        session.feed(encode(answer))
        (proposed,) = sent(session)
        assert proposed.internal_header.flags == 3
        header = proposed.connection_parameters_header
        assert (header.recoverable_ack_timeout, header.ack_timeout) == (expected, 20_000)
        assert header.window_size == 64
        assert session.remote_queue_manager == RECEIVER


@pytest.mark.rule(
    "MQQB-3.1.5.4.1-1",
    "MQQB-3.1.5.4.1-2",
    "MQQB-3.1.5.4.1-3",
    "MQQB-3.1.5.4.1-4",
    "MQQB-3.1.5.4.1-5",
    "MQQB-3.1.5.4.1-6",
)
def test_an_acceptor_keeps_the_nearest_times_that_are_allowed() -> None:
    session = acceptor()
    session.feed(encode(request()))
    session.take()
    header = ConnectionParametersHeader(recoverable_ack_timeout=0, ack_timeout=0xFFFFFFFF, window_size=3)
    session.feed(encode(ConnectionParameters(connection_parameters_header=header)))
    (answer,) = sent(session)
    assert answer.connection_parameters_header == replace(header, window_size=64)
    assert (session.recoverable_ack_send_timeout, session.ack_wait_timeout) == (500, 120_000)
    assert session.received_window_size == 3


@pytest.mark.rule("MQQB-3.1.5.3.1-10")
@pytest.mark.parametrize("se", [0, 1])
def test_an_acceptor_repeats_whether_there_was_a_ping(se: int) -> None:
    session, asked = acceptor(), request()
    header = asked.establish_connection_header.with_bits(se=se)
    session.feed(encode(replace(asked, establish_connection_header=header)))
    (answer,) = sent(session)
    assert answer.establish_connection_header.bit("se") == se


@pytest.mark.rule("MQQB-3.1.5.3.1-6", "MQQB-3.1.5.3.1-12")
def test_a_request_for_another_queue_manager_is_refused() -> None:
    session = acceptor()
    session.feed(encode(request(OTHER)))
    (answer,) = sent(session)
    assert answer.internal_header.bit("cs") == 1
    assert answer.establish_connection_header.server_guid == RECEIVER
    assert session.close_reason == "wrong_queue_manager"


@pytest.mark.rule("MQQB-3.1.5.3.1-3")
def test_a_queue_manager_that_accepts_nobody_refuses() -> None:
    one = protocol()
    one.accepting = False
    session = one.accept()
    session.feed(encode(request(RECEIVER)))
    (answer,) = sent(session)
    assert answer.internal_header.bit("cs") == 1
    assert session.close_reason == "refused"
    assert one.sessions == []


@pytest.mark.rule("MQQB-3.1.5.3.2-2")
@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (refused(request(RECEIVER)), "refused"),
        (request(RECEIVER, client=OTHER), "wrong_queue_manager"),
        (request(OTHER), "wrong_queue_manager"),
    ],
)
def test_an_initiator_takes_only_the_right_answer(answer: EstablishConnection, reason: str) -> None:
    session = initiator(RECEIVER)
    session.take()
    session.feed(encode(answer))
    assert (session.close_reason, session.take()) == (reason, b"")


@pytest.mark.rule("MQQB-3.1.5.4.2-2", "MQQB-3.1.5.4.2-5", "MQQB-3.1.7.1-2")
@pytest.mark.parametrize(("own", "answered"), [(64, 2), (2, 64)])
def test_the_smaller_window_bounds_what_is_sent(own: int, answered: int) -> None:
    one = protocol(SENDER, window_size=own)
    session = one.initiate(one.outgoing_queue(remote_host_name="192.0.2.10"))
    session.feed(encode(request(RECEIVER)))
    header = ConnectionParametersHeader(window_size=answered)
    session.feed(encode(ConnectionParameters(connection_parameters_header=header)))
    session.take()
    for _ in range(3):
        queue_of(session).send(message())
    assert (session.state, session.received_window_size) == (SessionState.OPEN, answered)
    assert len(sent(session)) == 2


@pytest.mark.rule("MQQB-3.1.5.3.2-6", "MQQB-3.1.5.4.2-1")
def test_parameters_that_are_refused_close_the_session() -> None:
    session = initiator()
    session.feed(encode(request(RECEIVER)))
    session.feed(encode(refused(ConnectionParameters())))
    assert session.close_reason == "refused"


@pytest.mark.rule(
    "MQQB-3.1.5.4-1",
    "MQQB-3.1.5.5-1",
    "MQQB-3.1.5.6-1",
    "MQQB-3.1.5.7-1",
    "MQQB-3.1.5.8-1",
    "MQQB-3.1.5.10-1",
)
@pytest.mark.parametrize("role", ["acceptor", "initiator"])
@pytest.mark.parametrize(
    "data",
    [user_packet(), encode(SessionAck()), encode(ConnectionParameters())],
    ids=["user_message", "session_ack", "parameters"],
)
def test_a_packet_before_its_time_closes_the_session(role: str, data: bytes) -> None:
    session = acceptor() if role == "acceptor" else initiator()
    session.feed(data)
    assert session.close_reason == "not_open"


@pytest.mark.rule("MQQB-3.1.5.3-1", "MQQB-3.1.5.4-1")
@pytest.mark.parametrize("role", ["acceptor", "initiator"])
def test_a_session_is_opened_once(role: str) -> None:
    for packet in (request(), ConnectionParameters()):
        session = opened(role)
        session.feed(encode(packet))
        assert session.close_reason == "second_establish"


@pytest.mark.rule("MQQB-3.1.5.3-1")
def test_a_second_request_before_parameters_closes_the_session() -> None:
    session = acceptor()
    session.feed(encode(request()) * 2)
    assert session.close_reason == "second_establish"


@pytest.mark.rule(
    "MQQB-3.1.5.1-2", "MQQB-3.1.5.1.2-1", "MQQB-3.1.5.1.2-2", "MQQB-3.1.5.1.3-1", "MQQB-3.1.5.1.3-2"
)
@pytest.mark.parametrize(
    "data",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        b"\x11" + encode(request())[1:],
        encode(request())[:4] + b"LIAR" + encode(request())[8:],
        encode(request())[:18] + b"\x07" + encode(request())[19:],
        encode(request())[:8] + (12).to_bytes(4, "little") + encode(request())[12:],
        encode(request())[:8] + (300).to_bytes(4, "little") + encode(request())[12:],
    ],
    ids=["http", "version", "signature", "packet_type", "packet_size", "too_small"],
)
def test_what_is_no_packet_closes_the_session(data: bytes) -> None:
    session = acceptor()
    session.feed(data)
    assert session.close_reason == "bad_packet"
    session.feed(encode(request()))
    assert session.take() == b""


@pytest.mark.rule("MQQB-3.1.5.1.3-1")
def test_a_packet_without_message_properties_closes_the_session() -> None:
    packet = message(message_id=1)
    user = packet.user_header.with_bits(mp=0)
    base = replace(packet.base_header, packet_size=0)
    size = len(encode(packet)) - len(encode(packet.message_properties_header))
    base = replace(packet.base_header, packet_size=size)
    bare = replace(packet, base_header=base, user_header=user, message_properties_header=None)
    session = opened()
    session.feed(encode(bare))
    assert session.close_reason == "bad_packet"


def test_before_it_is_open_a_session_holds_no_long_packet() -> None:
    session = acceptor()
    data = user_packet()
    long = data[:8] + (0x400000).to_bytes(4, "little") + data[12:]
    session.feed(long)
    assert session.state is SessionState.WAITING_EC_MSG
    session.feed(bytes(2000))
    assert session.close_reason == "not_open"


def test_a_packet_longer_than_is_taken_closes_the_session() -> None:
    one = protocol(most_packet_bytes=2000)
    session = one.accept()
    session.feed(encode(request()) + encode(ConnectionParameters()))
    session.feed(encode(message(body=bytes(3000), message_id=1)))
    assert session.close_reason == "bad_packet"


@given(st.binary(max_size=300), st.booleans())
def test_any_bytes_are_taken_or_close_the_session(data: bytes, open_first: bool) -> None:
    session = opened() if open_first else acceptor()
    session.feed(data)
    session.feed(data[::-1])
    assert session.closed or session.pending_bytes <= 2 * len(data)
    if session.closed:
        assert session.close_reason in ("bad_packet", "not_open", "second_establish")


@given(st.data())
def test_a_conversation_that_is_bent_anywhere_closes_or_goes_on(data: st.DataObject) -> None:
    packets = [
        encode(request()),
        encode(ConnectionParameters()),
        user_packet(1),
        user_packet(2, "recoverable"),
    ]
    whole = bytearray(b"".join(packets))
    at = data.draw(st.integers(0, len(whole) - 1))
    whole[at] ^= data.draw(st.integers(1, 255))
    session = acceptor()
    session.feed(bytes(whole))
    assert session.received.messages <= 2
    if session.closed:
        assert session.close_reason != "disconnected"


@pytest.mark.rule("MQQB-3.1.5.2.3-11", "MQQB-3.1.5.10-2", "MQQB-3.1.6.6-1")
@pytest.mark.parametrize("role", ["acceptor", "initiator"])
def test_a_session_that_is_not_opened_in_a_minute_is_closed(role: str) -> None:
    session = acceptor() if role == "acceptor" else initiator()
    advance(session, 59_999)
    assert not session.closed
    advance(session, 1)
    assert session.close_reason == "initialization_timeout"


@pytest.mark.rule("MQQB-3.1.5.4.1-7")
def test_an_open_session_has_no_initialization_timer(session: BinarySession) -> None:
    advance(session, 60_001)
    assert not session.closed


@pytest.mark.rule("MQQB-3.1.5.8.2-10", "MQQB-3.1.6.2-1", "MQQB-3.1.6.2-2")
def test_an_idle_session_is_closed_when_the_cleanup_timer_found_it_so(session: BinarySession) -> None:
    session.feed(user_packet())
    advance(session, 300_000)
    assert not session.closed
    advance(session, 300_000)
    assert session.close_reason == "idle"


@pytest.mark.rule("MQQB-3.1.5.8.2-9", "MQQB-3.1.6.4-1", "MQQB-3.1.6.4-3", "MQQB-3.1.6.4-7", "MQQB-3.1.6.4-9")
def test_an_express_message_is_acknowledged_after_half_the_ack_timeout(session: BinarySession) -> None:
    session.feed(user_packet())
    advance(session, 59_999)
    assert session.take() == b""
    advance(session, 1)
    (ack,) = sent(session)
    # One received, none recoverable, none sent, a window of 64.
    assert encode(ack) == bytes.fromhex(
        "10001b00 4c494f52 24000000 ffffffff 00000100 0100 0000 00000000 0000 0000 4000 0000"
    )
    advance(session, 120_000)
    assert session.take() == b""


@pytest.mark.rule("MQQB-3.1.5.8.2-23", "MQQB-3.1.5.8.7-6", "MQQB-3.1.6.4-6")
def test_a_recoverable_message_is_acknowledged_after_its_own_time(session: BinarySession) -> None:
    session.feed(user_packet(1))
    advance(session, 1000)
    session.feed(user_packet(2, "recoverable") + user_packet(3, "recoverable"))
    advance(session, 499)
    assert session.take() == b""
    advance(session, 1)
    (ack,) = sent(session)
    header = ack.session_header
    assert (header.ack_sequence_number, header.recoverable_msg_ack_seq_number) == (3, 1)
    assert header.recoverable_msg_ack_flags == 0b11
    session.feed(user_packet(4, "recoverable"))
    advance(session, 500)
    (ack,) = sent(session)
    header = ack.session_header
    assert (header.recoverable_msg_ack_seq_number, header.recoverable_msg_ack_flags) == (3, 1)


@pytest.mark.rule("MQQB-3.1.5.8.2-3")
def test_half_a_window_is_acknowledged_at_once(session: BinarySession) -> None:
    session.feed(b"".join(user_packet(number) for number in range(1, 32)))
    assert session.take() == b""
    session.feed(user_packet(32))
    (ack,) = sent(session)
    assert ack.session_header.ack_sequence_number == 32


@pytest.mark.rule("MQQB-3.1.5.8.2-2", "MQQB-3.1.5.8.7-1", "MQQB-3.1.5.8.7-2", "MQQB-3.1.5.8.7-3")
@pytest.mark.parametrize(
    ("kinds", "count"),
    [
        (["recoverable"] * 33, 33),
        # 33 pairs: express messages are counted, too, and take no bit.
        (["express", "recoverable"] * 33, 66),
    ],
)
def test_no_more_than_thirty_two_recoverable_messages_wait_for_their_bit(
    kinds: list[str], count: int
) -> None:
    # The window is so large that nothing else makes it acknowledge.
    one = protocol(window_size=1000)
    session = one.accept()
    header = ConnectionParametersHeader(window_size=1000)
    session.feed(encode(request()) + encode(ConnectionParameters(connection_parameters_header=header)))
    session.take()
    packets = [user_packet(number, kind) for number, kind in enumerate(kinds, 1)]
    session.feed(b"".join(packets[:-1]))
    assert session.take() == b""
    session.feed(packets[-1])
    (ack,) = sent(session)
    header_ = ack.session_header
    # It counts the message that has no bit left.
    assert (header_.ack_sequence_number, header_.recoverable_msg_ack_seq_number) == (count, 1)
    assert header_.recoverable_msg_ack_flags == 0xFFFFFFFF
    advance(session, 500)
    (ack,) = sent(session)
    header_ = ack.session_header
    assert header_.ack_sequence_number == count
    assert (header_.recoverable_msg_ack_seq_number, header_.recoverable_msg_ack_flags) == (33, 1)


@pytest.mark.rule(
    "MQQB-3.1.6.4-2", "MQQB-3.1.7.1.3-10", "MQQB-3.1.7.1.3-11", "MQQB-3.1.7.11-2", "MQQB-3.1.7.11-3"
)
@pytest.mark.parametrize(("elapsed", "carried"), [(45_000, False), (45_001, True)])
def test_a_message_carries_the_acknowledgment_after_three_quarters_of_its_time(
    session: BinarySession, elapsed: int, carried: bool
) -> None:
    session.feed(user_packet())
    advance(session, elapsed)
    queue_of(session).send(message("recoverable", queue="DIRECT=OS:sender\\private$\\admin"))
    data = session.take()
    packet = decode(data)
    assert len(data) == packet.base_header.packet_size + (16 if carried else 0)
    if carried:
        header = packet.session_header
        # The message that carries it is counted.
        assert (header.ack_sequence_number, header.user_msg_sequence_number) == (1, 1)
        assert header.recoverable_msg_seq_number == 1
        advance(session, 60_000)
        assert not any(isinstance(one, SessionAck) for one in sent(session))
    else:
        assert packet.session_header is None


@pytest.mark.rule("MQQB-3.1.7.11-2")
def test_acknowledgments_of_sequences_never_carry_a_session_header(session: BinarySession) -> None:
    session.feed(user_packet())
    advance(session, 50_000)
    packet = order_ack(order_queue(SENDER, "", direct=False), RECEIVER, TxSequenceID(ordinal=1), 1)
    assert packet is not None
    queue_of(session).send(packet)
    (found,) = sent(session)
    assert (found.base_header.flags, found.session_header) == (0, None)
    queue_of(session).send(message("transactional"))
    (found,) = sent(session)
    assert found.session_header.ack_sequence_number == 1


@pytest.mark.rule("MQQB-3.1.5.5.5-1")
@pytest.mark.parametrize(
    "counts",
    [
        {"user_msg_sequence_number": 2, "recoverable_msg_seq_number": 0},
        {"user_msg_sequence_number": 1, "recoverable_msg_seq_number": 1},
        {"user_msg_sequence_number": 0, "recoverable_msg_seq_number": 0},
    ],
)
def test_counts_that_disagree_close_the_session(session: BinarySession, counts: dict[str, int]) -> None:
    session.feed(user_packet())
    acknowledge(session, **counts)
    assert session.close_reason == "message_counts"


@pytest.mark.rule("MQQB-3.1.5.5-2", "MQQB-3.1.5.8-2", "MQQB-3.1.5.8.4-1")
def test_a_message_with_wrong_counts_is_delivered_before_the_session_is_closed() -> None:
    world = World()
    wire = world.open()
    packet = message(body=b"last", message_id=77)
    base = packet.base_header.with_bits(sh=1)
    header = SessionHeader(user_msg_sequence_number=9)
    wire.ends[1].feed(encode(replace(packet, base_header=base, session_header=header)))
    assert wire.ends[1].close_reason == "message_counts"
    assert bodies(world.orders) == [b"body", b"last"]


@pytest.mark.rule("MQQB-3.1.5.5.2-1")
def test_acknowledgments_of_what_was_never_sent_say_nothing(session: BinarySession) -> None:
    for number in range(3):
        queue_of(session).send(message("recoverable" if number else "express"))
    acknowledge(
        session, ack_sequence_number=9, recoverable_msg_ack_seq_number=7, recoverable_msg_ack_flags=0xFFFFFFFF
    )
    assert (len(queue_of(session)), session.sent.unacknowledged) == (3, 3)
    acknowledge(session, ack_sequence_number=2, recoverable_msg_ack_seq_number=1, recoverable_msg_ack_flags=1)
    assert (len(queue_of(session)), session.sent.unacknowledged) == (1, 1)


@pytest.mark.rule("MQQB-3.1.5.5.2-1")
def test_an_acknowledgment_of_receipt_deletes_no_recoverable_message(session: BinarySession) -> None:
    messages = [queue_of(session).send(message(kind)) for kind in ("express", "recoverable")]
    acknowledge(session, ack_sequence_number=2)
    assert [one.outcome for one in messages if one is not None] == ["acknowledged", None]
    assert len(queue_of(session)) == 1


@pytest.mark.rule("MQQB-3.1.5.5.1-3")
@pytest.mark.parametrize("alone", [True, False])
def test_an_acknowledgment_lets_only_unsent_messages_follow(session: BinarySession, alone: bool) -> None:
    acknowledge(session, window_size=2)
    for number in range(3):
        queue_of(session).send(message(body=b"%d" % number))
    assert len(sent(session)) == 2
    header = SessionHeader(ack_sequence_number=1, user_msg_sequence_number=int(not alone), window_size=2)
    packet = message(message_id=1)
    base = packet.base_header.with_bits(sh=1)
    carrier = replace(packet, base_header=base, session_header=header)
    session.feed(encode(SessionAck(session_header=header) if alone else carrier))
    found = [one for one in sent(session) if one.stem() == "user_message"]
    assert [one.message_properties_header.message_body for one in found] == [b"2"]


@pytest.mark.rule("MQQB-3.1.5.5.1-2", "MQQB-3.1.5.5.1-3", "MQQB-3.1.7.1-2")
def test_a_window_of_one_lets_one_message_through_at_a_time(session: BinarySession) -> None:
    acknowledge(session, window_size=1)
    for _ in range(3):
        queue_of(session).send(message())
    assert len(sent(session)) == 1
    acknowledge(session, ack_sequence_number=1, window_size=2)
    assert len(sent(session)) == 2


@pytest.mark.rule("MQQB-3.1.5.4.1-3", "MQQB-3.1.6.3-1", "MQQB-3.1.6.3-3", "MQQB-3.1.7.1.3-13")
@pytest.mark.parametrize(("known", "timeout"), [(True, 20_000), (False, 40_000)])
def test_a_session_whose_messages_are_not_acknowledged_is_closed(known: bool, timeout: int) -> None:
    world = World(known=known)
    wire = world.open()
    client, server = wire.ends
    world.run(60_000)
    assert world.outcomes == ["acknowledged"]
    world.outgoing.send(message())
    client.take()
    server.take()
    world.timers.advance(world.timers.now + timeout - 1)
    assert not client.closed
    world.timers.advance(world.timers.now + 1)
    assert client.close_reason == "ack_timeout"


@pytest.mark.rule("MQQB-3.1.5.1-1", "MQQB-3.1.5.4.2-4", "MQQB-3.1.6.3-4")
def test_a_session_that_hears_something_waits_once_more_for_its_acknowledgment() -> None:
    session = opened("initiator")
    queue_of(session).send(message())
    advance(session, 39_000)
    session.feed(user_packet())
    advance(session, 1000)
    assert not session.closed
    advance(session, 39_999)
    assert not session.closed
    advance(session, 1)
    assert session.close_reason == "ack_timeout"


@pytest.mark.rule("MQQB-3.1.5.5.5-2")
def test_an_acknowledgment_of_a_part_lets_the_session_wait_anew_for_the_rest() -> None:
    session = opened("initiator")
    for _ in range(2):
        queue_of(session).send(message())
    advance(session, 30_000)
    acknowledge(session, ack_sequence_number=1)
    # From 30 s on it waits for 40 s, and once more, since it has heard something.
    advance(session, 79_999)
    assert not session.closed
    advance(session, 1)
    assert session.close_reason == "ack_timeout"


def test_the_message_of_a_session_that_died_silently_is_sent_in_the_next_one() -> None:
    world = World()
    world.open()
    world.run(60_000)
    world.outgoing.send(message(body=b"again"))
    world.wire.ends[0].take()
    world.wire.up = False
    world.run(100_000)
    assert len(world.wires) == 2
    assert bodies(world.orders) == [b"body", b"again"]


@pytest.mark.rule("MQQB-3.1.6.3-2")
def test_nothing_is_waited_for_when_everything_is_acknowledged(session: BinarySession) -> None:
    queue_of(session).send(message())
    acknowledge(session, ack_sequence_number=1)
    advance(session, 299_999)
    assert not session.closed


@pytest.mark.rule("MQQB-3.1.5.9-3", "MQQB-3.1.6.7-2", "MQQB-3.1.7.3-1")
def test_a_closed_session_leaves_no_timer() -> None:
    for reason in ("disconnected", "stopped"):
        session = opened()
        session.feed(user_packet(1) + user_packet(2, "recoverable"))
        queue_of(session).send(message())
        one = session.host
        assert isinstance(one, BinaryProtocol)
        session.disconnected() if reason == "disconnected" else one.stop()
        session.disconnected()
        assert session.close_reason == reason
        assert one.sessions == []
        timers = one.manager.timers
        # Only the history of messages goes on, for half an hour more.
        assert timers.running == 1
        timers.advance(3_600_000 * 2)
        assert timers.running == 0


@pytest.mark.rule("MQQB-3.1.5.9-2", "MQQB-3.1.5.9-4")
def test_who_owns_the_connection_is_told_of_bytes_and_of_the_end() -> None:
    seen: list[tuple[SessionState, int]] = []
    one = protocol()
    session = one.accept(changed=lambda it: seen.append((it.state, len(it.take()))))
    session.feed(encode(request()))
    session.feed(encode(ConnectionParameters()))
    session.disconnected()
    assert [size for _, size in seen] == [572, 32, 0]
    assert seen[-1][0] is SessionState.CLOSED


def test_no_more_is_sent_while_nobody_takes_it(session: BinarySession) -> None:
    for _ in range(8):
        queue_of(session).send(message(body=bytes(300_000)))
    assert 4 * 300_000 < len(session.take()) < 5 * 300_000
    assert len(session.take()) + len(session.take()) > 3 * 300_000
    assert session.sent.messages == 8
