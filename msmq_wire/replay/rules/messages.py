"""Messages: who has them, which are gone, and in what order they come.

[MS-MQRR] 3.1.4.6, 3.1.4.7 and 3.1.4.9, [MS-MQQP] 3.1.4.1, 3.1.4.2 and 3.1.4.7. A message is known in its
queue by what a reply tells of its lookup identifier, else by what it says of itself.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Iterator

from msmq_wire.replay.deviation import ReplayDeviation, ReplayKind
from msmq_wire.replay.observed_call import LOW_56, ObservedCall, ObservedMessage
from msmq_wire.replay.read import ObservedRead
from msmq_wire.replay.rule_table import RuleRow, row_of
from msmq_wire.replay.rules.cursors import learn_step, starts
from msmq_wire.replay.state import (
    SURE,
    EventTime,
    Found,
    KnownHandle,
    KnownMessage,
    KnownRead,
    PendingDeviation,
    ServerState,
)
from msmq_wire.rpc.constants import ReceiveAction
from msmq_wire.rpc.interfaces.role import Role
from msmq_wire.rpc.statuses import Status
from msmq_wire.units import SECOND
from msmq_wire.wire.types.guid import NULL_GUID

_FIRSTS = (ReceiveAction.MQ_ACTION_RECEIVE, ReceiveAction.MQ_ACTION_PEEK_CURRENT)
_CURRENT = (ReceiveAction.MQ_LOOKUP_PEEK_CURRENT, ReceiveAction.MQ_LOOKUP_RECEIVE_CURRENT)
_SEEK_FIRST = (ReceiveAction.MQ_LOOKUP_PEEK_NEXT, ReceiveAction.MQ_LOOKUP_RECEIVE_NEXT)
_SEEK_LAST = (ReceiveAction.MQ_LOOKUP_PEEK_PREV, ReceiveAction.MQ_LOOKUP_RECEIVE_PREV)
_AT_THE_END = (1 << 64) - 1
_MOST_AVAILABLE = 16
"""Messages of a queue that are remembered as being there, to see whether they are passed over."""


def _name(message: ObservedMessage | None, sequence: int) -> Hashable | None:
    """What a message is found by."""
    if sequence:
        return sequence
    identity = None if message is None else message.identity
    return None if identity is None else (identity.source, identity.number)


def _text(one: KnownMessage | ObservedMessage, sequence: int) -> str:
    if one.identity is not None:
        return str(one.identity)
    return f"the message with lookup identifier {sequence}"


def judge_lookup(call: ObservedCall, read: ObservedRead) -> Iterator[ReplayDeviation]:
    """Another message than the one that was asked for."""
    if not call.ok or not read.lookup or not read.lookup_id or not read.sequence:
        return
    asked = read.lookup_id & LOW_56
    current = read.action in _CURRENT
    if (asked == read.sequence) is current:
        return
    row = call.row("lookup-current" if current else "lookup-beside")
    if row is None:
        return
    yield call.deviation(
        ReplayKind.LOOKUP,
        row,
        f"{ReceiveAction(read.action or 0).name} of message {asked} returns message {read.sequence}",
        f"{f'message {asked}' if current else 'a message next to it'}, or MQ_ERROR_MESSAGE_NOT_FOUND",
        came=f"message {read.sequence}",
        path=_path(call),
    )


def judge_message(
    known: ServerState, call: ObservedCall, read: ObservedRead, used: KnownHandle | None
) -> Iterator[Found]:
    """A message that comes though it is gone, or though somebody else has it, or that does not come."""
    if used is not None and call.call.status == Status.MQ_ERROR_IO_TIMEOUT:
        yield from _judge_missed(known, call, read, used)
    if not call.ok or used is None:
        return
    yield from _judge_seek(known, call, read, used)
    key = _name(call.message, read.sequence)
    if key is None:
        return
    place = known.place(used)
    before = known.messages.get((place, key))
    if before is None or not _same(before, call.message):
        return
    sure = before.identity is not None and before.identity.complete and _complete(call.message)
    removed, certain = before.removed, sure
    purged = known.purged.get(place)
    if removed is None and purged is not None and before.seen.ended < purged.begun:
        # It may have been moved to a subqueue meanwhile, and back.
        removed, certain = purged, False
    text = _text(before, read.sequence)
    row = None if removed is None else _removal(before, removed)
    if removed is not None and _moved(removed):
        certain = False
        if known.waited.get(("moved", call.server, read.sequence)) is not removed:
            # It was moved again, and may be back by another name.
            removed = None
    if removed is not None and row is not None and removed.ended < call.begun:
        yield call.deviation(
            ReplayKind.REMOVED,
            row,
            f"{call.method} returns {text}, though {removed} should have removed it",
            "another message, or none",
            came="the same message",
            certain=certain,
        )
    elif read.removes and before.holder is not None and known.holds(before.holder, call.ended):
        holder, until = before.holder, call.ended
        yield PendingDeviation(
            call.deviation(
                ReplayKind.TWICE,
                row_of("locked", holder.happened.method),
                f"{call.method} returns {text}, though {holder.happened} has it and did not put it back",
                "another message, or none",
                came="the same message",
                certain=sure and until - holder.happened.ended < SURE,
            ),
            until,
            lambda: known.holds(holder, until),
        )
    passed = before.passed
    if passed is not None and passed[1] < call.begun:
        before.passed = None
        yield passed[0]


def _removal(message: KnownMessage, removed: EventTime) -> RuleRow | None:
    ending = None if message.holder is None else message.holder.ending
    if ending is not None and ending.happened is removed and not ending.removes:
        return removed.row("put-back")
    return removed.row("removed")


def _moved(removed: EventTime) -> bool:
    return removed.known is not None and removed.known.role is Role.MOVE


def _path(call: ObservedCall) -> str:
    return f"response.{call.members.found}" if call.call.interface == "RemoteRead" else "opnum"


def _judge_missed(
    known: ServerState, call: ObservedCall, read: ObservedRead, used: KnownHandle
) -> Iterator[ReplayDeviation]:
    """A wait that ends without a message, though another reader got one at once meanwhile."""
    taken = known.waited.get(("taken", known.place(used)))
    if taken is None or read.cursor != 0 or read.action not in _FIRSTS:
        return
    row = call.row(f"wait:{ReceiveAction(read.action).name}")
    if row is not None and 0 < call.begun + SECOND < taken.begun and taken.ended + SECOND < call.ended:
        yield call.deviation(
            ReplayKind.ORDER,
            row,
            f"{call.method} waits for a message and gets none, though {taken} gets one meanwhile",
            "the message that came",
            certain=False,
        )


def _judge_seek(
    known: ServerState, call: ObservedCall, read: ObservedRead, used: KnownHandle
) -> Iterator[ReplayDeviation]:
    """A message that stands on the other side of the one that was asked for."""
    if not read.lookup or not read.lookup_id or not read.sequence or call.message is None:
        return
    action = ReceiveAction(read.action or 0)
    row = call.row(f"seek:{action.name}")
    asked = known.messages.get((known.place(used), read.lookup_id & LOW_56))
    if row is None or asked is None:
        return
    came = KnownMessage(
        identity=None, sequence=read.sequence, priority=call.message.priority, seen=EventTime.of(call)
    )
    after = action.name.endswith("_NEXT")
    if _before(came, asked) if after else _before(asked, came):
        yield call.deviation(
            ReplayKind.LOOKUP,
            row,
            f"{action.name} of message {asked.sequence} returns message {read.sequence}, which stands on the "
            "other side of it",
            f"a message {'after' if after else 'before'} it, or MQ_ERROR_MESSAGE_NOT_FOUND",
            came=f"message {read.sequence}",
            path=_path(call),
            certain=False,
        )


def _same(before: KnownMessage, message: ObservedMessage | None) -> bool:
    now = None if message is None else message.identity
    if now is None or before.identity is None:
        return now is before.identity
    return now.may_be(before.identity)


def _complete(message: ObservedMessage | None) -> bool:
    return message is not None and message.identity is not None and message.identity.complete


def learn_message(
    known: ServerState,
    call: ObservedCall,
    read: ObservedRead,
    used: KnownHandle | None,
    receive: KnownRead | None,
) -> None:
    """Take a message that came, who has it now, and which others it was preferred to."""
    _learn(known, call, read, used, receive)
    learn_step(known, call, read, used)


def _learn(
    known: ServerState,
    call: ObservedCall,
    read: ObservedRead,
    used: KnownHandle | None,
    receive: KnownRead | None,
) -> None:
    key = _name(call.message, read.sequence)
    if not call.ok or used is None:
        return
    place = known.place(used)
    if read.action == ReceiveAction.MQ_ACTION_RECEIVE and read.cursor == 0 and read.timeout == 0:
        known.waited.put(("taken", place), EventTime.of(call))
    if key is None:
        # Whichever it took: none is known to be there any more.
        if read.removes is not False:
            known.available.pop(place, None)
        return
    message = known.messages.get((place, key))
    if message is None or not _same(message, call.message):
        message = KnownMessage(
            identity=None if call.message is None else call.message.identity,
            sequence=read.sequence,
            priority=None if call.message is None else call.message.priority,
            seen=EventTime.of(call),
        )
    elif _complete(call.message) and call.message is not None:
        message.identity = call.message.identity
    message.seen = EventTime.of(call)
    if message.removed is not None:
        # What has been told to be wrong is not told again.
        message.removed = message.holder = None
    if read.removes:
        message.passed = None
    known.messages.put((place, key), message)
    available = known.available.get(place)
    if available is None:
        available = known.available.put(place, OrderedDict())
    if read.action in _SEEK_FIRST and read.lookup_id == 0:
        _pass_over(call, message, available, call.row("seek-first"))
    elif read.action in _SEEK_LAST and read.lookup_id == _AT_THE_END:
        _pass_over(call, message, available, call.row("seek-last"), behind=True)
    elif read.action in _FIRSTS:
        if read.cursor == 0:
            _pass_over(call, message, available, call.row("first"))
        elif starts(known, call, read, used):
            row = call.row(f"first-by-cursor:{ReceiveAction(read.action).name}")
            _pass_over(call, message, available, row)
    if receive is not None:
        receive.message = message
        message.holder = receive
    elif read.removes and call.role is Role.RECEIVE and read.transaction is None:
        # It has no end of its own. What a transaction receives comes again when it is aborted.
        message.removed = EventTime.of(call)
    ending = None if message.holder is None else message.holder.ending
    # In a transaction, too: when that ends is not known.
    locked = message.holder is not None and (ending is None or ending.removes or not ending.ok)
    if read.removes or locked:
        # A locked message can be shown, and has to be passed over. It may be known by another name, too.
        for name in [name for name, one in available.items() if name == key or _alike(one, message)]:
            del available[name]
    else:
        _add(available, key, message)


def _alike(one: KnownMessage, other: KnownMessage) -> bool:
    """Whether two messages may be one: one interface tells lookup identifiers, and another does not."""
    return one.identity is not None and other.identity is not None and one.identity.may_be(other.identity)


def _add(available: OrderedDict[Hashable, KnownMessage], key: Hashable, message: KnownMessage) -> None:
    available[key] = message
    available.move_to_end(key)
    if len(available) > _MOST_AVAILABLE:
        available.popitem(last=False)


def _pass_over(
    call: ObservedCall,
    message: KnownMessage,
    available: OrderedDict[Hashable, KnownMessage],
    row: RuleRow | None,
    *,
    behind: bool = False,
) -> None:
    if row is None:
        return
    for other in available.values():
        if other is message or other.passed is not None or other.seen.ended >= call.begun:
            continue
        if not (_before(message, other) if behind else _before(other, message)):
            continue
        of, than = "", ""
        if other.priority != message.priority:
            of, than = f" of priority {other.priority}", f" of priority {message.priority}"
        deviation = call.deviation(
            ReplayKind.ORDER,
            row,
            f"{call.method} returns {_text(message, message.sequence)}{than}, though "
            f"{_text(other, other.sequence)}{of} was {'after' if behind else 'before'} it",
            f"the {'last' if behind else 'first'} message that is available",
            came=f"{'an earlier' if behind else 'a later'} one",
            certain=False,
        )
        other.passed = (deviation, call.ended)


def _before(one: KnownMessage, other: KnownMessage) -> bool:
    """Whether a message stands before another one in the queue, by what is known of both."""
    if one.priority is None or other.priority is None:
        return False
    if one.priority != other.priority:
        return one.priority > other.priority
    return 0 < one.sequence < other.sequence


def learn_return(known: ServerState, read: KnownRead) -> None:
    """Take a receive whose end put its message back: it is there again."""
    message, ending = read.message, read.ending
    if message is None or ending is None or ending.removes or not ending.ok:
        return
    # An end that comes again puts nothing back.
    read.message = None
    if message.holder is not read:
        return
    message.seen = ending.happened
    purged = known.purged.get(known.place(read.handle))
    if purged is not None and read.happened.ended < purged.begun and purged.ended < ending.happened.begun:
        # The purge has marked it: who puts it back removes it.
        message.removed = ending.happened
        return
    available = known.available.get(known.place(read.handle))
    identity = message.identity
    key = message.sequence or (None if identity is None else (identity.source, identity.number))
    if available is not None and key is not None:
        _add(available, key, message)


def learn_purge(known: ServerState, call: ObservedCall, used: KnownHandle | None) -> None:
    """Take a purge: what was seen before is gone."""
    if call.role is Role.PURGE and call.ok and used is not None:
        place = known.place(used)
        known.purged.put(place, EventTime.of(call))
        known.available.pop(place, None)


def learn_move(known: ServerState, call: ObservedCall, used: KnownHandle | None) -> None:
    """Take a move to a subqueue: the message is there no more, or whether it is is not known."""
    lookup_id = call.call.asked(call.members.lookup_id)
    if call.role is not Role.MOVE or call.ok is False or used is None or lookup_id is None:
        return
    place, sequence = known.place(used), lookup_id & LOW_56
    available = known.available.get(place)
    if available is not None:
        available.pop(sequence, None)
    moved = known.waited.put(("moved", call.server, sequence), EventTime.of(call))
    message = known.messages.get((place, sequence))
    alone = getattr(call.request, call.members.transaction, None) == NULL_GUID
    if call.ok and alone and message is not None and message.removed is None:
        message.removed = moved
