"""The report messages that a queue manager sends about traced messages. [MS-MQQB] 3.1.5.8.9, 3.1.7.1.7

The rule kept here: a report is about a message of an application. There is none about a report or an
acknowledgment, so that no report brings another one.
"""

from __future__ import annotations

from datetime import UTC, datetime

from msmq_wire.engines.message_builder import build_message
from msmq_wire.errors import EncodeError, FormatNameError
from msmq_wire.wire.names import public
from msmq_wire.wire.packets.user_message import UserMessage
from msmq_wire.wire.report_message import report_texts
from msmq_wire.wire.types.enumerations import MessageClass
from msmq_wire.wire.types.guid import GUID

_TIME_TO_REACH_QUEUE = 345_600
"""The default of a message: the sections give no other value. [MS-MQDMPR] 3.1.1.12"""
_SYSTEM_CLASSES = frozenset(MessageClass) - {MessageClass.MQMSG_CLASS_NORMAL}


def report_queue_of(packet: UserMessage) -> GUID | None:
    """The public queue that gets the reports about a packet; None for one that is not traced."""
    debug, properties = packet.debug_header, packet.message_properties_header
    if not packet.base_header.bit("tr") or debug is None:
        return None
    if properties is not None and properties.message_class in _SYSTEM_CLASSES:
        return None
    return debug.queue_identifier


def report_message(
    packet: UserMessage, queue: GUID, owner: GUID, reporter: GUID, time: int, next_hop: str | None
) -> UserMessage | None:
    """A report to the public queue ``queue`` of ``owner``; None where no packet can hold it.

    ``time`` is in seconds since 1970. ``next_hop`` is the address that the packet was sent to, None for a
    packet that was received.
    """
    user = packet.user_header
    target = user.format_name("destination_queue") or ""
    label, body = report_texts(
        source=user.source_queue_manager,
        message_id=user.message_id,
        hops=user.bit("rc"),
        reporter=reporter,
        moment=datetime.fromtimestamp(time, UTC).replace(tzinfo=None),
        # [MS-MQMQ] 2.1.3 writes a GUID in capitals; a direct name is what its sender wrote.
        target_queue=target if target.startswith("DIRECT=") else target.upper(),
        # A zone of an IPv6 address means something on one host only.
        next_hop=None if next_hop is None else next_hop.partition("%")[0],
    )
    try:
        return build_message(
            public(str(queue)),
            body,
            label=label,
            message_class=MessageClass.MQMSG_CLASS_REPORT,
            source_queue_manager=reporter,
            queue_manager_address=owner,
            time_to_reach_queue=_TIME_TO_REACH_QUEUE,
        )
    except (EncodeError, FormatNameError):
        return None
