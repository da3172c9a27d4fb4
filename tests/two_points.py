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
    delay = min([_LONGEST, *((two - one) // 3 for one, two in pairwise(sorted(times)) if two > one)])
    first = next((ends[0] for one in frames if (ends := _hosts(one)) is not None), b"")
    there = []
    for one, time in zip(frames, times, strict=True):
        ends = _hosts(one)
        away = ends is None or ends[0] == first
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
    data = frame.data
    if frame.link_type != 1 or data[12:14] != b"\x08\x00" or not hops or data[22] <= hops:
        return frame
    return replace(frame, data=b"\x06" * 12 + data[12:22] + bytes((data[22] - hops,)) + data[23:])
