"""Journals and dead-letter queues; the journal of a queue has what was received. [MC-MQAC] 3.11.4.1.11

The rule kept here: a copy is kept once, whatever asks for it and however the message was received.
"""

from __future__ import annotations

from copy import copy

from msmq_wire.lab.model.data.elements import MessagePosition, ModelMessage, ModelQueueManager, Queue
from msmq_wire.lab.model.data.enumerations import ModelQueueType
from msmq_wire.lab.model.data.timers import INFINITE
from msmq_wire.lab.model.events.enqueue import enqueue_message
from msmq_wire.wire.types.enumerations import MessageClass


def keep_journals(manager: ModelQueueManager) -> None:
    """From now on the queues of a queue manager that have journaling keep their journals."""
    if _received not in manager.position_deleted:
        manager.position_deleted.append(_received)


def _received(queue: Queue, position: MessagePosition, reason: int) -> None:
    journal = queue.journal_queue_reference
    received = reason == MessageClass.MQMSG_CLASS_ACK_RECEIVE
    if (
        received
        and queue.journaling
        and journal is not None
        and queue.queue_type is not ModelQueueType.SYSTEM
    ):
        kept = copy(position.message_reference)
        kept.message_position_reference = None
        keep_message(kept, journal)


def keep_message(message: ModelMessage, queue: Queue) -> None:
    """Put a message into a journal or a dead-letter queue, if there is room; its times do not run there."""
    sent_time = message.sent_time
    message.time_to_be_received, message.time_to_be_received_timer = INFINITE, None
    # Without a time of sending it cannot be too late.
    message.sent_time = 0
    enqueue_message(queue, message)
    message.sent_time = sent_time
