"""Files of `fixtures/` that the program brings along."""

from __future__ import annotations

from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path


def demo_capture() -> Traversable:
    """The capture of `msmq-wire demo`: a fault and an attack in ordinary traffic."""
    return find_built_in("msmq_wire.cli", "digest", "fault_and_attack.pcap")


def find_built_in(package: str, folder: str, name: str) -> Traversable:
    """A file of the wheel, where it stands in a package, or of the repository."""
    packaged = files(package) / name
    if packaged.is_file():
        return packaged
    return Path(__file__).resolve().parents[2].joinpath("fixtures", folder, name)
