"""What event logs of Windows add to a capture, and where both contradict each other.

The rule kept here: both witnesses are doubted. What a log does not have proves nothing unless it covers the
time, and what the capture does not have proves nothing unless that goes on and lost nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from msmq_wire.detection.cause import Cause
from msmq_wire.detection.diagnosis.answer import MOST, AnswerBuilder
from msmq_wire.detection.diagnosis.phrases import Phrases, count, host, listed, quoted, short, span
from msmq_wire.detection.overdue import PATIENCE
from msmq_wire.records.coverage import Need
from msmq_wire.records.log_event import CHANNEL, EventLogFile, LogEvent
from msmq_wire.records.view import time_text
from msmq_wire.sessions import MessageLife, Story
from msmq_wire.sessions.computer_logs import ComputerLog, ComputerLogs, LoggedPut, acknowledged_at
from msmq_wire.sessions.log_clock import ENOUGH
from msmq_wire.units import SECOND

_NEEDS: tuple[Need, ...] = ("both_sides", "whole", "order", "read", "next_openings", "counted", "in_time")
_MOST_FACTS = 64
_MOST_DATA = 120
_NAMED = 3
_INTERNAL = "$"
"""How the names of queues end from which a queue manager takes its own messages."""
_SILENT = (
    "an event log has what was logged while it was switched on, and is overwritten from its beginning: where "
    "it does not cover a time, its silence proves nothing"
)


def log_notice(file: EventLogFile) -> str:
    """One line about what was read of a file."""
    text = f"{count(len(file.events), 'event')} of {CHANNEL}"
    if file.foreign:
        text += f"; {count(file.foreign, 'foreign event')} of other channels or providers left out"
    return text


def logs(story: Story, words: Phrases, builder: AnswerBuilder) -> None:
    """Question 19: whose logs there are, how their clocks stand, and what they cover."""
    known = story.logs
    if known is None:
        return
    for file in known.files:
        builder.say(f"Event log {file.file}: {log_notice(file)}.")
        if file.damage:
            builder.say(f"Not all of {file.file} was read: {file.damage}.", attention="low")
    for log in known.logs:
        builder.say(" ".join(_described(log, words)))
        for event in log.others[:MOST]:
            builder.say(f"{_name(log)} also has {_other_text(event)}.")
        if len(log.others) > MOST:
            builder.say(f"And {count(len(log.others) - MOST, 'more event')} of other kinds.")
    builder.add_caveats(_SILENT)
    builder.facts["event_logs"] = [_facts(log) for log in known.logs[:_MOST_FACTS]]
    here = [put for put in known.unseen() if put.side != "sender"]
    if here:
        names = listed([short(put.event.message_id or "") for put in here[:_NAMED]], len(here))
        builder.say(
            f"Logs say that {count(len(here), 'message')} {_were(len(here))} put into queues, and the "
            f"capture does not have {_them(len(here))}: {names}. Programs on the same computer send without a "
            "network, and messages may take another way."
        )


def put_and_acknowledged(story: Story, words: Phrases, builder: AnswerBuilder) -> None:
    """Question 4: put into the queue of the receiver without an acknowledgment, and the other way round."""
    known = story.logs
    if known is None or not any("receiver" in log.sides for log in known.logs):
        return
    unacknowledged: dict[str, list[_Contradiction]] = {}
    absent: dict[str, list[_Contradiction]] = {}
    unanswered: set[str] = set()
    for life in story.lives:
        if life.via != "tcp" or life.twin or life.about:
            continue
        dst = host((life.route[-1] if life.route else life).dst)
        put = known.arrival(life.message_id)
        if life.outcome == "unknown":
            if put is not None:
                unacknowledged.setdefault(dst, []).append(_Contradiction(life, put.log, put))
            else:
                unanswered.add(dst)
            continue
        log = known.of_host(dst)
        if put is None and log is not None and _should_have(log, life, known):
            absent.setdefault(dst, []).append(_Contradiction(life, log, None))
    for dst, some in unacknowledged.items():
        _say_unacknowledged(dst, some, dst not in unanswered, story, words, builder)
    for dst, some in absent.items():
        _say_absent(dst, some, words, builder)


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


class _Contradiction(NamedTuple):
    life: MessageLife
    log: ComputerLog
    put: LoggedPut | None


def _should_have(log: ComputerLog, life: MessageLife, known: ComputerLogs) -> bool:
    """Whether the log of a receiver would have an event of an acknowledged message."""
    ack, since = acknowledged_at(life), life.first.time
    if (
        ack is None
        or since is None
        or not life.certain
        or life.failed
        or life.route
        or known.of(life.message_id)
    ):
        return False
    internal = (life.queue or "").endswith(_INTERNAL)
    enough = log.joined >= ENOUGH and "receiver" in log.sides
    return enough and not internal and not life.message_class and log.covers(since, ack)


def _say_unacknowledged(
    dst: str,
    some: Sequence[_Contradiction],
    all_of_them: bool,
    story: Story,
    words: Phrases,
    builder: AnswerBuilder,
) -> None:
    first, number = some[0], len(some)
    src = host(first.life.src)
    queue = "" if first.put is None else first.put.event.queue
    text = (
        f"{_messages(some)} {_were(number)} put into a queue at {dst} ({queue}), as {_log_of(first.log)} "
        f"says, but the capture has no acknowledgment of {_them(number)}"
    )
    captured = builder.was_captured_between(_NEEDS, src, dst, first.life.first)
    late = any(_may_come(one.life, story) for one in some)
    if not captured or late:
        why = "it lost frames, or has them in part" if not captured else "it ends soon after"
        builder.say(f"{text}: {why}.", *(one.life.first for one in some))
        return
    builder.say(f"{text}. {src} sends again what is not acknowledged.", *(one.life.first for one in some))
    builder.add_cause(
        Cause(
            text=text,
            severity="low",
            confidence="likely",
            moments=tuple(one.life.first for one in some[:MOST]),
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


def _say_absent(dst: str, some: Sequence[_Contradiction], words: Phrases, builder: AnswerBuilder) -> None:
    first, number = some[0], len(some)
    builder.say(
        f"{_messages(some)} {_were(number)} acknowledged by {dst}, but {_log_of(first.log)} does not say "
        f"that {'it was' if number == 1 else 'they were'} put into a queue. The log covers that time, and "
        f"has {count(first.log.joined, 'other message')} of the capture.",
        *(one.life.first for one in some),
        attention="low",
    )
    builder.add_caveats(
        "an event log may be switched off for a time without a trace, and an acknowledgment may come from a "
        "host that passes messages on"
    )
    builder.add_note(
        f"{count(number, 'message')} acknowledged by {dst} {_is(number)} not in its event log "
        f"(diagnose --question 4)"
    )


def _say_never_seen(
    log: ComputerLog, covered: bool | None, puts: Sequence[LoggedPut], story: Story, builder: AnswerBuilder
) -> None:
    number = len(puts)
    names = listed([short(put.event.message_id or "") for put in puts[:_NAMED]], number)
    queues = listed(list(dict.fromkeys(put.event.queue for put in puts))[:_NAMED])
    text = (
        f"{count(number, 'message')} {_were(number)} put into an outgoing queue at {_name(log)} ({queues}), "
        f"as its event log says, and {_were(number)} never seen in the capture: {names}"
    )
    if story.left_out.lives:
        builder.say(f"{text}. Messages were dropped to save memory: they may be among these.")
        return
    if covered is None:
        builder.say(f"{text}. It is not known whether the capture covers that time.")
        return
    if not covered:
        builder.say(f"{text}. The capture does not cover that time.")
        return
    lossy = bool(story.visibility.dropped or story.visibility.holes)
    doubt = ", but it lost frames" if lossy else ""
    builder.say(f"{text}. The capture covers that time{doubt}.", attention=None if lossy else "low")
    if not lossy:
        builder.add_cause(
            Cause(
                text=f"{text}. The capture covers that time",
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


def _described(log: ComputerLog, words: Phrases) -> Iterator[str]:
    """Whose log it is, what is in it, and how its clock stands."""
    put = len(log.events) - len(log.others)
    if log.host:
        sides = {frozenset(("sender",)): ", a sender", frozenset(("receiver",)): ", a receiver"}
        yield f"{_name(log)} is {log.host}{sides.get(frozenset(log.sides), '')}."
    elif log.joined:
        yield f"Which host of the capture {_name(log)} is, is not clear."
    part = f"{log.joined:,} of them in the capture" if put else "so it is compared with nothing"
    yield f"Its log says that {count(put, 'message')} {_were(put)} put into queues, {part}."
    yield _clock_text(log)
    yield from _coverage_text(log, words)


def _clock_text(log: ComputerLog) -> str:
    clock = log.clock
    if clock is None:
        return (
            "Its clock cannot be compared with that of the capture: too few messages are in both, or agree."
        )
    of = f"{clock.agreeing:,} of {count(clock.pairs, 'message')} agree"
    ahead = f"{span(abs(clock.offset))} {'behind' if clock.offset < 0 else 'ahead of'} that of the capture"
    if clock.uncertainty is None:
        waited = f"by the {ENOUGH} messages that waited least, which differ by {span(clock.spread)}"
        return f"Its clock is about {ahead}, {waited}."
    return f"Its clock is {ahead} (± {span(clock.uncertainty)}; {of})."


def _coverage_text(log: ComputerLog, words: Phrases) -> Iterator[str]:
    for one in log.clearings:
        what = "The security log of this computer" if one.event_id != 104 else "It"
        when = "" if one.time is None else f" at {words.clock(one.time // SECOND)}"
        yield f"{what} was cleared{when}."
    if not log.stretches:
        yield "No stretch of time is known in which it has every event: its silence proves nothing."
        return
    shown = [
        f"{words.clock(first // SECOND)} to {words.clock(last // SECOND)}" for first, last in log.stretches
    ]
    gaps = len(log.stretches) - 1
    missing = f" (EventRecordIDs are missing in {count(gaps, 'place')})" if gaps else ""
    yield f"By its own clock it covers {listed(shown)}{missing}."


def _other_text(event: LogEvent) -> str:
    data = "; ".join(event.data)
    data = data if len(data) <= _MOST_DATA else f"{data[: _MOST_DATA - 1]}…"
    number = "an event without a number" if event.event_id < 0 else f"event {event.event_id}"
    return f"{number}{f' ({data})' if data else ''}{_when(event)}"


def _when(event: LogEvent) -> str:
    return "" if event.time is None else f", at {time_text(event.time)} by its own clock"


def _messages(some: Sequence[_Contradiction]) -> str:
    names = [f"{short(one.life.message_id)}{quoted(one.life.label)}" for one in some[:_NAMED]]
    if len(some) == 1:
        return f"Message {names[0]}"
    return f"{count(len(some), 'message')} ({listed(names, len(some))})"


def _name(log: ComputerLog) -> str:
    return log.computer or "a computer that the log does not name"


def _log_of(log: ComputerLog) -> str:
    return f"the event log of {_name(log)}"


def _were(number: int) -> str:
    return "was" if number == 1 else "were"


def _is(number: int) -> str:
    return "is" if number == 1 else "are"


def _them(number: int) -> str:
    return "it" if number == 1 else "them"


def _facts(log: ComputerLog) -> dict[str, object]:
    """A log as data; times and offsets are nanoseconds."""
    clock = log.clock
    return {
        "computer": log.computer,
        "files": list(log.files),
        "host": log.host or None,
        "sides": sorted(log.sides),
        "events": len(log.events),
        "in_capture": log.joined,
        "clock_ahead": None if clock is None else clock.offset,
        "clock_uncertainty": None if clock is None else clock.uncertainty or clock.spread,
        "covers": [list(one) for one in log.stretches[:_MOST_FACTS]],
        "cleared": [one.time for one in log.clearings],
    }


def put_text(put: LoggedPut) -> str:
    """``queue X, says the event log of RECV01``."""
    own = "" if put.at is not None else _when(put.event)
    return f"{put.event.queue or 'a queue without a name'}, says {_log_of(put.log)}{own}"


def placed(puts: Iterable[LoggedPut]) -> list[LoggedPut]:
    """Events in the order in which they happened, as far as that is known."""
    order = {"sender": 0, None: 1, "receiver": 2}
    return sorted(puts, key=lambda put: (order[put.side], put.at or put.event.time or 0))


def only_logged(story: Story, text: str) -> str:
    """What logs say of a message that is not in the capture, to follow a sentence; empty for nothing."""
    put = None if story.logs is None else story.logs.named(text)
    if put is None:
        return ""
    return f"; {short(put.event.message_id or '')} was put into {put_text(put)}"
