"""`OutcomeTotals`: outcomes of messages, counted by queue and in total."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import msgspec

from msmq_wire.report.buckets import Durations
from msmq_wire.report.wording import host_of
from msmq_wire.sessions import MessageLife

_MOST_QUEUES = 5000
_MOST_SENDERS = 64
_MOST_LIVES = 200_000
"""Lives that are looked at: of more messages every second, third... is."""


class QueueLine(msgspec.Struct):
    """What went to one queue; ``outcomes`` counts by `MessageLife.outcome`.

    ``senders`` are the hosts that it came from, the first 64 of them.
    """

    messages: int = 0
    bytes: int = 0
    transactional: int = 0
    recoverable: int = 0
    resends: int = 0
    outcomes: Counter[str] = msgspec.field(default_factory=Counter)
    senders: dict[str, None] = msgspec.field(default_factory=dict)


class OutcomeTotals(msgspec.Struct):
    """All queues and outcomes; ``queues_left_out`` counts messages to queues beyond the first 5,000.

    ``acknowledged`` is the time from a message to the session ack or the HTTP response that covers it,
    ``settled`` that to the first OrderAck, final or administration acknowledgment. ``acknowledgments`` counts
    those of ``messages`` that acknowledge others, ``reports`` those that report on others, ``reported`` those
    that only reports tell of. ``every`` is 1, or n where only each n-th message was looked at.
    """

    queues: dict[str, QueueLine] = msgspec.field(default_factory=dict)
    queues_left_out: int = 0
    outcomes: Counter[str] = msgspec.field(default_factory=Counter)
    acknowledged: Durations = msgspec.field(default_factory=Durations)
    settled: Durations = msgspec.field(default_factory=Durations)
    messages: int = 0
    acknowledgments: int = 0
    reports: int = 0
    reported: int = 0
    resends: int = 0
    every: int = 1

    def take(self, life: MessageLife) -> None:
        """Count a message."""
        self.messages += 1
        self._look(life)

    def _look(self, life: MessageLife) -> None:
        if life.via == "report":
            self.reported += 1
            return
        if life.about:
            self.acknowledgments += life.acknowledges is not None
            self.reports += bool(life.reports_on)
            return
        self.outcomes[life.outcome] += 1
        self.resends += life.resends
        _queue(self, life)
        _latency(self, life)

    def look_at(self, lives: Sequence[MessageLife], most: int = _MOST_LIVES) -> None:
        """Count all of these, and look at ``most`` of them at most; at all if others were counted before."""
        self.every = 1 if self.messages else max(1, -(-len(lives) // most))
        self.messages += len(lives)
        for life in lives if self.every == 1 else (lives[at] for at in range(0, len(lives), self.every)):
            self._look(life)


def outcome_text(life: MessageLife) -> str:
    """What became of a message, and how often it was sent."""
    return f"{life.outcome}, sent {life.resends + 1} times" if life.resends else life.outcome


def _queue(outcome_totals: OutcomeTotals, life: MessageLife) -> None:
    name = life.queue or ""
    line = outcome_totals.queues.get(name)
    if line is None:
        if len(outcome_totals.queues) >= _MOST_QUEUES:
            outcome_totals.queues_left_out += 1
            return
        line = outcome_totals.queues[name] = QueueLine()
    line.messages += 1
    line.bytes += life.size or 0
    line.transactional += life.delivery == "transactional"
    line.recoverable += life.delivery == "recoverable"
    line.resends += life.resends
    line.outcomes[life.outcome] += 1
    # What only a call showed came from where it was read.
    if life.via != "rpc" and len(line.senders) < _MOST_SENDERS:
        line.senders[host_of(life.src)] = None


def _latency(outcome_totals: OutcomeTotals, life: MessageLife) -> None:
    start = life.first.time
    if start is None:
        return
    covered = life.acknowledged or life.accepted
    if covered is not None and covered.time is not None:
        outcome_totals.acknowledged.add(covered.time - start)
    moments = [one.at.time for one in life.acknowledgments]
    if life.order_ack is not None:
        moments.append(life.order_ack.time)
    times = [time for time in moments if time is not None]
    if times:
        outcome_totals.settled.add(min(times) - start)
