"""`MissingAcknowledgments`: acknowledgments that senders asked for and that never came.

The rule kept here: silence is told where the receiver acknowledges other messages of the same sender, and the
capture went on for long enough. A receipt may come as late as somebody reads the queue: it is not missed.
"""

from __future__ import annotations

import msgspec

from msmq_wire.findings.cause import Cause
from msmq_wire.findings.diagnosis.answer import AnswerBuilder
from msmq_wire.findings.diagnosis.phrases import count, host, listed, quoted, short
from msmq_wire.records.coverage import Need
from msmq_wire.sessions import MessageLife, Story
from msmq_wire.units import SECOND

_NEEDS: tuple[Need, ...] = ("both_sides", "whole", "order", "read", "counted")
_ARRIVAL = 1
"""PA: a positive acknowledgment of arrival, [MS-MQMQ] 2.2.20.3."""
_PATIENCE = 60 * SECOND
_MOST = 4096
_NAMED = 10
_TOLD = 2
"""Acknowledged messages from which on a receiver is known to acknowledge."""


class _Asked(msgspec.Struct):
    """Messages from one host to another that asked for word of their arrival.

    ``reported`` counts those that got it, ``times`` are those of the others, ``silent`` the first of these.
    """

    reported: int = 0
    times: list[int] = []
    silent: list[MessageLife] = []


class MissingAcknowledgments:
    """Takes the lives of messages; says which of them got no word of their arrival."""

    def __init__(self) -> None:
        self._asked: dict[tuple[str, str, str | None], _Asked] = {}

    def feed(self, life: MessageLife) -> None:
        """Take a message."""
        if not life.wanted & _ARRIVAL or life.via != "tcp" or life.acknowledges is not None or life.route:
            return
        key = host(life.src), host(life.dst), life.queue
        asked = self._asked.get(key)
        if asked is None:
            if len(self._asked) >= _MOST:
                return
            asked = self._asked[key] = _Asked()
        if life.acknowledgments or life.failed:
            asked.reported += 1
        elif life.acknowledged is not None and life.certain and life.first.time is not None:
            asked.times.append(life.first.time)
            if len(asked.silent) < _NAMED:
                asked.silent.append(life)

    def add_causes(self, story: Story, builder: AnswerBuilder) -> None:
        """Name the causes."""
        if story.left_out.lives or story.last is None:
            # What came for a message that was dropped to save memory nobody knows.
            return
        until = story.last - _PATIENCE
        for (src, dst, queue), asked in self._asked.items():
            silent = [life for life in asked.silent if (life.first.time or 0) <= until]
            if asked.reported < _TOLD or not silent:
                continue
            number = sum(time <= until for time in asked.times)
            if not builder.was_captured_between(_NEEDS, src, dst, silent[0].first):
                continue
            names = [quoted(life.label).strip() or short(life.message_id) for life in silent]
            total = asked.reported + len(asked.times)
            builder.add_cause(
                Cause(
                    text=f"{number:,} of {count(total, 'message')} from {src} to {queue or 'a queue'} got no "
                    f"acknowledgment from {dst}, though the sender asked for one and the others got "
                    f"theirs: {listed(names, number)}",
                    severity="low",
                    confidence="likely",
                    moments=tuple(life.first for life in silent),
                    who=(dst, src),
                    action=f"look for them in the queue, and in the dead-letter queues of {dst} and {src}",
                    count=number,
                    rules=("MSG-UNTOLD",),
                    message=silent[0].first.record,
                )
            )
