"""Question 14: whether messages were received or only stored, and why senders still keep them.

The rule kept here: a sender forgets an express message when a SessionHeader covers it, a recoverable one when
a bit says that it is on disk, a transactional one when an OrderAck covers it, too; with JN or JP it then
waits for a FinalAck, which comes when the message leaves its queue. [MS-MQQB] 3.1.5.5 to 3.1.5.7, 3.1.7.2.2
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, TypeAlias

import msgspec

from msmq_wire.detection.cause import Cause
from msmq_wire.detection.diagnosis.answer import MOST, AnswerBuilder
from msmq_wire.detection.diagnosis.claims import Fact
from msmq_wire.detection.diagnosis.message_sums import is_taken
from msmq_wire.detection.diagnosis.phrases import Phrases, count, host, listed, short, span
from msmq_wire.detection.overdue import RESENDS, NextSessions
from msmq_wire.records.coverage import Need
from msmq_wire.sessions import MessageAcknowledgment, MessageLife, Story, class_words
from msmq_wire.sessions.outcomes import TIMEOUTS
from msmq_wire.units import SECOND

_NEEDS: tuple[Need, ...] = ("opening", "both_sides", "whole", "order", "to_source", "counted", "in_time")
"""What a capture must hold between two hosts to show that no acknowledgment came."""

_MOST_GROUPS = 1024
_MOST_CLAIMS = 1024
_ACK_RECEIVE = 0x4000
_PR, _FA = 1 << 1, 1 << 1
"""Bits in MessagePropertiesHeader and in TransactionHeader."""
_BY = {
    "final_ack": "a FinalAck",
    "administration_ack": "an administration acknowledgment",
    "receipt": "an SRMP receipt",
    "read": "a remote read",
}

State: TypeAlias = Literal["session", "disk", "order", "final", "received", "refused", "asked", "gone"]
"""Why the sender keeps a message: a missing session acknowledgment, acknowledgment from disk, OrderAck or
FinalAck. Otherwise: it was received or refused, or the sender dropped it after requesting an acknowledgment
of
its receipt (``asked``) or without (``gone``)."""
_STATES: tuple[State, ...] = ("session", "disk", "order", "final", "received", "refused", "asked", "gone")
_KEPT = _STATES[:4]
_OVER: tuple[State, ...] = ("received", "refused")
_ACK_DELAY = 10 * SECOND
"""Half of AckTimeout; a receiver may wait so long with its acknowledgment. [MS-MQQB] 3.1.5.8.2"""
_RESEND_DELAY: dict[State, int] = {"order": RESENDS}
"""The additional time until a sender resends a message."""


class _Group(msgspec.Struct):
    """Messages of one sender to one queue with one state; ``by`` is the acknowledgment that shows it."""

    first: MessageLife
    by: MessageAcknowledgment | None
    count: int = 0


GroupKey: TypeAlias = tuple[State, str | None, str, str, bool, bool, str, int]


class RetentionSums:
    """Takes lives: counts them by state, queue, hosts and requested acknowledgments."""

    def __init__(self) -> None:
        self.groups: dict[GroupKey, _Group] = {}
        self.states: dict[State, int] = dict.fromkeys(_STATES, 0)
        self.uncertain = 0
        self.claims: list[tuple[Fact, str]] = []

    def feed(self, life: MessageLife) -> None:
        """Take a message; only senders over TCP keep messages."""
        if life.via != "tcp" or life.about:
            return
        state, by = _state(life)
        if state is None:
            return
        self.states[state] += 1
        if state in _KEPT:
            self.uncertain += not life.certain
            if len(self.claims) < _MOST_CLAIMS and not life.twin:
                self.claims.append(("kept", life.message_id))
        kind = "" if state not in _OVER else "read" if by is None else by.kind
        journals = life.delivery == "transactional"
        asked = life.dead_letter and journals, life.journal and journals
        class_ = life.nack_class or 0
        key = (state, life.queue, host(life.src), host(life.dst), *asked, kind, class_)
        group = self.groups.get(key)
        if group is None:
            if len(self.groups) >= _MOST_GROUPS:
                return
            group = self.groups[key] = _Group(life, by)
        group.count += 1


def _state(life: MessageLife) -> tuple[State | None, MessageAcknowledgment | None]:
    """The state of a message, with the acknowledgment that shows it."""
    if life.outcome == "received":
        return "received", _acknowledgment_of_class(life, _ACK_RECEIVE)
    if life.failed:
        by = _acknowledgment_of_class(life, life.nack_class)
        # The sender acts on a FinalAck; question 5 covers the rest.
        return ("refused", by) if by is not None and by.kind == "final_ack" else (None, None)
    if not is_taken(life):
        return "session", None
    transactional = life.delivery == "transactional"
    if transactional and life.order_ack is None:
        return "order", None
    if transactional and (life.journal or life.dead_letter):
        return "final", None
    if life.delivery == "recoverable" and life.stored is None and not life.acknowledgments:
        return "disk", None
    asked = life.wanted & _PR or life.transaction & _FA
    return ("asked" if asked else "gone"), None


def _acknowledgment_of_class(life: MessageLife, class_: int | None) -> MessageAcknowledgment | None:
    return next((one for one in life.acknowledgments if one.message_class == class_), None)


def kept(sums: RetentionSums, words: Phrases, story: Story, builder: AnswerBuilder) -> None:
    """Question 14, [MS-MQQB] 3.1.7.2."""
    now, following = story.last, NextSessions(story)
    builder.facts = {"messages": sum(sums.states.values())} | {name: sums.states[name] for name in _STATES}
    for fact, message in sums.claims:
        builder.claim(fact, message)
    if not any(number for state, number in sums.states.items() if state != "gone"):
        return
    ranked = sorted(sums.groups.items(), key=lambda one: (_STATES.index(one[0][0]), -one[1].count))
    for key, group in ranked[:MOST]:
        by = None if group.by is None else group.by.at
        # What was not acknowledged, or was refused, questions 4 and 5 tell at medium.
        refused = key[0] == "refused" and key[-1] not in TIMEOUTS
        waited = refused or (
            key[0] in _KEPT
            and _waited(group, now) >= _ACK_DELAY + _RESEND_DELAY.get(key[0], 0)
            and not (key[0] == "session" and following.may_come(group.first.session, group.first.src))
            and builder.was_captured_between(_NEEDS, key[2], key[3], group.first.first)
        )
        text = _text(key, group, words, now)
        builder.say(text, group.first.first, by, attention="low" if waited else None)
        if waited and key[0] == "final":
            builder.add_cause(
                Cause(
                    text=text.removesuffix("."),
                    severity="low",
                    confidence="likely",
                    moments=(group.first.first,),
                    who=key[2:4],
                    action="check whether the application that reads this queue runs and keeps up",
                    count=group.count,
                    rules=("MSG-WAITS",),
                    message=group.first.first.record,
                )
            )
    rest = builder.facts["messages"] - sum(group.count for _, group in ranked[:MOST])
    if rest:
        builder.say(f"And {count(rest, 'message')} for other queues.")
    if sums.uncertain:
        builder.add_caveats(
            f"acknowledgments of {count(sums.uncertain, 'message')} are doubtful: bytes are missing"
        )


def _text(key: GroupKey, group: _Group, words: Phrases, now: int | None) -> str:
    state, queue, src, dst, *_ = key
    text = f"{count(group.count, 'message')} for {queue or 'a queue that is not known'}"
    said = "".join(_said(key, group, src, dst, words))
    if state in _OVER:
        return f"{text} {said}"
    several = group.count > 1
    if state == "final":
        text = f"{src} keeps its {'copies' if several else 'copy'} of {text}: {said}"
    else:
        text = f"{src} has to keep {text}: {said}" if state in _KEPT else f"{text} {said}"
    first = group.first.first
    text += f"; {'first ' if several else ''}{short(group.first.message_id)} in {words.frame(first)}"
    if state in _KEPT:
        text += f", {span(_waited(group, now))} before the capture ends"
    return f"{text}."


def _waited(group: _Group, now: int | None) -> int:
    since = group.first.first.time
    return 0 if now is None or since is None else now - since


def _said(key: GroupKey, group: _Group, src: str, dst: str, words: Phrases) -> Iterator[str]:
    state, _, _, _, dead_letter, journal, kind, class_ = key
    one = group.count == 1
    it, they, their, are = ("it", "it", "its", "is") if one else ("them", "they", "their", "are")
    match state:
        case "session":
            yield f"the capture shows no session acknowledgment for {it}. Unless {dst} acknowledges {it}, "
            yield f"{src} sends {it} again in the next session"
        case "disk":
            yield f"{they} {are} acknowledged, but the capture does not show that {dst} stored {it} on disk. "
            yield f"{dst} has to store {it} and to confirm that"
        case "order":
            yield f"no OrderAck covers {it}. The destination has to put {it} into {their} queue in order, "
            yield f"and {src} sends {it} again until an OrderAck comes"
        case "final":
            asked = listed(["dead-lettering (JN)"] * dead_letter + ["journaling (JP)"] * journal)
            yield f"{they} {'asks' if one else 'ask'} for {asked}, and the capture shows no "
            yield f"FinalAck, which would say that {they} left that queue. {'It' if one else 'They'} reached "
            yield f"it (OrderAck): now an application has to receive {it}"
        case "received":
            yield f"{'was' if one else 'were'} received: {_BY[kind]} shows it in {_at(group, words)}."
            yield f" Its sender puts {it} into its journal." if journal else ""
        case "refused":
            yield f"{'was' if one else 'were'} not received: {_BY[kind]} says in {_at(group, words)} "
            yield f"that {class_words(class_)} (class 0x{class_:04x})."
            yield f" Its sender puts {it} into its transactional dead-letter queue." if dead_letter else ""
        case "asked":
            yield f"left the outgoing queue of {src}, but the acknowledgment of {their} receipt that was "
            yield "asked for was not captured"
        case _:
            yield f"left the outgoing queue of {src} and asked for no acknowledgment of {their} receipt"


def _at(group: _Group, words: Phrases) -> str:
    """The frame that shows the state of the first message."""
    at = group.first.received if group.by is None else group.by.at
    return f"{words.frame(at)}{'' if group.count == 1 else ' (for the first of them)'}"
