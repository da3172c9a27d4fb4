"""`PathLosses`: what one vantage point saw and the next one never did, and how long packets took.

The rule kept here: packets that a recording lost are damage of that recording. A message that came when it
was sent again was not lost for good.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Literal, NamedTuple, TypeAlias

import msgspec

from msmq_wire.detection.cause import Cause
from msmq_wire.detection.diagnosis.answer import MOST, AnswerBuilder
from msmq_wire.detection.diagnosis.message_sums import is_taken
from msmq_wire.detection.diagnosis.phrases import Phrases, count, host, listed, quoted, short
from msmq_wire.detection.diagnosis.whereabouts import Loss, Whereabouts, short_points
from msmq_wire.records.queue_names import short_queue
from msmq_wire.sessions import Moment, Story
from msmq_wire.units import SECOND

_MOST_MOMENTS = 64
_MOST_GROUPS = 1024
_NAMED = 3
_MARGIN = SECOND
"""Nanoseconds after the last packet that was lost from which on a recording is said to have run on."""
LostKind: TypeAlias = Literal["message", "acknowledgment", "opening", "answer"]
_KINDS: Mapping[str, LostKind] = {
    "session_ack": "acknowledgment",
    "order_ack": "acknowledgment",
    "final_ack": "acknowledgment",
    "syn": "opening",
    "syn_retransmission": "opening",
    "syn_ack": "answer",
    "establish_connection": "opening",
    "connection_parameters": "opening",
}
"""What is lost with a record, by its type or its event."""
NET_PATH = "NET-PATH"
"""The rule of what was lost between two points."""
_OF_TCP = ("network unanswered", "network resent", "network idle")
"""Causes of what TCP shows of a loss: one place does not show where it was."""
_EXPLAINS: Mapping[LostKind, tuple[str, ...]] = {
    "message": ("unanswered", "late", "unheard", "unopened", *_OF_TCP),
    "acknowledgment": ("unanswered", "late", "unheard", *_OF_TCP),
    "opening": ("unopened", *_OF_TCP),
    "answer": ("unopened", *_OF_TCP),
}
_NOUNS: Mapping[LostKind, str] = {
    "message": "message",
    "acknowledgment": "acknowledgment",
    "opening": "packet that opens a connection",
    "answer": "SYN-ACK",
}
_PLURALS: Mapping[LostKind, str] = {"opening": "packets that open connections"}


class _Key(NamedTuple):
    kind: LostKind
    src: str
    dst: str
    loss: Loss


class LostPackets(msgspec.Struct):
    """What was lost of one kind between two hosts, and between the same places.

    ``count`` messages are lost, ``came`` others came when they were sent again; of all else each packet
    counts. ``names`` are the first messages, ``queues`` those that they are for. ``others`` counts what else
    went the same way after the first of them, and was not seen at these places either; the recordings there
    went on until the time ``until`` (ns), None where that is not known.
    """

    count: int = 0
    came: int = 0
    moments: list[Moment] = []
    first: int | None = None
    last: int | None = None
    names: list[str] = []
    queues: dict[str, None] = {}
    message: int | None = None
    others: int = 0
    until: int | None = None

    def add(self, moment: Moment) -> None:
        """Take the moment of a packet that was lost."""
        if len(self.moments) < _MOST_MOMENTS:
            self.moments.append(moment)
        if moment.time is not None:
            self.first = moment.time if self.first is None else min(self.first, moment.time)
            self.last = moment.time if self.last is None else max(self.last, moment.time)


class PathLosses:
    """What of a story was lost between vantage points; nothing where there is one.

    ``lost_ids`` are the identifiers of the messages that were.
    """

    def __init__(self, story: Story) -> None:
        self._where = Whereabouts(story)
        self._sights = story.point_sights
        self._groups: dict[_Key, LostPackets] = {}
        self.lost_ids: set[str] = set()
        self._lost_ways: dict[tuple[str, str], tuple[int, Loss]] = {}
        if self._sights is None:
            return
        lost: dict[int, tuple[Moment, Loss, str, str]] = {}
        unseen: dict[tuple[str, str], list[tuple[int, frozenset[str]]]] = {}
        for seen, sights in self._sights.partly_seen():
            kind = _KINDS.get(seen.type)
            ends = host(seen.src), host(seen.dst)
            loss = self._where.loss(seen.at, seen.src, seen.dst)
            if loss is None or (kind is None and seen.type != "user_message"):
                if seen.at.time is not None and (ends in unseen or len(unseen) < _MOST_GROUPS):
                    names = [os.path.basename(name) for name, one in sights if one.extent == "none"]
                    unseen.setdefault(ends, []).append((seen.at.time, frozenset(names)))
                continue
            if kind is None:
                lost[seen.at.record] = seen.at, loss, *ends
            else:
                self._add(_Key(kind, *ends, loss), seen.at)
        self._messages(story, lost)
        for key, group in self._groups.items():
            missing = frozenset(map(os.path.basename, key.loss.missing))
            if key.kind == "message" and group.first is not None:
                later = unseen.get((key.src, key.dst), ())
                group.others = sum(time >= group.first and missing <= names for time, names in later)
                if group.count and group.last is not None:
                    self._lost_ways.setdefault((key.src, key.dst), (group.last, key.loss))
                group.until = self._ran_until(key.loss, group)

    def _ran_until(self, loss: Loss, group: LostPackets) -> int | None:
        """Until when the points that did not see the packets are known to have recorded others, in ns."""
        sights = self._sights
        capture = None if sights is None or not group.moments else sights.capture_of(group.moments[0].record)
        if sights is None or capture is None or group.last is None:
            return None
        times = dict(zip(short_points(capture), sights.times.get(capture, ()), strict=False))
        known = [times.get(name) for name in loss.missing]
        until = min(one[1] if one is not None else 0 for one in known)
        return until if until >= group.last + _MARGIN else None

    def _add(self, key: _Key, moment: Moment) -> LostPackets | None:
        group = self._groups.get(key)
        if group is None:
            if len(self._groups) >= _MOST_GROUPS:
                return None
            group = self._groups[key] = LostPackets()
        group.add(moment)
        group.count += key.kind != "message"
        return group

    def _messages(self, story: Story, lost: Mapping[int, tuple[Moment, Loss, str, str]]) -> None:
        lives = story.lives.sent_in(lost) if lost else {}
        known: set[str] = set()
        for record, (moment, loss, src, dst) in lost.items():
            life = lives.get(record)
            if life is not None and life.via == "rpc":
                continue
            acknowledges = life is not None and life.acknowledges is not None
            group = self._add(_Key("acknowledgment" if acknowledges else "message", src, dst, loss), moment)
            if group is None or acknowledges or (life is not None and life.message_id in known):
                continue
            if life is None:
                group.count += 1
                continue
            known.add(life.message_id)
            if is_taken(life) or any(one.record not in lost for one in (life.first, *life.resent_at)):
                group.came += 1
                continue
            group.count += 1
            self.lost_ids.add(life.message_id)
            group.message = life.first.record if group.message is None else group.message
            if len(group.names) < _NAMED:
                group.names.append(quoted(life.label).strip() or short(life.message_id))
            if life.queue and len(group.queues) < _NAMED:
                group.queues[short_queue(life.queue)] = None

    def before(self, moment: Moment, src: str, dst: str) -> Loss | None:
        """The loss of messages that a host had sent to another before a moment; None for none."""
        last, loss = self._lost_ways.get((src, dst), (0, None))
        return loss if moment.time is not None and last <= moment.time else None

    def messages(self, words: Phrases, builder: AnswerBuilder) -> None:
        """Question 5: the messages that were lost."""
        self._say(("message",), words, builder)

    def acknowledgments(self, words: Phrases, builder: AnswerBuilder) -> None:
        """Question 4: the acknowledgments that were lost."""
        self._say(("acknowledgment",), words, builder)

    def openings(self, words: Phrases, builder: AnswerBuilder) -> None:
        """Question 2: the packets of openings that were lost."""
        self._say(("opening", "answer"), words, builder)

    def _say(self, kinds: tuple[LostKind, ...], words: Phrases, builder: AnswerBuilder) -> None:
        groups = [(key, group) for key, group in self._groups.items() if key.kind in kinds]
        groups.sort(key=lambda one: -one[1].count)
        for key, group in groups[:MOST]:
            if group.count:
                builder.say(_text(key, group, words), *group.moments, attention="low")
            if group.came:
                builder.say(_came_text(key, group), *group.moments, attention="info")
        for key, group in groups:
            if group.count:
                builder.add_cause(_cause(key, group))
        if len(groups) > MOST:
            builder.say(f"And packets of {count(len(groups) - MOST, 'more pair')} of hosts were lost so.")

    def facts(self) -> dict[str, object]:
        """The messages that were lost, as data; nothing without vantage points."""
        if self._sights is None:
            return {}
        lost = [
            {
                "from": key.src,
                "to": key.dst,
                "seen_at": list(key.loss.seen),
                "never_at": list(key.loss.missing),
                "messages": group.count,
                "came_again": group.came,
                "first_time": group.first,
                "last_time": group.last,
            }
            for key, group in self._groups.items()
            if key.kind == "message"
        ]
        return {"lost_between_points": lost[:_MOST_MOMENTS]}


def _text(key: _Key, group: LostPackets, words: Phrases) -> str:
    text = f"{_seen(key)}: {_what(key, group)}{_between(group, words)}"
    if group.names:
        text += f": {listed(group.names, group.count)}"
    if group.queues:
        text += f" to {listed(list(group.queues))}"
    text += f" ({words.frames(group.moments)})."
    them = "it" if group.count == 1 else "them"
    if group.others:
        was = "was" if group.others == 1 else "were"
        text += (
            f" After the first of them {count(group.others, 'other packet')} that way {was} not seen there "
        )
        text += "either."
    if group.until is not None:
        many = len(key.loss.missing) > 1
        text += f" The recording{'s' * many} {listed(list(key.loss.missing))} ran on until "
        text += f"{words.clock(group.until // SECOND)}."
    return f"{text} {_MEANS[key.kind].format(src=key.src, dst=key.dst, them=them)}"


_MEANS: Mapping[LostKind, str] = {
    "message": "{src} sent {them}, and something on the way to {dst} dropped {them}.",
    "acknowledgment": "{src} acknowledged, and {dst} does not know of it: it sends its messages again.",
    "opening": "{src} asked, and something on the way to {dst} dropped {them}.",
    "answer": "{src} answered, and something on the way back to {dst} dropped {them}.",
}


def _seen(key: _Key) -> str:
    text = key.loss.text if key.kind == "message" else key.loss.text_at(key.src, key.dst)
    return f"{text[:1].upper()}{text[1:]}"


def _what(key: _Key, group: LostPackets) -> str:
    noun, plural = _NOUNS[key.kind], _PLURALS.get(key.kind, "")
    return f"{count(group.count, noun, plural)} from {key.src} to {key.dst}"


def _between(group: LostPackets, words: Phrases) -> str:
    """When they were sent: ``, between 10:02:03 and 10:02:09``."""
    known = group.first is not None and group.last is not None
    return f", {between(group.first or 0, group.last or 0, words)}" if known else ""


def between(since: int, until: int, words: Phrases) -> str:
    """``between 2026-11-20 10:02:03Z and 10:02:09Z``."""
    first, last = words.clock(since // SECOND), words.clock(until // SECOND)
    if first == last:
        return f"at {first}"
    day, _, clock = last.partition(" ")
    return f"between {first} and {clock if first.startswith(day) else last}"


def _came_text(key: _Key, group: LostPackets) -> str:
    first = "message was" if group.came == 1 else "messages were"
    it = "it" if group.came == 1 else "they"
    return (
        f"{group.came:,} {first} {key.loss.text}, from {key.src} to {key.dst}; {it} came when "
        f"{it} {'was' if group.came == 1 else 'were'} sent again."
    )


def _cause(key: _Key, group: LostPackets) -> Cause:
    what = _what(key, group)
    server = key.dst if key.kind in ("message", "opening") else key.src
    return Cause(
        text=f"{_seen(key)}: {what}",
        severity="low" if key.kind == "acknowledgment" else "medium",
        confidence="certain" if key.loss.certain else "likely",
        moments=tuple(group.moments),
        who=(key.src, key.dst),
        action=key.loss.action,
        count=group.count,
        rules=(NET_PATH,),
        layer="network",
        kind=f"lost_{key.kind}",
        about=server,
        explains=_EXPLAINS[key.kind],
        brief=f"{what} never came there",
        message=group.message,
    )
