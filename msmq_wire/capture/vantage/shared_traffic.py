"""Which captures recorded the same traffic at several places: `find_shared`, of rings `shared_rings`.

The rule kept here: only captures with the same segments are places of one recording, and a clock is wrong by
little more than a day. All others stay captures of their own, at little cost.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec

from msmq_wire.capture.opened_file import Opener, open_local
from msmq_wire.capture.pcap import PCAP_MAGICS
from msmq_wire.capture.pcapng import PCAPNG_MAGIC
from msmq_wire.capture.rings import TimeSpan, span_of
from msmq_wire.capture.source import Source
from msmq_wire.capture.vantage.points import CLOCK_ERROR, SharedTraffic
from msmq_wire.errors import CaptureError

_SMALL = 1 << 20
"""Bytes of a packed file that are unpacked to know when it ends."""
_NO_END = 1 << 62
_FEW = 4
"""Files of a ring that are looked at for having been recorded at several places."""


def find_shared(
    captures: Sequence[tuple[str, ...]], *, opener: Opener = open_local
) -> list[tuple[str, ...] | SharedTraffic]:
    """Put captures together that recorded the same traffic at several places.

    ``captures`` are the files of each, in order of time; ``opener`` opens them. Captures that share nothing,
    pipes, and copies of others come back as they were; the others where the first of them is named. Each
    capture whose times may touch those of another one is read once, which takes a small part of the time that
    its records take; memory does not depend on its size. Without numpy all come back as they were.
    """
    numbers = _near_in_time(captures, opener)
    if not numbers or find_spec("numpy") is None:
        return list(captures)
    # Loads numpy, which captures that are far apart do not need.
    from msmq_wire.capture.vantage.joint_recordings import joint_recordings

    found = joint_recordings({number: captures[number] for number in numbers}, opener)
    first = {min(group): traffic for group, traffic in found}
    grouped = {number for group, _ in found for number in group}
    return [
        first.get(number, capture)
        for number, capture in enumerate(captures)
        if number in first or number not in grouped
    ]


def shared_rings(
    rings: Sequence[tuple[str, ...]], files: Sequence[str], *, opener: Opener = open_local
) -> list[tuple[str, ...] | SharedTraffic]:
    """`find_shared` of rings, or files alone; ``files`` are all files as they were named.

    A ring of few files that recorded the same traffic is none.
    """
    named = {file: place for place, file in enumerate(files)}
    apart: list[tuple[str, ...]] = []
    for ring in rings:
        # Of two hosts whose clocks are far apart one file seems to follow the other one.
        few = 1 < len(ring) <= _FEW
        alone = [(file,) for file in sorted(ring, key=named.__getitem__)] if few else []
        apart += alone if few and len(find_shared(alone, opener=opener)) < len(alone) else [ring]
    return find_shared(apart, opener=opener)


def _near_in_time(captures: Sequence[tuple[str, ...]], opener: Opener) -> list[int]:
    """The captures whose times may touch those of another one."""
    if len(captures) < 2:
        return []
    spans = {
        number: span
        for number, capture in enumerate(captures)
        if "-" not in capture and (span := _span(capture, opener)) is not None
    }
    order = sorted(spans, key=spans.__getitem__)
    found: set[int] = set()
    latest, whose = -1, -1
    for number in order:
        span = spans[number]
        if whose >= 0 and span.first - latest <= CLOCK_ERROR:
            found |= {number, whose}
        if span.last > latest:
            latest, whose = span.last, number
    return sorted(found)


def _span(capture: tuple[str, ...], opener: Opener) -> TimeSpan | None:
    """The times of the first and the last frame; a packed file that is large has no end that is known."""
    first = _times(capture[0], opener)
    last = first if len(capture) == 1 else _times(capture[-1], opener)
    return None if first is None or last is None else TimeSpan(first.first, last.last)


def _times(file: str, opener: Opener) -> TimeSpan | None:
    try:
        with opener(file) as opened:
            head = opened.read(4)
            if head not in PCAP_MAGICS and head != PCAPNG_MAGIC and opened.status()[0] > _SMALL:
                opened.seek(0)
                time = next((frame.time for frame in Source(opened).frames() if frame.time), None)
                return None if time is None else TimeSpan(time, _NO_END)
    except (OSError, ValueError, CaptureError):
        return None
    return span_of(file, opener)
