"""What the benchmarks decode: typical messages, a mix of every kind of packet, all built in memory."""

from __future__ import annotations

import random
from collections.abc import Iterator

import msgspec

import msmq_wire as mw
from msmq_wire.wire.headers.connection_parameters_header import ConnectionParametersHeader
from msmq_wire.wire.headers.debug_header import DebugHeader
from msmq_wire.wire.headers.establish_connection_header import EstablishConnectionHeader
from msmq_wire.wire.headers.final_ack_body import FinalAckBody
from msmq_wire.wire.headers.mqf_address_header import MQFAddressHeader
from msmq_wire.wire.headers.multi_queue_format_header import MultiQueueFormatHeader
from msmq_wire.wire.headers.order_ack_body import OrderAckBody
from msmq_wire.wire.headers.security_header import SecurityData, SecurityHeader
from msmq_wire.wire.headers.session_header import SessionHeader
from msmq_wire.wire.headers.transaction_header import TransactionHeader
from msmq_wire.wire.packets.connection_parameters import ConnectionParameters
from msmq_wire.wire.packets.establish_connection import EstablishConnection
from msmq_wire.wire.packets.ping import Ping
from msmq_wire.wire.packets.session_ack import SessionAck
from msmq_wire.wire.packets.user_message import UserMessage
from msmq_wire.wire.types.enumerations import MessageClass, MQFHeaderId
from msmq_wire.wire.types.mqf_direct_queue_format_name import MQFDirectQueueFormatName
from msmq_wire.wire.types.mqf_format_name_element import MQFFormatNameElement
from msmq_wire.wire.types.sid import SID
from msmq_wire.wire.types.tx_sequence_id import TxSequenceID
from msmq_wire.wire.types.wchar_text import WcharText

__all__ = ["MIX_CYCLE", "message", "messages", "mixed"]

_SID = SID(sub_authority_count=5, sub_authority=(21, 1111111111, 2222222222, 3333333333, 1105))
_HOST = mw.GUID.parse("8b1c1d55-7e2d-4b8f-9f3b-0c3f5a5e1a20")
_PEER = mw.GUID.parse("5d0d3f2a-1f4e-4c7b-8a92-6e1b7c3d9f04")
_PUBLIC = mw.GUID.parse("c2a8e6b0-94d3-4f1a-b7c5-2d8e0f6a1b93")
_QUEUES = 16
"""Queues that typical messages go to, in turn."""
_POOL = random.Random(1801).randbytes(1 << 21)
"""Bodies are pieces of it, so they end at 2 MB: different bytes for every message at no cost."""
MIX_CYCLE = 100
"""Packets after which a mix has had every kind in its share."""


def message(number: int, size: int = 600) -> UserMessage:
    """A transactional message of ``size`` bytes: direct destination, private admin queue, SID, label."""
    draft = _message(number, b"")
    return _message(number, _body(number, size - draft.base_header.packet_size))


def _body(number: int, size: int) -> bytes:
    size = max(0, size)
    at = number * 7919 % (len(_POOL) - size)
    return _POOL[at : at + size]


def _label(number: int) -> str:
    return f"order confirmation {number % 1_000_000:06}"


def _message(number: int, body: bytes) -> UserMessage:
    return mw.build_message(
        rf"DIRECT=OS:server01\private$\orders{number % _QUEUES:02}",
        body,
        label=_label(number),
        source_queue_manager=_HOST,
        admin_queue=rf"PRIVATE={_HOST}\0000000f",
        acknowledge=("pa", "na"),
        message_id=number,
        sent_time=1_700_000_000 + number // 1000,
        body_type=0x1011,
        transaction=_transaction(number),
        security_header=SecurityHeader(
            flags=0xC1, sender_id_size=28, security_data=SecurityData(security_id=mw.encode(_SID))
        ),
    )


def _transaction(number: int) -> TransactionHeader:
    return TransactionHeader(
        flags=0xC | number % 1000 << 4,
        tx_sequence_id=TxSequenceID(ordinal=7, time_stamp=1_700_000_000),
        tx_sequence_number=number + 1,
        previous_tx_sequence_number=number,
    )


def messages(count: int, size: int = 600, *, first: int = 0) -> Iterator[bytes]:
    """Yield ``count`` typical messages, numbered from ``first``: identifiers, labels and bodies differ."""
    replace = msgspec.structs.replace
    templates = [message(number, size) for number in range(_QUEUES)]
    for number in range(first, first + count):
        template = templates[number % _QUEUES]
        properties = template.message_properties_header
        assert properties is not None
        packet = replace(
            template,
            user_header=replace(
                template.user_header, message_id=number, sent_time=1_700_000_000 + number // 1000
            ),
            transaction_header=_transaction(number),
            message_properties_header=replace(
                properties,
                label=WcharText.of(_label(number)),
                message_body=_body(number, len(properties.message_body)),
            ),
        )
        yield mw.encode(packet)


def mixed(count: int) -> list[bytes]:
    """``count`` packets of every kind, shuffled in cycles of `MIX_CYCLE`, as a busy session has them.

    Half are user messages of five shapes; two of a hundred have a list of queues and two break a rule.
    """
    source = random.Random(3527)
    packets: list[bytes] = []
    while len(packets) < count:
        first = len(packets)
        cycle = [shape(first + at, source.randrange(2000)) for at, shape in enumerate(_CYCLE)]
        source.shuffle(cycle)
        packets += cycle
    return packets[:count]


def _typical(number: int, size: int) -> bytes:
    return mw.encode(message(number, size))


def _public(number: int, size: int) -> bytes:
    """Express, to a public queue, with a public response queue."""
    return mw.encode(
        mw.build_message(
            f"PUBLIC={_PUBLIC}",
            _body(number, size),
            label=_label(number),
            source_queue_manager=_HOST,
            queue_manager_address=_PEER,
            response_queue=f"PUBLIC={_HOST}",
            message_id=number,
            sent_time=1_700_000_000,
        )
    )


def _private(number: int, size: int) -> bytes:
    """Recoverable, to a private queue, with a private admin queue and a connector type."""
    return mw.encode(
        mw.build_message(
            rf"PRIVATE={_PEER}\{number % 5 + 16:08x}",
            _body(number, size),
            delivery="recoverable",
            source_queue_manager=_HOST,
            admin_queue=rf"PRIVATE={_HOST}\0000000f",
            response_queue=r"DIRECT=TCP:192.0.2.7\private$\answers",
            acknowledge=("pr",),
            connector_type=_PUBLIC,
            extension=b"extension",
            message_id=number,
        )
    )


def _signed(number: int, size: int) -> bytes:
    """With a signature and a certificate."""
    security = SecurityHeader(
        flags=0xC1,
        sender_id_size=28,
        signature_size=128,
        sender_cert_size=701,
        security_data=SecurityData(
            security_id=mw.encode(_SID),
            signature=_body(number, 128),
            sender_cert=_body(number, 701),
            sender_cert_padding=bytes(3),
        ),
    )
    return mw.encode(
        mw.build_message(
            r"DIRECT=OS:server01\private$\signed",
            _body(number, size),
            label=_label(number),
            source_queue_manager=_HOST,
            message_id=number,
            security_header=security,
        )
    )


def _traced(number: int, size: int) -> bytes:
    """With a debug header, and a session header behind it."""
    return mw.encode(
        mw.build_message(
            r"DIRECT=OS:server02\private$\traced",
            _body(number, size),
            label="traced",
            source_queue_manager=_HOST,
            message_id=number,
            debug_header=DebugHeader(flags=1, queue_identifier=_PUBLIC),
            session_header=_session(number),
        )
    )


def _multi_queue(number: int, size: int) -> bytes:
    """To three queues, with lists of administration and response queues."""

    def queues(header_id: int, *names: str) -> MQFAddressHeader:
        elements = tuple(
            MQFFormatNameElement(format_name=MQFDirectQueueFormatName(direct_format_name=WcharText.of(name)))
            for name in names
        )
        return MQFAddressHeader(header_id=header_id, format_name_list=elements)

    header = MultiQueueFormatHeader(
        destination=queues(
            MQFHeaderId.DESTINATION, *(rf"OS:server{host:02}\private$\orders" for host in (1, 2, 3))
        ),
        administration=queues(MQFHeaderId.ADMIN, r"OS:server09\private$\admin"),
        response=queues(MQFHeaderId.RESPONSE, r"OS:server09\private$\answer"),
    )
    return mw.encode(
        mw.build_message(
            r"DIRECT=OS:server01\private$\orders",
            _body(number, size),
            label=_label(number),
            source_queue_manager=_HOST,
            message_id=number,
            multi_queue_format_header=header,
        )
    )


def _broken_rule(number: int, size: int) -> bytes:
    """More hops than a message may have."""
    packet = message(number, size)
    return mw.encode(msgspec.structs.replace(packet, user_header=packet.user_header.with_bits(rc=0x1F)))


def _acknowledgment(number: int, body: bytes, message_class: int) -> bytes:
    return mw.encode(
        mw.build_message(
            r"DIRECT=OS:client01\private$\order_queue$",
            body,
            label="QM Ordering Ack",
            priority=0,
            delivery="recoverable",
            source_queue_manager=_PEER,
            message_id=number,
            message_class=message_class,
        )
    )


def _order_ack(number: int, _: int) -> bytes:
    body = OrderAckBody(tx_sequence_number=number + 1, tx_previous_sequence_number=number)
    return _acknowledgment(number, mw.encode(body), MessageClass.MQMSG_CLASS_ORDER_ACK)


def _final_ack(number: int, _: int) -> bytes:
    body = FinalAckBody(
        tx_sequence_number=number + 1,
        tx_previous_sequence_number=number,
        source_guid=_HOST,
        message_id=number,
    )
    return _acknowledgment(number, mw.encode(body), MessageClass.MQMSG_CLASS_ACK_RECEIVE)


def _session(number: int) -> SessionHeader:
    return SessionHeader(
        ack_sequence_number=number & 0xFFFF,
        recoverable_msg_ack_seq_number=number >> 1 & 0xFFFF,
        recoverable_msg_ack_flags=0xFF,
        user_msg_sequence_number=number >> 2 & 0xFFFF,
    )


def _session_ack(number: int, _: int) -> bytes:
    return mw.encode(SessionAck(session_header=_session(number)))


def _establish_connection(number: int, _: int) -> bytes:
    header = EstablishConnectionHeader(client_guid=_HOST, server_guid=_PEER, time_stamp=number)
    return mw.encode(EstablishConnection(establish_connection_header=header))


def _connection_parameters(number: int, _: int) -> bytes:
    header = ConnectionParametersHeader(window_size=number % 64 + 1)
    return mw.encode(ConnectionParameters(connection_parameters_header=header))


def _ping(number: int, _: int) -> bytes:
    return mw.encode(Ping(cookie=number, qm_guid=_HOST))


_CYCLE = (
    *(_typical,) * 20,
    *(_public,) * 8,
    *(_private,) * 8,
    *(_signed,) * 8,
    *(_traced,) * 6,
    *(_multi_queue,) * 2,
    *(_broken_rule,) * 2,
    *(_order_ack,) * 8,
    *(_final_ack,) * 6,
    *(_session_ack,) * 25,
    *(_establish_connection,) * 2,
    *(_connection_parameters,) * 2,
    *(_ping,) * 3,
)
