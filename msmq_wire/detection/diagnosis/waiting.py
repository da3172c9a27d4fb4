"""Question 17: receivers that slow their senders down, with figures.

The rule kept here: a sender stops where as many packets are unacknowledged as the window allows. What was
never acknowledged is of question 4. [MS-MQQB] 3.1.7.1; [MS-MQMQ] 2.2.20.4
"""

from __future__ import annotations

from typing import NamedTuple

from msmq_wire.detection.cause import Cause
from msmq_wire.detection.diagnosis.answer import MOST, AnswerBuilder
from msmq_wire.detection.diagnosis.network_causes import OF_WINDOWS, add_network_causes
from msmq_wire.detection.diagnosis.network_phrases import below, fault_action, fault_clause, layer_of_fault
from msmq_wire.detection.diagnosis.phrases import Phrases, count, host, listed, span
from msmq_wire.detection.finding import connection_of
from msmq_wire.detection.folding import Fold
from msmq_wire.detection.network_faults import FaultKind, NetworkFault, delay_fault
from msmq_wire.detection.overdue import Deadline, due_in, is_late
from msmq_wire.records.coverage import Need
from msmq_wire.sessions import Moment, Session, SessionDirection, Story

_NEEDS: tuple[Need, ...] = ("both_sides", "whole", "order", "read", "after_sent")
_MOST_MOMENTS = 16
_SMALLEST = "A window of 1 is that of a receiver that is short of memory, or whose queue was paused."


class _Wait(NamedTuple):
    """A direction of a session in which the sender waited; times in nanoseconds."""

    session: Session
    sender: str
    receiver: str
    there: SessionDirection
    announced: int | None
    due: Deadline
    still: int
    late: bool
    fault: NetworkFault | None


def waits(story: Story, candidates: Fold, words: Phrases, builder: AnswerBuilder) -> None:
    """Question 17."""
    found = [
        wait
        for session in story.sessions
        for side in (0, 1)
        if (wait := _wait(session, side, story.last)) is not None
    ]
    found.sort(key=lambda one: -(one.there.longest_wait or 0))
    slow: dict[tuple[str, FaultKind | None], list[_Wait]] = {}
    for number, wait in enumerate(found):
        seen = builder.was_captured(_NEEDS, wait.session.client, wait.session.server, wait.session.first)
        late = wait.late and seen
        if late:
            slow.setdefault((wait.receiver, None if wait.fault is None else wait.fault.kind), []).append(wait)
        if number < MOST:
            builder.say(f"{_text(wait, words)}.", *_moments(wait), attention="low" if late else "info")
    for (receiver, _), waits in slow.items():
        builder.add_cause(_cause(receiver, waits, words))
    if len(found) > MOST:
        builder.say(f"And in {count(len(found) - MOST, 'more session')}: timeline draws them.")
    if any(wait.there.smallest_window == 1 for wait in found):
        builder.say(_SMALLEST)
    known = [one for session in story.sessions for one in session.directions if one.longest_wait is not None]
    builder.facts = {
        "longest_wait": max((one.longest_wait or 0 for one in known), default=None),
        "smallest_window": min((one.smallest_window for one in known if one.smallest_window), default=None),
        "sessions": [
            {
                "session": wait.session.number,
                "sender": wait.sender,
                "receiver": wait.receiver,
                "messages": wait.there.messages,
                "acknowledgments": wait.there.session_acks,
                "longest_wait": wait.there.longest_wait,
                "due": wait.due.after,
                "smallest_window": wait.there.smallest_window,
                "window_full": wait.there.window_closings,
                "unacknowledged": wait.there.unacknowledged,
                "still_waiting": wait.still,
            }
            for wait in found[:64]
        ],
    }
    add_network_causes(story, OF_WINDOWS, candidates, words, builder)


def _wait(session: Session, side: int, last: int | None) -> _Wait | None:
    there, back = session.directions[side], session.directions[1 - side]
    if not there.messages:
        return None
    due, late = due_in(session, side), is_late(session, side)
    still = _since(there.waiting_since, last if session.close is None else session.close.time)
    announced = next(iter(back.announced), None)
    smallest = there.smallest_window
    if not late and (smallest is None or announced is None or smallest >= announced):
        return None
    hosts = [host(session.client), host(session.server)]
    fault = delay_fault(session, there.longest_wait_at, there.longest_wait)
    return _Wait(session, hosts[side], hosts[1 - side], there, announced, due, still, late, fault)


def _moments(wait: _Wait) -> tuple[Moment | None, ...]:
    return wait.session.first, wait.there.longest_wait_at, wait.there.waiting_since


def _cause(receiver: str, waits: list[_Wait], words: Phrases) -> Cause:
    """The cause for a host that acknowledges late in one or more sessions; the longest wait comes first."""
    longest = waits[0]
    senders = list(dict.fromkeys(wait.sender for wait in waits))
    text, fault = _text(longest, words), longest.fault
    if len(waits) > 1:
        sessions = count(len(waits), "session")
        text = f"{_slows(longest, listed(senders))} in {sessions}: {_waited(longest, words)}"
    moments = [moment for wait in waits for moment in _moments(wait) if moment is not None]
    return Cause(
        text=text,
        severity="low",
        confidence="likely",
        moments=tuple(moments[:_MOST_MOMENTS]),
        who=(receiver, *senders[:_MOST_MOMENTS]),
        action=f"look at the memory, the disk and the load of {receiver}"
        if fault is None
        else fault_action(fault),
        count=len(waits),
        rules=("SES-SLOW", "SES-ACKLATE", "SES-PARM"),
        kind="slow",
        about=receiver,
        below=below(fault),
        brief=f"messages of {listed(senders)} waited up to {span(longest.there.longest_wait or 0)}",
        connections=tuple(
            connection_of(one.session.client, one.session.server) for one in waits[:_MOST_MOMENTS]
        ),
        layer=None if fault is None else layer_of_fault(fault),
    )


def _since(moment: Moment | None, end: int | None) -> int:
    return 0 if moment is None or moment.time is None or end is None else end - moment.time


def _text(wait: _Wait, words: Phrases) -> str:
    does = f"{wait.receiver} narrows the window of {wait.sender}"
    does = _slows(wait, wait.sender) if wait.late else does
    begins = f"in the session that begins in {words.frame(wait.session.first)}"
    return f"{does} {begins}: {_waited(wait, words)}"


def _slows(wait: _Wait, senders: str) -> str:
    """Who slows the senders down: not the receiver where TCP kept what was sent from it."""
    if wait.fault is None or wait.fault.kind == "window":
        return f"{wait.receiver} slows {senders} down"
    return f"The network slows {senders} down on the way to {wait.receiver}"


def _waited(wait: _Wait, words: Phrases) -> str:
    """A phrase about the waiting time, the window, and the packets that still wait."""
    there = wait.there
    parts = []
    if there.longest_wait is not None:
        agreed = f", where {span(wait.due.after)} is agreed"
        agreed += " for recoverable messages" if wait.due.recoverable else ""
        parts.append(
            f"the message in {words.frame(there.longest_wait_at)} waited {span(there.longest_wait)} for its "
            f"acknowledgment{agreed if wait.late else ''}"
        )
        if wait.fault is not None:
            parts.append(fault_clause(wait.fault))
    full = f"was full {count(there.window_closings, 'time')}" if there.window_closings else ""
    smallest, announced = there.smallest_window, wait.announced
    if smallest is not None and announced is not None and smallest < announced:
        fell = f"the window fell from {announced:,} to {smallest:,}"
        parts.append(f"{fell} and {full}" if full else fell)
    elif full:
        parts.append(f"the window of {there.window_size or 64:,} {full}")
    if there.unacknowledged:
        ends = "when the capture ended" if wait.session.close is None else "when the session was closed"
        many = f"{there.unacknowledged:,} of {count(there.messages, 'message')}"
        parts.append(f"{many} had waited {span(wait.still)} {ends}")
    return "; ".join(parts)
