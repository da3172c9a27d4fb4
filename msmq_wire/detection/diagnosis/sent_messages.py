"""Question 3: who sent what to which queue.

The rule kept here: messages of one way to one queue are one sentence; counters and the first few names of
each are kept. What time a message had is told by the clock of its sender, where that is known.
"""

from __future__ import annotations

from ipaddress import ip_address
from typing import TypeVar

import msgspec

from msmq_wire.detection.diagnosis.answer import MOST, AnswerBuilder
from msmq_wire.detection.diagnosis.message_sums import MessageSums
from msmq_wire.detection.diagnosis.phrases import (
    ASK,
    Phrases,
    count,
    host,
    listed,
    seconds_text,
)
from msmq_wire.detection.diagnosis.sender_clocks import add_clocks
from msmq_wire.detection.finding import Connection, connection_of
from msmq_wire.detection.folding import Fold
from msmq_wire.sessions import MessageLife, Moment, Story
from msmq_wire.sessions.clocks import AHEAD, is_time
from msmq_wire.wire.headers.base_header import INFINITE

Name = TypeVar("Name", str, int)

_MOST_GROUPS = 1024
_MOST_NAMES = 16
_MOST_SHAPES = 64
_DIRECT = {
    "OS": "computer name",
    "TCP": "IP address",
    "SPX": "SPX address",
    "HTTP": "URL",
    "HTTPS": "URL",
}


class _Group(msgspec.Struct):
    """Messages with one carrier and delivery to one queue."""

    first: Moment
    last: Moment
    count: int = 0
    sizes: tuple[int, int] | None = None
    sent: tuple[int, int] | None = None
    senders: dict[str, None] = {}
    receivers: dict[str, None] = {}
    labels: dict[str, None] = {}
    priorities: dict[int, None] = {}
    reach: dict[int, None] = {}
    receive: dict[int, None] = {}
    shapes: set[tuple[object, ...]] = set()
    connections: dict[Connection, None] = {}


GroupKey = tuple[str | None, str, str | None, str]
"""Queue, carrier, delivery, and the sender if its clock is wrong."""


class SentSums:
    """Takes lives; keeps messages by queue, carrier and delivery, and counts messages of further groups."""

    def __init__(self) -> None:
        self.groups: dict[GroupKey, _Group] = {}
        self.ungrouped = 0

    def feed(self, life: MessageLife) -> None:
        """Take a message; acknowledgments and reports are ignored."""
        if life.about:
            return
        astray = life.clock_offset is not None and abs(life.clock_offset) > AHEAD
        key = (life.queue, life.via, life.delivery, host(life.src) if astray else "")
        group = self.groups.get(key)
        if group is None:
            if len(self.groups) >= _MOST_GROUPS:
                self.ungrouped += 1
                return
            group = self.groups[key] = _Group(first=life.first, last=life.first)
        group.count += 1
        group.last = life.first
        group.sizes = _reach(group.sizes, life.size)
        group.sent = _reach(group.sent, life.sent_time if is_time(life.sent_time, life.first.time) else None)
        if life.label:
            _keep(group.labels, life.label)
        shape = (life.src, life.dst, life.priority, life.time_to_reach_queue, life.time_to_be_received)
        # Most are as others before.
        if shape in group.shapes:
            return
        if len(group.shapes) < _MOST_SHAPES:
            group.shapes.add(shape)
        if len(group.connections) < _MOST_NAMES:
            group.connections[connection_of(life.src, life.dst)] = None
        _keep(group.senders, host(life.src))
        _keep(group.receivers, host(life.dst))
        if life.priority is not None:
            _keep(group.priorities, life.priority)
        if life.time_to_reach_queue is not None:
            _keep(group.reach, life.time_to_reach_queue)
        if life.time_to_be_received is not None:
            _keep(group.receive, life.time_to_be_received)


def _keep(names: dict[Name, None], name: Name) -> None:
    if name not in names and len(names) < _MOST_NAMES:
        names[name] = None


def _reach(span_: tuple[int, int] | None, value: int | None) -> tuple[int, int] | None:
    if value is None or (span_ is not None and span_[0] <= value <= span_[1]):
        return span_
    return (value, value) if span_ is None else (min(span_[0], value), max(span_[1], value))


def sent(
    sendings: SentSums,
    sums: MessageSums,
    story: Story,
    candidates: Fold,
    words: Phrases,
    builder: AnswerBuilder,
) -> None:
    """Question 3, [MS-MQMQ] 2.2.19.1 to 2.2.19.3."""
    groups = sorted(sendings.groups.items(), key=lambda one: -one[1].count)
    for (queue, via, delivery, _), group in groups[:MOST]:
        text = _group_text(queue, via, delivery, group, words)
        hostile = [one for one in group.connections if candidates.hostile(*one)]
        if hostile:
            what = "A queue manager does not send such messages"
            if len(hostile) < len(group.connections):
                what = "Some of these messages are not what a queue manager sends"
            text += f" {what}: {ASK.format(13)}."
        builder.say(text, group.first, group.last)
    if len(groups) > MOST or sendings.ungrouped:
        rest = sum(group.count for _, group in groups[MOST:]) + sendings.ungrouped
        builder.say(f"And {count(rest, 'message')} to other queues: messages lists them.")
    clocks = list(story.clocks)
    if builder.statements:
        add_clocks(story, sums, builder)
    if sums.reports:
        builder.say(f"{count(sums.reports, 'report message')} about traced messages: why shows their paths.")
    builder.facts = {
        "messages": sums.total,
        "acknowledgments": sums.acknowledgments,
        "reports": sums.reports,
        "clocks": [
            {
                "host": clock.host,
                "queue_manager": None if clock.queue_manager is None else str(clock.queue_manager),
                "offset": clock.offset,
                "drift": round(clock.drift, 3),
                "pairs": clock.pairs,
                "agreeing": clock.agreeing,
                "sure": clock.sure,
            }
            for clock in clocks[:64]
        ],
        "queues": [
            {"queue": queue, "via": via, "delivery": delivery, "messages": group.count, "sizes": group.sizes}
            for (queue, via, delivery, _), group in groups[:64]
        ],
    }


_CARRIED = {"tcp": "", "rpc": " (read or sent by a call)", "http": " over HTTP"}


def _group_text(queue: str | None, via: str, delivery: str | None, group: _Group, words: Phrases) -> str:
    to = queue or "a queue that the packet does not name"
    ends = "" if via == "rpc" else f" from {listed(list(group.senders))} to {listed(list(group.receivers))}"
    parts = [f"{count(group.count, 'message')} for {to}{_CARRIED.get(via, '')}{ends}", delivery or ""]
    if group.priorities:
        noun = "priority" if len(group.priorities) == 1 else "priorities"
        parts.append(f"{noun} {listed([str(one) for one in sorted(group.priorities)])}")
    if group.sizes is not None:
        low, high = group.sizes
        each = " each" if group.count > 1 else ""
        parts.append(count(low, "byte") + each if low == high else f"{low:,} to {count(high, 'byte')}")
    text = ", ".join(part for part in parts if part)
    if group.labels:
        labels = [f'"{label if len(label) <= 40 else label[:39] + "…"}"' for label in group.labels]
        most = 3
        more = "" if len(labels) <= most else " and others"
        shown = ", ".join(labels[:most]) + more
        text += f"; {'label' if len(labels) == 1 else 'labels'} {shown}"
    else:
        text += "; no label"
    limits = [
        part
        for part in (
            _limit("allowed to reach the queue", group.reach),
            _limit("allowed to be received", group.receive),
        )
        if part
    ]
    text += f"; {' and '.join(limits)}" if limits else "; no time limit"
    if group.sent is not None:
        low, high = group.sent
        until = "" if low == high else f" to {words.clock(high)}"
        text += f"; sent {words.clock(low)}{until} by the sender's clock"
    first, last = words.frame(group.first), words.frame(group.last)
    text += f"; {first}." if group.count == 1 else f"; first {first}, last {last}."
    return text + _direct(queue)


def _limit(what: str, limits: dict[int, None]) -> str:
    finite = sorted(limit for limit in limits if limit != INFINITE)
    if not finite:
        return ""
    shown = listed([seconds_text(limit) for limit in finite])
    return f"{shown} {what}"


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def _direct(queue: str | None) -> str:
    kind, equals, rest = (queue or "").partition("=")
    if kind != "DIRECT" or not equals:
        return ""
    protocol, _, place = rest.partition(":")
    protocol = protocol.upper()
    if protocol == "OS" and _is_address(place.partition("\\")[0]):
        return " OS: in the queue name is for a computer name, and an IP address follows it."
    return f" The sender addressed the host by {_DIRECT[protocol]}." if protocol in _DIRECT else ""
