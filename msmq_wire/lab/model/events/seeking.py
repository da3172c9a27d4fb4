"""Finding slots of a queue that can be read. [MS-MQDMPR] 3.1.7.3.2, 3.1.7.3.3"""

from __future__ import annotations

from msmq_wire.lab.model.data.elements import MessagePosition, Place, Queue
from msmq_wire.lab.model.data.enumerations import MessageSeekAction, PositionState
from msmq_wire.rpc.statuses import Status


def _readable(position: MessagePosition, peek_operation: bool) -> bool:
    if position.state is PositionState.AVAILABLE:
        return True
    locked = position.state is PositionState.LOCKED
    return locked and peek_operation and position.message_reference.allow_peek_when_locked


def seek_available_message_position(
    queue: Queue, initial_position: Place, *, peek_operation: bool, forward: bool = True
) -> MessagePosition | None:
    """Seek Available Message Position: the next slot behind (or before) a place; None at the end.

    The text begins behind the place that it is given, so who wants the first slot gives ``start``.
    [MS-MQDMPR] 3.1.7.3.2
    """
    slots = queue.message_position_list
    step = slots.next if forward else slots.previous
    place = step(initial_position)
    while isinstance(place, MessagePosition):
        if _readable(place, peek_operation):
            return place
        place = step(place)
    return None


def seek_available_message_position_with_id(
    queue: Queue, lookup_id: int, lookup_action: MessageSeekAction, *, peek_operation: bool
) -> tuple[int, MessagePosition | None]:
    """Seek Available Message Position With Id: the status and, with MQ_OK, a slot.

    Where no slot is left in a direction, the text gives End and MQ_OK; read as MQ_ERROR_MESSAGE_NOT_FOUND.
    ``lookup_id`` does not matter for the first and the last slot. [MS-MQDMPR] 3.1.7.3.3
    """
    place: Place
    if lookup_action is MessageSeekAction.SEEK_FIRST:
        place = "start"
    elif lookup_action is MessageSeekAction.SEEK_LAST:
        place = "end"
    else:
        initial = queue.message_position_list.find(lookup_id)
        if initial is None:
            return Status.MQ_ERROR_MESSAGE_NOT_FOUND, None
        if lookup_action is MessageSeekAction.SEEK_CURRENT:
            return _current(initial, peek_operation)
        place = initial
    forward = lookup_action in (MessageSeekAction.SEEK_FIRST, MessageSeekAction.SEEK_NEXT)
    found = seek_available_message_position(queue, place, peek_operation=peek_operation, forward=forward)
    return (Status.MQ_ERROR_MESSAGE_NOT_FOUND if found is None else Status.MQ_OK), found


def _current(initial: MessagePosition, peek_operation: bool) -> tuple[int, MessagePosition | None]:
    if _readable(initial, peek_operation):
        return Status.MQ_OK, initial
    if peek_operation and initial.state is PositionState.LOCKED:
        return Status.MQ_ERROR_TRANSACTION_USAGE, None
    return Status.MQ_ERROR_MESSAGE_NOT_FOUND, None
