"""Messages: who has them, which are gone, and in what order they come.

[MS-MQRR] 3.1.4.6, 3.1.4.7 and 3.1.4.9, [MS-MQQP] 3.1.4.1, 3.1.4.2 and 3.1.4.7. A message is known in its
queue by what a reply tells of its lookup identifier, else by what it says of itself.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Iterator

from msmq_wire.model.replay_call import LOW_56, ObservedCall, ObservedMessage, number
from msmq_wire.model.replay_deviation import ProcessingRule, ReplayDeviation, ReplayKind
from msmq_wire.model.replay_read import ObservedRead
from msmq_wire.model.replay_state import (
    SURE,
    Doubt,
    Found,
    Happened,
    Known,
    KnownHandle,
    KnownMessage,
    KnownRead,
)
from msmq_wire.rpc.constants import ReceiveAction

__all__ = ["judge_lookup", "judge_message", "learn_message", "learn_move", "learn_purge", "learn_return"]

_PURGES = ("R_PurgeQueue", "RemoteQMPurgeQueue", "rpc_ACPurgeQueue")
_FIRSTS = (ReceiveAction.MQ_ACTION_RECEIVE, ReceiveAction.MQ_ACTION_PEEK_CURRENT)
_CURRENT = (ReceiveAction.MQ_LOOKUP_PEEK_CURRENT, ReceiveAction.MQ_LOOKUP_RECEIVE_CURRENT)
_MOST_AVAILABLE = 16
"""Messages of a queue that are remembered as being there, to see whether they are passed over."""
_FIRST_ROWS = {
    "R_StartReceive": 90,
    "R_StartTransactionalReceive": 85,
    "RemoteQMStartReceive": 24,
    "RemoteQMStartReceive2": 26,
    "rpc_ACReceiveMessageEx": 167,
}
_LOCK_ROWS = {
    "R_StartReceive": ("MQRR", "3.1.4.7", 89),
    "R_StartTransactionalReceive": ("MQRR", "3.1.4.13", 84),
    "RemoteQMStartReceive": ("MQQP", "3.1.4.1", 2),
    "RemoteQMStartReceive2": ("MQQP", "3.1.4.10", 3),
    "RemoteQMStartReceiveByLookupId": ("MQQP", "3.1.4.11", 30),
}
_REMOVE_ROWS = {
    "R_EndReceive": ("MQRR", "3.1.4.9", 17),
    "RemoteQMEndReceive": ("MQQP", "3.1.4.2", 10),
    "R_PurgeQueue": ("MQRR", "3.1.4.6", 5),
    "RemoteQMPurgeQueue": ("MQQP", "3.1.4.7", 6),
    "rpc_ACPurgeQueue": ("MQMP", "3.1.4.22", 5),
    "rpc_ACReceiveMessageEx": ("MQMP", "3.1.5.3", 167),
}


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
    of_remote_read = call.method.startswith("R_")
    rows = {"R_StartReceive": 106, "R_StartTransactionalReceive": 94}
    row = rows.get(call.method, 27 if current else 28)
    yield call.deviation(
        ReplayKind.LOOKUP,
        row,
        f"{ReceiveAction(read.action or 0).name} of message {asked} brings message {read.sequence}",
        f"{f'message {asked}' if current else 'a message beside it'}, or MQ_ERROR_MESSAGE_NOT_FOUND",
        came=f"message {read.sequence}",
        path="response.p_sequence_id" if of_remote_read else "opnum",
    )


def judge_message(
    known: Known, call: ObservedCall, read: ObservedRead, used: KnownHandle | None
) -> Iterator[Found]:
    """A message that comes though it is gone, or though somebody else has it."""
    if not call.ok or used is None:
        return
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
    if removed is not None and removed.ended < call.begun:
        yield call.deviation(
            ReplayKind.REMOVED,
            ProcessingRule(*_REMOVE_ROWS[removed.method]),
            f"{call.method} brings {text}, though {removed} has removed it",
            "another message, or none",
            came="the same message",
            certain=certain,
        )
    elif read.removes and before.holder is not None and known.holds(before.holder, call.ended):
        holder, until = before.holder, call.ended
        yield Doubt(
            call.deviation(
                ReplayKind.TWICE,
                ProcessingRule(*_LOCK_ROWS[holder.happened.method]),
                f"{call.method} brings {text}, though {holder.happened} has it and did not put it back",
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


def _same(before: KnownMessage, message: ObservedMessage | None) -> bool:
    now = None if message is None else message.identity
    if now is None or before.identity is None:
        return now is before.identity
    return now.may_be(before.identity)


def _complete(message: ObservedMessage | None) -> bool:
    return message is not None and message.identity is not None and message.identity.complete


def learn_message(
    known: Known, call: ObservedCall, read: ObservedRead, used: KnownHandle | None, receive: KnownRead | None
) -> None:
    """Take a message that came, who has it now, and which others it was preferred to."""
    key = _name(call.message, read.sequence)
    if not call.ok or used is None:
        return
    place = known.place(used)
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
            seen=Happened.of(call),
        )
    elif _complete(call.message) and call.message is not None:
        message.identity = call.message.identity
    message.seen = Happened.of(call)
    if message.removed is not None:
        # What has been told to be wrong is not told again.
        message.removed = message.holder = None
    if read.removes:
        message.passed = None
    known.messages.put((place, key), message)
    available = known.available.get(place)
    if available is None:
        available = known.available.put(place, OrderedDict())
    if read.action in _FIRSTS and read.cursor == 0:
        _pass_over(call, message, available)
    if receive is not None:
        receive.message = message
        message.holder = receive
    elif read.removes and call.method == "rpc_ACReceiveMessageEx" and read.transaction is None:
        # It has no end of its own. What a transaction receives comes again when it is aborted.
        message.removed = Happened.of(call)
    locked = message.holder is not None and known.holds(message.holder, call.ended)
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
    call: ObservedCall, message: KnownMessage, available: OrderedDict[Hashable, KnownMessage]
) -> None:
    row = _FIRST_ROWS.get(call.method)
    if row is None:
        return
    for other in available.values():
        if other is message or other.passed is not None or other.seen.ended >= call.begun:
            continue
        if not _before(other, message):
            continue
        of, than = "", ""
        if other.priority != message.priority:
            of, than = f" of priority {other.priority}", f" of priority {message.priority}"
        deviation = call.deviation(
            ReplayKind.ORDER,
            row,
            f"{call.method} brings {_text(message, message.sequence)}{than}, though "
            f"{_text(other, other.sequence)}{of} stood before it",
            "the first message that is available",
            came="a later one",
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


def learn_return(known: Known, read: KnownRead) -> None:
    """Take a receive whose end put its message back: it is there again."""
    message, ending = read.message, read.ending
    if message is None or ending is None or ending.removes or not ending.ok:
        return
    message.seen = ending.happened
    available = known.available.get(known.place(read.handle))
    identity = message.identity
    key = message.sequence or (None if identity is None else (identity.source, identity.number))
    if available is not None and key is not None:
        _add(available, key, message)


def learn_purge(known: Known, call: ObservedCall, used: KnownHandle | None) -> None:
    """Take a purge: what was seen before is gone."""
    if call.method in _PURGES and call.ok and used is not None:
        place = known.place(used)
        known.purged.put(place, Happened.of(call))
        known.available.pop(place, None)


def learn_move(known: Known, call: ObservedCall, used: KnownHandle | None) -> None:
    """Take a move to a subqueue: whether the message is still there is not known."""
    lookup_id = number(call.request, "lookup_id")
    if call.method != "R_MoveMessage" or call.ok is False or used is None or lookup_id is None:
        return
    available = known.available.get(known.place(used))
    if available is not None:
        available.pop(lookup_id & LOW_56, None)
