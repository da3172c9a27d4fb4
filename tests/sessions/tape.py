"""Records written by hand: what a reader would find on one connection, in order."""

from __future__ import annotations

from typing import Any

import msgspec

from msmq_wire import GUID, build_message
from msmq_wire.records.record import Record
from msmq_wire.records.rpc_packets import RpcCall
from msmq_wire.sessions import MessageLife, Session, Story, follow
from msmq_wire.wire.headers.connection_parameters_header import ConnectionParametersHeader
from msmq_wire.wire.headers.establish_connection_header import EstablishConnectionHeader
from msmq_wire.wire.headers.final_ack_body import FinalAckBody
from msmq_wire.wire.headers.internal_header import InternalHeader
from msmq_wire.wire.headers.order_ack_body import OrderAckBody
from msmq_wire.wire.headers.session_header import SessionHeader
from msmq_wire.wire.headers.transaction_header import TransactionHeader
from msmq_wire.wire.packets.acknowledgment import ACK_LABEL
from msmq_wire.wire.packets.connection_parameters import ConnectionParameters
from msmq_wire.wire.packets.establish_connection import EstablishConnection
from msmq_wire.wire.packets.final_ack import FinalAck
from msmq_wire.wire.packets.order_ack import OrderAck
from msmq_wire.wire.packets.session_ack import SessionAck
from msmq_wire.wire.packets.user_message import UserMessage
from msmq_wire.wire.types.tx_sequence_id import TxSequenceID

SENDER = GUID.parse("a1d30c5b-247e-4f45-9a31-c5d20e6f7788")
RECEIVER = GUID.parse("c277e190-3d6a-4c4b-8d05-f21b9ac83e44")
QUEUE = "DIRECT=OS:msg01\\private$\\orders"
START = 1_795_166_047_000_000_000
SECOND = 1_000_000_000
SEQUENCE = TxSequenceID(ordinal=1, time_stamp=7)


class Tape:
    """Records in order: one a frame, a millisecond apart; ``on`` names the connection."""

    def __init__(self) -> None:
        self.records: list[Record] = []
        self.time = START

    def add(self, type_: str, side: int = 0, on: int | None = 0, **more: Any) -> Record:
        number = len(self.records) + 1
        ends = f"192.0.2.21:{49731 + (on or 0)}", "192.0.2.10:1801"
        src, dst = ends if side == 0 else ends[::-1]
        self.time += 1_000_000
        place = {"src": src, "dst": dst, "stream": on, "frames": (number,), "time": self.time, **more}
        self.records.append(Record(id=number, type=type_, **place))
        return self.records[-1]

    def wait(self, seconds: float) -> None:
        self.time += int(seconds * SECOND)

    def tcp(self, event: str, side: int = 0, on: int | None = 0, **more: Any) -> Record:
        return self.add("tcp_stream", side, on, event=event, **more)

    def handshake(self, on: int = 0) -> None:
        self.tcp("syn", on=on)
        self.tcp("syn_ack", 1, on=on)
        self.tcp("established", on=on)

    def establish(self, side: int = 0, on: int = 0, cs: bool = False, **header: Any) -> Record:
        fields = {"client_guid": SENDER, "server_guid": RECEIVER if side else GUID(bytes(16)), **header}
        packet = EstablishConnection(
            internal_header=InternalHeader(flags=2 | cs << 4),
            establish_connection_header=EstablishConnectionHeader(**fields),
        )
        return self.add("establish_connection", side, on, packet=packet)

    def parameters(self, side: int = 0, on: int = 0, **header: Any) -> Record:
        packet = ConnectionParameters(connection_parameters_header=ConnectionParametersHeader(**header))
        return self.add("connection_parameters", side, on, packet=packet)

    def open(self, on: int = 0) -> None:
        self.handshake(on)
        self.establish(0, on)
        self.establish(1, on)
        self.parameters(0, on)
        self.parameters(1, on)

    def message(
        self,
        number: int,
        side: int = 0,
        on: int = 0,
        *,
        header: SessionHeader | None = None,
        tx: tuple[int, int] | None = None,
        **more: Any,
    ) -> Record:
        source = RECEIVER if side else SENDER
        transaction = None
        if tx is not None:
            transaction = TransactionHeader(
                tx_sequence_id=SEQUENCE, tx_sequence_number=tx[0], previous_tx_sequence_number=tx[1]
            )
            more = {"delivery": "recoverable", **more}
        fields = {"source_queue_manager": source, "sent_time": START // SECOND, **more}
        packet = build_message(QUEUE, b"body", message_id=number, transaction=transaction, **fields)
        if header is not None:
            packet = msgspec.structs.replace(packet, session_header=header)
        return self.add("user_message", side, on, packet=packet, length=200)

    def ack(self, received: int, side: int = 1, on: int = 0, **header: Any) -> Record:
        packet = SessionAck(session_header=SessionHeader(ack_sequence_number=received & 0xFFFF, **header))
        return self.add("session_ack", side, on, packet=packet)

    def order_ack(self, number: int, sequence: TxSequenceID = SEQUENCE) -> Record:
        body = OrderAckBody(tx_sequence_id=sequence, tx_sequence_number=number)
        return self._transactional_ack("order_ack", OrderAck, 0xFF, body)

    def final_ack(self, number: int, class_: int) -> Record:
        body = FinalAckBody(
            tx_sequence_id=SEQUENCE, tx_sequence_number=1, source_guid=SENDER, message_id=number
        )
        return self._transactional_ack("final_ack", FinalAck, class_, body)

    def _transactional_ack(
        self, type_: str, packet: type[UserMessage], class_: int, body: OrderAckBody | FinalAckBody
    ) -> Record:
        whole = build_message(
            "DIRECT=OS:msg01\\private$\\order_queue$",
            type(body).schema().build(body),
            label=ACK_LABEL,
            source_queue_manager=RECEIVER,
            message_class=class_,
            message_id=9000 + len(self.records),
        )
        parts = {name: getattr(whole, name) for name in whole.__struct_fields__}
        return self.add(type_, 1, packet=packet(**parts))

    def administration_ack(self, number: int, class_: int, own: int = 5001) -> Record:
        correlation = SENDER + number.to_bytes(4, "little")
        return self.message(own, 1, message_class=class_, correlation_id=correlation)

    def call(self, method: str, *, interface: str = "RemoteRead", **fields: Any) -> Record:
        packet = RpcCall(interface=interface, opnum=0, method=method, syntax="ndr", **fields)
        record = self.add("rpc_call", 0, 7, packet=packet)
        self.records[-1] = msgspec.structs.replace(record, dst="192.0.2.10:2103")
        return self.records[-1]

    def gap(self, side: int = 0, on: int = 0) -> Record:
        return self.add("gap", side, on, missing=100, reason="loss")

    def story(self) -> Story:
        return follow(self.records)

    def session(self) -> Session:
        (session,) = self.story().sessions
        return session

    def life(self, number: int = 1) -> MessageLife:
        life = self.story().lives.by_id(f"{SENDER}\\{number}")
        assert life is not None
        return life


def lone(number: int) -> Record:
    """A message on a connection of which nothing else is known, to a queue of its own."""
    packet = build_message(
        rf"DIRECT=OS:msg01\private$\q{number}", b"x", message_id=1,
        source_queue_manager=GUID(number.to_bytes(16, "little")), sent_time=START // 1_000_000_000,
    )  # fmt: skip
    return Record(
        id=number, type="user_message", src=f"10.0.{number >> 8}.{number & 255}:40000", dst="192.0.2.10:1801",
        stream=number, frames=(number,), time=START + number, packet=packet, length=200,
    )  # fmt: skip
