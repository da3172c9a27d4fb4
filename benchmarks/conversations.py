"""What queue managers say to each other: sessions in both directions, short ones, HTTP, and other traffic.

Every function here yields frames, and adds to ``sent`` what a reader has to find in them, each before its
frames: packets of the binary protocol, or requests.
"""

from __future__ import annotations

import functools
import itertools
import random
from collections import Counter
from collections.abc import Callable, Iterator
from uuid import UUID

import msgspec

import msmq_wire as mw
from benchmarks.traffic import Sender
from benchmarks.workload import HOST, PEER, USER_MESSAGES, body, messages, numbered
from msmq_wire.lab.model.binary.acknowledgments import (
    administration_ack,
    final_ack,
    order_ack,
    order_queue,
)
from msmq_wire.lab.model.binary.session_counts import ReceivedCounts, SentCounts
from msmq_wire.lab.model.binary.session_opening import (
    establish_request,
    establish_response,
    parameters_request,
    parameters_response,
)
from msmq_wire.srmp.building import build_srmp
from msmq_wire.wire.fields import WireStruct
from msmq_wire.wire.headers.session_header import SessionHeader
from msmq_wire.wire.headers.transaction_header import TransactionHeader
from msmq_wire.wire.packets.ping import Ping
from msmq_wire.wire.packets.session_ack import SessionAck
from msmq_wire.wire.packets.user_message import UserMessage
from msmq_wire.wire.types.enumerations import MessageClass
from msmq_wire.wire.types.tx_sequence_id import TxSequenceID

__all__ = ["other_traffic", "short_connections", "srmp", "two_way_session"]

_SIZES = (200, 400, 800, 1500, 3000)
_WINDOW = 64
_BETWEEN_ACKS = 8
"""User packets, and numbers of a sequence, that one acknowledgment is for."""
_LIFE = 256
"""Messages after which a connection is closed and another one opened."""
_START = 1_700_000_000

Shape = Callable[[int, int], UserMessage]


@functools.cache
def _template(shape: Shape, kind: int, headed: bool) -> UserMessage:
    """A message of the size number ``kind``, to the queue of that number."""
    packet = shape(kind, _SIZES[kind])
    return mw.fit(msgspec.structs.replace(packet, session_header=SessionHeader() if headed else None))


@functools.cache
def _receipt(shape: Shape, kind: int) -> UserMessage | None:
    """The message to the administration queue that such a message asks for."""
    packet = _template(shape, kind, False)
    properties = packet.message_properties_header
    assert properties is not None
    if properties.bit("pa"):
        return administration_ack(PEER, packet, MessageClass.MQMSG_CLASS_ACK_REACH_QUEUE)
    if properties.bit("pr"):
        return administration_ack(PEER, packet, MessageClass.MQMSG_CLASS_ACK_RECEIVE)
    return None


def _text(number: int, size: int) -> bytes:
    """A body in XML, cut at this size."""
    line = b"<line article='%06d' amount='%d'/>" % (number % 1_000_000, number % 12 + 1)
    return (b"<?xml version='1.0'?><order>" + line * (size // len(line) + 1))[:size]


class _Side:
    """What one side of a session counts."""

    def __init__(self) -> None:
        self.sent: SentCounts[None] = SentCounts()
        self.received = ReceivedCounts()


class _Pair:
    """A client and the server: two queue managers, and one connection after the other.

    Messages go to the server, and acknowledgments of every kind come back with the next of ``server_ids``.
    """

    def __init__(self, number: int, sent: list[bytes], server_ids: Iterator[int]) -> None:
        self._number = number
        self._address = bytes((10, *(number + 1).to_bytes(3, "big")))
        self._host = HOST[:12] + number.to_bytes(4, "big")
        self._order_queue = order_queue(PEER, ".".join(map(str, self._address)), direct=True)
        self._packets = sent
        self._connections = itertools.count()
        self._server_ids = server_ids
        self._sequences: Counter[int] = Counter()
        self._unordered: dict[int, TransactionHeader] = {}

    def open(self, *, ping: bool = True) -> Iterator[bytes]:
        """Yield the frames of a ping and its answer, and of a new connection until its session is open."""
        self._client, self._server = _Side(), _Side()
        port = self._number * 31 + next(self._connections)
        self._tcp = Sender(port % 20_000, address=self._address)
        if ping:
            for asked, manager in ((True, HOST), (False, PEER)):
                yield self._tcp.datagram(self._encoded(Ping(cookie=port, qm_guid=manager)), sent=asked)
        yield from self._tcp.open()
        asks = establish_request(HOST, PEER, port, ping_sent=ping)
        wants = parameters_request(500, 120_000, _WINDOW)
        for packet, sent in (
            (asks, True),
            (establish_response(asks.establish_connection_header, PEER, refused=False), False),
            (wants, True),
            (parameters_response(wants.connection_parameters_header, _WINDOW), False),
        ):
            yield from self._say(packet, sent=sent)

    def message(self, number: int, shape: Shape, kind: int) -> Iterator[bytes]:
        """Yield the frames of a message, and of what the server answers."""
        headed = self._client.received.unacknowledged >= _BETWEEN_ACKS
        packet = numbered(_template(shape, kind, headed), number, (body, _text)[number // 8 % 2])
        transaction = packet.transaction_header
        if transaction is not None:
            self._sequences[kind] += 1
            transaction = TransactionHeader(
                flags=transaction.flags,
                tx_sequence_id=TxSequenceID(ordinal=kind + 1, time_stamp=_START),
                tx_sequence_number=self._sequences[kind],
                previous_tx_sequence_number=self._sequences[kind] - 1,
            ).with_bits(fa=int(self._sequences[kind] % 4 == 0))
            packet = msgspec.structs.replace(packet, transaction_header=transaction)
        yield from self._user(packet, sent=True)
        receipt = _receipt(shape, kind)
        if receipt is not None:
            properties = receipt.message_properties_header
            assert properties is not None
            properties = msgspec.structs.replace(
                properties, correlation_id=HOST + number.to_bytes(4, "little")
            )
            yield from self._answer(msgspec.structs.replace(receipt, message_properties_header=properties))
        if transaction is not None:
            self._unordered[kind] = transaction
            if transaction.bit("fa"):
                class_ = MessageClass.MQMSG_CLASS_ACK_RECEIVE
                yield from self._answer(final_ack(self._order_queue, PEER, packet, transaction, class_))
            if transaction.tx_sequence_number % _BETWEEN_ACKS == 0:
                yield from self._order(kind)
        if self._server.received.unacknowledged >= _BETWEEN_ACKS:
            yield from self._acknowledge(sent=False)

    def close(self) -> Iterator[bytes]:
        """Yield the frames that acknowledge all that is open and end the connection."""
        for kind in list(self._unordered):
            yield from self._order(kind)
        yield from self._acknowledge(sent=False)
        yield from self._acknowledge(sent=True)
        yield from self._tcp.close()

    def _order(self, kind: int) -> Iterator[bytes]:
        last = self._unordered.pop(kind)
        ack = order_ack(self._order_queue, PEER, last.tx_sequence_id, last.tx_sequence_number)
        yield from self._answer(ack)

    def _answer(self, packet: UserMessage | None) -> Iterator[bytes]:
        assert packet is not None
        user = msgspec.structs.replace(
            packet.user_header, message_id=next(self._server_ids), sent_time=_START
        )
        yield from self._user(msgspec.structs.replace(packet, user_header=user), sent=False)

    def _user(self, packet: UserMessage, *, sent: bool) -> Iterator[bytes]:
        """Yield the frames of a user packet; one that has a session header gets the counts."""
        mine, theirs = self._sides(sent)
        recoverable = bool(packet.user_header.bit("dm"))
        mine.sent.add(None, recoverable=recoverable)
        theirs.received.add()
        if recoverable:
            theirs.received.store()
        if packet.session_header is not None:
            packet = msgspec.structs.replace(packet, session_header=self._header(sent))
        yield from self._say(packet, sent=sent)

    def _acknowledge(self, *, sent: bool) -> Iterator[bytes]:
        if self._sides(sent)[0].received.unacknowledged:
            yield from self._say(SessionAck(session_header=self._header(sent)), sent=sent)

    def _header(self, sent: bool) -> SessionHeader:
        mine, theirs = self._sides(sent)
        header = mine.received.header(mine.sent, _WINDOW)
        theirs.sent.acknowledge(header)
        return header

    def _sides(self, sent: bool) -> tuple[_Side, _Side]:
        return (self._client, self._server) if sent else (self._server, self._client)

    def _say(self, packet: WireStruct, *, sent: bool) -> Iterator[bytes]:
        yield from self._tcp.send(self._encoded(packet), sent=sent)

    def _encoded(self, packet: WireStruct) -> bytes:
        # Every client is a queue manager of its own, wherever a packet names it.
        data = mw.encode(packet).replace(HOST, self._host)
        self._packets.append(data)
        return data


def two_way_session(count: int, sent: list[bytes], *, first: int = 0, pairs: int = 8) -> Iterator[bytes]:
    """Yield the frames of so many messages of every kind, numbered from ``first``, and what goes with them.

    Clients send them to one server, with pings over UDP, handshakes and acknowledgments of every kind.
    """
    source, server_ids = random.Random(7 + first), itertools.count(1)
    clients = [_Pair(number, sent, server_ids) for number in range(pairs)]
    for number in range(count):
        client, each = clients[number % pairs], number // pairs
        if each % _LIFE == 0:
            if each:
                yield from client.close()
            yield from client.open()
        shape, kind = source.choice(USER_MESSAGES), source.randrange(len(_SIZES))
        yield from client.message(first + number, shape, kind)
    for client in clients[:count]:
        yield from client.close()


def short_connections(count: int, sent: list[bytes]) -> Iterator[bytes]:
    """Yield the frames of so many connections, each of a client of its own, with one or two messages."""
    source, server_ids = random.Random(7), itertools.count(1)
    for number in range(count):
        client = _Pair(number, sent, server_ids)
        yield from client.open(ping=False)
        for each in range(1 + number % 2):
            shape, kind = source.choice(USER_MESSAGES), source.randrange(len(_SIZES))
            yield from client.message(2 * number + each, shape, kind)
        yield from client.close()


def srmp(count: int, sent: list[bytes]) -> Iterator[bytes]:
    """Yield the frames of so many messages over HTTP, each with its answer."""
    connection = Sender(1, port=80)
    yield from connection.open()
    for number in range(count):
        request = build_srmp(
            "http://server01/msmq/private$/orders",
            body(number, 400),
            source_qm_guid=UUID(bytes_le=HOST),
            message_number=number,
            sent_at=_START,
            label=f"order {number}",
        )
        sent.append(request)
        yield from connection.send(request)
        yield from connection.send(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", sent=False)
    yield from connection.close()


def other_traffic(count: int, sent: list[bytes]) -> Iterator[bytes]:
    """Yield the frames of so many requests over TLS with large answers, and a message for each twentieth."""
    web, queue = Sender(port=443), Sender(1)
    yield from web.open()
    yield from queue.open()
    few = messages(-(-count // 20))
    for number in range(count):
        for size, asked in ((500, True), (12_000, False)):
            record = b"\x17\x03\x03" + size.to_bytes(2, "big") + body(number, size)
            yield from web.send(record, sent=asked)
        if number % 20 == 0:
            sent.append(next(few))
            yield from queue.send(sent[-1])
