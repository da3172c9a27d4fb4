"""Events of cursors: their state machine. [MS-MQDMPR] 3.1.7.1.1, 3.2.7"""

from __future__ import annotations

from typing import Literal, TypeAlias

from msmq_wire.lab.model.data.elements import Cursor, MessagePosition, OpenQueueDescriptor, Queue
from msmq_wire.lab.model.data.enumerations import CursorState, PositionState
from msmq_wire.lab.model.events.seeking import seek_available_message_position

CursorStatus: TypeAlias = Literal[
    "Succeeded", "AlreadyReceived", "NotFound", "IllegalCursorAction", "Waiting"
]
_Found: TypeAlias = tuple[CursorStatus, MessagePosition | None]


def open_cursor(descriptor: OpenQueueDescriptor) -> Cursor | None:
    """Open Cursor, and Initialize: a cursor before the first slot; None for a queue that is not here.

    [MS-MQDMPR] 3.1.7.1.1, 3.2.7.1
    """
    if descriptor.queue_reference is None:
        return None
    manager = descriptor.queue_reference.queue_manager
    cursor = Cursor(
        handle=manager.new_handle(),
        open_queue_descriptor_reference=descriptor,
        message_position_reference="start",
    )
    descriptor.cursor_collection.append(cursor)
    manager.cursors[cursor.handle] = cursor
    return cursor


def _queue(cursor: Cursor) -> Queue:
    queue = cursor.open_queue_descriptor_reference.queue_reference
    # A cursor is opened on a local queue only.
    assert queue is not None
    return queue


def _seek(cursor: Cursor, *, peek_operation: bool) -> MessagePosition | None:
    place = cursor.message_position_reference
    return seek_available_message_position(_queue(cursor), place, peek_operation=peek_operation)


def _peek_forward(cursor: Cursor) -> _Found:
    found = _seek(cursor, peek_operation=True)
    if found is None:
        cursor.cursor_state = CursorState.WAIT_PEEK
        return "Waiting", None
    cursor.cursor_state = CursorState.READ
    cursor.message_position_reference = found
    return "Succeeded", found


def get_message_for_peek(cursor: Cursor) -> _Found:
    """Get Message For Peek: the message at the cursor. [MS-MQDMPR] 3.2.7.2

    The text has no branch for a cursor with which somebody waits; read as refused, here and below.
    """
    if cursor.cursor_state is CursorState.UNREAD:
        return _peek_forward(cursor)
    if cursor.cursor_state is not CursorState.READ:
        return "AlreadyReceived", None
    here = cursor.message_position_reference
    if isinstance(here, MessagePosition) and here.state is PositionState.AVAILABLE:
        return "Succeeded", here
    return "AlreadyReceived", None


def get_next_message_for_peek(cursor: Cursor) -> _Found:
    """Get Next Message For Peek: the message behind the cursor. [MS-MQDMPR] 3.2.7.3"""
    if cursor.cursor_state is not CursorState.READ:
        return "IllegalCursorAction", None
    return _peek_forward(cursor)


def get_next_message_for_dequeue(cursor: Cursor, *, no_wait: bool) -> _Found:
    """Get Next Message For Dequeue: the message to take at the cursor. [MS-MQDMPR] 3.2.7.4"""
    if cursor.cursor_state is CursorState.READ:
        here = cursor.message_position_reference
        if isinstance(here, MessagePosition) and here.state is PositionState.AVAILABLE:
            cursor.cursor_state = CursorState.UNREAD
            return "Succeeded", here
        return "AlreadyReceived", None
    if cursor.cursor_state is not CursorState.UNREAD:
        return "AlreadyReceived", None
    found = _seek(cursor, peek_operation=False)
    if found is not None:
        cursor.message_position_reference = found
        return "Succeeded", found
    if no_wait:
        return "NotFound", None
    cursor.cursor_state = CursorState.WAIT_RECEIVE
    return "Waiting", None


def message_available(cursor: Cursor, position: MessagePosition) -> None:
    """Message Available: what the cursor waited for is there. [MS-MQDMPR] 3.2.7.5"""
    if cursor.cursor_state is CursorState.WAIT_PEEK:
        cursor.cursor_state = CursorState.READ
    elif cursor.cursor_state is CursorState.WAIT_RECEIVE:
        cursor.cursor_state = CursorState.UNREAD
    cursor.message_position_reference = position


def wait_time_expired(cursor: Cursor, before: CursorState = CursorState.UNREAD) -> None:
    """Wait Time Expired: what the cursor waited for did not come. [MS-MQDMPR] 3.2.7.6

    The text puts a cursor that waited to receive at End, behind which nothing ever comes; read as: behind
    what is the last slot now. It leaves a cursor that waited to peek as it is; read as: that goes back to
    its state ``before`` and stays where it was.
    """
    if cursor.cursor_state is CursorState.WAIT_RECEIVE:
        cursor.message_position_reference = _queue(cursor).message_position_list.previous("end")
        cursor.cursor_state = CursorState.UNREAD
    elif cursor.cursor_state is CursorState.WAIT_PEEK:
        cursor.cursor_state = before


def wait_refused(cursor: Cursor) -> None:
    """What a cursor waited to receive came, but cannot be taken: it stays where it was, before that.

    Read so: the text has no transaction that ends while somebody waits to receive in it.
    """
    cursor.cursor_state = CursorState.UNREAD
