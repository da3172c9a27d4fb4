"""`failed_reads`: adds causes for remote reads that failed.

The rule kept here: an empty queue and a time-out are normal answers.
"""

from __future__ import annotations

import msgspec

from msmq_wire.detection.cause import Cause
from msmq_wire.detection.diagnosis.answer import AnswerBuilder
from msmq_wire.detection.diagnosis.phrases import count, host, quoted, short
from msmq_wire.detection.folding import Fold
from msmq_wire.detection.overdue import closed_queues, is_put_back
from msmq_wire.records.coverage import Need
from msmq_wire.rpc.hresults import describe
from msmq_wire.sessions import Moment, RemoteQueue, RemoteRead, Story

_MOST = 1024
_MOST_MOMENTS = 16
_NO_MESSAGE = frozenset((0xC00E001B, 0xC00E0088, 0xC00E0008, 0xC00E001D, 0xC00E001C))
"""MQ_ERROR_IO_TIMEOUT, _MESSAGE_NOT_FOUND, _OPERATION_CANCELLED, _MESSAGE_ALREADY_RECEIVED and
_ILLEGAL_CURSOR_ACTION."""
_DENIED = frozenset((0xC00E0025, 0xC0000022, 0x80070005, 5))
"""MQ_ERROR_ACCESS_DENIED, STATUS_ACCESS_DENIED and two codes of Win32."""


class _Key(msgspec.Struct, frozen=True):
    what: str
    client: str
    server: str
    queue: str | None
    status: int | None


_NEEDS: tuple[Need, ...] = ("both_sides", "before", "after", "counted")
"""What a capture must hold to show that no call ended a receive."""


class _FailedReads(msgspec.Struct):
    moments: list[Moment]
    count: int = 0
    message: str = ""
    received: int = 0


def failed_reads(story: Story, candidates: Fold, builder: AnswerBuilder) -> None:
    """Add a cause for each kind of failure of remote reads."""
    by_key: dict[_Key, _FailedReads] = {}

    def take(what: str, one: RemoteQueue | RemoteRead, moment: Moment, message: str = "") -> None:
        if candidates.hostile(one.client, one.server):
            return
        key = _Key(what, host(one.client), host(one.server), one.queue, one.status)
        if key in by_key or len(by_key) < _MOST:
            failed = by_key.setdefault(key, _FailedReads([], message=message))
            failed.count += 1
            if len(failed.moments) < _MOST_MOMENTS:
                failed.moments.append(moment)

    for queue in story.queues:
        if queue.fault or _failed(queue.status):
            take("open", queue, queue.opened)
        if queue.purged is not None:
            take("purge", queue, queue.purged)
    purges = {
        (key.client, key.server, key.queue): failed for key, failed in by_key.items() if key.what == "purge"
    }
    closed = closed_queues(story)
    for read in story.reads:
        purge = purges.get((host(read.client), host(read.server), read.queue))
        if purge is not None and read.removes and read.message_id is not None and read.end != "nack":
            # Who takes what it wants and purges the rest is told in one line.
            purge.received += 1
            purge.message = purge.message or f"{short(read.message_id)}{quoted(read.label)}"
        # Of what was opened before the capture the end may be where the beginning is.
        if read.pending and read.opened is not None:
            if not is_put_back(read, closed, story):
                continue
            if not builder.was_captured(_NEEDS, read.client, read.server, read.at):
                continue
            take("end", read, read.at, short(read.message_id) if read.message_id else "")
        elif read.fault or _failed(read.status):
            take("read", read, read.at)
    for key, failed in by_key.items():
        builder.add_cause(_cause(key, failed))


def _failed(status: int | None) -> bool:
    """Whether a status is a failure that needs an action."""
    return status is not None and bool(status & 0x80000000) and status not in _NO_MESSAGE


def _cause(key: _Key, failed: _FailedReads) -> Cause:
    queue = key.queue or "a queue that is not named"
    where = f"{queue} at {key.server}"
    if key.what == "purge":
        did = f"purged {where}: all messages in it are gone"
        if failed.received:
            what = f"message {failed.message}"
            if failed.received > 1:
                what = f"{count(failed.received, 'message')}, first {failed.message},"
            did = f"received {what} from {where}, then purged the queue: all other messages in it are gone"
        return Cause(
            text=f"{key.client} {did}",
            severity="medium", confidence="certain", moments=tuple(failed.moments),
            who=(key.client, key.server), action="ask the owners of the queue whether they purged it",
            count=failed.count, rules=("RPC-PURGE",), kind="purge", about=key.queue or "",
            explains=("purged",),
        )  # fmt: skip
    if key.what == "end":
        name = f"message {failed.message}" if failed.message else "a message"
        what = name if failed.count == 1 else f"{count(failed.count, 'message')}, first {name},"
        it = "it" if failed.count == 1 else "them"
        return Cause(
            text=f"{key.client} received {what} from {where} and did not confirm {it} in the "
            f"capture: after five minutes the server puts {it} back",
            severity="low", confidence="likely", moments=tuple(failed.moments), who=(key.client, key.server),
            action=f"look at what the reading application of {key.client} did then; expect "
            f"{'the message' if failed.count == 1 else 'the messages'} twice",
            count=failed.count, rules=("RPC-PENDING",), kind="pending", about=key.server,
        )  # fmt: skip
    verb = "open" if key.what == "open" else "read"
    why = "the call failed" if key.status is None else describe(key.status).symbol
    times = "" if failed.count == 1 else f", {failed.count:,} times"
    denied = key.status in _DENIED
    right = f"give the account of {key.client} the right to {verb} the queue, or ask who tries"
    return Cause(
        text=f"{key.client} could not {verb} {where}: {why}{times}",
        severity="medium" if denied or key.what == "open" else "low", confidence="certain",
        moments=tuple(failed.moments), who=(key.client, key.server), odd=True,
        action=right if denied else f"look up {why} at {key.server}, and what the client asked for",
        count=failed.count, rules=("RPC-FAILED",), kind="misread", about=key.server,
        brief=f"{key.client} could not {verb} {where}: {why}",
    )  # fmt: skip
