"""The captures that are measured, each declared once: engines and commands read the same traffic."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path

import msgspec

from benchmarks.calls import remote_reads
from benchmarks.conversations import other_traffic, short_connections, srmp, two_way_session
from benchmarks.traffic import Written, disordered, in_order, lossy, write
from benchmarks.workload import messages

__all__ = ["CAPTURES", "Capture"]

_USUAL = ("decode", "tree", "messages", "judged")


class Capture(msgspec.Struct, frozen=True):
    """A kind of traffic.

    ``frames`` yields those of so many messages, and adds to a list what a reader has to find in them: packets
    of the binary protocol, or whatever makes a record where ``binary`` is false. ``frames_each`` is about how
    many frames a message takes. ``suites`` are those of `benchmarks.command_groups.SUITES` that read it.
    ``fewer`` divides the frames that are asked for, where contestants are slow.
    """

    title: str
    frames: Callable[[int, list[bytes]], Iterator[bytes]]
    frames_each: float
    suites: tuple[str, ...] = _USUAL
    binary: bool = True
    fewer: int = 1

    def write(self, path: Path, frames: int) -> Written:
        """Write a capture of about so many frames, with at least one message."""
        sent: list[bytes] = []
        written = write(path, self.frames(max(1, int(frames / self.fewer / self.frames_each)), sent))
        return msgspec.structs.replace(written, rows=len(sent))


def _typical(
    size: int, shape: Callable[[Iterable[bytes]], Iterator[bytes]], count: int, sent: list[bytes]
) -> Iterator[bytes]:
    def packets() -> Iterator[bytes]:
        for packet in messages(count, size):
            sent.append(packet)
            yield packet

    return shape(packets())


def _lossy_session(count: int, sent: list[bytes]) -> Iterator[bytes]:
    return lossy(two_way_session(count, sent), sent)


CAPTURES: dict[str, Capture] = {
    "600": Capture("messages of 600 bytes, one in a segment", partial(_typical, 600, in_order), 1.5),
    "4k": Capture("messages of 4,096 bytes over segments", partial(_typical, 4096, in_order), 4.5, ()),
    "reordered": Capture(
        "segments cut anywhere, late and twice", partial(_typical, 4096, disordered), 7.5, ()
    ),
    "session": Capture("a two-way session", two_way_session, 3.8),
    "lossy": Capture("the same session with segments lost, late and twice", _lossy_session, 3.8),
    "short": Capture("short connections", short_connections, 20),
    "calls": Capture("remote read calls", remote_reads, 7.7, (*_USUAL, "calls"), binary=False, fewer=5),
    "srmp": Capture("messages over HTTP", srmp, 4.5, binary=False, fewer=5),
    "other": Capture("other protocols", other_traffic, 15, ("messages", "judged")),
}
"""By the name that groups of results and ratios end in. A message of other traffic is a request over TLS."""
