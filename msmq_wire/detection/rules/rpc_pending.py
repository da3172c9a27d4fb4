"""RPC-PENDING: a message was handed out and never confirmed."""

from __future__ import annotations

from collections.abc import Iterator

from msmq_wire.detection.finding import Evidence
from msmq_wire.detection.overdue import closed_queues, is_put_back
from msmq_wire.detection.rule import Context, Detection, Rule
from msmq_wire.sessions import RemoteRead, Story
from msmq_wire.spec import SpecRef


def _check(story: Story, context: Context) -> Iterator[Detection]:
    closed = closed_queues(story)
    for read in story.reads:
        if read.pending:
            over = is_put_back(read, closed, story)
            yield _detection(read, over=over, closed=read.opened in closed)


def _detection(read: RemoteRead, *, over: bool, closed: bool) -> Detection:
    frames = () if read.at.frame is None else (read.at.frame,)
    place = Evidence(
        record=read.at.record,
        frames=frames,
        time=read.at.time,
        src=read.client,
        dst=read.server,
        path="opnum",
    )
    message = f"{read.message_id}" if read.message_id else "a message"
    queue = f" from {read.queue}" if read.queue else ""
    caveats = (
        () if over else ("the capture ends less than five minutes later: the end may have come after it",)
    )
    return Detection(
        message=f"{read.method} returned {message}{queue}, and no call ends or cancels that receive"
        + (" before the queue is closed" if closed else ""),
        evidence=(place,),
        severity=None if over else "info",
        caveats=caveats,
    )


RULE = Rule(
    id="RPC-PENDING",
    title="A remote receive that was not ended",
    severity="low",
    layer="application",
    spec=(SpecRef("MS-MQRR", "3.1.4.7"), SpecRef("MS-MQRR", "3.1.4.9")),
    meaning="The client got the message and never said so. The server puts the message back after five "
    "minutes, and it is read a second time.",
    action="Look at what the reading application did at that time; expect the message twice.",
    harmless="The end came on another connection or was not captured.",
    over="story",
    needs=("both_sides", "before", "after"),
    check=_check,
)
