"""`MissingAcknowledgments`: acknowledgments that were requested and never came.

The rule kept here: silence is told where the receiver acknowledges other messages of the same sender, and the
capture went on for long enough. A receipt may come as late as somebody reads the queue: it is not missed.
"""

from __future__ import annotations

import msgspec

from msmq_wire.detection.cause import Cause
from msmq_wire.detection.diagnosis.answer import AnswerBuilder
from msmq_wire.detection.diagnosis.phrases import count, host, listed, quoted, short
from msmq_wire.records.coverage import Need
from msmq_wire.sessions import MessageLife, Story
from msmq_wire.units import SECOND

_NEEDS: tuple[Need, ...] = ("both_sides", "whole", "order", "read", "counted")
_ARRIVAL = 1
"""PA: a positive acknowledgment of arrival, [MS-MQMQ] 2.2.20.3."""
_PATIENCE = 60 * SECOND
_MOST = 4096
_NAMED = 10
_LEAST_ACKNOWLEDGED = 2
"""A receiver with so many acknowledged messages is known to acknowledge."""


class _ArrivalRequests(msgspec.Struct):
    """Messages from one host to one queue that requested an acknowledgment of their arrival.

    ``acknowledged`` counts the messages that got one. ``times`` are the times of the others, ``missing`` are
    the first of the others.
    """

    acknowledged: int = 0
    times: list[int] = []
    missing: list[MessageLife] = []


class MissingAcknowledgments:
    """Takes the lives of messages; adds causes for missing acknowledgments of arrival."""

    def __init__(self) -> None:
        self._requests: dict[tuple[str, str, str | None], _ArrivalRequests] = {}

    def feed(self, life: MessageLife) -> None:
        """Take a message."""
        if not life.wanted & _ARRIVAL or life.via != "tcp" or life.about or life.route:
            return
        key = host(life.src), host(life.dst), life.queue
        requests = self._requests.get(key)
        if requests is None:
            if len(self._requests) >= _MOST:
                return
            requests = self._requests[key] = _ArrivalRequests()
        if life.acknowledgments or life.failed:
            requests.acknowledged += 1
        elif life.acknowledged is not None and life.certain and life.first.time is not None:
            requests.times.append(life.first.time)
            if len(requests.missing) < _NAMED:
                requests.missing.append(life)

    def add_causes(self, story: Story, builder: AnswerBuilder) -> None:
        """Add a cause for each queue with missing acknowledgments."""
        if story.left_out.lives or story.last is None:
            # The acknowledgments of messages that were dropped to save memory are unknown.
            return
        until = story.last - _PATIENCE
        for (src, dst, queue), requests in self._requests.items():
            missing = [life for life in requests.missing if (life.first.time or 0) <= until]
            if requests.acknowledged < _LEAST_ACKNOWLEDGED or not missing:
                continue
            number = sum(time <= until for time in requests.times)
            if not builder.was_captured_between(_NEEDS, src, dst, missing[0].first):
                continue
            names = [quoted(life.label).strip() or short(life.message_id) for life in missing]
            total = requests.acknowledged + len(requests.times)
            builder.add_cause(
                Cause(
                    text=f"{number:,} of {count(total, 'message')} from {src} to {queue or 'a queue'} got no "
                    f"acknowledgment from {dst}, though the sender asked for one and the others got "
                    f"theirs: {listed(names, number)}",
                    severity="low",
                    confidence="likely",
                    moments=tuple(life.first for life in missing),
                    who=(dst, src),
                    action=f"look for them in the queue, and in the dead-letter queues of {dst} and {src}",
                    count=number,
                    rules=("MSG-UNTOLD",),
                    message=missing[0].first.record,
                )
            )
