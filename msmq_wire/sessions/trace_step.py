"""`TraceStep`: what a report message says about a traced message, and `Trace`, all that was said about one.

The rule kept here: a report is the word of the queue manager that sent it, and nobody signs it. The text of
its label names a queue manager by one of two readings, so the reporter is always that of the packet.
[MS-MQQB] 1.3.6, 3.1.5.8.9, 3.1.7.1.7
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Literal

import msgspec

from msmq_wire.representation import struct_line
from msmq_wire.sessions.moment import Moment
from msmq_wire.units import SECOND
from msmq_wire.wire.types.guid import GUID


class TraceStep(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A queue manager says that it received a traced message, or that it sent one on.

    ``qm_id`` and ``number`` name the traced message: the first four hexadecimal digits of its queue manager,
    and its MessageID. ``kind``, ``target`` (its queue) and ``next_hop`` (an address) are those of the body,
    ``hops`` is its UserHeader RC by the label, ``computer`` the queue manager in the label, None where that
    is no GUID. ``label_time`` is the text of the label, which has no time zone.

    ``queue_manager`` sent the report, by its own packet. ``sent_time`` (seconds since 1970), ``report_id``
    and ``routed`` are SentTime, identifier and RC of this packet, ``at``, ``src`` and ``dst`` where it was
    seen. ``sure`` is False where the report may be about another message.
    """

    qm_id: str
    number: int
    kind: Literal["received", "sent"]
    queue_manager: GUID
    hops: int
    next_hop: str | None
    target: str
    computer: GUID | None
    label_time: str
    sent_time: int | None
    report_id: str
    routed: int
    at: Moment
    src: str
    dst: str
    sure: bool = True

    __repr__ = struct_line

    @property
    def source(self) -> GUID | None:
        """The queue manager of the traced message, where both readings of the label give the same."""
        named = self.named_source
        if named is not None and named != self.queue_manager:
            return named
        # Who passes a message on counts itself first: only its source sends it with 0.
        at_source = self.kind == "sent" and not self.hops and self._fits(self.queue_manager)
        return self.queue_manager if at_source else None

    @property
    def named_source(self) -> GUID | None:
        """The queue manager in the label, if it has the digits of that of the traced message."""
        return self.computer if self.computer is not None and self._fits(self.computer) else None

    def _fits(self, manager: GUID) -> bool:
        return str(manager).startswith(self.qm_id)

    @property
    def came(self) -> bool:
        """Whether it says that the message came to its queue manager: a source sends it with hop count 0."""
        return self.kind == "received" or bool(self.hops)

    @property
    def reported(self) -> tuple[str, GUID, int, str | None, str]:
        """What it says, whatever brought it."""
        return self.kind, self.queue_manager, self.hops, self.next_hop, self.target

    @property
    def said(self) -> str:
        """What it says in words, with the time by the clock of the queue manager."""
        to = f" to {self.next_hop}" if self.kind == "sent" else ""
        return f"{self.kind} by queue manager {self.queue_manager}{to}{self._time}, hop {self.hops}"

    @property
    def _time(self) -> str:
        if not self.sent_time:
            return ""
        sent = datetime.fromtimestamp(self.sent_time, UTC)
        seen = None if self.at.time is None else datetime.fromtimestamp(self.at.time // SECOND, UTC)
        same_day = seen is not None and seen.date() == sent.date()
        return f" at {sent:%H:%M:%S} UTC" if same_day else f" at {sent:%Y-%m-%d %H:%M:%S} UTC"


class Trace(msgspec.Struct, frozen=True):
    """The reports about the messages that have four digits of their queue manager and a number in common.

    ``captured`` are the queue managers of those that were captured and are traced.
    """

    qm_id: str
    number: int
    captured: tuple[GUID, ...]
    steps: tuple[TraceStep, ...]

    __repr__ = struct_line

    @property
    def sources(self) -> tuple[GUID, ...]:
        """The queue managers whose messages these may be, as far as anything says it."""
        sure = (step.source for step in self.steps)
        found = dict.fromkeys((*self.captured, *(one for one in sure if one is not None)))
        if not found:
            found = dict.fromkeys(one for step in self.steps if (one := step.named_source) is not None)
        return tuple(found)

    def of(self, manager: GUID | None) -> tuple[TraceStep, ...]:
        """The steps of the message of a queue manager; not ``sure`` where they may be those of another."""
        alone = len(self.sources) <= 1
        return tuple(
            step if alone or step.source is not None else msgspec.structs.replace(step, sure=False)
            for step in self.steps
            if step.source is None or step.source == manager
        )


def passed_on(step: TraceStep, steps: Iterable[TraceStep]) -> bool:
    """Whether who received the message sent it on. A routing server counts itself before it reports."""
    there = step.queue_manager, step.hops
    return any(one.kind == "sent" and (one.queue_manager, one.hops) == there for one in steps)


def hops_on_arrival(step: TraceStep, steps: Iterable[TraceStep]) -> int:
    """The hop count with which who received the message got it."""
    return step.hops - passed_on(step, steps)


def in_order_of_path(steps: Iterable[TraceStep]) -> list[TraceStep]:
    """Different steps from the source to the destination, in whatever order their reports came.

    A routing server counts itself when it receives a message, the destination does not: of those with one
    count, who received it and sent it on comes first, and the queue manager of the queue last.
    """
    different = {step.reported: step for step in reversed(list(steps))}

    def place(step: TraceStep) -> tuple[int, int, bool, int, int]:
        turn = 1 if step.kind == "sent" else 0 if passed_on(step, different.values()) else 2
        arrived = str(step.queue_manager) in step.target.lower()
        return step.hops, turn, arrived, step.sent_time or 0, step.at.record

    return sorted(different.values(), key=place)
