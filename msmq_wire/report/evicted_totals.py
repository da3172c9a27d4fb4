"""`EvictedTotals`: counts and outcomes of sessions and messages dropped to save memory."""

from __future__ import annotations

from collections import Counter

from msmq_wire.report.outcome_totals import OutcomeTotals, outcome_text
from msmq_wire.report.totals import MOST_ROWS
from msmq_wire.report.wording import host_of
from msmq_wire.sessions import Leaving, MessageLife, Session

_MOST_WAYS = 1 << 14


class EvictedTotals:
    """Takes what is followed no longer.

    ``outcome_totals`` are those of the messages, ``outcomes`` their words by identifier, for as many as a
    page lists. ``sessions`` counts by client, server and whether one was opened; ``opened`` counts all of
    these.
    """

    def __init__(self) -> None:
        self.outcome_totals = OutcomeTotals()
        self.outcomes: dict[str, str] = {}
        self.sessions: Counter[tuple[str, str, bool]] = Counter()
        self.opened = 0

    def leave(self, gone: Leaving) -> None:
        """Take one as it stands."""
        if isinstance(gone, MessageLife):
            self.outcome_totals.take(gone)
            if len(self.outcomes) < MOST_ROWS:
                self.outcomes[gone.message_id] = outcome_text(gone)
        elif isinstance(gone, Session):
            self.opened += gone.opened is not None
            key = host_of(gone.client), host_of(gone.server), gone.opened is not None
            if key in self.sessions or len(self.sessions) < _MOST_WAYS:
                self.sessions[key] += 1
