"""What OrderAck and FinalAck share, [MS-MQQB] 2.2.4 and 2.2.5, and how they are told from user messages."""

from typing import TypeVar

from msmq_wire.spec import SpecRef
from msmq_wire.wire.expressions import one_of, this
from msmq_wire.wire.fields import WireStruct
from msmq_wire.wire.headers.base_header import INFINITE
from msmq_wire.wire.headers.message_properties_header import MessagePropertiesHeader
from msmq_wire.wire.headers.user_header import UserHeader
from msmq_wire.wire.musts import CodedMust, Must
from msmq_wire.wire.packets.user_message import UserMessage
from msmq_wire.wire.types.direct_queue_format_name import DirectQueueFormatName
from msmq_wire.wire.types.enumerations import QueueType
from msmq_wire.wire.types.private_queue_format_name_id import PrivateQueueFormatNameId
from msmq_wire.wire.types.wchar_text import WcharText

ACK_LABEL = "QM Ordering Ack"
_ACK_LABELS = frozenset({WcharText.of(ACK_LABEL), WcharText.of(ACK_LABEL)[:-2]})
ORDER_QUEUE = "\\private$\\order_queue$"
"""How the direct name of an order queue ends, in lower case."""
ORDER_QUEUE_NUMBER = 4
_DEFAULT_TIME = 345_600

_SPEC = SpecRef("MS-MQQB", "2.2.4")


def is_order_queue(header: UserHeader) -> bool:
    """Whether the destination is the order queue of the host that a packet is sent to."""
    match header.bit("dq"), header.destination_queue:
        case QueueType.PRIVATE_ON_DESTINATION_HOST, PrivateQueueFormatNameId(private_queue_identifier=number):
            return number == ORDER_QUEUE_NUMBER
        case QueueType.DIRECT, DirectQueueFormatName(direct_format_name=WcharText() as name):
            return name.text.lower().endswith(ORDER_QUEUE)
    return False


def begins_ack_label(label: WcharText) -> bool:
    """Whether a label that may be cut is that of an acknowledgment."""
    return any(one.startswith(label) for one in _ACK_LABELS)


def is_ack_label(label: WcharText) -> bool:
    """Whether a label is that of an acknowledgment."""
    return label in _ACK_LABELS


ACK_MUSTS = (
    Must(
        "base-flags",
        this.base_header.flags == 0,
        at="base_header.flags",
        message="BaseHeader.Flags must be 0 in an acknowledgment",
        spec=_SPEC,
    ),
    Must(
        "time-to-reach-queue",
        # [MS-MQQB] 3.1.7.17 makes a message and leaves its time to the default of [MS-MQDMPR] 3.1.1.12.
        one_of(this.base_header.time_to_reach_queue, INFINITE, _DEFAULT_TIME),
        at="base_header.time_to_reach_queue",
        message="TimeToReachQueue must be infinite in an acknowledgment, or a message's default of 345600",
        spec=SpecRef("MS-MQMQ", "2.2.19.1"),
    ),
    Must(
        "destination-type",
        one_of(this.user_header.flags >> 10 & 7, 3, 7),
        at="user_header.flags",
        message="DQ must be 3 or 7 in an acknowledgment",
        spec=_SPEC,
    ),
    CodedMust(
        "order-queue",
        is_order_queue,
        "user_header",
        at="user_header.destination_queue",
        message="the destination of an acknowledgment must be order_queue$",
        spec=_SPEC,
    ),
    CodedMust(
        "label",
        is_ack_label,
        "message_properties_header.label",
        at="message_properties_header.label",
        message=f"the label of an acknowledgment must be {ACK_LABEL!r}",
        spec=_SPEC,
    ),
    Must(
        "message-size",
        this.message_properties_header.message_size == 36,
        at="message_properties_header.message_size",
        message="MessageSize must be 0x24",
        spec=_SPEC,
    ),
    Must(
        "other-flags",
        # DQ, DM and MP have rules of their own; RC grows with every routing server on the way.
        this.user_header.flags & (0xFFFFFFFF ^ 0x201C7F) == 0,
        at="user_header.flags",
        message="all bits but RC, DM, DQ and MP must be 0 in an acknowledgment",
        spec=_SPEC,
    ),
    Must(
        "property-flags",
        this.message_properties_header.flags == 0,
        at="message_properties_header.flags",
        message="Flags must be 0 in an acknowledgment",
        spec=_SPEC,
    ),
    Must(
        "body-type",
        this.message_properties_header.body_type == 0,
        at="message_properties_header.body_type",
        message="BodyType must be VT_EMPTY in an acknowledgment",
        spec=_SPEC,
    ),
)

_Body = TypeVar("_Body", bound=WireStruct)


def body_of(packet: UserMessage, cls: type[_Body]) -> _Body | None:
    """The acknowledgment in a packet's message body; None unless it is as long as it must be."""
    properties = packet.message_properties_header
    if not isinstance(properties, MessagePropertiesHeader) or not isinstance(properties.message_body, bytes):
        return None
    schema = cls.schema()
    if len(properties.message_body) != schema.sizeof():
        return None
    body: _Body = schema.parse(properties.message_body)
    return body
