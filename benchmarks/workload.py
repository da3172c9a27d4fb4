"""What the benchmarks decode: typical messages and the captures that carry them, built in memory."""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator

import msmq_wire as mw
from msmq_wire.capture.pcap import Frame
from msmq_wire.wire.headers.security_header import SecurityData, SecurityHeader
from msmq_wire.wire.headers.transaction_header import TransactionHeader
from msmq_wire.wire.packets.user_message import UserMessage
from msmq_wire.wire.types.sid import SID
from msmq_wire.wire.types.tx_sequence_id import TxSequenceID

__all__ = ["Sender", "frames", "message", "messages"]

_ETHERNET = bytes.fromhex("020000000002 020000000001 0800")
_SEGMENT = 1460
_SYN, _ACK, _PSH = 0x02, 0x10, 0x08
_SID = SID(sub_authority_count=5, sub_authority=(21, 1111111111, 2222222222, 3333333333, 1105))


def message(number: int, size: int = 600) -> UserMessage:
    """A transactional message of ``size`` bytes: direct destination, private admin queue, SID, label."""
    draft = _message(number, b"")
    body = random.Random(number).randbytes(max(0, size - draft.base_header.packet_size))
    return _message(number, body)


def _message(number: int, body: bytes) -> UserMessage:
    host = mw.GUID.parse("8b1c1d55-7e2d-4b8f-9f3b-0c3f5a5e1a20")
    return mw.build_message(
        r"DIRECT=OS:server01\private$\orders",
        body,
        label="order confirmation 000042",
        source_queue_manager=host,
        admin_queue=rf"PRIVATE={host}\0000000f",
        acknowledge=("pa", "na"),
        message_id=number,
        sent_time=1_700_000_000 + number,
        body_type=0x1011,
        transaction=TransactionHeader(
            flags=0xC | number % 1000 << 4,
            tx_sequence_id=TxSequenceID(ordinal=7, time_stamp=1_700_000_000),
            tx_sequence_number=number + 1,
            previous_tx_sequence_number=number,
        ),
        security_header=SecurityHeader(
            flags=0xC1, sender_id_size=28, security_data=SecurityData(security_id=mw.encode(_SID))
        ),
    )


def messages(count: int, size: int = 600) -> list[bytes]:
    """``count`` different messages as bytes."""
    return [mw.encode(message(number, size)) for number in range(count)]


class Sender:
    """One TCP connection to port 1801: stream bytes to Ethernet frames, an ACK every other segment."""

    def __init__(self, number: int) -> None:
        self._client = struct.pack(">4sH", bytes((192, 0, 2, 1 + number % 250)), 40000 + number)
        self._server = struct.pack(">4sH", bytes((192, 0, 2, 254)), 1801)
        self._seq = 1000

    def open(self) -> Iterator[bytes]:
        """Yield the frames of the handshake."""
        yield self._frame(_SYN, b"", sent=True)
        self._seq += 1
        yield self._frame(_SYN | _ACK, b"", sent=False)
        yield self._frame(_ACK, b"", sent=True)

    def send(self, data: bytes) -> Iterator[bytes]:
        """Yield the frames that carry ``data``."""
        for index, at in enumerate(range(0, len(data), _SEGMENT)):
            payload = data[at : at + _SEGMENT]
            yield self._frame(_ACK | _PSH, payload, sent=True)
            self._seq = self._seq + len(payload) & 0xFFFFFFFF
            if index & 1 or at + _SEGMENT >= len(data):
                yield self._frame(_ACK, b"", sent=False)

    def _frame(self, flags: int, payload: bytes, *, sent: bool) -> bytes:
        src, dst = (self._client, self._server) if sent else (self._server, self._client)
        # A SYN takes a sequence number of its own, so the server's numbers start one later, too.
        own, other = (self._seq, 2001) if sent else (2000 if flags & _SYN else 2001, self._seq)
        ipv4 = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 40 + len(payload), 0, 0x4000, 64, 6, 0, src[:4], dst[:4])
        tcp = struct.pack(
            ">2s2sIIBBHHH",
            src[4:],
            dst[4:],
            own,
            0 if flags == _SYN else other,
            5 << 4,
            flags,
            65535,
            0,
            0,
        )
        return b"".join((_ETHERNET, ipv4, tcp, payload))


def frames(packets: list[bytes]) -> Iterator[Frame]:
    """Yield the frames of one connection that carries ``packets``, each in segments of its own."""
    sender = Sender(0)
    number = 0
    for source in (sender.open(), *(sender.send(packet) for packet in packets)):
        for data in source:
            number += 1
            yield Frame(number, 1_700_000_000_000_000_000 + number * 20_000, 1, data, len(data), 0)
