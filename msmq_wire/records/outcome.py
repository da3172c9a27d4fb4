"""What can become of a message, and the column that has it."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

from msmq_wire.records.column import Column
from msmq_wire.records.display import Display

Outcome: TypeAlias = Literal[
    "received", "delivered", "stored", "acknowledged", "unknown", "expired", "purged", "refused"
]
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
"""From the best to the worst."""
FAILURES: tuple[Outcome, ...] = ("expired", "purged", "refused")
"""Those of a message that nobody received."""
OUTCOME = Column(
    "outcome", "text",
    "What became of it, as far as the capture shows: the strongest that its evidence carries.",
    choices=OUTCOMES, asked=True,
    display=Display("outcome", 50, 8, tint=lambda outcome: "error" if outcome in FAILURES else ""),
)  # fmt: skip
"""A column of messages that no message has alone: what comes after it decides."""
