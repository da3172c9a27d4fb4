"""`Whereabouts`: where something was seen of a capture that several vantage points recorded, in words.

The rule kept here: what was not seen at a point is lost on its way only where that point could not have
missed it, and is not nearer the sender than a point that saw it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple

from msmq_wire.records.endpoint import host_of
from msmq_wire.records.joined_capture import JoinedCapture
from msmq_wire.records.seen_at import point_names
from msmq_wire.sessions import Hop, MessageLife, Moment, Story


class Loss(NamedTuple):
    """What one or more points saw, and others beyond them did not.

    ``seen`` and ``missing`` are the names of these points. ``certain`` says that their order is known,
    ``two`` that there are no other points.
    """

    seen: tuple[str, ...]
    missing: tuple[str, ...]
    certain: bool
    two: bool = True

    @property
    def text(self) -> str:
        """``seen at the sender (a.pcap), never at the receiver (b.pcap)``."""
        seen, missing = _joined(self.seen), _joined(self.missing)
        if self.certain and self.two:
            return f"seen at the sender ({seen}), never at the receiver ({missing})"
        return f"seen at {seen}, never at {missing}"

    def text_at(self, src: str, dst: str) -> str:
        """The same for what may be sent by a receiver: ``seen at 192.0.2.10 (b.pcap), never at ...``."""
        if self.certain and self.two:
            return f"seen at {src} ({self.seen[0]}), never at {dst} ({self.missing[0]})"
        return self.text

    @property
    def between(self) -> str:
        """The places between which it was lost."""
        return f"the places of {_joined((*self.seen, *self.missing))}"

    @property
    def action(self) -> str:
        """What to do about it."""
        return f"look at what lies between {self.between}: firewalls, VPN, MTU, cables"


class Whereabouts:
    """Says where records of a story were seen; nothing where there is one vantage point."""

    def __init__(self, story: Story) -> None:
        self._sights = story.point_sights

    def loss(self, moment: Moment | None, src: str, dst: str) -> Loss | None:
        """The loss of what was sent at a moment from one end to another; None where none is known."""
        if self._sights is None or moment is None:
            return None
        capture, sights = self._sights.capture_of(moment.record), self._sights.of(moment.record)
        if capture is None or not sights:
            return None
        seen = [number for number, (_, sight) in enumerate(sights) if sight.extent == "whole"]
        absent = [number for number, (_, sight) in enumerate(sights) if sight.reason == "absent"]
        ends = host_of(src), host_of(dst)
        orders = {
            number: [capture.transits.order(*ends, other, number) for other in seen] for number in absent
        }
        # A point nearer the sender was passed by: on another path, or its recording missed it.
        missing = [number for number in absent if -1 not in orders[number]]
        if not seen or not missing:
            return None
        names = short_points(capture)
        return Loss(
            tuple(names[number] for number in seen),
            tuple(names[number] for number in missing),
            all(1 in orders[number] for number in missing),
            len(names) == 2,
        )

    def arrival(self, moment: Moment, src: str, dst: str) -> str:
        """The point nearest the receiver that saw what was sent at a moment; empty where nobody knows."""
        capture = None if self._sights is None else self._sights.capture_of(moment.record)
        if self._sights is None or capture is None or self._sights.more or self._sights.of(moment.record):
            return ""
        names, ends = short_points(capture), (host_of(src), host_of(dst))
        for number, name in enumerate(names):
            others = [other for other in range(len(names)) if other != number]
            if others and all(capture.transits.order(*ends, other, number) == 1 for other in others):
                return name
        return ""

    def loss_of(self, life: MessageLife) -> Loss | None:
        """The loss of a message on the last part of its way; None where it was seen to come once."""
        last, moments = _last_way(life)
        losses = [self.loss(one, last.src, last.dst) for one in moments]
        return losses[-1] if None not in losses else None

    def arrival_of(self, life: MessageLife) -> str:
        """The point nearest the receiver that saw a message on the last part of its way."""
        last, moments = _last_way(life)
        return next(filter(None, (self.arrival(one, last.src, last.dst) for one in moments)), "")


def _last_way(life: MessageLife) -> tuple[MessageLife | Hop, tuple[Moment, ...]]:
    """The last part of the way of a message, and when it was sent on it."""
    if life.route:
        return life.route[-1], (life.route[-1].at,)
    return life, (life.first, *life.resent_at)


def short_points(capture: JoinedCapture) -> tuple[str, ...]:
    """The names of the points of a capture without their folders, where these do not tell them apart."""
    names = point_names(capture)
    short = tuple(map(os.path.basename, names))
    return short if len(set(short)) == len(names) else names


def _joined(names: Sequence[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last
