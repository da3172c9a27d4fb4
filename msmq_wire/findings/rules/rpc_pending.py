"""RPC-PENDING: a message was handed out and never confirmed."""

from __future__ import annotations

from collections.abc import Iterator

from msmq_wire.findings.finding import Evidence
from msmq_wire.findings.rule import Context, Rule, Seen
from msmq_wire.sessions import RemoteRead, Story
from msmq_wire.spec import SpecRef
from msmq_wire.units import SECOND

__all__ = ["RULE"]

_CLEAN_UP = 300 * SECOND
"""Nanoseconds after which a server puts the message back."""


def _check(story: Story, context: Context) -> Iterator[Seen]:
    closed = {queue.number: queue.closed for queue in story.queues if queue.closed is not None}
    for read in story.reads:
        if read.pending and read.certain:
            yield _seen(read, closed=read.opened in closed, last=story.last)


def _seen(read: RemoteRead, *, closed: bool, last: int | None) -> Seen:
    frames = () if read.at.frame is None else (read.at.frame,)
    place = Evidence(
        record=read.at.record,
        frames=frames,
        time=read.at.time,
        src=read.client,
        dst=read.server,
        path="opnum",
    )
    left = None if read.at.time is None or last is None else last - read.at.time
    over = closed or (left is not None and left >= _CLEAN_UP)
    message = f"{read.message_id}" if read.message_id else "a message"
    queue = f" from {read.queue}" if read.queue else ""
    caveats = (
        () if over else ("the capture ends less than five minutes later: the end may have come after it",)
    )
    return Seen(
        message=f"{read.method} got {message}{queue}, and no call ends or cancels that"
        + (" before the queue is closed" if closed else ""),
        evidence=(place,),
        severity=None if over else "info",
        caveats=caveats,
    )


RULE = Rule(
    id="RPC-PENDING",
    title="A remote receive without an end",
    severity="low",
    spec=(SpecRef("MS-MQRR", "3.1.4.7"), SpecRef("MS-MQRR", "3.1.4.9")),
    meaning="The client has the message and never said so: the server puts it back after five minutes, "
    "and it is read a second time.",
    action="Look at what the reading application did at that time; expect the message twice.",
    harmless="The end came on another connection or was not captured.",
    over="story",
    check=_check,
)
