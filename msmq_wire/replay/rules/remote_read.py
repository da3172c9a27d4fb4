"""What RemoteRead must refuse beside reads: openings, moves, enlistments and classes of acknowledgments.

[MS-MQRR] 3.1.4.2, 3.1.4.4, 3.1.4.10 to 3.1.4.12 and 3.1.4.14. The handle that keeps others from receiving is
kept by the name of its queue, too.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator

from msmq_wire.replay.deviation import ReplayKind
from msmq_wire.replay.observed_call import LOW_56, ObservedCall, number
from msmq_wire.replay.rule_table import row_of
from msmq_wire.replay.rules.requests import granted
from msmq_wire.replay.state import Found, KnownHandle, PendingDeviation, ServerState
from msmq_wire.rpc.constants import AccessMode, ShareMode
from msmq_wire.rpc.interfaces import METHODS
from msmq_wire.rpc.interfaces.role import Role


def _share_key(call: ObservedCall) -> Hashable:
    return None if call.queue is None else (call.server, "exclusive", call.queue.lower())


def judge_remote_read(known: ServerState, call: ObservedCall, used: KnownHandle | None) -> Iterator[Found]:
    """A request that the server had to refuse, by what was opened; what alone forbids it is told before."""
    if not call.ok or call.call.interface != "RemoteRead" or granted(call) is not None:
        return
    if call.row("one-handle") is not None:
        yield from _judge_share(known, call)
    elif call.role is Role.OPEN_FOR_MOVE:
        yield from _judge_move_context(known, call)
    elif used is not None:
        yield from _judge_use(known, call, used)


def _judge_use(known: ServerState, call: ObservedCall, used: KnownHandle) -> Iterator[Found]:
    unfit = call.row("not-opened-for-it")
    if unfit is None:
        return
    receives = used.access == AccessMode.MQ_RECEIVE_ACCESS
    peeks = call.role is Role.CREATE_CURSOR and used.access != AccessMode.MQ_MOVE_ACCESS
    if used.access is not None and not receives and not peeks:
        yield call.deviation(
            ReplayKind.ACCESS,
            unfit,
            f"{call.method} succeeds through a handle that was not opened for this call",
            "a failure",
            certain=False,
        )
    elif call.role is Role.MOVE:
        yield from _judge_target(known, call, used)
    yield from _judge_taken(known, call, used)


def _judge_share(known: ServerState, call: ObservedCall) -> Iterator[Found]:
    """A queue that is opened though another handle keeps it for itself. [MS-MQDMPR] 3.1.7.1.5"""
    before = known.handles.get(_share_key(call))
    if before is None or before.opened is None or before.opened.ended >= call.begun:
        return
    receives = number(call.request, call.members.access) == AccessMode.MQ_RECEIVE_ACCESS
    alone = number(call.request, "dw_share_mode") == ShareMode.MQ_DENY_RECEIVE_SHARE
    if (receives or alone) and known.stays_open(before, call.ended):
        other, until = before, call.ended
        yield PendingDeviation(
            call.deviation(
                ReplayKind.STATUS,
                row_of("one-handle", call.method),
                f"{call.method} opens a queue that {other.opened} opened for exclusive use",
                "MQ_ERROR_SHARING_VIOLATION",
            ),
            until,
            lambda: known.stays_open(other, until),
        )


def _judge_move_context(known: ServerState, call: ObservedCall) -> Iterator[Found]:
    value = number(call.response, "p_move_context")
    if value is None or not call.given:
        return
    row = row_of("move-context", call.method)
    if value == 0:
        yield call.deviation(
            ReplayKind.STATUS, row, f"{call.method} succeeds without pMoveContext", "a random value"
        )
        return
    before = known.handles.get(call.given[-1])
    if before is not None and before.opened is not None and before.opened.ended < call.begun:
        other, until = before, call.ended
        yield PendingDeviation(
            call.deviation(
                ReplayKind.STATUS,
                row,
                f"{call.method} returns the pMoveContext that {other.opened} has returned",
                "a random value",
            ),
            until,
            lambda: known.stays_open(other, until),
        )


def _judge_target(known: ServerState, call: ObservedCall, used: KnownHandle) -> Iterator[Found]:
    """A move to a queue that is closed, or that is no relation of the source."""
    target = known.handles.get((call.server, call.members.moved_to(call.request)))
    if target is None:
        return
    if target.closed is not None and target.closed.ended < call.begun:
        yield call.deviation(
            ReplayKind.HANDLE,
            row_of("closed-target", call.method),
            f"{call.method} moves to a queue that {target.closed} has closed",
        )
        return
    source, to = (used.queue or "").lower(), (target.queue or "").lower()
    if not source or not to:
        return
    if source == to:
        check, what = "same-queue", "to the queue that it is in"
    elif source.startswith("direct=") and _apart(source, to):
        check, what = (
            "unrelated-queue",
            f"to {target.queue}, which is not the queue or a subqueue of {used.queue}",
        )
    else:
        return
    row = row_of(check, call.method)
    yield call.deviation(ReplayKind.ACTION, row, f"{call.method} moves a message {what}")


def _apart(one: str, other: str) -> bool:
    """Whether two direct names, which have the same beginning, are of two queues."""
    (path, _, name), (other_path, _, other_name) = (
        text.partition(";")[0].rpartition("\\") for text in (one, other)
    )
    return bool(path) and path == other_path and name != other_name


def _judge_taken(known: ServerState, call: ObservedCall, used: KnownHandle) -> Iterator[Found]:
    """A message that was acknowledged before, or that another receive has."""
    gone, locked = call.row("removed-message"), call.row("locked-message")
    lookup_id = call.call.asked(call.members.lookup_id)
    message = None if lookup_id is None else known.messages.get((known.place(used), lookup_id & LOW_56))
    if message is None or gone is None:
        return
    removed, holder = message.removed, message.holder
    if removed is not None:
        if removed.ended < call.begun and METHODS[removed.method].role is not Role.MOVE:
            yield call.deviation(
                ReplayKind.REMOVED, gone, f"{call.method} finds a message that {removed} has removed"
            )
    elif locked is not None and holder is not None and known.pending(holder, call.ended):
        receive, until = holder, call.ended
        yield PendingDeviation(
            call.deviation(
                ReplayKind.TWICE,
                locked,
                f"{call.method} moves a message that {receive.happened} has and did not put back",
                certain=False,
            ),
            until,
            lambda: known.pending(receive, until),
        )


def learn_opening(known: ServerState, call: ObservedCall, opened: KnownHandle) -> None:
    """Take whether a handle keeps others from receiving."""
    alone = number(call.request, "dw_share_mode") == ShareMode.MQ_DENY_RECEIVE_SHARE
    key = _share_key(call)
    receives = opened.access == AccessMode.MQ_RECEIVE_ACCESS
    if call.row("one-handle") is not None and alone and receives and key is not None:
        known.handles.put(key, opened)
