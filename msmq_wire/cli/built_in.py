"""Files of `fixtures/` that the program brings along."""

from __future__ import annotations

from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

__all__ = ["default_scenario", "demo_capture"]


def default_scenario() -> bytes:
    """The scenario that the script for Windows and the lab run where no other is named, as JSON."""
    return _found("msmq_wire.lab.recordings", "record", "scenario.json").read_bytes()


def demo_capture() -> Traversable:
    """The capture of `msmq-wire demo`: a fault and an attack in ordinary traffic."""
    return _found("msmq_wire.cli", "digest", "fault_and_attack.pcap")


def _found(package: str, folder: str, name: str) -> Traversable:
    """A file of the wheel, where it stands in a package, or of the repository."""
    packaged = files(package) / name
    if packaged.is_file():
        return packaged
    return Path(__file__).resolve().parents[2].joinpath("fixtures", folder, name)
