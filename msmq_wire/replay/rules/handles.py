"""Handles: which call is about which, what opens and closes them, and who may use them.

[MS-MQRR] 2.2.4, [MS-MQQP] 2.2.1, [MS-MQMP] 2.2.1.1, [MS-RPCE] 3.3.1.4.1. A handle is a context handle, or a
number that stands for an open queue: hQueue of qm2qm, hQMContext of qmcomm2.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator

from msmq_wire.records.open_queues import read_descriptor
from msmq_wire.replay.call import ObservedCall, handle, number
from msmq_wire.replay.deviation import ProcessingRule, ReplayDeviation, ReplayKind
from msmq_wire.replay.rules.remote_read import judge_remote_read, learn_opening
from msmq_wire.replay.state import Found, Happened, Known, KnownHandle
from msmq_wire.rpc.constants import AccessMode
from msmq_wire.rpc.types.context_handle import ContextHandle

__all__ = [
    "judge_enlistment",
    "judge_handle",
    "judge_purge",
    "learn_handles",
    "may_receive",
    "purpose",
    "used_handle",
]

_MEMBERS = ("ph_context", "pph_context", "ph_context_from", "ph_queue", "h_queue", "ph_int_xact")
_GIVES = {
    "R_OpenQueue": ("pph_context", ()),
    "R_OpenQueueForMove": ("pph_context", ()),
    "R_QMOpenRemoteQueue": ("pph_context", ("ph_queue", "pdw_context")),
    "rpc_QMOpenQueueInternal": ("ph_queue", ("pdw_qm_context",)),
    "RemoteQMOpenQueue": ("ph_context", ()),
    "R_QMEnlistInternalTransaction": ("ph_int_xact", ()),
}
"""The members of a response that are a new handle, and numbers that stand for it."""
_CLOSES = {
    "R_CloseQueue": "pph_context",
    "rpc_ACCloseHandle": "ph_queue",
    "RemoteQMCloseQueue": "pph_context",
    "R_QMCommitTransaction": "ph_int_xact",
    "R_QMAbortTransaction": "ph_int_xact",
    "R_QMCloseRemoteQueueContext": "pph_context",
}
_NULL_ROWS = {
    "R_CloseQueue": 1,
    "R_CreateCursor": 1,
    "R_CloseCursor": 1,
    "R_PurgeQueue": 1,
    "R_StartReceive": 33,
    "R_CancelReceive": 1,
    "R_EndReceive": 1,
    "R_MoveMessage": 1,
    "R_StartTransactionalReceive": 33,
    "R_SetUserAcknowledgementClass": 1,
    "R_EndTransactionalReceive": 1,
    "RemoteQMEndReceive": 1,
    "RemoteQMCloseQueue": 1,
    "R_QMCommitTransaction": 2,
    "R_QMAbortTransaction": 2,
}
_CLOSED_ROWS = {
    "R_CloseQueue": 3,
    "R_CreateCursor": 2,
    "R_CloseCursor": 2,
    "R_PurgeQueue": 2,
    "R_StartReceive": 34,
    "R_CancelReceive": 2,
    "R_EndReceive": 2,
    "R_MoveMessage": 2,
    "R_StartTransactionalReceive": 34,
    "R_SetUserAcknowledgementClass": 2,
    "R_EndTransactionalReceive": 2,
    "RemoteQMStartReceive": 10,
    "RemoteQMCloseQueue": 2,
    "RemoteQMCloseCursor": 3,
    "RemoteQMCancelReceive": 4,
    "RemoteQMPurgeQueue": 1,
    "RemoteQMStartReceive2": 12,
    "RemoteQMStartReceiveByLookupId": 13,
    "R_QMCreateRemoteCursor": 4,
    "R_QMCloseRemoteQueueContext": 6,
    "rpc_ACCloseHandle": 2,
    "rpc_ACCloseCursor": 2,
    "rpc_ACHandleToFormatName": 2,
    "rpc_ACPurgeQueue": 2,
    "R_QMCommitTransaction": 3,
    "R_QMAbortTransaction": 3,
    "rpc_ACSendMessageEx": 4,
    "rpc_ACReceiveMessageEx": 4,
    "rpc_ACCreateCursorEx": 3,
}
_PURGES = {
    "R_PurgeQueue": (7, "STATUS_ACCESS_DENIED"),
    "RemoteQMPurgeQueue": (4, "MQ_ERROR_ACCESS_DENIED"),
    "rpc_ACPurgeQueue": (4, "a failure"),
}
_PURGE_AFTER_MOVE = 8
_STRICT = ProcessingRule("MQRR", "2.2.4.1", 2)
_STRICT_TO_CLOSE = ProcessingRule("MQRR", "2.2.4.2", 2)
_SCOPE = ProcessingRule("RPCE", "3.3.1.4.1")
"""The scope of a context handle: no document of Message Queuing but that of RemoteRead says more of it."""
_MISMATCH = "a fault, nca_s_fault_context_mismatch"
_NO_ACTION_CURSOR = 0x0B
"""rpc_ACCloseCursor takes it with any handle. [MS-MQMP] 3.1.4.19"""


def used_handle(known: Known, call: ObservedCall) -> KnownHandle | None:
    """What the handle of a request stands for; one that was not seen before is learned."""
    if call.method in _GIVES:
        return None
    key = _key(call)
    if key is None:
        return None
    found = known.handles.get(key)
    if found is None:
        found = known.handles.put(key, known.new_handle(call, opened=False))
    else:
        known.handles.move_to_end(key)
    return found


def _asked(call: ObservedCall) -> ContextHandle | None:
    for member in _MEMBERS:
        found = handle(call.request, member)
        if found is not None:
            return found
    return None


def _key(call: ObservedCall) -> Hashable:
    if call.method == "RemoteQMEndReceive":
        return None
    asked = _asked(call)
    if asked is not None:
        return None if asked.null else (call.server, "handle", asked.uuid)
    context = number(call.request, "h_qm_context")
    if context is not None:
        return (call.server, "h_qm_context", context)
    queue = number(call.request, "h_queue")
    if queue is None:
        queue = number(read_descriptor(call.request), "h_remote_queue")
    return (call.server, "h_queue", queue) if queue else None


def judge_handle(known: Known, call: ObservedCall, used: KnownHandle | None) -> Iterator[Found]:
    """A handle that the server had to refuse, or what RemoteRead had to refuse with it."""
    if not call.ok:
        return
    yield from judge_remote_read(known, call, used)
    asked = _asked(call)
    if asked is not None and asked.null and call.method in _NULL_ROWS:
        yield call.deviation(
            ReplayKind.HANDLE,
            _NULL_ROWS[call.method],
            f"{call.method} succeeds without a handle",
            "a fault or a failure: the handle is NULL",
        )
    if used is None or call.method not in _CLOSED_ROWS:
        return
    if call.method == "rpc_ACCloseCursor" and number(call.request, "h_cursor") == _NO_ACTION_CURSOR:
        return
    if used.closed is not None and used.closed.ended < call.begun:
        faulting = asked is not None
        yield call.deviation(
            ReplayKind.HANDLE,
            _CLOSED_ROWS[call.method],
            f"{call.method} succeeds on a handle that {used.closed} has closed",
            _MISMATCH if faulting else "a failure: nothing is open under this number",
        )
    elif asked is not None and 0 != used.group != known.group(call) != 0 and used.opened is not None:
        yield call.deviation(
            ReplayKind.HANDLE,
            _scope_rule(call),
            f"{call.method} succeeds on a handle that {used.opened} gave to another association",
            _MISMATCH,
            certain=False,
        )


def _scope_rule(call: ObservedCall) -> ProcessingRule:
    if call.call.interface != "RemoteRead":
        return _SCOPE
    return _STRICT_TO_CLOSE if call.method == "R_CloseQueue" else _STRICT


def judge_purge(call: ObservedCall, used: KnownHandle | None) -> Iterator[ReplayDeviation]:
    """A purge through a handle that is not good for it."""
    if not call.ok or used is None or used.access is None or used.proxy or call.method not in _PURGES:
        return
    if may_receive(used):
        return
    row, expected = _PURGES[call.method]
    if call.method == "R_PurgeQueue" and used.access == AccessMode.MQ_MOVE_ACCESS:
        row = _PURGE_AFTER_MOVE
    yield call.deviation(
        ReplayKind.PURGE,
        row,
        f"{call.method} empties the queue through a handle that was opened to {purpose(used)}",
        expected,
    )


def judge_enlistment(known: Known, call: ObservedCall) -> Iterator[ReplayDeviation]:
    """An internal transaction that is enlisted twice."""
    if call.method != "R_QMEnlistInternalTransaction" or not call.ok:
        return
    before = known.handles.get(_transaction(call))
    if before is None or before.opened is None or before.opened.ended >= call.begun:
        return
    if before.closing is None and known.whole(before, call.ended):
        yield call.deviation(
            ReplayKind.HANDLE,
            3,
            f"{call.method} enlists a transaction that {before.opened} has enlisted, and nothing has ended",
            "MQ_ERROR_TRANSACTION_SEQUENCE",
        )


def _transaction(call: ObservedCall) -> Hashable:
    return (call.server, "transaction", getattr(call.request, "p_uow", None))


def may_receive(used: KnownHandle) -> bool | None:
    """Whether a handle was opened to receive; None where that is not known."""
    return None if used.access is None else used.access == AccessMode.MQ_RECEIVE_ACCESS


def purpose(used: KnownHandle) -> str:
    """What a handle was opened for, in a word."""
    return {
        AccessMode.MQ_RECEIVE_ACCESS: "receive",
        AccessMode.MQ_SEND_ACCESS: "send",
        AccessMode.MQ_MOVE_ACCESS: "move",
    }.get(AccessMode(used.access or 0), "peek")


def learn_handles(known: Known, call: ObservedCall, used: KnownHandle | None) -> None:
    """Take what a call opens or closes."""
    if call.method in _GIVES:
        if call.ok:
            _opened(known, call)
    elif used is not None and call.method in _CLOSES:
        if call.ok is not False and used.closing is None:
            used.closing = call.begun
        given_back = handle(call.response, _CLOSES[call.method])
        if call.ok and given_back is not None and given_back.null and used.closed is None:
            used.closed = Happened.of(call)


def _opened(known: Known, call: ObservedCall) -> None:
    member, numbers = _GIVES[call.method]
    given = handle(call.response, member)
    if given is None or given.null:
        return
    opened = known.new_handle(call, opened=True)
    if call.method == "RemoteQMOpenQueue":
        # The queue is known by its number: the handle stands for the same open queue.
        context = number(call.request, "dwp_context")
        before = known.handles.get((call.server, "h_queue", context))
        if before is not None:
            opened.access, opened.queue = before.access, opened.queue or before.queue
        if context:
            known.handles.put((call.server, "h_queue", context), opened)
    else:
        opened.access = _access(call)
        opened.proxy = bool(number(call.request, "h_remote_queue"))
        opened.outgoing = bool((number(call.request, "dw_desired_access") or 0) & AccessMode.MQ_ADMIN_ACCESS)
    learn_opening(known, call, opened)
    if call.method == "R_QMOpenRemoteQueue":
        # What is closed by its handle goes on while a session of qm2qm uses it.
        known.handles.put((call.server, "handle", given.uuid), known.new_handle(call, opened=True))
    else:
        known.handles.put((call.server, "handle", given.uuid), opened)
    if call.method == "R_QMEnlistInternalTransaction":
        known.handles.put(_transaction(call), opened)
    kind = "h_qm_context" if call.method == "rpc_QMOpenQueueInternal" else "h_queue"
    for one in numbers:
        value = number(call.response, one)
        if value:
            known.handles.put((call.server, kind, value), opened)


def _access(call: ObservedCall) -> int | None:
    if call.method == "R_OpenQueueForMove":
        return AccessMode.MQ_MOVE_ACCESS
    if call.method == "R_OpenQueue":
        asked = number(call.request, "dw_access")
        # Every value but one opens to peek. [MS-MQRR] 3.1.4.2
        good = AccessMode.MQ_RECEIVE_ACCESS, AccessMode.MQ_PEEK_ACCESS
        return None if asked is None else good[asked != AccessMode.MQ_RECEIVE_ACCESS]
    asked = number(call.request, "dw_desired_access")
    if asked is None:
        return None
    plain = asked & ~AccessMode.MQ_ADMIN_ACCESS
    known = AccessMode.MQ_RECEIVE_ACCESS, AccessMode.MQ_SEND_ACCESS, AccessMode.MQ_PEEK_ACCESS
    return plain if plain in known else None
