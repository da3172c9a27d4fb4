"""The rows engine: functions generated from the declarations, one packet at a time."""

from __future__ import annotations

from msmq_wire.engines.rows.engine import source

__all__ = ["source"]
