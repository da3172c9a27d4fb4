"""Cursors: which handle they belong to, what closed them, who may use them, and what they stand on.

[MS-MQRR] 3.1.4.4, 3.1.4.5 and 3.1.4.7, [MS-MQQP] 3.1.4.1 and 3.1.4.5, [MS-MQMP] 3.1.4.4, 3.1.4.19, 3.1.5.3
and 3.1.5.4. A cursor of RemoteRead or qm2qm is followed from its making on, as long as each read through it
is known and succeeds: what a failure does to it the documents leave open.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator

from msmq_wire.replay.deviation import ReplayDeviation, ReplayKind
from msmq_wire.replay.observed_call import ObservedCall
from msmq_wire.replay.read import ObservedRead
from msmq_wire.replay.rule_table import RuleRow
from msmq_wire.replay.state import (
    EventTime,
    Found,
    KnownCursor,
    KnownHandle,
    KnownMessage,
    PendingDeviation,
    ServerState,
)
from msmq_wire.rpc.constants import ReceiveAction
from msmq_wire.rpc.interfaces.role import Role
from msmq_wire.units import SECOND

_PLAIN = frozenset(int(action) for action in ReceiveAction if not action.lookup)
_SPACES = {"RemoteRead": "RemoteRead", "qm2qm": "qm2qm", "qmcomm": "qmcomm2", "qmcomm2": "qmcomm2"}
"""Interfaces whose cursors are numbered together; what is created for another is of qm2qm."""
_ANY = 0x0B
"""qmcomm closes it with any handle. [MS-MQMP] 3.1.4.19"""


def takes_any_handle(call: ObservedCall) -> bool:
    """Whether a cursor is closed that needs no handle."""
    closes = call.role is Role.CLOSE_CURSOR and call.call.interface == "qmcomm"
    return closes and call.call.asked(call.members.cursor) == _ANY


def _asked(call: ObservedCall, read: ObservedRead | None) -> int | None:
    if takes_any_handle(call):
        return None
    return call.call.asked(call.members.cursor) if read is None else read.cursor


def _space(call: ObservedCall) -> str:
    return "qm2qm" if call.role is Role.CREATE_CURSOR_FOR_ANOTHER else _SPACES[call.call.interface]


def used_cursor(known: ServerState, call: ObservedCall, used: KnownHandle) -> KnownCursor | None:
    """The cursor of a request, if it is known to be one of its handle."""
    cursor = call.call.asked(call.members.cursor)
    return None if not cursor else known.cursors.get((call.server, _space(call), used.number, cursor))


def judge_cursor(
    known: ServerState, call: ObservedCall, read: ObservedRead | None, used: KnownHandle | None
) -> Iterator[Found]:
    """A cursor that the server had to refuse, or that gives what it does not stand on."""
    if not call.ok or used is None:
        return
    yield from _judge_new(known, call, used)
    cursor, unknown = _asked(call, read), call.row("unknown-cursor")
    if unknown is None or not cursor:
        return
    own = known.cursors.get((call.server, _space(call), used.number, cursor))
    closed = None if own is None else own.closed
    if own is not None and (closed is None or closed.ended >= call.begun):
        if closed is not None and 0 < call.begun < closed.begun and closed.ended + SECOND < call.ended:
            yield from _judge_waited(call, closed)
        elif read is not None and closed is None:
            yield from _judge_step(known, call, read, used)
        return
    whole = known.whole(used, call.ended)
    other = known.cursors.get((call.server, _space(call), cursor))
    if closed is not None:
        row, what, certain = call.row("closed-cursor"), f"that {closed} has closed", True
    elif other is not None and other.closed is None and other.handle is not used:
        row, what, certain = call.row("other-cursor"), "of another handle", whole
    elif whole:
        row, what, certain = unknown, "that its handle does not have", False
    else:
        return
    yield call.deviation(
        ReplayKind.CURSOR,
        row or unknown,
        f"{call.method} accepts the cursor {cursor} {what}",
        path=call.path(call.members.cursor),
        certain=certain,
    )


def _judge_new(known: ServerState, call: ObservedCall, used: KnownHandle) -> Iterator[Found]:
    row, made = call.row("new-cursor"), call.call.number_at(call.members.creates)
    other = known.cursors.get((call.server, _space(call), made)) if row and made else None
    opened = None if other is None else other.handle.opened
    if row is None or other is None or opened is None or not _stays(known, other, call.ended):
        return
    cursor, until = other, call.ended
    # A close under way is taken for one of the new cursor.
    own = (call.server, _space(call), cursor.handle.number, made)
    yield PendingDeviation(
        call.deviation(
            ReplayKind.CURSOR,
            row,
            f"{call.method} returns the cursor {made}, which exists already",
            "a number that no other cursor has",
            certain=other.handle is used,
        ),
        until,
        lambda: all(_stays(known, one, until) for one in (cursor, known.cursors.get(own, cursor))),
    )


def _stays(known: ServerState, cursor: KnownCursor, until: int) -> bool:
    closed = cursor.closed
    return (closed is None or closed.begun > until) and known.stays_open(cursor.handle, until)


def _judge_waited(call: ObservedCall, closed: EventTime) -> Iterator[ReplayDeviation]:
    row = closed.row("waited-on")
    if row is not None and call.row("next-again") is not None:
        yield call.deviation(
            ReplayKind.CANCEL,
            row,
            f"{call.method} returns a message by a cursor that {closed} has closed meanwhile",
            "MQ_ERROR_OPERATION_CANCELLED",
            certain=False,
        )


def _step_key(call: ObservedCall, read: ObservedRead, used: KnownHandle) -> Hashable:
    return ("cursor", call.server, _space(call), used.number, read.cursor)


def starts(known: ServerState, call: ObservedCall, read: ObservedRead, used: KnownHandle) -> bool:
    """Whether a read is known to be the first through its cursor."""
    made = known.answered.get(("new", _step_key(call, read, used)))
    return made is not None and made.ended < call.begun and known.whole(used, call.ended)


def _judge_step(
    known: ServerState, call: ObservedCall, read: ObservedRead, used: KnownHandle
) -> Iterator[Found]:
    """What a read through a cursor brings, which is known to stand on a message, or on none."""
    key, until = _step_key(call, read, used), call.ended
    unread, shown = known.answered.get(("unread", key)), known.messages.get(key)
    following = read.action == ReceiveAction.MQ_ACTION_PEEK_NEXT
    found: ReplayDeviation | None = None
    row = call.row("next-of-none")
    if row is not None and following and unread is not None and unread.ended < call.begun:
        found = call.deviation(
            ReplayKind.CURSOR,
            row,
            f"{call.method} returns the message after the position of a cursor that has no position yet",
            path=call.path(call.members.cursor),
        )
    elif shown is not None and shown.seen.ended < call.begun and bool(shown.sequence) is bool(read.sequence):
        found = _misses(call, read, shown)
    if found is not None:
        yield PendingDeviation(
            found, until, lambda: ("overlap", key) not in known.answered and known.whole(used, until)
        )


def _misses(call: ObservedCall, read: ObservedRead, shown: KnownMessage) -> ReplayDeviation | None:
    """Another message than the one that a cursor stands on, or one that is not after it."""
    row: RuleRow | None = None
    identity = None if call.message is None else call.message.identity
    if identity is None or shown.identity is None:
        return None
    # RemoteQMStartReceive does not tell lookup identifiers: what messages say of themselves is all there is.
    again = identity.may_be(shown.identity)
    same = read.sequence == shown.sequence if read.sequence else again
    wrong, certain, expected = not same and not again, True, "the message at which it stands, or none"
    if read.action == ReceiveAction.MQ_ACTION_PEEK_NEXT:
        row, wrong, expected = call.row("next-again"), same and again, "a message after it"
        priority = None if call.message is None else call.message.priority
        # Who waits gets what comes, wherever that stands.
        ordered = not same and not again and read.timeout == 0
        if ordered and priority is not None and shown.priority is not None:
            wrong = (-priority, read.sequence) < (-shown.priority, shown.sequence)
            certain = False
    elif read.action in _PLAIN:
        row = call.row(f"step:{ReceiveAction(read.action).name}")
    if row is None or not wrong:
        return None
    return call.deviation(
        ReplayKind.LOOKUP,
        row,
        f"{call.method} returns message {read.sequence or identity} by a cursor that stands at message "
        f"{shown.sequence or shown.identity}",
        expected,
        came=f"message {read.sequence or identity}",
        path=call.path(call.members.cursor),
        certain=certain,
    )


def learn_step(known: ServerState, call: ObservedCall, read: ObservedRead, used: KnownHandle | None) -> None:
    """Take where a read leaves its cursor."""
    if used is None or not read.cursor or call.row("next-again") is None:
        return
    key = _step_key(call, read, used)
    step = known.answered.get(("step", key))
    if step is not None and step.ended >= call.begun:
        # Which of the two came first is not known.
        known.answered.put(("overlap", key), step)
    known.answered.put(("step", key), EventTime.of(call))
    known.answered.pop(("new", key), None)
    before = known.messages.pop(key, None)
    unread = known.answered.get(("unread", key))
    last = unread if before is None else before.seen
    if not call.ok or last is None or last.ended >= call.begun or read.action not in _PLAIN:
        known.answered.pop(("unread", key), None)
    elif not read.removes:
        known.answered.pop(("unread", key), None)
        known.messages.put(
            key,
            KnownMessage(
                identity=None if call.message is None else call.message.identity,
                sequence=read.sequence,
                priority=None if call.message is None else call.message.priority,
                seen=EventTime.of(call),
            ),
        )
    elif unread is not None:
        known.answered.put(("unread", key), EventTime.of(call))


def learn_cursor(
    known: ServerState, call: ObservedCall, read: ObservedRead | None, used: KnownHandle | None
) -> None:
    """Take a cursor that was made, used or closed."""
    if not call.ok or used is None:
        return
    made = call.call.number_at(call.members.creates)
    if made:
        cursor = KnownCursor(used)
        known.cursors.put((call.server, _space(call), used.number, made), cursor)
        known.cursors.put((call.server, _space(call), made), cursor)
        if _space(call) != "qmcomm2":
            step = ("cursor", call.server, _space(call), used.number, made)
            known.answered.put(("new", step), EventTime.of(call))
            known.answered.put(("unread", step), EventTime.of(call))
        return
    asked = _asked(call, read)
    if call.row("unknown-cursor") is None or not asked:
        return
    key = (call.server, _space(call), used.number, asked)
    own = known.cursors.get(key)
    if own is None:
        # It was made before the capture, or was told to be wrong: once is enough.
        own = known.cursors.put(key, KnownCursor(used))
    if call.role is Role.CLOSE_CURSOR:
        own.closed = EventTime.of(call)
