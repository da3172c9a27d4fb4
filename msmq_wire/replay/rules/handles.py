"""Handles: which call is about which, what opens and closes them, and who may use them.

[MS-MQRR] 2.2.4, [MS-MQQP] 2.2.1, [MS-MQMP] 2.2.1.1, [MS-RPCE] 3.3.1.4.1. A handle is a context handle, or a
number that stands for an open queue: hQueue of qm2qm, hQMContext of qmcomm2.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator

from msmq_wire.replay.deviation import ProcessingRule, ReplayDeviation, ReplayKind
from msmq_wire.replay.observed_call import ObservedCall, handle, number
from msmq_wire.replay.rule_table import RuleRow, row_of
from msmq_wire.replay.rules.cursors import takes_any_handle
from msmq_wire.replay.rules.remote_read import judge_remote_read, learn_opening
from msmq_wire.replay.state import EventTime, Found, KnownHandle, PendingDeviation, ServerState
from msmq_wire.rpc.constants import AccessMode
from msmq_wire.rpc.interfaces.role import CLOSES, Role
from msmq_wire.rpc.types.context_handle import ContextHandle

_SCOPE = ProcessingRule("RPCE", "3.3.1.4.1")
"""The scope of a context handle: no document of Message Queuing but that of RemoteRead says more of it."""
_ENDS = CLOSES | {Role.COMMIT, Role.ABORT}
_MISMATCH = "a fault, nca_s_fault_context_mismatch"


def used_handle(known: ServerState, call: ObservedCall) -> KnownHandle | None:
    """What the handle of a request stands for; one that was not seen before is learned."""
    key = call.used
    # The handle of a receive stands for no open queue.
    if call.members.gives or key is None or (call.members.receive and call.role is Role.END):
        return None
    found = known.handles.get(key)
    if found is None:
        found = known.handles.put(key, known.new_handle(call, opened=False))
    else:
        known.handles.move_to_end(key)
    return found


def _asked(call: ObservedCall) -> ContextHandle | None:
    return handle(call.request, call.members.handle)


def judge_handle(known: ServerState, call: ObservedCall, used: KnownHandle | None) -> Iterator[Found]:
    """A handle that the server had to refuse, or what RemoteRead had to refuse with it."""
    if not call.ok:
        return
    yield from judge_remote_read(known, call, used)
    asked, null, closed = _asked(call), call.row("null-handle"), call.row("closed-handle")
    if asked is not None and asked.null and null is not None:
        yield call.deviation(
            ReplayKind.HANDLE,
            null,
            f"{call.method} succeeds without a handle",
            "a fault or a failure: the handle is NULL",
        )
    if used is None or closed is None or takes_any_handle(call):
        return
    if used.closed is not None and used.closed.ended < call.begun:
        yield call.deviation(
            ReplayKind.HANDLE,
            closed,
            f"{call.method} succeeds on a handle that {used.closed} has closed",
            _MISMATCH if asked is not None else "a failure: nothing is open under this number",
        )
    elif asked is not None and 0 != used.group != known.group(call) != 0 and used.opened is not None:
        yield call.deviation(
            ReplayKind.HANDLE,
            _scope(call),
            f"{call.method} succeeds on a handle that {used.opened} gave to another association",
            _MISMATCH,
            certain=False,
        )


def _scope(call: ObservedCall) -> RuleRow | ProcessingRule:
    if call.call.interface != "RemoteRead":
        return _SCOPE
    return row_of("strict-handle-to-close" if call.role is Role.CLOSE else "strict-handle")


def judge_context(known: ServerState, call: ObservedCall, used: KnownHandle | None) -> Iterator[Found]:
    """A handle of R_QMOpenRemoteQueue that is closed and not set to NULL. [MS-MQMP] 3.1.4.3

    The server must leave any other handle as it is, so one whose origin is not known proves nothing.
    """
    row, given = call.row("context-left"), handle(call.response, call.members.handle)
    if row is None or not call.ok or given is None or given.null or used is None or used.opened is None:
        return
    origin, context, before = used.opened.known, used, call.begun - 1
    if origin is None or origin.role is not Role.OPEN_FOR_ANOTHER or not known.stays_open(used, before):
        return
    yield PendingDeviation(
        call.deviation(
            ReplayKind.STATUS,
            row,
            f"{call.method} answers {call.came} and keeps the handle that {used.opened} gave",
            "NULL",
            certain=False,
        ),
        before,
        lambda: known.stays_open(context, before),
    )


def judge_purge(call: ObservedCall, used: KnownHandle | None) -> Iterator[ReplayDeviation]:
    """A purge through a handle that is not good for it."""
    row = call.row("purge-without-receive") if call.role is Role.PURGE else None
    if row is None or not call.ok or used is None or used.access is None or used.proxy or may_receive(used):
        return
    if used.access == AccessMode.MQ_MOVE_ACCESS:
        row = call.row("purge-after-move") or row
    yield call.deviation(
        ReplayKind.PURGE,
        row,
        f"{call.method} empties the queue through a handle that was opened to {purpose(used)}",
    )


def judge_enlistment(known: ServerState, call: ObservedCall) -> Iterator[ReplayDeviation]:
    """An internal transaction that is enlisted twice."""
    row = call.row("enlisted-twice")
    if row is None or not call.ok:
        return
    before = known.handles.get(transaction(call))
    if before is None or before.opened is None or before.opened.ended >= call.begun:
        return
    if before.closing is None and known.whole(before, call.ended):
        yield call.deviation(
            ReplayKind.HANDLE,
            row,
            f"{call.method} enlists a transaction that {before.opened} has enlisted, and nothing has ended",
        )


def transaction(call: ObservedCall, unit: object = None) -> Hashable:
    """What a unit of work is known by, or else the one that a call is about."""
    return (call.server, "transaction", unit or getattr(call.request, call.members.transaction, None))


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


def learn_handles(known: ServerState, call: ObservedCall, used: KnownHandle | None) -> None:
    """Take what a call opens or closes."""
    if call.members.gives:
        if call.ok:
            _opened(known, call)
    elif used is not None and call.role in _ENDS:
        if call.ok is not False and used.closing is None:
            used.closing = call.begun
        # Unlike in open_queues, another handle that comes back closes nothing.
        given_back = handle(call.response, call.members.handle)
        if call.ok and given_back is not None and given_back.null and used.closed is None:
            used.closed = EventTime.of(call)


def _opened(known: ServerState, call: ObservedCall) -> None:
    if not call.given:
        return
    key, *numbers = call.given
    opened = known.new_handle(call, opened=True)
    if call.role is Role.BEGIN_READING:
        # The queue is known by its number: the handle stands for the same open queue.
        before = known.handles.get(call.used)
        if before is not None:
            opened.access, opened.queue = before.access, opened.queue or before.queue
        if call.used is not None:
            known.handles.put(call.used, opened)
    else:
        opened.access = _access(call)
        opened.proxy = bool(number(call.request, "h_remote_queue"))
        opened.outgoing = bool((call.call.asked(call.members.access) or 0) & AccessMode.MQ_ADMIN_ACCESS)
    learn_opening(known, call, opened)
    # What is opened for another is closed by its handle, and goes on while a session of qm2qm uses it.
    by_handle = known.new_handle(call, opened=True) if call.role is Role.OPEN_FOR_ANOTHER else opened
    known.handles.put(key, by_handle)
    if call.role is Role.BEGIN:
        known.handles.put(transaction(call), opened)
    for key in numbers:
        known.handles.put(key, opened)


def _access(call: ObservedCall) -> int | None:
    asked = call.call.asked(call.members.access)
    if call.role is Role.OPEN_FOR_MOVE:
        return AccessMode.MQ_MOVE_ACCESS
    if asked is None:
        return None
    if call.call.interface == "RemoteRead":
        # Every value but one opens to peek. [MS-MQRR] 3.1.4.2
        good = AccessMode.MQ_RECEIVE_ACCESS, AccessMode.MQ_PEEK_ACCESS
        return good[asked != AccessMode.MQ_RECEIVE_ACCESS]
    plain = asked & ~AccessMode.MQ_ADMIN_ACCESS
    known = AccessMode.MQ_RECEIVE_ACCESS, AccessMode.MQ_SEND_ACCESS, AccessMode.MQ_PEEK_ACCESS
    return plain if plain in known else None
