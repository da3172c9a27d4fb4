"""What two hosts record of the same traffic: `two_points`."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import pairwise

from msgspec.structs import replace

from msmq_wire.capture.link import dissect
from msmq_wire.capture.network import UdpDatagram
from msmq_wire.capture.pcap import Frame
from msmq_wire.reassembly.tcp_events import TcpSegment

__all__ = ["two_points"]

_IPV4 = 0x45
_LONGEST = 400_000
"""Nanoseconds of travel between the two, at most."""


def two_points(
    frames: Sequence[Frame],
    *,
    offset: int = 0,
    drift: int = 0,
    lost: float = 0.0,
    draw: random.Random | None = None,
    hops: int = 1,
) -> tuple[list[Frame], list[Frame]]:
    """The frames at the host that speaks first, and those at the other hosts.

    The other clock is ``offset`` ns ahead, and gains ``drift`` ns a second. ``lost`` is the part of its
    frames that its recording lost. Frames take no longer than what leaves them in the same order there.
    """
    times = [one.time or 0 for one in frames]
    first = next((ends[0] for one in frames if (ends := _hosts(one)) is not None), b"")
    ways = [(ends := _hosts(one)) is None or ends[0] == first for one in frames]
    turns = [
        (two[0] - one[0]) // 3
        for one, two in pairwise(sorted(zip(times, ways, strict=True)))
        if two[0] > one[0] and two[1] != one[1]
    ]
    delay = min([_LONGEST, *turns])
    there = []
    for one, time, away in zip(frames, times, ways, strict=True):
        moved = time + (delay if away else -delay) + offset + drift * (time - times[0]) // 1_000_000_000
        if draw is None or draw.random() >= lost:
            there.append(replace(_routed(one, hops if away else 0), time=moved))
    return list(frames), there


def _hosts(frame: Frame) -> tuple[bytes, bytes] | None:
    for one in dissect(frame):
        if isinstance(one, (TcpSegment, UdpDatagram)):
            return one.src, one.dst
    return None


def _routed(frame: Frame, hops: int) -> Frame:
    """A frame behind so many routers: other addresses of the link, a smaller TTL."""
    data, at = frame.data, 14 if frame.link_type == 1 else 0
    if frame.link_type not in (1, 101) or data[at] != _IPV4 or data[at + 8] <= hops:
        return frame
    around = bytes(12) + data[12:14] if at else b""
    return replace(frame, data=around + data[at : at + 8] + bytes((data[at + 8] - hops,)) + data[at + 9 :])
