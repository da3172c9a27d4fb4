"""Statuses that a method cannot give, or not in what is known to be so, and time-outs at the wrong time.

[MS-MQRR] 3.1.4, [MS-MQQP] 3.1.4, [MS-MQMP] 3.1.4 and 3.1.5. The documents let a server fail for reasons of
its own: a failure is judged only where it claims what is known to be false, or cannot happen in its method.
"""

from __future__ import annotations

from collections.abc import Iterator

from msmq_wire.replay.call import ObservedCall, handle, number
from msmq_wire.replay.deviation import ReplayDeviation, ReplayKind
from msmq_wire.replay.read import ObservedRead
from msmq_wire.replay.rules.cursors import used_cursor
from msmq_wire.replay.state import SURE, Doubt, Found, Known, KnownCursor, KnownHandle, KnownRead
from msmq_wire.rpc.constants import AccessMode
from msmq_wire.rpc.statuses import Status
from msmq_wire.wire.headers.base_header import INFINITE

__all__ = ["judge_status", "judge_time"]

_FAILED = 0x8000_0000
_REMOTE_READ_OK = {
    "R_CloseQueue": 11,
    "R_CreateCursor": 9,
    "R_CloseCursor": 9,
    "R_PurgeQueue": 5,
    "R_StartReceive": 135,
    "R_CancelReceive": 14,
    "R_EndReceive": 23,
    "R_MoveMessage": 28,
    "R_QMEnlistRemoteTransaction": 12,
    "R_StartTransactionalReceive": 121,
    "R_SetUserAcknowledgementClass": 12,
    "R_EndTransactionalReceive": 25,
}
"""The row that names MQ_OK, the only success of these methods."""
_QM2QM_OK = {
    "RemoteQMStartReceive": 48,
    "RemoteQMEndReceive": 18,
    "RemoteQMOpenQueue": 15,
    "RemoteQMCloseQueue": 14,
    "RemoteQMCloseCursor": 7,
    "RemoteQMCancelReceive": 17,
    "RemoteQMPurgeQueue": 9,
    "RemoteQMStartReceive2": 51,
    "RemoteQMStartReceiveByLookupId": 48,
}
_QMCOMM_OK = {
    "R_QMGetRemoteQueueName": 6,
    "R_QMOpenRemoteQueue": 35,
    "R_QMCreateRemoteCursor": 9,
    "R_QMSetObjectSecurityInternal": 18,
    "R_QMGetObjectSecurityInternal": 26,
    "R_QMDeleteObject": 12,
    "R_QMObjectPathToObjectFormat": 13,
    "R_QMGetTmWhereabouts": 11,
    "R_QMEnlistTransaction": 13,
    "R_QMEnlistInternalTransaction": 8,
    "R_QMCommitTransaction": 9,
    "R_QMAbortTransaction": 9,
    "rpc_QMOpenQueueInternal": 57,
    "rpc_ACCloseHandle": 5,
    "rpc_ACCloseCursor": 5,
    "rpc_ACSetCursorProperties": 7,
    "rpc_ACHandleToFormatName": 12,
    "rpc_ACPurgeQueue": 6,
    "R_QMQueryQMRegistryInternal": 10,
    "QMSendMessageInternalEx": 13,
    "rpc_ACSendMessageEx": 103,
    "rpc_ACReceiveMessageEx": 171,
    "rpc_ACCreateCursorEx": 9,
}
"""Methods about properties are not here: some servers tell with a success what they did not take."""
_OK = _REMOTE_READ_OK | _QM2QM_OK | _QMCOMM_OK
_CANCELED = (Status.MQ_INFORMATION_REMOTE_CANCELED_BY_CLIENT,)
_ALLOWED = {
    "RemoteQMStartReceive": _CANCELED,
    "RemoteQMStartReceive2": _CANCELED,
    "rpc_ACReceiveMessageEx": _CANCELED,
    "rpc_ACCreateCursorEx": (Status.MQ_INFORMATION_REMOTE_OPERATION,),
}
_WAITS = ("R_StartReceive", "R_StartTransactionalReceive", "RemoteQMStartReceive", "RemoteQMStartReceive2")
_OF_WAITING = (Status.MQ_ERROR_IO_TIMEOUT, Status.MQ_INFORMATION_REMOTE_CANCELED_BY_CLIENT)
_OF_CURSORS = (Status.MQ_ERROR_ILLEGAL_CURSOR_ACTION,)
_UNKNOWN_HANDLE = (
    Status.MQ_ERROR_INVALID_HANDLE,
    Status.STATUS_INVALID_HANDLE,
    0x1C00001A,
)
_LIVE_ROWS = {
    "R_CloseQueue": 5,
    "R_CreateCursor": 5,
    "R_CloseCursor": 7,
    "R_CancelReceive": 5,
    "R_PurgeQueue": 4,
    "R_StartReceive": 38,
    "R_EndReceive": 10,
    "R_EndTransactionalReceive": 10,
    "R_StartTransactionalReceive": 49,
}
_KEPT = 12
_NO_ENTRY = (Status.MQ_ERROR_INVALID_HANDLE, Status.MQ_ERROR_INVALID_PARAMETER)
_SECOND = 1_000_000_000
_MILLISECOND = 1_000_000
_LATE = 10 * _SECOND
_TIME_ROWS = {
    "R_StartReceive": 93,
    "R_StartTransactionalReceive": 88,
    "RemoteQMStartReceive": 35,
    "RemoteQMStartReceive2": 37,
    "rpc_ACReceiveMessageEx": 170,
}


def judge_status(
    known: Known,
    call: ObservedCall,
    read: ObservedRead | None,
    used: KnownHandle | None,
    ended: KnownRead | None,
) -> Iterator[Found]:
    """A status that no rule of the method gives."""
    status = call.call.status
    if not status or call.method not in _OK:
        return
    if status < _FAILED and not call.call.fault and status not in _ALLOWED.get(call.method, ()):
        what = f"{call.method} returns {call.came}, which is no failure"
        yield _wrong(call, _OK[call.method], what, "MQ_OK or a failure")
    elif call.method not in _REMOTE_READ_OK:
        # Which failure it is, is left open. [MS-MQQP] 2.2
        return
    elif status in _OF_WAITING and (call.method not in _WAITS or (read is not None and read.lookup)):
        what = f"{call.method} answers {call.came}, and does not wait"
        if read is None:
            yield _wrong(call, _OK[call.method], what, "MQ_OK or another failure")
        else:
            rows = {"R_StartReceive": 106, "R_StartTransactionalReceive": 94}
            yield _wrong(call, rows[call.method], what, "MQ_ERROR_MESSAGE_NOT_FOUND")
    elif status in _OF_CURSORS and (read is None or read.cursor == 0):
        what = f"{call.method} answers {call.came}, and no cursor is used"
        yield _wrong(call, _OK[call.method], what, "MQ_OK or another failure")
    elif call.method == "R_CloseQueue" and not call.call.fault and _changed(call):
        what = f"{call.method} answers {call.came}, and changes the handle"
        yield _wrong(call, _KEPT, what, "the handle as it was")
    else:
        yield from _judge_claim(known, call, used, ended)


def _changed(call: ObservedCall) -> bool:
    before, after = handle(call.request, "pph_context"), handle(call.response, "pph_context")
    return before is not None and after is not None and before != after


def _wrong(call: ObservedCall, row: int, message: str, expected: str) -> ReplayDeviation:
    return call.deviation(ReplayKind.STATUS, row, message, expected, path="response.status")


def _judge_claim(
    known: Known, call: ObservedCall, used: KnownHandle | None, ended: KnownRead | None
) -> Iterator[Found]:
    """A failure that says that something is not there, which is."""
    status, until = call.call.status, call.ended
    if ended is not None and status in _NO_ENTRY and call.method.startswith("R_End"):
        right_end = ended.transactional is (call.method == "R_EndTransactionalReceive")
        if right_end and until - ended.happened.ended < SURE and _begun(known, ended, until):
            receive, begun = ended, call.begun
            yield Doubt(
                call.deviation(
                    ReplayKind.STATUS,
                    _LIVE_ROWS[call.method],
                    f"{call.method} answers {call.came}, though {ended.happened} began this receive",
                    "MQ_OK, or what Dequeue Message End gives",
                    path="response.status",
                ),
                until,
                lambda: _begun(known, receive, begun - 1) and _open(known, receive.handle, until),
            )
        return
    if status not in _UNKNOWN_HANDLE or used is None or call.method not in _LIVE_ROWS or not call.begun:
        return
    if call.method in ("R_EndReceive", "R_EndTransactionalReceive"):
        return
    opened, stream = used, known.group(call)
    if stream == 0 or opened.group != stream or not _open(known, opened, until):
        return
    if used.access == AccessMode.MQ_MOVE_ACCESS and call.method != "R_CloseQueue":
        # It is no handle to read with: which failure that is, is left open.
        return
    cursor = None
    if number(call.request, "h_cursor"):
        # A cursor that is not there has the same status.
        cursor = used_cursor(known, call, used)
        if cursor is None or (cursor.closed is not None and cursor.closed.begun <= until):
            return
    elif call.method == "R_CloseCursor":
        return
    if call.method == "R_CancelReceive" and not call.call.fault:
        # It may say so of a request that does not wait.
        return
    what = f"{opened.opened} opened this handle" + ("" if cursor is None else " and its cursor is there,")
    yield Doubt(
        call.deviation(
            ReplayKind.STATUS,
            _LIVE_ROWS[call.method],
            f"{call.method} answers {call.came}, though {what} and nothing has closed it",
            "MQ_OK, or another failure",
            path="response.status" if not call.call.fault else "opnum",
        ),
        until,
        lambda: _open(known, opened, until) and _there(cursor, until),
    )


def _there(cursor: KnownCursor | None, until: int) -> bool:
    return cursor is None or cursor.closed is None or cursor.closed.begun > until


def _begun(known: Known, read: KnownRead, until: int) -> bool:
    """Whether a receive, in a transaction or not, had still to be ended then."""
    ending, closing = read.ending, read.handle.closing
    if (ending is not None and ending.happened.begun <= until) or (closing is not None and closing <= until):
        return False
    return not known.missed(read.handle, read.happened.begun, until)


def _open(known: Known, handle: KnownHandle, until: int) -> bool:
    """Whether nothing is known that may have closed a handle until then."""
    closing = handle.closing
    return known.whole(handle, until) and (closing is None or closing > until)


def judge_time(call: ObservedCall, read: ObservedRead) -> Iterator[ReplayDeviation]:
    """A time-out that comes at another time than was asked for.

    The events of [MS-MQDMPR] count in seconds, so one second is nothing; neither is one part in fifty.
    """
    row, latency = _TIME_ROWS.get(call.method), call.call.latency
    if call.call.status != Status.MQ_ERROR_IO_TIMEOUT or row is None or latency is None:
        return
    if read.timeout is None or read.lookup:
        return
    asked = read.timeout * _MILLISECOND
    spare = asked // 50
    took = f"{latency / _SECOND:.1f} s"
    if read.timeout == INFINITE:
        expected, what = "no end of the wait", "though the wait was to have no end"
    elif latency + _SECOND + spare < asked or latency > asked + _LATE + 5 * spare:
        expected, what = f"an answer after {read.timeout} ms", f"and {read.timeout} ms were asked for"
    else:
        return
    yield call.deviation(
        ReplayKind.TIME,
        row,
        f"{call.method} times out after {took}, {what}",
        expected,
        came=f"{call.came} after {took}",
        path="request.ul_timeout" if call.method.startswith("R_Start") else "opnum",
        certain=latency < asked or read.timeout == INFINITE,
    )
