"""What may not be done any more: with a deleted queue, an ended transaction, a read whose queue was closed.

[MS-MQQP] 3.1.4, [MS-MQMP] 3.1.4 and 3.1.5. And what may not be done at all with a handle of that kind, and
the ports, which are the same at every call.
"""

from __future__ import annotations

from collections.abc import Iterator

from msmq_wire.replay.deviation import ReplayDeviation, ReplayKind
from msmq_wire.replay.observed_call import LOW_56, ObservedCall, number
from msmq_wire.replay.read import ObservedRead
from msmq_wire.replay.rule_table import row_of
from msmq_wire.replay.rules.buffers import transfer_buffer
from msmq_wire.replay.rules.ends import ended_read
from msmq_wire.replay.rules.handles import transaction
from msmq_wire.replay.state import EventTime, KnownHandle, ServerState
from msmq_wire.rpc.constants import ReceiveAction
from msmq_wire.rpc.interfaces.role import Role
from msmq_wire.rpc.statuses import Status
from msmq_wire.rpc.types.queue_format import ObjectFormat, QueueFormat
from msmq_wire.rpc.types.remote_read_descriptor import read_descriptor
from msmq_wire.units import SECOND

_CURRENT = (ReceiveAction.MQ_LOOKUP_PEEK_CURRENT, ReceiveAction.MQ_LOOKUP_RECEIVE_CURRENT)
_OF_QUEUING = 0xC00E


def judge_thrown(call: ObservedCall) -> Iterator[ReplayDeviation]:
    """A failure of Message Queuing that is thrown where it has to be returned."""
    row = call.row("thrown")
    if call.call.interface == "qm2qm" and call.role is not Role.PURGE:
        row = row_of("thrown-by-qm2qm")
    if row is not None and call.call.fault and call.status >> 16 == _OF_QUEUING:
        yield call.deviation(
            ReplayKind.STATUS, row, f"{call.method} throws {call.came}", "the same as a return value"
        )


def judge_use(known: ServerState, call: ObservedCall, used: KnownHandle | None) -> Iterator[ReplayDeviation]:
    """A call that succeeds with what is not there any more, or with a handle that is not good for it."""
    if not call.ok:
        return
    if call.members.port:
        yield from _judge_port(known, call)
    if used is None:
        ended = ended_read(known, call, used)
        used = None if ended is None or ended.handle.closing is not None else ended.handle
    if used is None:
        return
    row = call.row("deleted-queue")
    deleted = None if used.queue is None else known.deleted.get((used.server, used.queue.lower()))
    opened = used.opened
    if (
        row is not None
        and deleted is not None
        and opened is not None
        and not (used.proxy or used.outgoing)
        and opened.ended < deleted.begun
        and deleted.ended < call.begun
    ):
        yield call.deviation(
            ReplayKind.HANDLE,
            row,
            f"{call.method} succeeds on a handle whose queue {deleted} has deleted",
            "a failure",
        )
    yield from _judge_buffer(known, call, used)


def _judge_buffer(known: ServerState, call: ObservedCall, used: KnownHandle) -> Iterator[ReplayDeviation]:
    buffer = transfer_buffer(call.request)
    if buffer is None:
        return
    encrypts, elsewhere = call.row("encrypted-for-direct"), call.row("transaction-elsewhere")
    direct = used.queue is not None and used.queue.lower().startswith("direct=")
    if encrypts is not None and direct and buffer.pul_priv_level:
        what = f"{call.method} encrypts for a queue that was opened by a direct format name"
        yield call.deviation(ReplayKind.ACTION, encrypts, what)
    unit = buffer.p_uow
    if unit is None or not any(unit):
        return
    if elsewhere is not None and used.proxy:
        what = f"{call.method} receives in a transaction from a queue of another server"
        yield call.deviation(ReplayKind.ACTION, elsewhere, what)
        return
    row, ended = call.row("ended-transaction"), known.handles.get(transaction(call, unit))
    if row is not None and ended is not None and ended.closed is not None and ended.closed.ended < call.begun:
        what = f"{call.method} works in a transaction that {ended.closed} has ended"
        yield call.deviation(ReplayKind.ACTION, row, what)


def _judge_port(known: ServerState, call: ObservedCall) -> Iterator[ReplayDeviation]:
    row, port = call.row("port-changed"), call.call.number_at("return_value")
    before = known.ports.get((call.server, call.call.asked(call.members.port)))
    if row is not None and port and before is not None and before[0] != port and before[1].ended < call.begun:
        yield call.deviation(
            ReplayKind.STATUS,
            row,
            f"{call.method} returns another port than {before[1]}",
            f"{before[0]}",
            came=f"{port}",
            certain=False,
        )


def judge_waiting(
    known: ServerState, call: ObservedCall, read: ObservedRead, used: KnownHandle | None
) -> Iterator[ReplayDeviation]:
    """A read that went on although its queue was closed while it waited."""
    row, closed = call.row("left-waiting"), None if used is None else used.closed
    if row is None or closed is None or not 0 < call.begun < closed.begun or read.lookup:
        return
    timed_out = call.call.status == Status.MQ_ERROR_IO_TIMEOUT
    if (call.ok or timed_out) and closed.ended + SECOND < call.ended:
        yield call.deviation(
            ReplayKind.CANCEL,
            row,
            f"{call.method} goes on waiting, though {closed} has closed its queue",
            "an end of the wait when the queue is closed",
            # Its answer may have been long on its way.
            certain=False,
        )


def judge_look(
    known: ServerState, call: ObservedCall, read: ObservedRead, used: KnownHandle | None
) -> Iterator[ReplayDeviation]:
    """A message that is looked for beside one which is gone, or that arrived at another time than before."""
    if not call.ok or used is None or not read.sequence:
        return
    row, place = call.row("beside-removed"), known.place(used)
    asked = known.messages.get((place, (read.lookup_id or 0) & LOW_56))
    removed = None if asked is None else asked.removed
    beside = read.lookup and read.action not in _CURRENT
    if row is not None and beside and removed is not None and removed.ended < call.begun:
        what = f"{call.method} looks for the message next to one that {removed} has removed"
        yield call.deviation(ReplayKind.LOOKUP, row, what, certain=False)
    identity = None if call.message is None else call.message.identity
    arrived = number(read_descriptor(call.response), "dw_arrive_time")
    if identity is None or arrived is None:
        return
    key = (place, read.sequence)
    before = known.arrivals.get(key)
    if before is not None and before[0] == identity and before[1] != arrived:
        yield call.deviation(
            ReplayKind.SECTIONS,
            row_of("arrive-time-changed"),
            f"{call.method} returns another dwArriveTime for {identity} than {before[2]}",
            f"{before[1]}",
            came=f"{arrived}",
            certain=False,
        )
    known.arrivals.put(key, (identity, arrived, EventTime.of(call)))


def learn_uses(known: ServerState, call: ObservedCall) -> None:
    """Take a queue that was deleted, a transaction that was enlisted again, and a port."""
    if not call.ok:
        return
    members = call.members
    if call.role is Role.DELETE_QUEUE:
        found = getattr(call.request, members.queue, None)
        named = found.arm if isinstance(found, ObjectFormat) else None
        name = named.format_name if isinstance(named, QueueFormat) else None
        if name is not None:
            known.deleted.put((call.server, str(name).lower()), EventTime.of(call))
    elif call.role is Role.ENLIST:
        known.handles.pop(transaction(call), None)
    elif members.port:
        which, port = call.call.asked(members.port), call.call.number_at("return_value")
        if port and which is not None:
            known.ports.put((call.server, which), (port, EventTime.of(call)))
