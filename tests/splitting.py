"""Captures cut into files at frame borders, as a ring buffer writes them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from msmq_wire.capture.source import read_frames
from msmq_wire.capture.writer import write_pcap

__all__ = ["split"]


def split(capture: Path, folder: Path, names: Sequence[str], after: Sequence[int]) -> list[Path]:
    """Cut a capture behind the frames with the numbers ``after``; one file a name, in order of time."""
    frames = list(read_frames(str(capture)))
    paths = [folder / name for name in names]
    bounds = [0, *after, len(frames)]
    for path, (start, stop) in zip(paths, pairwise(bounds), strict=True):
        write_pcap(str(path), iter(frames[start:stop]))
    return paths
