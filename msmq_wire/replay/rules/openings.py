"""Openings at qmcomm: who keeps a queue for himself, and handles that are given twice.

[MS-MQMP] 3.1.1.3 to 3.1.1.10, 3.1.4.2 and 3.1.4.17, [MS-MQDMPR] 3.1.7.1.5. A queue that is opened for a
remote reader stays open until both of its handles are closed, the one of qmcomm and the one of qm2qm.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from functools import partial

from msmq_wire.replay.deviation import ReplayKind
from msmq_wire.replay.observed_call import ObservedCall, number
from msmq_wire.replay.rule_table import RuleRow, row_of
from msmq_wire.replay.state import SURE, Found, KnownHandle, OpenedQueue, PendingDeviation, ServerState
from msmq_wire.rpc.constants import AccessMode, ShareMode
from msmq_wire.rpc.interfaces.role import Role

_MOST_HANDLES = 8


def judge_opening(known: ServerState, call: ObservedCall, used: KnownHandle | None) -> Iterator[Found]:
    """A queue that is opened though it is kept by another, or with what stands for another one."""
    if not call.ok:
        return
    if call.role is Role.CREATE_CURSOR and used is not None and used.proxy:
        yield from _judge_cursor(known, call, used)
    row = call.row("given-again")
    if row is None or not call.given:
        return
    proxy = bool(number(call.request, "h_remote_queue"))
    before, *others = map(known.handles.get, call.given)
    if before is not None:
        yield from _given_again(known, call, before, row_of("proxy-given-again") if proxy else row, "handle")
    elif proxy:
        for other in others:
            if other is not None and other.proxy:
                yield from _given_again(known, call, other, row_of("proxy-context-given-again"), "context")
    if not proxy:
        yield from _judge_share(known, call)


def _judge_cursor(known: ServerState, call: ObservedCall, used: KnownHandle) -> Iterator[Found]:
    made = call.call.number_at(call.members.creates)
    before = known.cursors.get((call.server, "qmcomm2", used.number, made)) if made else None
    if before is not None and before.closed is None and known.stays_open(used, call.ended):
        yield PendingDeviation(
            call.deviation(
                ReplayKind.CURSOR,
                row_of("proxy-cursor-given-again"),
                f"{call.method} returns the cursor {made}, which its handle has already",
                "a number that no other cursor of the handle has",
            ),
            call.ended,
            lambda: before.closed is None and known.stays_open(used, call.ended),
        )


def _given_again(
    known: ServerState, call: ObservedCall, before: KnownHandle, row: RuleRow, what: str
) -> Iterator[Found]:
    until = call.ended
    if before.opened is None or before.opened.ended >= call.begun or not known.stays_open(before, until):
        return
    yield PendingDeviation(
        call.deviation(
            ReplayKind.HANDLE,
            row,
            f"{call.method} returns the {what} that {before.opened} returned, though nothing has closed it",
            f"a {what} of its own",
            certain=before.client == call.client,
        ),
        until,
        lambda: known.stays_open(before, until),
    )


def _key(call: ObservedCall, kind: str) -> Hashable | None:
    return None if call.queue is None else (call.server, kind, call.queue.lower())


def _modes(call: ObservedCall) -> tuple[bool, bool]:
    """Whether it is opened to receive, and whether others are kept from that."""
    receives = call.call.asked(call.members.access) == AccessMode.MQ_RECEIVE_ACCESS
    return receives, number(call.request, "dw_share_mode") == ShareMode.MQ_DENY_RECEIVE_SHARE


def _judge_share(known: ServerState, call: ObservedCall) -> Iterator[Found]:
    wants_row, kept_row = call.row("opened-to-receive"), call.row("opened-alone")
    if wants_row is None or kept_row is None:
        return
    receives, alone = _modes(call)
    for kind in ("alone", "receives"):
        key = _key(call, kind)
        before = None if key is None else known.openings.get(key)
        opened = None if before is None else before.handles[0].opened
        if before is None or opened is None or opened.ended >= call.begun:
            continue
        kept = kind == "alone" and receives
        if not kept and not (alone and before.receives):
            continue
        if _kept(known, before, call.ended):
            what = "opened for exclusive use" if kind == "alone" else "opened to receive"
            yield PendingDeviation(
                call.deviation(
                    ReplayKind.STATUS,
                    kept_row if kept else wants_row,
                    f"{call.method} opens a queue {'' if kept else 'for exclusive use '}that {opened} {what}",
                    "MQ_ERROR_SHARING_VIOLATION",
                    # A client that is gone without a word is given up at some time.
                    certain=call.ended - opened.ended < SURE,
                ),
                call.ended,
                partial(_kept, known, before, call.ended),
            )
            return


def _kept(known: ServerState, opening: OpenedQueue, until: int) -> bool:
    return all(known.stays_open(one, until) for one in opening.handles)


def learn_shares(known: ServerState, call: ObservedCall) -> None:
    """Take how a queue was opened, after its handles are known."""
    if not call.ok or not call.members.gives or not call.given:
        return
    key, *numbers = call.given
    used = known.handles.get(key)
    if call.role is Role.BEGIN_READING:
        opening = known.openings.get(call.used)
        if opening is not None and used is not None:
            opening.handles = [*opening.handles[:_MOST_HANDLES], used]
        return
    if used is None or call.row("opened-alone") is None or number(call.request, "h_remote_queue"):
        return
    receives, alone = _modes(call)
    opening = OpenedQueue(handles=[used], receives=receives)
    named = (_key(call, kind) for kind, is_so in (("alone", alone), ("receives", receives)) if is_so)
    for key in (*numbers, *named):
        if key is not None:
            known.openings.put(key, opening)
