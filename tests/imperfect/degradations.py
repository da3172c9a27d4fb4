"""What a capture loses in the field: each degradation takes the frames of a capture and gives those of files.

The rule kept here: a frame keeps its number, so that what is said of a degraded capture can be compared with
what is said of the whole one.
"""

from __future__ import annotations

import itertools
import random
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

from msgspec.structs import replace

from msmq_wire.capture.link import dissect
from msmq_wire.capture.network import UdpDatagram
from msmq_wire.capture.pcap import Frame
from msmq_wire.capture.writer import write_pcap
from msmq_wire.reassembly.tcp_events import TcpSegment
from tests.two_points import two_points

__all__ = ["DEGRADATIONS", "Degraded", "Ends", "degraded", "ends_of"]

_SNAP = 128
_TAG = b"\x81\x00"

Files = list[list[Frame]]
Ends = frozenset[tuple[bytes, int]]
"""Both ends of a connection, or of a pair of hosts that exchange datagrams."""


class Degraded(NamedTuple):
    """Files with their frames; ``touched`` are the numbers of those that are lost, cut, moved or doubled."""

    files: Files
    touched: frozenset[int]
    memory: int | None = None


def ends_of(frame: Frame) -> Ends | None:
    """The two ends that a frame goes between, None where it carries neither TCP nor UDP."""
    for one in dissect(frame):
        if isinstance(one, (TcpSegment, UdpDatagram)):
            return frozenset(((one.src, one.sport), (one.dst, one.dport)))
    return None


def _of_server(frame: Frame) -> bool:
    """Whether a frame goes from the lower port to the higher, as what a server sends does."""
    for one in dissect(frame):
        if isinstance(one, (TcpSegment, UdpDatagram)):
            return one.sport < one.dport or (one.sport == one.dport and one.src > one.dst)
    return False


def _without(frames: list[Frame], lost: Iterable[int]) -> Degraded:
    gone = frozenset(lost)
    return Degraded([[one for one in frames if one.number not in gone]], gone)


def _one_lost(frames: list[Frame], draw: random.Random) -> Degraded:
    return _without(frames, [draw.choice(frames).number])


def _some_lost(frames: list[Frame], draw: random.Random) -> Degraded:
    return _without(frames, [one.number for one in frames if draw.random() < 0.02])


def _burst_lost(frames: list[Frame], draw: random.Random) -> Degraded:
    size = max(2, len(frames) // 10)
    start = draw.randrange(max(1, len(frames) - size))
    return _without(frames, [one.number for one in frames[start : start + size]])


def _server_lost(frames: list[Frame], draw: random.Random) -> Degraded:
    return _without(frames, [one.number for one in frames if _of_server(one)])


def _client_lost(frames: list[Frame], draw: random.Random) -> Degraded:
    return _without(frames, [one.number for one in frames if not _of_server(one)])


def _start_cut(frames: list[Frame], draw: random.Random) -> Degraded:
    return _without(frames, [one.number for one in frames[: len(frames) * draw.randrange(2, 6) // 10]])


def _end_cut(frames: list[Frame], draw: random.Random) -> Degraded:
    return _without(frames, [one.number for one in frames[len(frames) * draw.randrange(5, 9) // 10 :]])


def _snapped(frames: list[Frame], draw: random.Random) -> Degraded:
    cut = frozenset(one.number for one in frames if len(one.data) > _SNAP)
    return Degraded([[replace(one, data=one.data[:_SNAP]) for one in frames]], cut)


def _ring(frames: list[Frame], draw: random.Random) -> Degraded:
    edges = sorted({0, len(frames), *(draw.randrange(len(frames)) for _ in range(3))})
    return Degraded([frames[low:high] for low, high in itertools.pairwise(edges)], frozenset())


def _appended(frames: list[Frame], draw: random.Random) -> Degraded:
    """Two taps, each with its own connections, one behind the other."""
    places = {ends: place for place, ends in enumerate(dict.fromkeys(map(ends_of, frames)))}
    first = [one for one in frames if places[ends_of(one)] % 2 == 0]
    second = [one for one in frames if places[ends_of(one)] % 2]
    return Degraded([second + first], frozenset(one.number for one in frames))


def _swap(frames: list[Frame], draw: random.Random, *, times: bool) -> Degraded:
    found, place, moved = list(frames), 0, set()
    while place + 1 < len(found):
        if draw.random() < 0.05:
            one, two = found[place], found[place + 1]
            moved |= {one.number, two.number}
            if times:
                one, two = replace(one, time=two.time), replace(two, time=one.time)
            found[place], found[place + 1] = two, one
            place += 1
        place += 1
    return Degraded([found], frozenset(moved))


def _swapped(frames: list[Frame], draw: random.Random) -> Degraded:
    return _swap(frames, draw, times=False)


def _swapped_in_time(frames: list[Frame], draw: random.Random) -> Degraded:
    return _swap(frames, draw, times=True)


def _doubled(frames: list[Frame], draw: random.Random) -> Degraded:
    return Degraded([[one for frame in frames for one in (frame, frame)]], frozenset())


def _tagged(frame: Frame, tag: int) -> Frame:
    if frame.link_type != 1 or len(frame.data) < 12:
        return frame
    data = frame.data[:12] + _TAG + tag.to_bytes(2, "big") + frame.data[12:]
    return replace(frame, data=data, length=frame.length + 4)


def _tunnelled(frames: list[Frame], draw: random.Random) -> Degraded:
    return Degraded([[_tagged(one, 10) for one in frames]], frozenset())


def _seen_twice(frames: list[Frame], draw: random.Random) -> Degraded:
    """A SPAN that copies a frame before and after its tag is put on."""
    return Degraded([[one for frame in frames for one in (frame, _tagged(frame, 10))]], frozenset())


def _two_tenants(frames: list[Frame], draw: random.Random) -> Degraded:
    """Two tenants with one address plan do the same, one a little later than the other."""
    late = [_tagged(one, 20) for one in frames]
    found: list[Frame] = []
    for place, one in enumerate(frames):
        found.append(_tagged(one, 10))
        if place >= 3:
            found.append(replace(late[place - 3], time=one.time))
    found += [replace(one, time=frames[-1].time) for one in late[max(0, len(frames) - 3) :]]
    return Degraded([found], frozenset())


def _small_memory(frames: list[Frame], draw: random.Random) -> Degraded:
    return Degraded([frames], frozenset(one.number for one in frames), memory=1)


def _other_clock(draw: random.Random) -> dict[str, Any]:
    """A clock that is wrong by up to two seconds, and drifts by up to 20 microseconds a second."""
    return {"offset": draw.randrange(-2_000, 2_000) * 1_000_000, "drift": draw.randrange(-20, 20) * 1000}


def _two_points(frames: list[Frame], draw: random.Random) -> Degraded:
    """Recorded at both hosts, whose clocks differ."""
    return Degraded([*two_points(frames, **_other_clock(draw))], frozenset())


def _one_point_lossy(frames: list[Frame], draw: random.Random) -> Degraded:
    """The same, and the second host lost some frames: the first one has them."""
    return Degraded([*two_points(frames, **_other_clock(draw), lost=0.1, draw=draw)], frozenset())


def _both_points_lossy(frames: list[Frame], draw: random.Random) -> Degraded:
    """The same, and the first host lost other ones."""
    first, second = two_points(frames, **_other_clock(draw), lost=0.05, draw=draw)
    kept = [one for one in first if draw.random() >= 0.05]
    lost = {one.number for one in first} - {one.number for one in kept + second}
    return Degraded([kept, second], frozenset(lost))


DEGRADATIONS: dict[str, Callable[[list[Frame], random.Random], Degraded]] = {
    "one frame lost": _one_lost,
    "two percent lost": _some_lost,
    "a burst lost": _burst_lost,
    "the server not captured": _server_lost,
    "the client not captured": _client_lost,
    "the start not captured": _start_cut,
    "the end not captured": _end_cut,
    "cut at 128 bytes": _snapped,
    "a ring of files": _ring,
    "two taps appended": _appended,
    "neighbours swapped": _swapped,
    "neighbours swapped with their times": _swapped_in_time,
    "each frame twice": _doubled,
    "in a VLAN": _tunnelled,
    "plain and in a VLAN": _seen_twice,
    "two tenants": _two_tenants,
    "little memory": _small_memory,
    "at two hosts": _two_points,
    "at two hosts, one of them lost frames": _one_point_lossy,
    "at two hosts, both lost frames": _both_points_lossy,
}
"""By name; the generator of random numbers decides what is lost."""


def degraded(name: str, path: Path, frames: list[Frame], folder: Path) -> tuple[list[Path], Degraded]:
    """Degrade the frames of a capture; write what is left to files in a folder."""
    draw = random.Random(zlib.crc32(f"{name} {path.name}".encode()))
    found = DEGRADATIONS[name](frames, draw)
    paths = []
    for number, one in enumerate(found.files):
        paths.append(folder / f"{path.stem}_{number}.pcap")
        write_pcap(paths[-1], one)
    return paths, found
