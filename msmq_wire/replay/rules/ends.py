"""Ends and cancels of receives, and request identifiers.

[MS-MQRR] 3.1.4.7 to 3.1.4.9, 3.1.4.13 and 3.1.4.15, [MS-MQQP] 3.1.4.1, 3.1.4.2 and 3.1.4.6.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator

from msmq_wire.replay.deviation import ReplayDeviation, ReplayKind
from msmq_wire.replay.observed_call import ObservedCall, number
from msmq_wire.replay.read import ObservedRead
from msmq_wire.replay.rule_table import row_of
from msmq_wire.replay.state import (
    SURE,
    Ending,
    EventTime,
    Found,
    KnownHandle,
    KnownRead,
    PendingDeviation,
    ServerState,
)
from msmq_wire.rpc.constants import AccessMode, RemoteReadAck
from msmq_wire.rpc.interfaces.role import Role
from msmq_wire.rpc.statuses import Status
from msmq_wire.units import SECOND

_MISMATCH = "a fault, nca_s_fault_context_mismatch"
NO_ENTRY = (Status.MQ_ERROR_INVALID_HANDLE, Status.MQ_ERROR_INVALID_PARAMETER)
_REFUSED = "MQ_ERROR_INVALID_HANDLE or MQ_ERROR_INVALID_PARAMETER"


def _request_id(call: ObservedCall) -> int | None:
    return call.call.asked(call.members.request_id)


def ended_read(known: ServerState, call: ObservedCall, used: KnownHandle | None) -> KnownRead | None:
    """The receive that a call ends; None for other calls, and where it is not known."""
    if call.role is not Role.END:
        return None
    if call.members.receive:
        return known.reads.get(call.used)
    request_id = _request_id(call)
    return None if used is None or request_id is None else known.reads.get((used.number, request_id))


def judge_end(known: ServerState, call: ObservedCall, used: KnownHandle | None) -> Iterator[ReplayDeviation]:
    """An end of what was not begun, or had ended."""
    if call.role is not Role.END or not call.ok:
        return
    again, nothing, other = (call.row(check) for check in ("ended-again", "no-receive", "other-end"))
    read = ended_read(known, call, used)
    before = None if read is None else read.ending
    if again is not None and before is not None and before.ok and before.happened.ended < call.begun:
        yield call.deviation(
            ReplayKind.END,
            again,
            f"{call.method} ends a receive that {before.happened} had already ended",
            _MISMATCH if call.members.receive else _REFUSED,
        )
    elif nothing is not None and read is None and used is not None and known.whole(used, call.ended):
        yield call.deviation(
            ReplayKind.END,
            nothing,
            f"{call.method} ends the request {_request_id(call)}, but no receive has this identifier",
            _REFUSED,
        )
    elif other is not None and read is not None and _other_end(call, read):
        yield call.deviation(
            ReplayKind.END,
            other,
            f"{call.method} ends a receive that {read.happened} began "
            f"{'without' if call.members.in_transaction else 'in'} a transaction",
        )


def _other_end(call: ObservedCall, read: KnownRead) -> bool:
    begun = read.happened.known
    if call.members.in_transaction:
        return begun is not None and not begun.members.transaction
    return read.transactional


def judge_request(
    known: ServerState, call: ObservedCall, read: ObservedRead, used: KnownHandle | None
) -> Iterator[Found]:
    """A request identifier that is in use on its handle."""
    row, waits = call.row("request-in-use"), call.row("request-waits")
    if row is None or not call.ok or used is None or read.request_id is None:
        return
    key, path = (used.number, read.request_id), call.path(call.members.request_id)
    before = known.reads.get(key)
    answered = known.answered.get(key)
    text = f"{call.method} accepts the request identifier {read.request_id}, "
    if waits is not None and before is not None and known.pending(before, call.ended):
        pending, until = before, call.ended
        yield PendingDeviation(
            call.deviation(
                ReplayKind.REQUEST,
                row,
                f"{text}which {before.happened} still uses on this handle",
                path=path,
                certain=call.ended - before.happened.ended < SURE,
            ),
            until,
            lambda: known.pending(pending, until),
        )
    elif (
        answered is not None
        and _overlap(answered, call) > SECOND
        and not _given_up(known, key, answered.begun)
    ):
        yield call.deviation(
            ReplayKind.REQUEST,
            waits or row,
            f"{text}under which {answered.method} waits on this handle",
            "MQ_ERROR_INVALID_PARAMETER",
            path=path,
            certain=waits is not None,
        )


def _given_up(known: ServerState, key: tuple[int, int | None], since: int) -> bool:
    """Whether a receive was ended that waited since then: its entry is gone. [MS-MQRR] 3.1.4.9"""
    ended = known.cancelled.get(("ended", *key))
    return ended is not None and ended.ended >= since


def _overlap(one: EventTime, other: ObservedCall) -> int:
    """Nanoseconds in which both calls ran."""
    if not one.begun or not other.begun:
        return 0
    return min(one.ended, other.ended) - max(one.begun, other.begun)


def judge_cancel(
    known: ServerState, call: ObservedCall, read: ObservedRead | None, used: KnownHandle | None
) -> Iterator[Found]:
    """A cancel that succeeded, of a read that brought a message, and a wait that goes on after its end."""
    if read is not None and used is not None and call.row("entry-waits") is not None:
        yield from _judge_wait(known, call, read, used)
    if not call.ok or used is None:
        return
    if read is not None:
        cancel = known.cancelled.get((used.number, read.request_id))
        row = call.row("cancelled")
        if row is not None and cancel is not None and 0 < call.begun < cancel.begun < call.ended:
            what = f"{call.method} returns a message, though {cancel} has cancelled it"
            yield call.deviation(ReplayKind.CANCEL, row, what)
    elif call.role is Role.CANCEL:
        yield from _judge_late(known, call, used)


def _judge_wait(
    known: ServerState, call: ObservedCall, read: ObservedRead, used: KnownHandle
) -> Iterator[ReplayDeviation]:
    """A wait that goes on though its handle was closed, or it was cancelled, or is said not to wait."""
    if not call.begun or call.call.fault:
        return
    key = (used.number, read.request_id)
    closed, cancelled = used.closed, known.cancelled.get(key)
    refused = known.cancelled.get(("refused", *key))
    timed_out = call.call.status == Status.MQ_ERROR_IO_TIMEOUT
    row, what = None, ""
    if (call.ok or timed_out) and closed is not None and _amid(closed, call):
        row, what = closed.row("wait-goes-on"), f"though {closed} has closed its handle"
    elif timed_out and cancelled is not None and _amid(cancelled, call):
        row, what = cancelled.row("wait-goes-on"), f"though {cancelled} has cancelled it"
    elif (call.ok or timed_out) and refused is not None and _amid(refused, call):
        row = call.row("entry-waits" if read.removes else "peek-waits")
        what = f"though {refused} got the answer that nothing waits"
    if row is None:
        return
    yield call.deviation(
        ReplayKind.CANCEL,
        row,
        f"{call.method} goes on waiting, {what}",
        "MQ_ERROR_OPERATION_CANCELLED",
        certain=False,
    )


def _amid(one: EventTime, call: ObservedCall) -> bool:
    """Whether something was done while a call ran, with a second before and after it."""
    return call.begun + SECOND < one.begun and one.ended + SECOND < call.ended


def _judge_late(known: ServerState, call: ObservedCall, used: KnownHandle) -> Iterator[Found]:
    request_id, remote_read = _request_id(call), call.call.interface == "RemoteRead"
    key = (used.number, request_id)
    answered, before = known.answered.get(key), known.reads.get(key)
    row, expected = row_of("cancel-late", call.method), "MQ_ERROR or MQ_ERROR_INVALID_HANDLE"
    if remote_read:
        expected = "STATUS_NOT_FOUND"
    if answered is not None and 0 < answered.begun < call.begun < answered.ended:
        yield call.deviation(
            ReplayKind.CANCEL,
            row,
            f"{call.method} succeeds, but {answered}, which it cancels, returned a message",
            expected,
        )
    elif (
        remote_read
        and before is not None
        and before.happened.ended < call.begun
        and known.pending(before, call.ended)
    ):
        pending, until = before, call.ended
        yield PendingDeviation(
            call.deviation(
                ReplayKind.CANCEL,
                row,
                f"{call.method} cancels request {request_id}, but {before.happened} had already returned "
                "its message",
                expected,
                certain=call.ended - before.happened.ended < SURE,
            ),
            until,
            lambda: known.pending(pending, until),
        )
    elif call.begun and known.whole(used, call.ended):
        begun, until = call.begun, call.ended
        nothing = row if answered is not None and not remote_read else call.row("cancel-nothing")
        if used.access == AccessMode.MQ_MOVE_ACCESS:
            nothing = call.row("cancel-of-move") or nothing
        yield PendingDeviation(
            call.deviation(
                ReplayKind.CANCEL,
                nothing or row,
                f"{call.method} cancels request {request_id}, but nothing waits under it",
                expected,
                certain=False,
            ),
            until,
            lambda: _waited_not(known, key, begun) and known.whole(used, until),
        )


def _waited_not(known: ServerState, key: Hashable, begun: int) -> bool:
    """Whether no read under a request identifier has ended since then."""
    ended = known.waited.get(key)
    return ended is None or ended.ended < begun


def learn_read(
    known: ServerState, call: ObservedCall, read: ObservedRead, used: KnownHandle | None
) -> KnownRead | None:
    """Take a read that succeeded; what it receives has to be ended."""
    if used is not None and read.request_id is not None:
        known.waited.put((used.number, read.request_id), EventTime.of(call))
    if not call.ok or used is None:
        return None
    if read.request_id is not None:
        known.answered.put((used.number, read.request_id), EventTime.of(call))
    if (
        not read.removes
        or call.role is Role.RECEIVE
        or _given_up(known, (used.number, read.request_id), call.begun)
    ):
        return None
    found = KnownRead(
        handle=used,
        request_id=read.request_id,
        happened=EventTime.of(call),
        transactional=read.transaction is not None,
    )
    for key in call.given if call.members.receive else ((used.number, read.request_id),):
        known.reads.put(key, found)
    return found


def learn_end(known: ServerState, call: ObservedCall, used: KnownHandle | None) -> None:
    """Take an end or a cancel."""
    if call.role is Role.CANCEL and used is not None:
        key = (used.number, _request_id(call))
        if call.ok:
            known.cancelled.put(key, EventTime.of(call))
        elif call.call.interface == "RemoteRead" and call.call.status == Status.STATUS_NOT_FOUND:
            known.cancelled.put(("refused", *key), EventTime.of(call))
    elif call.role is Role.END and used is not None and call.ok is False and call.status not in NO_ENTRY:
        known.cancelled.put(("ended", used.number, _request_id(call)), EventTime.of(call))
    read = ended_read(known, call, used)
    if read is None or (read.ending is not None and read.ending.ok):
        return
    removes = number(call.request, "dw_ack") == RemoteReadAck.RR_ACK
    read.ending = Ending(EventTime.of(call), removes, call.ok)
    if removes and call.ok and read.message is not None and not call.members.in_transaction:
        read.message.removed = read.ending.happened
