"""What can become of a message."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

__all__ = ["FAILURES", "OUTCOMES", "Outcome"]

Outcome: TypeAlias = Literal[
    "received", "delivered", "stored", "acknowledged", "unknown", "expired", "purged", "refused"
]
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
"""From the best to the worst."""
FAILURES: tuple[Outcome, ...] = ("expired", "purged", "refused")
"""Those of a message that nobody received."""
