"""What may not be done any more: with a deleted queue, an ended transaction, a read whose queue was closed.

[MS-MQQP] 3.1.4, [MS-MQMP] 3.1.4 and 3.1.5. And what may not be done at all with a handle of that kind, and
the ports, which are the same at every call.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator

from msmq_wire.records.open_queues import read_descriptor
from msmq_wire.replay.call import LOW_56, ObservedCall, number
from msmq_wire.replay.deviation import ProcessingRule, ReplayDeviation, ReplayKind
from msmq_wire.replay.read import ObservedRead
from msmq_wire.replay.rules.buffers import transfer_buffer
from msmq_wire.replay.rules.ends import ended_read
from msmq_wire.replay.state import Happened, Known, KnownHandle
from msmq_wire.rpc.constants import ReceiveAction
from msmq_wire.rpc.statuses import Status
from msmq_wire.rpc.types.queue_format import ObjectFormat, QueueFormat

__all__ = ["judge_look", "judge_thrown", "judge_use", "judge_waiting", "learn_uses"]

_DELETED_ROWS = {
    "RemoteQMStartReceive": 38,
    "RemoteQMStartReceive2": 40,
    "RemoteQMStartReceiveByLookupId": 37,
    "RemoteQMEndReceive": 15,
    "R_QMCreateRemoteCursor": 5,
    "rpc_ACHandleToFormatName": 7,
    "rpc_ACPurgeQueue": 3,
    "rpc_ACSendMessageEx": 3,
    "rpc_ACReceiveMessageEx": 3,
    "rpc_ACCreateCursorEx": 2,
}
_ENDED_ROWS = {"rpc_ACSendMessageEx": 92, "rpc_ACReceiveMessageEx": 135}
_CURRENT = (ReceiveAction.MQ_LOOKUP_PEEK_CURRENT, ReceiveAction.MQ_LOOKUP_RECEIVE_CURRENT)
_BESIDE_NOTHING = 31
_ARRIVED = ProcessingRule("MQQP", "2.2.2.1", 6)
_SENT_DIRECTLY, _RECEIVED_FAR = 11, 137
_PORTS = {"RemoteQMGetQMQMServerPort": ("dw_port_type", 8), "R_QMGetRTQMServerPort": ("f_ip", 7)}
_LEFT_WAITING = {
    "RemoteQMStartReceive": ProcessingRule("MQQP", "3.1.4.4", 6),
    "RemoteQMStartReceive2": ProcessingRule("MQQP", "3.1.4.4", 6),
    "rpc_ACReceiveMessageEx": ProcessingRule("MQMP", "3.1.4.18", 6),
}
_RETURNED = {
    "R_QMCloseRemoteQueueContext": 7,
    "QMSendMessageInternalEx": 14,
    "rpc_ACSendMessageEx": 105,
    "rpc_ACReceiveMessageEx": 181,
    "rpc_ACCreateCursorEx": 24,
}
_ALL_RETURNED = ProcessingRule("MQQP", "3.1.4", 3)
_MAY_THROW = "RemoteQMPurgeQueue"
_OF_QUEUING = 0xC00E
_SECOND = 1_000_000_000
_FAILURE = "a failure"


def judge_thrown(call: ObservedCall) -> Iterator[ReplayDeviation]:
    """A failure of Message Queuing that is thrown where it has to be returned."""
    row: ProcessingRule | int | None = _RETURNED.get(call.method)
    if call.call.interface == "qm2qm" and call.method != _MAY_THROW:
        row = _ALL_RETURNED
    if row is not None and call.call.fault and call.status >> 16 == _OF_QUEUING:
        yield call.deviation(
            ReplayKind.STATUS, row, f"{call.method} throws {call.came}", "the same as a return value"
        )


def judge_use(known: Known, call: ObservedCall, used: KnownHandle | None) -> Iterator[ReplayDeviation]:
    """A call that succeeds with what is not there any more, or with a handle that is not good for it."""
    if not call.ok:
        return
    if call.method in _PORTS:
        yield from _judge_port(known, call)
    if used is None:
        ended = ended_read(known, call, used)
        used = None if ended is None or ended.handle.closing is not None else ended.handle
    if used is None:
        return
    deleted = None if used.queue is None else known.deleted.get((used.server, used.queue.lower()))
    opened = used.opened
    if (
        call.method in _DELETED_ROWS
        and deleted is not None
        and opened is not None
        and not (used.proxy or used.outgoing)
        and opened.ended < deleted.begun
        and deleted.ended < call.begun
    ):
        yield call.deviation(
            ReplayKind.HANDLE,
            _DELETED_ROWS[call.method],
            f"{call.method} succeeds on a handle whose queue {deleted} has deleted",
            _FAILURE,
        )
    yield from _judge_buffer(known, call, used)


def _judge_buffer(known: Known, call: ObservedCall, used: KnownHandle) -> Iterator[ReplayDeviation]:
    buffer = transfer_buffer(call.request)
    if buffer is None or call.method not in _ENDED_ROWS:
        return
    sends = call.method == "rpc_ACSendMessageEx"
    direct = used.queue is not None and used.queue.lower().startswith("direct=")
    if sends and direct and buffer.pul_priv_level:
        what = f"{call.method} encrypts for a queue that was opened by a direct format name"
        yield call.deviation(ReplayKind.ACTION, _SENT_DIRECTLY, what, _FAILURE)
    unit = buffer.p_uow
    if unit is None or not any(unit):
        return
    if used.proxy and not sends:
        what = f"{call.method} receives in a transaction from a queue of another server"
        yield call.deviation(ReplayKind.ACTION, _RECEIVED_FAR, what, _FAILURE)
        return
    ended = known.handles.get(_transaction(call, unit))
    if ended is not None and ended.closed is not None and ended.closed.ended < call.begun:
        yield call.deviation(
            ReplayKind.ACTION,
            _ENDED_ROWS[call.method],
            f"{call.method} works in a transaction that {ended.closed} has ended",
            _FAILURE,
        )


def _transaction(call: ObservedCall, unit: object) -> Hashable:
    return (call.server, "transaction", unit)


def _judge_port(known: Known, call: ObservedCall) -> Iterator[ReplayDeviation]:
    member, row = _PORTS[call.method]
    which, port = number(call.request, member), number(call.response, "return_value")
    before = known.ports.get((call.server, which))
    if port and before is not None and before[0] != port and before[1].ended < call.begun:
        yield call.deviation(
            ReplayKind.STATUS,
            row,
            f"{call.method} gives another port than {before[1]}",
            f"{before[0]}",
            came=f"{port}",
            certain=False,
        )


def judge_waiting(
    known: Known, call: ObservedCall, read: ObservedRead, used: KnownHandle | None
) -> Iterator[ReplayDeviation]:
    """A read that went on although its queue was closed while it waited."""
    rule = _LEFT_WAITING.get(call.method)
    closed = None if used is None else used.closed
    if rule is None or closed is None or not 0 < call.begun < closed.begun or read.lookup:
        return
    timed_out = call.call.status == Status.MQ_ERROR_IO_TIMEOUT
    if (call.ok or timed_out) and closed.ended + _SECOND < call.ended:
        yield call.deviation(
            ReplayKind.CANCEL,
            rule,
            f"{call.method} goes on waiting, though {closed} has closed its queue",
            "an end of the wait when the queue is closed",
            # Its answer may have been long on its way.
            certain=False,
        )


def judge_look(
    known: Known, call: ObservedCall, read: ObservedRead, used: KnownHandle | None
) -> Iterator[ReplayDeviation]:
    """A message that is looked for beside one which is gone, or that arrived at another time than before."""
    if not call.ok or used is None or not read.sequence or not call.method.startswith("RemoteQM"):
        return
    place = known.place(used)
    asked = known.messages.get((place, (read.lookup_id or 0) & LOW_56))
    removed = None if asked is None else asked.removed
    if read.lookup and read.action not in _CURRENT and removed is not None and removed.ended < call.begun:
        yield call.deviation(
            ReplayKind.LOOKUP,
            _BESIDE_NOTHING,
            f"{call.method} looks beside a message that {removed} has removed",
            Status.MQ_ERROR_MESSAGE_NOT_FOUND.name,
            certain=False,
        )
    identity = None if call.message is None else call.message.identity
    arrived = number(read_descriptor(call.response), "dw_arrive_time")
    if identity is None or arrived is None:
        return
    key = (place, read.sequence)
    before = known.arrivals.get(key)
    if before is not None and before[0] == identity and before[1] != arrived:
        yield call.deviation(
            ReplayKind.SECTIONS,
            _ARRIVED,
            f"{call.method} gives {identity} another dwArriveTime than {before[2]}",
            f"{before[1]}",
            came=f"{arrived}",
            certain=False,
        )
    known.arrivals.put(key, (identity, arrived, Happened.of(call)))


def learn_uses(known: Known, call: ObservedCall) -> None:
    """Take a queue that was deleted, a transaction that was enlisted again, and a port."""
    if not call.ok:
        return
    if call.method == "R_QMDeleteObject":
        found = getattr(call.request, "p_object_format", None)
        named = found.arm if isinstance(found, ObjectFormat) else None
        name = named.format_name if isinstance(named, QueueFormat) else None
        if name is not None:
            known.deleted.put((call.server, str(name).lower()), Happened.of(call))
    elif call.method == "R_QMEnlistTransaction":
        known.handles.pop(_transaction(call, getattr(call.request, "p_uow", None)), None)
    elif call.method in _PORTS:
        which, port = number(call.request, _PORTS[call.method][0]), number(call.response, "return_value")
        if port and which is not None:
            known.ports.put((call.server, which), (port, Happened.of(call)))
