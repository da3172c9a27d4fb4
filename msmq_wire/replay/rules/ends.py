"""Ends and cancels of receives, and request identifiers.

[MS-MQRR] 3.1.4.7 to 3.1.4.9, 3.1.4.13 and 3.1.4.15, [MS-MQQP] 3.1.4.1, 3.1.4.2 and 3.1.4.6.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator

from msmq_wire.replay.call import ObservedCall, handle, number
from msmq_wire.replay.deviation import ProcessingRule, ReplayDeviation, ReplayKind
from msmq_wire.replay.read import ObservedRead
from msmq_wire.replay.state import (
    SURE,
    Doubt,
    Ending,
    Found,
    Happened,
    Known,
    KnownHandle,
    KnownRead,
)
from msmq_wire.rpc.constants import AccessMode, RemoteReadAck
from msmq_wire.rpc.statuses import Status

__all__ = ["ended_read", "judge_cancel", "judge_end", "judge_request", "learn_end", "learn_read"]

_ENDS = ("R_EndReceive", "R_EndTransactionalReceive", "RemoteQMEndReceive")
_CANCELS = ("R_CancelReceive", "RemoteQMCancelReceive")
_REQUEST_ROWS = {
    "R_StartReceive": (27, True),
    "R_StartTransactionalReceive": (27, True),
    "RemoteQMStartReceive": (6, False),
    "RemoteQMStartReceive2": (8, False),
}
"""The row, and whether a receive that was answered and not yet ended counts, too."""
_NO_ENTRY, _WRONG_ENTRY, _AGAIN, _OTHER_END = 4, 5, 6, 7
_REMOTE_READS = ("R_StartReceive", "R_StartTransactionalReceive")
_CLOSED = ProcessingRule("MQRR", "3.1.4.3", 6)
_CANCELLED = ProcessingRule("MQRR", "3.1.4.8", 13)
_PEEK_WAITS = ProcessingRule("MQRR", "3.1.4.7", 62)
_ENTRY_ROWS = {"R_StartReceive": 47, "R_StartTransactionalReceive": 56}
_OF_MOVES = 4
_SECOND = 1_000_000_000
_REFUSED = "MQ_ERROR_INVALID_HANDLE or MQ_ERROR_INVALID_PARAMETER"


def _key(call: ObservedCall, used: KnownHandle | None, request_id: int | None) -> Hashable | None:
    """What a receive is found by when it is to be ended."""
    if call.method == "RemoteQMEndReceive":
        given = handle(call.request, "pph_context")
        return None if given is None or given.null else (call.server, given.uuid)
    return None if used is None or request_id is None else (used.number, request_id)


def ended_read(known: Known, call: ObservedCall, used: KnownHandle | None) -> KnownRead | None:
    """The receive that a call ends; None for other calls, and where it is not known."""
    if call.method not in _ENDS:
        return None
    key = _key(call, used, number(call.request, "dw_request_id"))
    return None if key is None else known.reads.get(key)


def judge_end(known: Known, call: ObservedCall, used: KnownHandle | None) -> Iterator[ReplayDeviation]:
    """An end of what was not begun, or had ended."""
    if call.method not in _ENDS or not call.ok:
        return
    read = ended_read(known, call, used)
    before = None if read is None else read.ending
    if before is not None and before.ok and before.happened.ended < call.begun:
        of_qm2qm = call.method == "RemoteQMEndReceive"
        yield call.deviation(
            ReplayKind.END,
            2 if of_qm2qm else _AGAIN,
            f"{call.method} ends a receive that {before.happened} has ended",
            "a fault, nca_s_fault_context_mismatch" if of_qm2qm else _REFUSED,
        )
    elif read is None and used is not None and known.whole(used, call.ended):
        yield call.deviation(
            ReplayKind.END,
            _NO_ENTRY,
            f"{call.method} ends the request {number(call.request, 'dw_request_id')}, which began no receive",
            _REFUSED,
        )
    elif read is not None and read.transactional and call.method == "R_EndReceive":
        yield call.deviation(
            ReplayKind.END,
            _OTHER_END,
            f"{call.method} ends a receive in a transaction, begun by {read.happened}",
            "MQ_ERROR_INVALID_PARAMETER",
        )
    elif (
        read is not None
        and read.happened.method == "R_StartReceive"
        and call.method == "R_EndTransactionalReceive"
    ):
        yield call.deviation(
            ReplayKind.END,
            _OTHER_END,
            f"{call.method} ends a receive without a transaction, begun by {read.happened}",
            "MQ_ERROR_INVALID_PARAMETER",
        )


def judge_request(
    known: Known, call: ObservedCall, read: ObservedRead, used: KnownHandle | None
) -> Iterator[Found]:
    """A request identifier that is in use on its handle."""
    if not call.ok or used is None or read.request_id is None or call.method not in _REQUEST_ROWS:
        return
    row, answered_counts = _REQUEST_ROWS[call.method]
    key = (used.number, read.request_id)
    path = "request.dw_request_id" if answered_counts else "opnum"
    before = known.reads.get(key)
    answered = known.answered.get(key)
    text = f"{call.method} accepts the request identifier {read.request_id}, "
    if answered_counts and before is not None and known.pending(before, call.ended):
        pending, until = before, call.ended
        yield Doubt(
            call.deviation(
                ReplayKind.REQUEST,
                row,
                f"{text}which {before.happened} uses on this handle and nothing has ended",
                "MQ_ERROR_INVALID_PARAMETER",
                path=path,
                certain=call.ended - before.happened.ended < SURE,
            ),
            until,
            lambda: known.pending(pending, until),
        )
    elif answered is not None and _overlap(answered, call) > _SECOND:
        yield call.deviation(
            ReplayKind.REQUEST,
            row + 1 if answered_counts else row,
            f"{text}under which {answered.method} waits on this handle",
            "MQ_ERROR_INVALID_PARAMETER",
            path=path,
            certain=answered_counts,
        )


def _overlap(one: Happened, other: ObservedCall) -> int:
    """Nanoseconds in which both calls ran."""
    if not one.begun or not other.begun:
        return 0
    return min(one.ended, other.ended) - max(one.begun, other.begun)


def judge_cancel(
    known: Known, call: ObservedCall, read: ObservedRead | None, used: KnownHandle | None
) -> Iterator[Found]:
    """A cancel that succeeded, of a read that brought a message, and a wait that goes on after its end."""
    if read is not None and used is not None and call.method in _REMOTE_READS:
        yield from _judge_wait(known, call, read, used)
    if not call.ok or used is None:
        return
    if read is not None:
        cancel = known.cancelled.get((used.number, read.request_id))
        if cancel is not None and 0 < call.begun < cancel.begun < call.ended:
            yield call.deviation(
                ReplayKind.CANCEL,
                {"R_StartReceive": 113, "R_StartTransactionalReceive": 99, "RemoteQMStartReceive": 36}.get(
                    call.method, 38
                ),
                f"{call.method} brings a message, though {cancel} has cancelled it",
                "MQ_ERROR_OPERATION_CANCELLED"
                if call.method.startswith("R_Start")
                else "MQ_INFORMATION_REMOTE_CANCELED_BY_CLIENT",
            )
    elif call.method in _CANCELS:
        yield from _judge_late(known, call, used)


def _judge_wait(
    known: Known, call: ObservedCall, read: ObservedRead, used: KnownHandle
) -> Iterator[ReplayDeviation]:
    """A wait that goes on though its handle was closed, or it was cancelled, or is said not to wait."""
    if not call.begun or call.call.fault:
        return
    key = (used.number, read.request_id)
    closed, cancelled = used.closed, known.cancelled.get(key)
    refused = known.cancelled.get(("refused", *key))
    timed_out = call.call.status == Status.MQ_ERROR_IO_TIMEOUT
    rule: ProcessingRule | int
    if (call.ok or timed_out) and closed is not None and _amid(closed, call):
        rule, what = _CLOSED, f"though {closed} has closed its handle"
    elif timed_out and cancelled is not None and _amid(cancelled, call):
        rule, what = _CANCELLED, f"though {cancelled} has cancelled it"
    elif (call.ok or timed_out) and refused is not None and _amid(refused, call):
        rule = _ENTRY_ROWS[call.method] if read.removes else _PEEK_WAITS
        what = f"though {refused} was told that nothing waits"
    else:
        return
    yield call.deviation(
        ReplayKind.CANCEL,
        rule,
        f"{call.method} waits on, {what}",
        "MQ_ERROR_OPERATION_CANCELLED",
        certain=False,
    )


def _amid(one: Happened, call: ObservedCall) -> bool:
    """Whether something was done while a call ran, with a second before and after it."""
    return call.begun + _SECOND < one.begun and one.ended + _SECOND < call.ended


def _judge_late(known: Known, call: ObservedCall, used: KnownHandle) -> Iterator[Found]:
    request_id = number(call.request, "dw_request_id")
    key = (used.number, request_id)
    answered, before = known.answered.get(key), known.reads.get(key)
    remote_read = call.method == "R_CancelReceive"
    row, expected = (9, "STATUS_NOT_FOUND") if remote_read else (7, "MQ_ERROR or MQ_ERROR_INVALID_HANDLE")
    if answered is not None and 0 < answered.begun < call.begun < answered.ended:
        yield call.deviation(
            ReplayKind.CANCEL,
            row,
            f"{call.method} succeeds, and {answered}, which it cancels, brought a message",
            expected,
        )
    elif (
        remote_read
        and before is not None
        and before.happened.ended < call.begun
        and known.pending(before, call.ended)
    ):
        pending, until = before, call.ended
        yield Doubt(
            call.deviation(
                ReplayKind.CANCEL,
                row,
                f"{call.method} cancels request {request_id}, and {before.happened} had brought its message",
                expected,
                certain=call.ended - before.happened.ended < SURE,
            ),
            until,
            lambda: known.pending(pending, until),
        )
    elif call.begun and known.whole(used, call.ended):
        begun, until = call.begun, call.ended
        nothing = 8 if remote_read else 5 if answered is None else row
        if remote_read and used.access == AccessMode.MQ_MOVE_ACCESS:
            nothing = _OF_MOVES
        yield Doubt(
            call.deviation(
                ReplayKind.CANCEL,
                nothing,
                f"{call.method} cancels request {request_id}, under which nothing waits",
                "STATUS_NOT_FOUND" if remote_read else "MQ_ERROR or MQ_ERROR_INVALID_HANDLE",
                certain=False,
            ),
            until,
            lambda: _waited_not(known, key, begun) and known.whole(used, until),
        )


def _waited_not(known: Known, key: Hashable, begun: int) -> bool:
    """Whether no read under a request identifier has ended since then."""
    ended = known.waited.get(key)
    return ended is None or ended.ended < begun


def learn_read(
    known: Known, call: ObservedCall, read: ObservedRead, used: KnownHandle | None
) -> KnownRead | None:
    """Take a read that succeeded; what it receives has to be ended."""
    if used is not None and read.request_id is not None:
        known.waited.put((used.number, read.request_id), Happened.of(call))
    if not call.ok or used is None:
        return None
    if read.request_id is not None:
        known.answered.put((used.number, read.request_id), Happened.of(call))
    if not read.removes or call.method == "rpc_ACReceiveMessageEx":
        return None
    found = KnownRead(
        handle=used,
        request_id=read.request_id,
        happened=Happened.of(call),
        transactional=read.transaction is not None,
    )
    if call.method.startswith("R_Start"):
        known.reads.put((used.number, read.request_id), found)
    else:
        given = handle(call.response, "pph_context")
        if given is not None and not given.null:
            known.reads.put((call.server, given.uuid), found)
    return found


def learn_end(known: Known, call: ObservedCall, used: KnownHandle | None) -> None:
    """Take an end or a cancel."""
    if call.method in _CANCELS and used is not None:
        key = (used.number, number(call.request, "dw_request_id"))
        if call.ok:
            known.cancelled.put(key, Happened.of(call))
        elif call.method == "R_CancelReceive" and call.call.status == Status.STATUS_NOT_FOUND:
            known.cancelled.put(("refused", *key), Happened.of(call))
    read = ended_read(known, call, used)
    if read is None or (read.ending is not None and read.ending.ok):
        return
    removes = number(call.request, "dw_ack") == RemoteReadAck.RR_ACK
    read.ending = Ending(Happened.of(call), removes, call.ok)
    if removes and call.ok and read.message is not None and call.method != "R_EndTransactionalReceive":
        read.message.removed = read.ending.happened
