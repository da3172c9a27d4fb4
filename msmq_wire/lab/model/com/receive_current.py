"""ReceiveCurrent_v1 of MSMQQueue as a function of the model. [MC-MQAC] 3.11.4.1.11

The rule kept here: objects are the model's and not those of COM. An argument is what a VARIANT holds, as
`msmq_wire.rpc.com.variant.pointed_at` gives it, with the object that an interface pointer stands for in the
place of the pointer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import msgspec

from msmq_wire.lab.model.data.elements import (
    Cursor,
    ModelMessage,
    ModelQueueManager,
    OpenQueueDescriptor,
    Transaction,
)
from msmq_wire.lab.model.data.enumerations import CursorState, PositionState, QueueAccessType
from msmq_wire.lab.model.data.timers import INFINITE
from msmq_wire.lab.model.events.cursor import open_cursor
from msmq_wire.lab.model.events.journaling import keep_journals
from msmq_wire.lab.model.events.message import dequeue_message
from msmq_wire.lab.model.events.transaction import create_transaction
from msmq_wire.rpc.com.queue_interfaces import MqTransaction
from msmq_wire.rpc.com.variant import DISP_E_PARAMNOTFOUND, VariantType
from msmq_wire.rpc.statuses import Status

OLE_E_BLANK = 0x80040007
"""The object has not been initialized."""
E_INVALIDARG = 0x80070057
"""An argument is not what it must be."""

Argument: TypeAlias = tuple[int, Any] | None
"""Type and value of a VARIANT; None for one that is NULL."""

_RECEIVING = (QueueAccessType.RECEIVE_ACCESS, QueueAccessType.RECEIVE_ADMIN_ACCESS)
_COORDINATED = (MqTransaction.MQ_MTS_TRANSACTION, MqTransaction.MQ_XA_TRANSACTION)
_BYREF = int(VariantType.VT_BYREF)
_NUMBERS = frozenset(
    {
        VariantType.VT_I1,
        VariantType.VT_I2,
        VariantType.VT_I4,
        VariantType.VT_UI1,
        VariantType.VT_UI2,
        VariantType.VT_UI4,
        VariantType.VT_INT,
        VariantType.VT_UINT,
        VariantType.VT_BOOL,
    }
)
"""Types that a VT_I4 and a VT_BOOL can be had from without loss."""


class MsmqQueue(msgspec.Struct, eq=False, kw_only=True):
    """An MSMQQueue; as it stands, one that a client made itself. [MC-MQAC] 3.11.1, 3.11.3"""

    open_queue_descriptor: OpenQueueDescriptor | None = None
    cursor: Cursor | None = None
    msmq_queue_info_object: Any = None
    is_closed: bool = True
    is_initialized: bool = False


class MsmqTransaction(msgspec.Struct, eq=False, kw_only=True):
    """An MSMQTransaction. [MC-MQAC] 3.9.1

    ``ended`` says that its transaction was committed or aborted.
    """

    transaction: Transaction | None = None
    ended: bool = False


class MsmqMessage(msgspec.Struct, frozen=True, kw_only=True):
    """An MSMQMessage that a receive made. [MC-MQAC] 3.17.1, 3.17.3

    ``message`` has what every Message has. Without ``want_body`` the object has no Body, without
    ``want_destination_queue`` no DestinationQueueInfo.
    """

    message: ModelMessage
    want_body: bool = True
    want_destination_queue: bool = False
    requested_authentication_level: int = 0
    soap_body: str | None = None
    soap_header: str | None = None
    sender_identifier_cache: bytes | None = None
    sender_certificate_cache: bytes | None = None

    @property
    def body(self) -> bytes | None:
        """Body; None where it was not wanted or the packet is all that is known of the message."""
        return getattr(self.message.properties, "body", None) if self.want_body else None

    @property
    def destination_queue_format_name(self) -> str | None:
        """The queue that DestinationQueueInfo tells of; None where it was not wanted or is not known."""
        if not self.want_destination_queue:
            return None
        return getattr(self.message.properties, "destination_queue_format_name", None)


class _Refused(msgspec.Struct, frozen=True):
    """An argument that the call fails of."""

    status: int


def open_msmq_queue(
    manager: ModelQueueManager, descriptor: OpenQueueDescriptor, info: Any = None
) -> MsmqQueue:
    """The object that MSMQQueueInfo::Open makes of an open queue. [MC-MQAC] 3.11.3

    From now on the queues of this queue manager keep their journals.
    """
    keep_journals(manager)
    return MsmqQueue(
        open_queue_descriptor=descriptor,
        cursor=open_cursor(descriptor),
        msmq_queue_info_object=info,
        is_closed=False,
        is_initialized=True,
    )


def receive_current_v1(
    manager: ModelQueueManager,
    queue: MsmqQueue,
    done: Callable[[int, MsmqMessage | None], None],
    *,
    transaction: Argument = None,
    want_destination_queue: Argument = None,
    want_body: Argument = None,
    receive_timeout: Argument = None,
    context_transaction: bytes | None = None,
) -> None:
    """ReceiveCurrent_v1: take the message at the cursor; ``done`` gets the HRESULT and, with S_OK, ppmsg.

    ``transaction`` of type VT_DISPATCH has an `MsmqTransaction` as its value. ``context_transaction`` is the
    identifier of the transaction of the COM activation context, None where it has none.
    """
    if not queue.is_initialized:
        done(OLE_E_BLANK, None)
        return
    descriptor, cursor = queue.open_queue_descriptor, queue.cursor
    if queue.is_closed or descriptor is None or cursor is None:
        done(Status.MQ_ERROR_INVALID_HANDLE, None)
        return
    if descriptor.access_type not in _RECEIVING:
        done(Status.MQ_ERROR_ACCESS_DENIED, None)
        return
    timeout = _number(receive_timeout, INFINITE)
    destination, body = _number(want_destination_queue, 0), _number(want_body, 1)
    identifier = _transaction_identifier(transaction, context_transaction)
    if timeout is None or destination is None or body is None:
        done(E_INVALIDARG, None)
        return
    if isinstance(identifier, _Refused):
        done(identifier.status, None)
        return
    found: Transaction | None = None
    if identifier is not None:
        found = manager.transaction_collection.get(identifier) or create_transaction(manager, identifier)
    if _message_deleted(cursor):
        done(Status.MQ_ERROR_MESSAGE_ALREADY_RECEIVED, None)
        return
    milliseconds = timeout & INFINITE

    def answer(status: int, message: ModelMessage | None) -> None:
        if message is not None:
            done(
                Status.MQ_OK,
                MsmqMessage(message=message, want_body=bool(body), want_destination_queue=bool(destination)),
            )
        else:
            done(Status.MQ_ERROR_MESSAGE_NOT_FOUND if not milliseconds else status, None)

    dequeue_message(
        cursor.open_queue_descriptor_reference, answer, timeout=milliseconds, cursor=cursor, transaction=found
    )


def _specified(argument: Argument) -> bool:
    """Whether a client specified an optional argument. [MC-MQAC] 3.1.4.2"""
    if argument is None or argument[0] == VariantType.VT_EMPTY:
        return False
    kind, value = argument
    return not (kind & ~_BYREF == VariantType.VT_ERROR and value == DISP_E_PARAMNOTFOUND)


def _number(argument: Argument, default: int) -> int | None:
    """The number of a VT_BOOL or VT_I4, or of what can be made one; None where it cannot."""
    if argument is None or not _specified(argument):
        return default
    kind, value = argument
    return value if kind & ~_BYREF in _NUMBERS and isinstance(value, int) else None


def _transaction_identifier(argument: Argument, context_transaction: bytes | None) -> bytes | _Refused | None:
    """The transaction identifier of a Transaction argument. [MC-MQAC] 2.2.2.1, 3.11.4.1.11"""
    kind, value = int(VariantType.VT_I4), MqTransaction.MQ_MTS_TRANSACTION
    if argument is not None and _specified(argument):
        kind, value = argument
    if kind == VariantType.VT_I4 and value in tuple(MqTransaction):
        return context_transaction if value in _COORDINATED else None
    if kind & ~_BYREF != VariantType.VT_DISPATCH or not isinstance(value, MsmqTransaction):
        return _Refused(E_INVALIDARG)
    if value.transaction is None or value.ended:
        return _Refused(Status.MQ_ERROR_TRANSACTION_USAGE)
    return value.transaction.identifier


def _message_deleted(cursor: Cursor) -> bool:
    """Whether what the cursor read is there no more. [MC-MQAC] 3.11.3"""
    here = cursor.message_position_reference
    return cursor.cursor_state is CursorState.READ and (
        isinstance(here, str) or here.state is not PositionState.AVAILABLE
    )
