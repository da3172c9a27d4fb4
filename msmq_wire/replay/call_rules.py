"""`judge_call`: all rules over a call, in their order: first its reply, then what the call teaches."""

from __future__ import annotations

from collections.abc import Iterator

from msmq_wire.replay.observed_call import ObservedCall
from msmq_wire.replay.read import ObservedRead, read_of
from msmq_wire.replay.rules.actions import judge_access, judge_action, judge_send
from msmq_wire.replay.rules.answers import judge_answer
from msmq_wire.replay.rules.contents import judge_content, learn_content
from msmq_wire.replay.rules.cursors import judge_cursor, learn_cursor
from msmq_wire.replay.rules.ends import (
    ended_read,
    judge_cancel,
    judge_end,
    judge_request,
    learn_end,
    learn_read,
)
from msmq_wire.replay.rules.handles import (
    judge_context,
    judge_enlistment,
    judge_handle,
    judge_purge,
    learn_handles,
    used_handle,
)
from msmq_wire.replay.rules.messages import (
    judge_lookup,
    judge_message,
    learn_message,
    learn_move,
    learn_purge,
    learn_return,
)
from msmq_wire.replay.rules.openings import judge_opening, learn_shares
from msmq_wire.replay.rules.requests import judge_parameters
from msmq_wire.replay.rules.sections import judge_sections
from msmq_wire.replay.rules.sent import judge_sent, learn_sent
from msmq_wire.replay.rules.statuses import judge_status, judge_time
from msmq_wire.replay.rules.uses import judge_look, judge_thrown, judge_use, judge_waiting, learn_uses
from msmq_wire.replay.state import Found, KnownHandle, ServerState


def judge_call(known: ServerState, call: ObservedCall) -> Iterator[Found]:
    """Judge the reply of a call by what is known of its server, then learn from the call."""
    read = read_of(call)
    used = used_handle(known, call)
    yield from _judge_reply(known, call, read, used)
    learn_cursor(known, call, read, used)
    learn_end(known, call, used)
    ended = ended_read(known, call, used)
    if ended is not None:
        learn_return(known, ended)
    learn_purge(known, call, used)
    learn_sent(known, call, used)
    learn_move(known, call, used)
    if read is not None:
        learn_content(known, call, read, used)
        learn_message(known, call, read, used, learn_read(known, call, read, used))
    learn_handles(known, call, used)
    learn_shares(known, call)
    learn_uses(known, call)


def _judge_reply(
    known: ServerState, call: ObservedCall, read: ObservedRead | None, used: KnownHandle | None
) -> Iterator[Found]:
    yield from judge_parameters(call)
    yield from judge_answer(call)
    yield from judge_handle(known, call, used)
    yield from judge_context(known, call, used)
    yield from judge_enlistment(known, call)
    yield from judge_purge(call, used)
    yield from judge_send(call, used)
    yield from judge_sent(known, call, used)
    yield from judge_thrown(call)
    yield from judge_opening(known, call, used)
    yield from judge_use(known, call, used)
    yield from judge_cursor(known, call, read, used)
    yield from judge_end(known, call, used)
    yield from judge_cancel(known, call, read, used)
    yield from judge_status(known, call, read, used, ended_read(known, call, used))
    if read is None:
        return
    yield from judge_content(known, call, read, used)
    yield from judge_waiting(known, call, read, used)
    yield from judge_look(known, call, read, used)
    yield from judge_access(call, read, used)
    yield from judge_action(call, read)
    yield from judge_request(known, call, read, used)
    yield from judge_lookup(call, read)
    yield from judge_message(known, call, read, used)
    yield from judge_sections(call)
    yield from judge_time(call, read)
