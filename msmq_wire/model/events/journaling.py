"""The journal of a queue: a copy of each message that was received from it. [MC-MQAC] 3.11.4.1.11

The rule kept here: it is kept once, whatever asks for it and however the message was received.
"""

from __future__ import annotations

from copy import copy

from msmq_wire.model.data.elements import MessagePosition, Queue, QueueManager
from msmq_wire.model.data.enumerations import QueueType
from msmq_wire.model.events.stored_message import keep_message
from msmq_wire.wire.types.enumerations import MessageClass

__all__ = ["keep_journals"]


def keep_journals(manager: QueueManager) -> None:
    """From now on the queues of a queue manager that have journaling keep their journals."""
    if _received not in manager.position_deleted:
        manager.position_deleted.append(_received)


def _received(queue: Queue, position: MessagePosition, reason: int) -> None:
    journal = queue.journal_queue_reference
    received = reason == MessageClass.MQMSG_CLASS_ACK_RECEIVE
    if received and queue.journaling and journal is not None and queue.queue_type is not QueueType.SYSTEM:
        kept = copy(position.message_reference)
        kept.message_position_reference = None
        keep_message(kept, journal)
