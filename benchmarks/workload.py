"""What the benchmarks decode: typical messages, a mix of every kind of packet, all built in memory."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

import msgspec

import msmq_wire as mw
from msmq_wire.wire.fields import WireStruct
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

__all__ = [
    "HOST", "MIX_CYCLE", "PEER", "USER_MESSAGES", "body", "message", "messages", "mixed", "numbered",
]  # fmt: skip

_SID = SID(sub_authority_count=5, sub_authority=(21, 1111111111, 2222222222, 3333333333, 1105))
HOST = mw.GUID.parse("8b1c1d55-7e2d-4b8f-9f3b-0c3f5a5e1a20")
"""The queue manager that sends."""
PEER = mw.GUID.parse("5d0d3f2a-1f4e-4c7b-8a92-6e1b7c3d9f04")
"""The queue manager that receives."""
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
    return _message(number, body(number, size - draft.base_header.packet_size))


def body(number: int, size: int) -> bytes:
    """Return ``size`` bytes, others for every number."""
    size = max(0, size)
    at = number * 7919 % (len(_POOL) - size)
    return _POOL[at : at + size]


def _label(number: int) -> str:
    return f"order confirmation {number % 1_000_000:06}"


def _message(number: int, content: bytes) -> UserMessage:
    return mw.build_message(
        rf"DIRECT=OS:server01\private$\orders{number % _QUEUES:02}",
        content,
        label=_label(number),
        source_queue_manager=HOST,
        admin_queue=rf"PRIVATE={HOST}\0000000f",
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
    templates = [message(number, size) for number in range(_QUEUES)]
    for number in range(first, first + count):
        packet = numbered(templates[number % _QUEUES], number)
        yield mw.encode(msgspec.structs.replace(packet, transaction_header=_transaction(number)))


def numbered(template: UserMessage, number: int, content: Callable[[int, int], bytes] = body) -> UserMessage:
    """Return the message with another number, and the time, label and body of that number; of equal size."""
    replace = msgspec.structs.replace
    properties = template.message_properties_header
    assert properties is not None
    label = WcharText.of(_label(number))
    return replace(
        template,
        user_header=replace(
            template.user_header, message_id=number, sent_time=1_700_000_000 + number // 1000
        ),
        message_properties_header=replace(
            properties,
            label=label if len(label) == len(properties.label) else properties.label,
            message_body=content(number, len(properties.message_body)),
        ),
    )


def mixed(count: int) -> list[bytes]:
    """``count`` packets of every kind, shuffled in cycles of `MIX_CYCLE`, as a busy session has them.

    Half are user messages of five shapes; two of a hundred have a list of queues and two break a rule.
    """
    source = random.Random(3527)
    packets: list[bytes] = []
    while len(packets) < count:
        first = len(packets)
        cycle = [mw.encode(shape(first + at, source.randrange(2000))) for at, shape in enumerate(_CYCLE)]
        source.shuffle(cycle)
        packets += cycle
    return packets[:count]


def _public(number: int, size: int) -> UserMessage:
    """Express, to a public queue, with a public response queue."""
    return mw.build_message(
        f"PUBLIC={_PUBLIC}",
        body(number, size),
        label=_label(number),
        source_queue_manager=HOST,
        queue_manager_address=PEER,
        response_queue=f"PUBLIC={HOST}",
        message_id=number,
        sent_time=1_700_000_000,
    )


def _private(number: int, size: int) -> UserMessage:
    """Recoverable, to a private queue, with a private admin queue and a connector type."""
    return mw.build_message(
        rf"PRIVATE={PEER}\{number % 5 + 16:08x}",
        body(number, size),
        delivery="recoverable",
        source_queue_manager=HOST,
        admin_queue=rf"PRIVATE={HOST}\0000000f",
        response_queue=r"DIRECT=TCP:192.0.2.7\private$\answers",
        acknowledge=("pr",),
        connector_type=_PUBLIC,
        extension=b"extension",
        message_id=number,
    )


def _signed(number: int, size: int) -> UserMessage:
    """With a signature and a certificate."""
    security = SecurityHeader(
        flags=0xC1,
        sender_id_size=28,
        signature_size=128,
        sender_cert_size=701,
        security_data=SecurityData(
            security_id=mw.encode(_SID),
            signature=body(number, 128),
            sender_cert=body(number, 701),
            sender_cert_padding=bytes(3),
        ),
    )
    return mw.build_message(
        r"DIRECT=OS:server01\private$\signed",
        body(number, size),
        label=_label(number),
        source_queue_manager=HOST,
        message_id=number,
        security_header=security,
    )


def _traced(number: int, size: int) -> UserMessage:
    """With a debug header, and a session header behind it."""
    return mw.build_message(
        r"DIRECT=OS:server02\private$\traced",
        body(number, size),
        label="traced",
        source_queue_manager=HOST,
        message_id=number,
        debug_header=DebugHeader(flags=1, queue_identifier=_PUBLIC),
        session_header=_session(number),
    )


def _multi_queue(number: int, size: int) -> UserMessage:
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
    return mw.build_message(
        r"DIRECT=OS:server01\private$\orders",
        body(number, size),
        label=_label(number),
        source_queue_manager=HOST,
        message_id=number,
        multi_queue_format_header=header,
    )


def _broken_rule(number: int, size: int) -> UserMessage:
    """More hops than a message may have."""
    packet = message(number, size)
    return msgspec.structs.replace(packet, user_header=packet.user_header.with_bits(rc=0x1F))


def _acknowledgment(number: int, content: WireStruct, message_class: int) -> UserMessage:
    return mw.build_message(
        r"DIRECT=OS:client01\private$\order_queue$",
        mw.encode(content),
        label="QM Ordering Ack",
        priority=0,
        delivery="recoverable",
        source_queue_manager=PEER,
        message_id=number,
        message_class=message_class,
    )


def _order_ack(number: int, _: int) -> UserMessage:
    content = OrderAckBody(tx_sequence_number=number + 1, tx_previous_sequence_number=number)
    return _acknowledgment(number, content, MessageClass.MQMSG_CLASS_ORDER_ACK)


def _final_ack(number: int, _: int) -> UserMessage:
    content = FinalAckBody(
        tx_sequence_number=number + 1,
        tx_previous_sequence_number=number,
        source_guid=HOST,
        message_id=number,
    )
    return _acknowledgment(number, content, MessageClass.MQMSG_CLASS_ACK_RECEIVE)


def _session(number: int) -> SessionHeader:
    return SessionHeader(
        ack_sequence_number=number & 0xFFFF,
        recoverable_msg_ack_seq_number=number >> 1 & 0xFFFF,
        recoverable_msg_ack_flags=0xFF,
        user_msg_sequence_number=number >> 2 & 0xFFFF,
    )


def _session_ack(number: int, _: int) -> WireStruct:
    return SessionAck(session_header=_session(number))


def _establish_connection(number: int, _: int) -> WireStruct:
    header = EstablishConnectionHeader(client_guid=HOST, server_guid=PEER, time_stamp=number)
    return EstablishConnection(establish_connection_header=header)


def _connection_parameters(number: int, _: int) -> WireStruct:
    header = ConnectionParametersHeader(window_size=number % 64 + 1)
    return ConnectionParameters(connection_parameters_header=header)


def _ping(number: int, _: int) -> Ping:
    return Ping(cookie=number, qm_guid=HOST)


USER_MESSAGES: tuple[Callable[[int, int], UserMessage], ...] = (
    *(message,) * 20,
    *(_public,) * 8,
    *(_private,) * 8,
    *(_signed,) * 8,
    *(_traced,) * 6,
    *(_multi_queue,) * 2,
    *(_broken_rule,) * 2,
)
"""User messages of a mix, each as often as it comes: a number and a size in bytes make one."""
_CYCLE: tuple[Callable[[int, int], WireStruct], ...] = (
    *USER_MESSAGES,
    *(_order_ack,) * 8,
    *(_final_ack,) * 6,
    *(_session_ack,) * 25,
    *(_establish_connection,) * 2,
    *(_connection_parameters,) * 2,
    *(_ping,) * 3,
)
