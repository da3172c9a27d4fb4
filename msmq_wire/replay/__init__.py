"""Captured calls and sessions held against the processing rules: see docs/replay.md."""

from __future__ import annotations

from msmq_wire.replay.replayer import Replayer, replay

__all__ = ["Replayer", "replay"]
