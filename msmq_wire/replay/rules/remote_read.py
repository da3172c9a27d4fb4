"""What RemoteRead must refuse beside reads: openings, moves, enlistments and classes of acknowledgments.

[MS-MQRR] 3.1.4.2, 3.1.4.4, 3.1.4.10 to 3.1.4.12 and 3.1.4.14. The number that stands for a queue that was
opened for moves is kept as a handle is; so is the handle that keeps others from receiving.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from typing import Any

from msmq_wire.names import QueueFormatType
from msmq_wire.replay.call import LOW_56, ObservedCall, handle, number
from msmq_wire.replay.deviation import ReplayKind
from msmq_wire.replay.rules.buffers import Refusal, granted
from msmq_wire.replay.state import Doubt, Found, Known, KnownHandle
from msmq_wire.rpc.constants import AccessMode, ShareMode
from msmq_wire.rpc.types.queue_format import QueueFormat
from msmq_wire.wire.types.enumerations import MessageClass
from msmq_wire.wire.types.guid import NULL_GUID

__all__ = ["judge_remote_read", "learn_opening"]

_INVALID = "MQ_ERROR_INVALID_PARAMETER"
_CLASSES = (0, MessageClass.MQMSG_CLASS_NACK_RECEIVE_REJECTED)
_ACCESS_ROWS = {"R_CreateCursor": 4, "R_MoveMessage": 4, "R_SetUserAcknowledgementClass": 4}
_MESSAGE_ROWS = {"R_MoveMessage": 15, "R_SetUserAcknowledgementClass": 6}
_SHARED, _NUMBERED = 13, 20
_NO_TARGET, _CLOSED_TARGET, _UNRELATED, _SAME, _LOCKED = 5, 7, 12, 13, 17


def _queue_kind(kind: QueueFormatType) -> Callable[[Any], bool]:
    return lambda request: number(getattr(request, "p_queue_format", None), "m_qft") == kind


def _other_protocol(request: Any) -> bool:
    found = getattr(request, "p_queue_format", None)
    name = found.format_name if isinstance(found, QueueFormat) else None
    return name is not None and name.kind is QueueFormatType.DIRECT and name.protocol not in ("TCP", "OS")


def _outside(member: str, *allowed: int) -> Callable[[Any], bool]:
    return lambda request: (found := number(request, member)) is not None and found not in allowed


_OTHER_KINDS = (
    QueueFormatType.UNKNOWN,
    QueueFormatType.CONNECTOR,
    QueueFormatType.DL,
    QueueFormatType.MULTICAST,
)
_REFUSALS = {
    "R_OpenQueue": (
        *(
            Refusal(row, f"QUEUE_FORMAT_TYPE_{kind.name}", _queue_kind(kind), _INVALID)
            for row, kind in enumerate(_OTHER_KINDS, 3)
        ),
        Refusal(8, "a direct name of another protocol than TCP and OS", _other_protocol, _INVALID),
        Refusal(14, "a dwShareMode that there is not", _outside("dw_share_mode", *ShareMode), _INVALID),
    ),
    # The text has no step for these; what is valid stands under the parameters.
    "R_OpenQueueForMove": (
        *(
            Refusal(2, f"QUEUE_FORMAT_TYPE_{kind.name}", _queue_kind(kind), _INVALID, certain=False)
            for kind in _OTHER_KINDS
        ),
        Refusal(
            3, "a direct name of another protocol than TCP and OS", _other_protocol, _INVALID, certain=False
        ),
        Refusal(
            4,
            "another dwAccess than MQ_MOVE_ACCESS",
            _outside("dw_access", AccessMode.MQ_MOVE_ACCESS),
            _INVALID,
            certain=False,
        ),
        Refusal(
            7,
            "a dwShareMode that there is not",
            _outside("dw_share_mode", *ShareMode),
            _INVALID,
            certain=False,
        ),
    ),
    "R_MoveMessage": (
        Refusal(
            _NO_TARGET,
            "a move without ullContextTo",
            lambda request: number(request, "ull_context_to") == 0,
            "MQ_ERROR_INVALID_HANDLE",
        ),
    ),
    "R_QMEnlistRemoteTransaction": (
        Refusal(
            2,
            "a transaction that is all zero",
            lambda request: getattr(request, "p_transaction_id", None) == NULL_GUID,
            certain=False,
        ),
        Refusal(
            6,
            "a propagation token that is empty",
            lambda request: number(request, "cb_propagation_token") == 0,
            certain=False,
        ),
    ),
    "R_SetUserAcknowledgementClass": (
        Refusal(5, "a class that is no rejection", _outside("us_class", *_CLASSES), certain=False),
    ),
}
"""What the parameters of a method alone forbid, in the order in which it is told."""


def _move_key(call: ObservedCall, value: int) -> Hashable:
    return (call.server, "move", value)


def _share_key(call: ObservedCall) -> Hashable:
    return None if call.queue is None else (call.server, "exclusive", call.queue.lower())


def judge_remote_read(known: Known, call: ObservedCall, used: KnownHandle | None) -> Iterator[Found]:
    """A request that the server had to refuse, by what is asked and what was opened."""
    if not call.ok:
        return
    deviation = granted(call, _REFUSALS.get(call.method, ()))
    if deviation is not None:
        yield deviation
    elif call.method == "R_OpenQueue":
        yield from _judge_share(known, call)
    elif call.method == "R_OpenQueueForMove":
        yield from _judge_move_context(known, call)
    elif used is not None and call.method in _ACCESS_ROWS:
        yield from _judge_use(known, call, used)


def _judge_use(known: Known, call: ObservedCall, used: KnownHandle) -> Iterator[Found]:
    receives = used.access == AccessMode.MQ_RECEIVE_ACCESS
    peeks = call.method == "R_CreateCursor" and used.access != AccessMode.MQ_MOVE_ACCESS
    if used.access is not None and not receives and not peeks:
        yield call.deviation(
            ReplayKind.ACCESS,
            _ACCESS_ROWS[call.method],
            f"{call.method} succeeds through a handle that was not opened for it",
            "a failure",
            certain=False,
        )
    elif call.method == "R_MoveMessage":
        yield from _judge_target(known, call, used)
    if call.method in _MESSAGE_ROWS:
        yield from _judge_taken(known, call, used)


def _judge_share(known: Known, call: ObservedCall) -> Iterator[Found]:
    """A queue that is opened though another handle keeps it for itself. [MS-MQDMPR] 3.1.7.1.5"""
    before = known.handles.get(_share_key(call))
    if before is None or before.opened is None or before.opened.ended >= call.begun:
        return
    receives = number(call.request, "dw_access") == AccessMode.MQ_RECEIVE_ACCESS
    alone = number(call.request, "dw_share_mode") == ShareMode.MQ_DENY_RECEIVE_SHARE
    if (receives or alone) and _stays(known, before, call.ended):
        other, until = before, call.ended
        yield Doubt(
            call.deviation(
                ReplayKind.STATUS,
                _SHARED,
                f"{call.method} opens a queue that {other.opened} keeps for itself",
                "MQ_ERROR_SHARING_VIOLATION",
            ),
            until,
            lambda: _stays(known, other, until),
        )


def _stays(known: Known, one: KnownHandle, until: int) -> bool:
    return known.whole(one, until) and (one.closing is None or one.closing > until)


def _judge_move_context(known: Known, call: ObservedCall) -> Iterator[Found]:
    value, given = number(call.response, "p_move_context"), handle(call.response, "pph_context")
    if value is None or given is None or given.null:
        return
    if value == 0:
        yield call.deviation(
            ReplayKind.STATUS, _NUMBERED, f"{call.method} succeeds without pMoveContext", "a random value"
        )
        return
    before = known.handles.get(_move_key(call, value))
    if before is not None and before.opened is not None and before.opened.ended < call.begun:
        other, until = before, call.ended
        yield Doubt(
            call.deviation(
                ReplayKind.STATUS,
                _NUMBERED,
                f"{call.method} gives the pMoveContext that {other.opened} has given",
                "a random value",
            ),
            until,
            lambda: _stays(known, other, until),
        )


def _judge_target(known: Known, call: ObservedCall, used: KnownHandle) -> Iterator[Found]:
    """A move to a queue that is closed, or that is no relation of the source."""
    value = number(call.request, "ull_context_to")
    target = None if value is None else known.handles.get(_move_key(call, value))
    if target is None:
        return
    if target.closed is not None and target.closed.ended < call.begun:
        yield call.deviation(
            ReplayKind.HANDLE,
            _CLOSED_TARGET,
            f"{call.method} moves to a queue that {target.closed} has closed",
            "MQ_ERROR_INVALID_HANDLE",
        )
        return
    source, to = (used.queue or "").lower(), (target.queue or "").lower()
    if not source or not to:
        return
    row, what = 0, ""
    if source == to:
        row, what = _SAME, "to the queue that it is in"
    elif source.startswith("direct=") and _apart(source, to):
        row, what = _UNRELATED, f"to {target.queue}, which is no relation of {used.queue}"
    if row:
        yield call.deviation(
            ReplayKind.ACTION, row, f"{call.method} moves a message {what}", "STATUS_INVALID_PARAMETER"
        )


def _apart(one: str, other: str) -> bool:
    """Whether two direct names, which have the same beginning, are of two queues."""
    (path, _, name), (other_path, _, other_name) = (
        text.partition(";")[0].rpartition("\\") for text in (one, other)
    )
    return bool(path) and path == other_path and name != other_name


def _judge_taken(known: Known, call: ObservedCall, used: KnownHandle) -> Iterator[Found]:
    """A message that was acknowledged before, or that another receive has."""
    lookup_id = number(call.request, "lookup_id")
    message = None if lookup_id is None else known.messages.get((known.place(used), lookup_id & LOW_56))
    if message is None:
        return
    removed, holder = message.removed, message.holder
    if removed is not None and removed.ended < call.begun and removed.method != "R_MoveMessage":
        yield call.deviation(
            ReplayKind.REMOVED,
            _MESSAGE_ROWS[call.method],
            f"{call.method} finds a message that {removed} has removed",
            "MQ_ERROR_MESSAGE_NOT_FOUND",
        )
    elif (
        removed is None
        and call.method == "R_MoveMessage"
        and holder is not None
        and known.pending(holder, call.ended)
    ):
        receive, until = holder, call.ended
        yield Doubt(
            call.deviation(
                ReplayKind.TWICE,
                _LOCKED,
                f"{call.method} moves a message that {receive.happened} has and did not put back",
                "MQ_ERROR_MESSAGE_LOCKED_UNDER_TRANSACTION",
                certain=False,
            ),
            until,
            lambda: known.pending(receive, until),
        )


def learn_opening(known: Known, call: ObservedCall, opened: KnownHandle) -> None:
    """Take the number that stands for a handle, and whether it keeps others from receiving."""
    value = number(call.response, "p_move_context")
    if call.method == "R_OpenQueueForMove" and value:
        known.handles.put(_move_key(call, value), opened)
    alone = number(call.request, "dw_share_mode") == ShareMode.MQ_DENY_RECEIVE_SHARE
    key = _share_key(call)
    receives = opened.access == AccessMode.MQ_RECEIVE_ACCESS
    if call.method == "R_OpenQueue" and alone and receives and key is not None:
        known.handles.put(key, opened)
