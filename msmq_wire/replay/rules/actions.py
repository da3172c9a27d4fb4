"""Actions whose other parameters forbid them, and handles that are not good for them.

[MS-MQRR] 3.1.4.7 and 3.1.4.13, [MS-MQQP] 3.1.4.1, 3.1.4.10 and 3.1.4.11, [MS-MQMP] 3.1.5.3. All that is
needed stands in the request, and in what its handle was opened for.
"""

from __future__ import annotations

from collections.abc import Iterator

from msmq_wire.records.open_queues import read_descriptor
from msmq_wire.replay.call import ObservedCall, number
from msmq_wire.replay.deviation import ReplayDeviation, ReplayKind
from msmq_wire.replay.read import ObservedRead
from msmq_wire.replay.rules.handles import may_receive, purpose
from msmq_wire.replay.state import KnownHandle
from msmq_wire.rpc.constants import AccessMode, ReceiveAction

__all__ = ["judge_access", "judge_action", "judge_send"]

_LOOKUPS = tuple(action for action in ReceiveAction if action.lookup)
"""In the order of the rows: the peeks, then the receives."""
_PLAIN = tuple(action for action in ReceiveAction if not action.lookup)
_PEEK_NEXT = ReceiveAction.MQ_ACTION_PEEK_NEXT
_ACCESS_ROWS = {
    "R_StartReceive": 36,
    "R_StartTransactionalReceive": 35,
    "RemoteQMStartReceive": 13,
    "RemoteQMStartReceive2": 15,
    "RemoteQMStartReceiveByLookupId": 16,
    "rpc_ACReceiveMessageEx": 163,
}
_AFTER_MOVE = 37
_SENDER = 162
_SENDS, _SENDS_ELSEWHERE = 2, 90
_INVALID = "MQ_ERROR_INVALID_PARAMETER"
_Broken = tuple[int, str, str]
"""The row, what is wrong, and the answer that is due."""


def judge_access(
    call: ObservedCall, read: ObservedRead, used: KnownHandle | None
) -> Iterator[ReplayDeviation]:
    """A read that the handle was not opened for."""
    if not call.ok or used is None or used.access is None or used.proxy or may_receive(used):
        return
    row, removes = _ACCESS_ROWS[call.method], read.removes
    if call.method == "R_StartReceive" and used.access == AccessMode.MQ_MOVE_ACCESS:
        row, removes = _AFTER_MOVE, True
    elif call.method == "rpc_ACReceiveMessageEx" and used.access == AccessMode.MQ_SEND_ACCESS:
        row, removes = _SENDER, True
    if removes:
        what = "reads" if read.removes is False else "receives"
        yield call.deviation(
            ReplayKind.ACCESS,
            row,
            f"{call.method} {what} through a handle that was opened to {purpose(used)}",
            _INVALID if call.method.startswith("R_Start") else "MQ_ERROR_ACCESS_DENIED",
            path="request.ul_action" if call.method.startswith("R_Start") else "opnum",
        )


def judge_send(call: ObservedCall, used: KnownHandle | None) -> Iterator[ReplayDeviation]:
    """A message that is sent through a handle that was not opened to send."""
    if call.method != "rpc_ACSendMessageEx" or not call.ok or used is None or used.access is None:
        return
    if used.proxy or used.access != AccessMode.MQ_SEND_ACCESS:
        what = "stands for a queue elsewhere" if used.proxy else f"was opened to {purpose(used)}"
        yield call.deviation(
            ReplayKind.ACCESS,
            _SENDS_ELSEWHERE if used.proxy else _SENDS,
            f"{call.method} sends through a handle that {what}",
            "a failure",
        )


def judge_action(call: ObservedCall, read: ObservedRead) -> Iterator[ReplayDeviation]:
    """An action that its other parameters forbid."""
    if not call.ok:
        return
    for row, wrong, expected in _broken(call, read):
        yield call.deviation(
            ReplayKind.ACTION, row, f"{call.method} accepts {wrong}", expected, path=_path(call)
        )
        return


def _path(call: ObservedCall) -> str:
    return "request.ul_action" if call.method.startswith("R_Start") else "opnum"


def _broken(call: ObservedCall, read: ObservedRead) -> Iterator[_Broken]:
    if read.action is None:
        return
    if call.method in ("R_StartReceive", "R_StartTransactionalReceive"):
        yield from _of_remote_read(read)
    elif call.method == "RemoteQMStartReceiveByLookupId":
        yield from _of_lookup(call, read)
    elif call.method == "rpc_ACReceiveMessageEx":
        if read.action not in _PLAIN:
            yield 7, f"the action 0x{read.action:08X}", "a failure"
        elif read.action == _PEEK_NEXT and read.cursor == 0:
            yield 176, "MQ_ACTION_PEEK_NEXT without a cursor", "MQ_ERROR_ILLEGAL_CURSOR_ACTION"
    else:
        yield from _of_qm2qm(call, read)


def _of_remote_read(read: ObservedRead) -> Iterator[_Broken]:
    action = read.action or 0
    if action in _LOOKUPS:
        at, symbol = _LOOKUPS.index(ReceiveAction(action)), ReceiveAction(action).name
        if read.lookup_id == 0:
            yield 2 + at, f"{symbol} without a LookupId", _INVALID
        if read.cursor:
            yield 8 + at, f"{symbol} with a cursor", _INVALID
        if read.timeout:
            yield 14 + at, f"{symbol} with a time-out", _INVALID
    elif action in _PLAIN:
        at, symbol = _PLAIN.index(ReceiveAction(action)), ReceiveAction(action).name
        if read.lookup_id:
            yield 20 + at, f"{symbol} with a LookupId", _INVALID
        if action == _PEEK_NEXT and read.cursor == 0:
            yield 23, f"{symbol} without a cursor", _INVALID
        if read.transaction is not None and not read.removes:
            yield 44 + at - 1, f"{symbol} in a transaction", "MQ_ERROR_TRANSACTION_USAGE"
    else:
        yield 25, f"the action 0x{action:08X}", _INVALID
    if action in _LOOKUPS and read.transaction is not None and not read.removes:
        row = 46 + _LOOKUPS.index(ReceiveAction(action))
        yield row, f"{ReceiveAction(action).name} in a transaction", "MQ_ERROR_TRANSACTION_USAGE"


def _of_qm2qm(call: ObservedCall, read: ObservedRead) -> Iterator[_Broken]:
    # RemoteQMStartReceive2 has two rows more before these.
    more = 2 if call.method == "RemoteQMStartReceive2" else 0
    asked = read_descriptor(call.request)
    queue, again = number(asked, "h_remote_queue"), number(asked, "dw_queue")
    if again == 0:
        yield 4 + more, "dwQueue 0", _INVALID
    elif again is not None and queue is not None and again != queue:
        yield 5 + more, "a dwQueue that is not hRemoteQueue", _INVALID
    if read.action == _PEEK_NEXT and read.cursor == 0:
        yield 8 + more, "MQ_ACTION_PEEK_NEXT without a cursor", "STATUS_INVALID_PARAMETER"
    elif read.action not in _PLAIN:
        yield 9 + more, f"the action 0x{read.action or 0:08X}", _INVALID


def _of_lookup(call: ObservedCall, read: ObservedRead) -> Iterator[_Broken]:
    if number(read_descriptor(call.request), "h_remote_queue") == 0:
        yield 4, "hRemoteQueue 0", _INVALID
    if read.timeout:
        yield 5, "a time-out", _INVALID
    if read.cursor:
        yield 6, "a cursor", _INVALID
    if read.action not in _LOOKUPS:
        yield 7, f"the action 0x{read.action or 0:08X}", _INVALID
    elif read.lookup_id == 0 and not ReceiveAction(read.action).name.endswith("_NEXT"):
        rows = {
            ReceiveAction.MQ_LOOKUP_PEEK_CURRENT: 8,
            ReceiveAction.MQ_LOOKUP_PEEK_PREV: 9,
            ReceiveAction.MQ_LOOKUP_RECEIVE_CURRENT: 10,
            ReceiveAction.MQ_LOOKUP_RECEIVE_PREV: 11,
        }
        action = ReceiveAction(read.action)
        yield rows[action], f"{action.name} without a LookupId", _INVALID
