"""What became of the messages: one pass over their lives, by queue and as a whole."""

from __future__ import annotations

from collections import Counter

import msgspec

from msmq_wire.report.buckets import Durations
from msmq_wire.sessions import MessageLife, Story

__all__ = ["Fates", "QueueLine", "fates_of"]

_MOST_QUEUES = 5000
_MOST_LIVES = 200_000
"""Lives that are looked at: of more messages every second, third... is."""


class QueueLine(msgspec.Struct):
    """What went to one queue; ``outcomes`` counts by `MessageLife.outcome`."""

    messages: int = 0
    bytes: int = 0
    transactional: int = 0
    recoverable: int = 0
    resends: int = 0
    outcomes: Counter[str] = msgspec.field(default_factory=Counter)


class Fates(msgspec.Struct):
    """All queues and outcomes; ``queues_left_out`` counts messages to queues beyond the first 5,000.

    ``acknowledged`` is the time from a message to the session ack or the HTTP response that covers it,
    ``settled`` that to the first OrderAck, final or administration acknowledgment. ``every`` is 1, or n where
    only each n-th message was looked at.
    """

    queues: dict[str, QueueLine] = msgspec.field(default_factory=dict)
    queues_left_out: int = 0
    outcomes: Counter[str] = msgspec.field(default_factory=Counter)
    acknowledged: Durations = msgspec.field(default_factory=Durations)
    settled: Durations = msgspec.field(default_factory=Durations)
    messages: int = 0
    resends: int = 0
    every: int = 1


def fates_of(story: Story, most: int = _MOST_LIVES) -> Fates:
    """Look at the messages of a story, at most ``most`` of them."""
    every = max(1, -(-len(story.lives) // most))
    fates = Fates(messages=len(story.lives), every=every)
    for life in story.lives if every == 1 else (story.lives[at] for at in range(0, len(story.lives), every)):
        fates.outcomes[life.outcome] += 1
        fates.resends += life.resends
        _queue(fates, life)
        _latency(fates, life)
    return fates


def _queue(fates: Fates, life: MessageLife) -> None:
    name = life.queue or ""
    line = fates.queues.get(name)
    if line is None:
        if len(fates.queues) >= _MOST_QUEUES:
            fates.queues_left_out += 1
            return
        line = fates.queues[name] = QueueLine()
    line.messages += 1
    line.bytes += life.size or 0
    line.transactional += life.delivery == "transactional"
    line.recoverable += life.delivery == "recoverable"
    line.resends += life.resends
    line.outcomes[life.outcome] += 1


def _latency(fates: Fates, life: MessageLife) -> None:
    start = life.first.time
    if start is None:
        return
    covered = life.acknowledged or life.accepted
    if covered is not None and covered.time is not None:
        fates.acknowledged.add(covered.time - start)
    moments = [one.at.time for one in life.acknowledgments]
    if life.order_ack is not None:
        moments.append(life.order_ack.time)
    times = [time for time in moments if time is not None]
    if times:
        fates.settled.add(min(times) - start)
