"""The scenario that the script for Windows and the lab run where no other is named."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

__all__ = ["default_scenario"]

_NAME = "scenario.json"
_IN_REPOSITORY = ("fixtures", "record", _NAME)


def default_scenario() -> bytes:
    """Its JSON: of the wheel, or of the repository."""
    packaged = files("msmq_wire.recordings") / _NAME
    if packaged.is_file():
        return packaged.read_bytes()
    return Path(__file__).resolve().parents[2].joinpath(*_IN_REPOSITORY).read_bytes()
