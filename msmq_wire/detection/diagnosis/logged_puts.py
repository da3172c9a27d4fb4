"""What event logs of Windows add to a capture, and where both contradict each other.

The rule kept here: both witnesses are doubted. What a log does not have proves nothing unless it covers the
time, and what the capture does not have proves nothing unless that goes on and lost nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from msmq_wire.detection.cause import Cause
from msmq_wire.detection.diagnosis.answer import MOST, AnswerBuilder
from msmq_wire.detection.diagnosis.computer_log_texts import is_, log_of, name_of, queue_of, them, were
from msmq_wire.detection.diagnosis.phrases import ASK, count, host, listed, quoted, short
from msmq_wire.detection.overdue import PATIENCE
from msmq_wire.records.coverage import Need
from msmq_wire.sessions import MessageLife, Story
from msmq_wire.sessions.computer_logs import ComputerLog, LoggedPut, acknowledged_at
from msmq_wire.sessions.log_clock import ENOUGH

_NEEDS: tuple[Need, ...] = ("both_sides", "whole", "order", "read", "next_openings", "counted", "in_time")
_NAMED = 3
_INTERNAL = "$"
"""How the names of queues end from which a queue manager takes its own messages."""
_DOUBTS = (
    "an event log may be switched off for a time without a trace, and an acknowledgment may come from a host "
    "that passes messages on"
)


class _Logged(NamedTuple):
    """A message of the capture, the log of its receiver, and its event there, if there is one."""

    life: MessageLife
    log: ComputerLog
    put: LoggedPut | None = None


def put_and_acknowledged(story: Story, builder: AnswerBuilder) -> None:
    """Question 4: put into the queue of the receiver without an acknowledgment, and the other way round."""
    known = story.logs
    if known is None or not any("receiver" in log.sides for log in known.logs):
        return
    unacknowledged: dict[str, list[_Logged]] = {}
    absent: dict[str, list[_Logged]] = {}
    neither: dict[str, list[_Logged]] = {}
    unanswered: set[str] = set()
    for life in story.lives:
        if life.via != "tcp" or life.twin or life.about:
            continue
        dst = host((life.route[-1] if life.route else life).dst)
        put, log = known.arrival(life.message_id), known.of_host(dst)
        if life.outcome == "unknown":
            if put is not None:
                unacknowledged.setdefault(dst, []).append(_Logged(life, put.log, put))
                continue
            unanswered.add(dst)
            if log is not None and _would_have(log, life, _last_sent(life)):
                neither.setdefault(dst, []).append(_Logged(life, log))
            continue
        is_sure = life.certain and not life.failed
        if put is None and log is not None and is_sure and _would_have(log, life, acknowledged_at(life)):
            absent.setdefault(dst, []).append(_Logged(life, log))
    for dst, some in unacknowledged.items():
        _say_unacknowledged(dst, some, dst not in unanswered, story, builder)
    for dst, some in absent.items():
        _say_absent(dst, some, builder)
    for some in neither.values():
        builder.say(
            f"{_messages(some)} {were(len(some))} not acknowledged, and {log_of(some[0].log)}, which covers "
            f"that time, has no event of {them(len(some))} either: nothing shows that "
            f"{'it' if len(some) == 1 else 'they'} arrived.",
            *(one.life.first for one in some),
        )


def never_seen(story: Story, builder: AnswerBuilder) -> None:
    """Question 5: put into the outgoing queue of the sender, and never seen in the capture."""
    known = story.logs
    if known is None:
        return
    of_log: dict[tuple[int, bool | None], list[LoggedPut]] = {}
    places = {id(log): number for number, log in enumerate(known.logs)}
    for put in known.unseen():
        if put.side == "sender":
            of_log.setdefault((places[id(put.log)], known.is_captured(put)), []).append(put)
    for (number, covered), puts in of_log.items():
        _say_never_seen(known.logs[number], covered, puts, story, builder)


def _would_have(log: ComputerLog, life: MessageLife, until: int | None) -> bool:
    """Whether the log of a receiver has such messages, and covers this one up to a time."""
    since = life.first.time
    if since is None or until is None or life.route or life.message_class:
        return False
    internal = (life.queue or "").endswith(_INTERNAL)
    return log.joined >= ENOUGH and "receiver" in log.sides and not internal and log.covers(since, until)


def _last_sent(life: MessageLife) -> int | None:
    times = (one.time for one in (life.first, *life.resent_at) if one.time is not None)
    return max(times, default=None)


def _say_unacknowledged(
    dst: str, some: Sequence[_Logged], all_of_them: bool, story: Story, builder: AnswerBuilder
) -> None:
    first, number = some[0], len(some)
    src = host(first.life.src)
    queue = "" if first.put is None else queue_of(first.put.event)
    text = (
        f"{_messages(some)} {were(number)} put into a queue at {dst} ({queue}), as {log_of(first.log)} "
        f"says, but the capture has no acknowledgment of {them(number)}"
    )
    moments = [one.life.first for one in some]
    captured = builder.was_captured_between(_NEEDS, src, dst, first.life.first)
    if not captured or any(_may_come(one.life, story) for one in some):
        why = "it ends soon after" if captured else "it lost frames, or has them in part"
        builder.say(f"{text}: {why}.", *moments)
        return
    builder.say(f"{text}. {src} sends again what is not acknowledged.", *moments)
    builder.add_cause(
        Cause(
            text=text,
            severity="low",
            confidence="likely",
            moments=tuple(moments[:MOST]),
            who=(src, dst),
            action=f"find out why no acknowledgment came back from {dst}: the messages are there",
            count=number,
            rules=("MSG-UNACKED",),
            kind="put",
            about=dst,
            explains=("unanswered",) if all_of_them else (),
            brief=f"{count(number, 'message')} reached {dst} without an acknowledgment",
            message=first.life.first.record,
        )
    )


def _may_come(life: MessageLife, story: Story) -> bool:
    """Whether the acknowledgment of a message may come after the end of the capture."""
    session = None if life.session is None else story.session(life.session)
    if session is not None and session.close is not None:
        return False
    return story.last is None or (life.first.time or 0) > story.last - PATIENCE


def _say_absent(dst: str, some: Sequence[_Logged], builder: AnswerBuilder) -> None:
    log, number = some[0].log, len(some)
    others = f"{count(log.joined, 'other message')} of the capture {is_(log.joined)} in it"
    builder.say(
        f"{_messages(some)} {were(number)} acknowledged by {dst}, but {log_of(log)} has no event of "
        f"{them(number)}. The log covers that time: no EventRecordID is missing, and {others}.",
        *(one.life.first for one in some),
        attention="low",
    )
    builder.add_caveats(_DOUBTS)
    acknowledged = f"{count(number, 'message')} acknowledged by {dst}"
    builder.add_note(f"{acknowledged} {is_(number)} not in its event log: {ASK.format(4)}")


def _say_never_seen(
    log: ComputerLog, covered: bool | None, puts: Sequence[LoggedPut], story: Story, builder: AnswerBuilder
) -> None:
    number = len(puts)
    names = listed([short(put.event.message_id or "") for put in puts[:_NAMED]], number)
    queues = listed(list(dict.fromkeys(queue_of(put.event) for put in puts))[:_NAMED])
    text = (
        f"{count(number, 'message')} {were(number)} put into an outgoing queue at {name_of(log)} ({queues}), "
        "as its event log says, and "
    )
    if story.left_out.lives or not covered:
        doubt = "It is not known whether the capture covers that time"
        if story.left_out.lives:
            doubt = "They may be among the messages that were dropped to save memory"
        elif covered is False:
            doubt = "The capture does not cover that time, so that nothing follows"
        builder.say(f"{text}{is_(number)} not in the capture: {names}. {doubt}.")
        return
    lossy = bool(story.visibility.dropped or story.visibility.holes)
    text += f"{were(number)} never seen in the capture: {names}. The capture covers that time"
    builder.say(f"{text}{', but it lost frames' if lossy else ''}.", attention=None if lossy else "low")
    if lossy:
        return
    builder.add_cause(
        Cause(
            text=text,
            severity="low",
            confidence="likely",
            moments=(),
            who=(log.host or log.computer,),
            action=f"look into the outgoing queues of {log.host or log.computer}, and check whether its "
            "traffic passes the place of the capture",
            count=number,
            rules=("MSG-UNACKED",),
        )
    )


def _messages(some: Sequence[_Logged]) -> str:
    names = [f"{short(one.life.message_id)}{quoted(one.life.label)}" for one in some[:_NAMED]]
    if len(some) == 1:
        return f"Message {names[0]}"
    return f"{count(len(some), 'message')} ({listed(names, len(some))})"
