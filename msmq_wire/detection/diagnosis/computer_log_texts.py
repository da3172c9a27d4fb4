"""Words about event logs of Windows: whose each is, how its clock stands, what it covers, what it says."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msmq_wire.detection.diagnosis.answer import MOST, AnswerBuilder
from msmq_wire.detection.diagnosis.phrases import Phrases, count, listed, short, span
from msmq_wire.records.log_event import CHANNEL, EventLogFile, LogEvent
from msmq_wire.records.view import time_text
from msmq_wire.sessions import Story
from msmq_wire.sessions.computer_logs import ComputerLog, LoggedPut
from msmq_wire.sessions.log_clock import ENOUGH
from msmq_wire.units import SECOND

_MOST_FACTS = 64
_MOST_DATA = 120
_NAMED = 3
_CLEARED = 104
_SILENT = (
    "the silence of a log proves nothing where events may be missing: it may be switched off, overwritten, "
    "cleared or exported in part"
)


def log_notice(file: EventLogFile) -> str:
    """One line about what was read of a file."""
    put = sum(event.message_id is not None for event in file.events)
    others = len(file.events) - put + file.foreign
    text = f"{count(put, 'message')} put into queues, by {CHANNEL}"
    if not others:
        return text
    text += f"; {count(others, 'other event')}"
    return f"{text}, {file.foreign:,} of other channels or providers" if file.foreign else text


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
            builder.say(f"{name_of(log)} also has {_other_text(event)}.")
        if len(log.others) > MOST:
            builder.say(f"And {count(len(log.others) - MOST, 'more event')} of other kinds.")
    builder.add_caveats(_SILENT)
    builder.facts["event_logs"] = [_facts(log) for log in known.logs[:_MOST_FACTS]]
    here = [put for put in known.unseen() if put.side != "sender"]
    if here:
        names = listed([short(put.event.message_id or "") for put in here[:_NAMED]], len(here))
        builder.say(
            f"Logs say that {count(len(here), 'message')} {were(len(here))} put into queues, and the capture "
            f"does not have {them(len(here))}: {names}. Programs on the same computer send without a "
            "network, and messages may take another way."
        )


def _described(log: ComputerLog, words: Phrases) -> Iterator[str]:
    """Whose log it is, what is in it, and how its clock stands."""
    put = sum(event.message_id is not None for event in log.events)
    if log.host:
        sides = {frozenset(("sender",)): ", a sender", frozenset(("receiver",)): ", a receiver"}
        yield f"{name_of(log)} is {log.host}{sides.get(frozenset(log.sides), '')}."
    elif log.joined:
        yield f"Which host of the capture {name_of(log)} is, is not clear."
    else:
        yield f"Nothing shows which host of the capture {name_of(log)} is."
    part = f"{log.joined:,} of them in the capture" if log.joined else "none of them in the capture"
    yield f"Its log says that {count(put, 'message')} {were(put)} put into queues, {part}."
    if log.joined:
        yield _clock_text(log)
    yield from _coverage_text(log, words)


def _clock_text(log: ComputerLog) -> str:
    if not log.clocks:
        few = "too few messages are in both, or they do not agree"
        return f"Its clock cannot be compared with that of the capture: {few}."
    first, *later = log.clocks
    if later:
        times = [f"{_ahead(one.offset)} from EventRecordID {one.since} on" for one in later]
        return f"Its clock was set: it is {listed([f'{_ahead(first.offset)} at first', *times])}."
    that = f"{_ahead(first.offset)}{'' if first.offset < 0 else ' of'} that of the capture"
    if first.least is None or first.most is None:
        waited = f"by the {ENOUGH} messages that waited least, which differ by {span(first.spread)}"
        return f"Its clock is about {that}, {waited}."
    of = f"{first.agreeing:,} of {count(first.pairs, 'message')} agree"
    return f"Its clock is {that} (between {_ahead(first.least)} and {_ahead(first.most)}; {of})."


def _ahead(offset: int) -> str:
    return f"{_long(abs(offset))} {'behind' if offset < 0 else 'ahead'}"


def _long(nanoseconds: int) -> str:
    """A length of time, of a long one with its seconds."""
    if nanoseconds < 60 * SECOND:
        return span(nanoseconds)
    return f"{span(nanoseconds)} ({nanoseconds / SECOND:,.2f} s)"


def _coverage_text(log: ComputerLog, words: Phrases) -> Iterator[str]:
    for one in log.clearings:
        what = "It" if one.event_id == _CLEARED else "The security log of this computer"
        when = "" if one.time is None else f" at {words.clock(one.time // SECOND)}"
        yield f"{what} was cleared{when}."
    if not log.stretches:
        yield "No stretch of time is known in which it has every event: its silence proves nothing."
        return
    shown = [
        f"{words.clock(first // SECOND)} to {words.clock(last // SECOND)}" for first, last in log.stretches
    ]
    lost = f"{count(log.missing, 'EventRecordID')} {is_(log.missing)} missing in between"
    yield f"By its own clock it covers {listed(shown)}{f' ({lost})' if log.missing else ''}."


def _other_text(event: LogEvent) -> str:
    data = "; ".join(event.data)
    data = data if len(data) <= _MOST_DATA else f"{data[: _MOST_DATA - 1]}…"
    number = "an event without a number" if event.event_id < 0 else f"event {event.event_id}"
    return f"{number}{f' ({data})' if data else ''}{own_time(event)}"


def own_time(event: LogEvent) -> str:
    """When an event was, by the clock of its computer; empty if that is not known."""
    shown = (time_text(event.time) or "")[:23].replace("T", " ")
    return f", at {shown}Z by its own clock" if shown else ""


def name_of(log: ComputerLog) -> str:
    """The computer of a log."""
    return log.computer or "a computer without a name"


def log_of(log: ComputerLog) -> str:
    """``the event log of RECV01``."""
    return f"the event log of {name_of(log)}"


def queue_of(event: LogEvent) -> str:
    """The queue of an event, shortened where somebody made it long."""
    queue = event.queue or "a queue without a name"
    return queue if len(queue) <= _MOST_DATA else f"{queue[: _MOST_DATA - 1]}…"


def were(number: int) -> str:
    """Was, or were."""
    return "was" if number == 1 else "were"


def is_(number: int) -> str:
    """Is, or are."""
    return "is" if number == 1 else "are"


def them(number: int) -> str:
    """It, or them."""
    return "it" if number == 1 else "them"


def _facts(log: ComputerLog) -> dict[str, object]:
    """A log as data; times and offsets are nanoseconds."""
    return {
        "computer": log.computer,
        "files": list(log.files),
        "host": log.host or None,
        "sides": sorted(log.sides),
        "events": len(log.events),
        "in_capture": log.joined,
        "clocks": [
            {"ahead": one.offset, "least": one.least, "most": one.most, "since_record": one.since}
            for one in log.clocks
        ],
        "covers": [list(one) for one in log.stretches[:_MOST_FACTS]],
        "missing": log.missing,
        "cleared": [one.time for one in log.clearings],
    }


def put_text(put: LoggedPut) -> str:
    """``queue X, says the event log of RECV01``."""
    own = "" if put.at is not None else own_time(put.event)
    return f"{queue_of(put.event)}, says {log_of(put.log)}{own}"


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
