"""Statuses that a method cannot give, or not in what is known to be so, and time-outs at the wrong time.

[MS-MQRR] 3.1.4, [MS-MQQP] 3.1.4, [MS-MQMP] 3.1.4 and 3.1.5. The documents let a server fail for reasons of
its own: a failure is judged only where it claims what is known to be false, or cannot happen in its method.
"""

from __future__ import annotations

from collections.abc import Iterator

from msmq_wire.replay.deviation import ReplayDeviation, ReplayKind
from msmq_wire.replay.observed_call import ObservedCall, handle
from msmq_wire.replay.read import ObservedRead
from msmq_wire.replay.rule_table import RuleRow
from msmq_wire.replay.rules.cursors import used_cursor
from msmq_wire.replay.rules.ends import NO_ENTRY
from msmq_wire.replay.state import (
    SURE,
    Found,
    KnownCursor,
    KnownHandle,
    KnownRead,
    PendingDeviation,
    ServerState,
)
from msmq_wire.rpc.constants import AccessMode
from msmq_wire.rpc.interfaces.role import READS, Role
from msmq_wire.rpc.statuses import Status
from msmq_wire.units import MILLISECOND, SECOND
from msmq_wire.wire.headers.base_header import INFINITE

_FAILED = 0x8000_0000
_OF_WAITING = (Status.MQ_ERROR_IO_TIMEOUT, Status.MQ_INFORMATION_REMOTE_CANCELED_BY_CLIENT)
_OF_CURSORS = (Status.MQ_ERROR_ILLEGAL_CURSOR_ACTION,)
_UNKNOWN_HANDLE = (
    Status.MQ_ERROR_INVALID_HANDLE,
    Status.STATUS_INVALID_HANDLE,
    0x1C00001A,
)
_LATE = 10 * SECOND


def judge_status(
    known: ServerState,
    call: ObservedCall,
    read: ObservedRead | None,
    used: KnownHandle | None,
    ended: KnownRead | None,
) -> Iterator[Found]:
    """A status that no rule of the method gives."""
    # Methods about properties have no such row: some servers tell with a success what they did not take.
    status, row = call.call.status, call.row("only-ok")
    if not status or row is None:
        return
    kept = call.row("keeps-handle")
    if status < _FAILED and not call.call.fault and status != _allowed(call):
        what = f"{call.method} returns {call.came}, which is neither MQ_OK nor a failure"
        yield _wrong(call, row, what, "MQ_OK or a failure")
    elif call.call.interface != "RemoteRead":
        # Which failure it is, is left open. [MS-MQQP] 2.2
        return
    elif status in _OF_WAITING and (read is None or read.lookup):
        what = f"{call.method} answers {call.came}, though this call does not wait"
        if read is None:
            yield _wrong(call, row, what, "MQ_OK or another failure")
        else:
            yield _wrong(call, call.row("lookup-waits") or row, what, "MQ_ERROR_MESSAGE_NOT_FOUND")
    elif status in _OF_CURSORS and (read is None or read.cursor == 0):
        what = f"{call.method} answers {call.came}, though this call uses no cursor"
        yield _wrong(call, row, what, "MQ_OK or another failure")
    elif kept is not None and not call.call.fault and _changed(call):
        what = f"{call.method} answers {call.came}, and changes the handle"
        yield _wrong(call, kept, what, "the handle as it was")
    else:
        yield from _judge_claim(known, call, used, ended)


def _allowed(call: ObservedCall) -> int:
    """What a method returns beside MQ_OK that is no failure."""
    if call.call.interface == "RemoteRead":
        return Status.MQ_OK
    if call.role in READS and not call.members.lookup_id:
        return Status.MQ_INFORMATION_REMOTE_CANCELED_BY_CLIENT
    return Status.MQ_INFORMATION_REMOTE_OPERATION if call.role is Role.CREATE_CURSOR else Status.MQ_OK


def _changed(call: ObservedCall) -> bool:
    before, after = (handle(one, call.members.handle) for one in (call.request, call.response))
    return before is not None and after is not None and before != after


def _wrong(call: ObservedCall, row: RuleRow, message: str, expected: str) -> ReplayDeviation:
    return call.deviation(ReplayKind.STATUS, row, message, expected, path="response.status")


def _judge_claim(
    known: ServerState, call: ObservedCall, used: KnownHandle | None, ended: KnownRead | None
) -> Iterator[Found]:
    """A failure that says that something is not there, which is."""
    status, until = call.call.status, call.ended
    receive, live = call.row("denies-receive"), call.row("denies-handle")
    if ended is not None and receive is not None and status in NO_ENTRY:
        right_end = ended.transactional is call.members.in_transaction
        if right_end and until - ended.happened.ended < SURE and _begun(known, ended, until):
            begun_by, begun = ended, call.begun
            yield PendingDeviation(
                call.deviation(
                    ReplayKind.STATUS,
                    receive,
                    f"{call.method} answers {call.came}, though {ended.happened} began this receive",
                    "MQ_OK, or a status of the event Dequeue Message End",
                    path="response.status",
                ),
                until,
                lambda: _begun(known, begun_by, begun - 1) and known.stays_open(begun_by.handle, until),
            )
        return
    if live is None or status not in _UNKNOWN_HANDLE or used is None or not call.begun:
        return
    opened, stream = used, known.group(call)
    if stream == 0 or opened.group != stream or not known.stays_open(opened, until):
        return
    if used.access == AccessMode.MQ_MOVE_ACCESS and call.role is not Role.CLOSE:
        # It is no handle to read with: which failure that is, is left open.
        return
    cursor = None
    if call.call.asked(call.members.cursor):
        # A cursor that is not there has the same status.
        cursor = used_cursor(known, call, used)
        if cursor is None or (cursor.closed is not None and cursor.closed.begun <= until):
            return
    elif call.role is Role.CLOSE_CURSOR:
        return
    if call.role is Role.CANCEL and not call.call.fault:
        # It may say so of a request that does not wait.
        return
    what = f"{opened.opened} opened this handle" + ("" if cursor is None else " and its cursor is there,")
    yield PendingDeviation(
        call.deviation(
            ReplayKind.STATUS,
            live,
            f"{call.method} answers {call.came}, though {what} and nothing has closed it",
            "MQ_OK, or another failure",
            path="response.status" if not call.call.fault else "opnum",
        ),
        until,
        lambda: known.stays_open(opened, until) and _there(cursor, until),
    )


def _there(cursor: KnownCursor | None, until: int) -> bool:
    return cursor is None or cursor.closed is None or cursor.closed.begun > until


def _begun(known: ServerState, read: KnownRead, until: int) -> bool:
    """Whether a receive, in a transaction or not, had still to be ended then."""
    ending, closing = read.ending, read.handle.closing
    if (ending is not None and ending.happened.begun <= until) or (closing is not None and closing <= until):
        return False
    return not known.missed(read.handle, read.happened.begun, until)


def judge_time(call: ObservedCall, read: ObservedRead) -> Iterator[ReplayDeviation]:
    """A time-out that comes at another time than was asked for.

    The events of [MS-MQDMPR] count in seconds, so one second is nothing; neither is one part in fifty.
    """
    row, latency = call.row("time-out"), call.call.latency
    if call.call.status != Status.MQ_ERROR_IO_TIMEOUT or row is None or latency is None:
        return
    if read.timeout is None or read.lookup:
        return
    asked = read.timeout * MILLISECOND
    spare = asked // 50
    took = f"{latency / SECOND:.1f} s"
    if read.timeout == INFINITE:
        expected, what = "a wait without an end", "though the client set no time-out"
    elif latency + SECOND + spare < asked or latency > asked + _LATE + 5 * spare:
        expected, what = (
            f"an answer after {read.timeout / 1000:g} s",
            f"but {read.timeout / 1000:g} s were asked for",
        )
    else:
        return
    yield call.deviation(
        ReplayKind.TIME,
        row,
        f"{call.method} times out after {took}, {what}",
        expected,
        came=f"{call.came} after {took}",
        path=call.path(call.members.timeout),
        certain=latency < asked or read.timeout == INFINITE,
    )
