"""Severities, as options take them."""

from __future__ import annotations

from enum import StrEnum

from msmq_wire.detection import SEVERITIES


class Level(StrEnum):
    """The severities, from the least to the most."""

    INFO = "info"
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"

    @property
    def rank(self) -> int:
        """As that of a `Finding`."""
        return SEVERITIES.index(self.value)
