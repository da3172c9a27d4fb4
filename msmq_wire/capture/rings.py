"""Which files follow each other in time, as those of a ring buffer do: `rings`.

The rule kept here: files are one capture only if their names and their times say so. Whatever cannot be known
at little cost, from the beginning and the end of a file, leaves it a capture of its own.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from struct import Struct, error
from typing import Any, NamedTuple

from msmq_wire.capture.opened_file import OpenedFile, Opener, open_local
from msmq_wire.capture.pcap import Frame, Window, read_header, read_pcap
from msmq_wire.capture.pcapng import ENHANCED_PACKET, PCAPNG_MAGIC, Blocks, read_pcapng
from msmq_wire.capture.source import Source
from msmq_wire.errors import CaptureError
from msmq_wire.units import SECOND

LONGEST_PAUSE = 24 * 3600 * SECOND
"""Nanoseconds between two files of one capture, at most."""
_ENDS = 1 << 20
"""Bytes of the beginning and of the end of a file that are looked at, at most."""
_LOOK = 1 << 14
"""Bytes of them that tell the times of most captures."""
_OVERLAP = 100
"""Files may overlap by one part in so many of the shorter one: frames of two interfaces come out of order."""
_LEAST_CHAIN = 3
"""Records in a row that make an end which is cut believable."""
_DIGITS = re.compile(r"\d+")


class TimeSpan(NamedTuple):
    """The times of the first and the last frame of a file, nanoseconds since 1970."""

    first: int
    last: int


def family_of(file: str) -> tuple[str, str]:
    """The folder, and the name without its digits: files of one capture have both in common."""
    folder, name = os.path.split(file)
    return folder, _DIGITS.sub("", name)


def rings(
    files: Sequence[str], *, opener: Opener = open_local, each: Callable[..., Iterable[Any]] = map
) -> list[tuple[str, ...]]:
    """The files that are one capture, each such capture where the first of its files is named.

    ``opener`` opens them to be read at both ends; ``each`` is `map`, or does several at once.

    Files are one capture where they lie in one folder, their names differ in nothing but digits, no two of
    them overlap in time, and none starts more than a day after the one before ended. Files of one capture
    are in order of time. All others, also pipes and files without a time, are alone.
    """
    families: dict[tuple[str, str], list[str]] = {}
    for file in files:
        if file != "-":
            families.setdefault(family_of(file), []).append(file)
    found: dict[str, tuple[str, ...]] = {}
    for family in families.values():
        if len(family) == 1 or len(set(family)) < len(family):
            continue
        found_spans = zip(family, each(partial(span_of, opener=opener), family), strict=True)
        spans = {file: span for file, span in found_spans if span is not None}
        for ring in _runs(spans):
            found.update(dict.fromkeys(ring, ring))
    reported: list[tuple[str, ...]] = []
    for file in files:
        ring = found.get(file, (file,))
        # A file that is named twice is read twice.
        if len(ring) == 1 or ring not in reported:
            reported.append(ring)
    return reported


def _runs(spans: dict[str, TimeSpan]) -> Iterator[tuple[str, ...]]:
    """Files that follow each other; none where any two overlap: those were taken in two places."""
    order = sorted(spans, key=lambda file: (spans[file], file))
    if any(_overlap(spans[one], spans[other]) for one, other in pairwise(order)):
        return
    run: list[str] = []
    for file in order:
        if run and spans[file].first - spans[run[-1]].last > LONGEST_PAUSE:
            if len(run) > 1:
                yield tuple(run)
            run = []
        run.append(file)
    if len(run) > 1:
        yield tuple(run)


def _overlap(one: TimeSpan, other: TimeSpan) -> bool:
    """Whether a file goes on when the next one has begun, by more than frames that change places."""
    shared = one.last - other.first
    return shared > 0 and shared > min(SECOND, (min(one.last, other.last) - one.first) // _OVERLAP)


def span_of(path: str, opener: Opener = open_local) -> TimeSpan | None:
    """The times of the first and the last frame of a regular file; None where they cannot be known.

    Of a large file that is not packed little is read at each end, and a MiB where that does not tell.
    """
    try:
        with opener(path) as file:
            source = Source(file)
            window = source.window()
            is_large = not source.compressed and (source.total or 0) > _ENDS
            for size in (_LOOK, _ENDS) if is_large else (_ENDS,):
                window.more(0, size)
                head = window.buffer
                tail, at = _tail(file, source, window, size)
                first = next((frame.time for frame in _frames(head) if frame.time), None)
                last = None if first is None else _last_time(head, tail, at)
                if last is not None:
                    break
    except (OSError, ValueError, error, CaptureError):
        return None
    return None if first is None or last is None or last < first else TimeSpan(first, last)


def _tail(file: OpenedFile, source: Source, window: Window, size: int) -> tuple[bytes, int]:
    """The last bytes of a capture, unpacked, and the place of the first of them."""
    if not source.compressed:
        total, here = source.total or 0, file.tell()
        at = max(0, total - size) & ~3
        file.seek(at)
        tail = file.read()
        # The head may have to be read on.
        file.seek(here)
        return tail, at
    kept, at = b"", window.start
    try:
        for chunk in window.rest():
            joined = kept + chunk
            cut = max(0, len(joined) - _ENDS) & ~3
            kept, at = joined[cut:], at + cut
    except CaptureError:
        # Its end is cut off: what there is ends it.
        pass
    return kept, at


def _frames(data: bytes) -> Iterator[Frame]:
    """The frames at the beginning of a capture, as far as they are whole."""
    window = Window(iter((data,)))
    window.more(0, 4)
    try:
        yield from read_pcapng(window) if data[:4] == PCAPNG_MAGIC else read_pcap(window)
    except CaptureError:
        return


def _last_time(head: bytes, tail: bytes, at: int) -> int | None:
    if not at:
        return max((frame.time for frame in _frames(head) if frame.time), default=None)
    return _last_of_pcapng(head, tail) if head[:4] == PCAPNG_MAGIC else _last_of_pcap(head, tail)


def _last_of_pcap(head: bytes, tail: bytes) -> int | None:
    window = Window(iter((head,)))
    order, unit, size, largest, _, swaps = read_header(window)
    unpack = Struct(f"{order}IIII").unpack_from
    begun = unpack(head, 24)[0]
    limit = len(tail)
    # Where a row came by that led nowhere, another one need not go.
    seen: set[int] = set()

    def walk(at: int) -> tuple[int, int, bool]:
        """Records in a row, the time of the last whole one, and whether they end where the file ends."""
        count = time = 0
        while at + size <= limit:
            if at in seen:
                return 0, 0, False
            seen.add(at)
            seconds, fraction, captured, length = unpack(tail, at)
            if swaps and captured > length:
                captured, length = length, captured
            if not (captured <= largest and captured <= max(length, 64) and begun <= seconds + 1):
                return 0, 0, False
            if fraction * unit >= SECOND:
                return 0, 0, False
            at += size + captured
            if at > limit:
                break
            count, time = count + 1, seconds * SECOND + fraction * unit
        return count, time, at == limit

    # The seconds of a record start alike for 194 days: few places of the end look like a record.
    highest = begun >> 24
    near = b"[" + b"".join(b"\\x%02x" % one for one in (highest, min(highest + 1, 255))) + b"]"
    pattern = near if order == ">" else b"(?s:...)" + near
    return _first_chain(walk, (match.start() for match in re.finditer(b"(?=" + pattern + b")", tail)))


def _last_of_pcapng(head: bytes, tail: bytes) -> int | None:
    blocks = _described(head)
    limit = len(tail)
    seen: set[int] = set()

    def walk(at: int) -> tuple[int, int, bool]:
        count = time = 0
        while at + 12 <= limit:
            if at in seen:
                return 0, 0, False
            seen.add(at)
            total = blocks.order.block(tail, at)[1]
            if total < 12 or total & 3:
                return 0, 0, False
            if at + total > limit:
                break
            try:
                frame = blocks.take(tail, at, total, 0)
            except CaptureError:
                return 0, 0, False
            count += 1
            time = frame.time or time if frame is not None else time
            at += total
        return count, time, at == limit

    kind = Struct(f"{blocks.order.byte_order}I").pack(ENHANCED_PACKET)
    return _first_chain(walk, (match.start() for match in re.finditer(kind, tail) if not match.start() & 3))


def _first_chain(walk: Callable[[int], tuple[int, int, bool]], places: Iterator[int]) -> int | None:
    """The time at the end of the first row of records that reaches the end of the file, cut or not."""
    for place in places:
        count, time, ends = walk(place)
        if time and (ends or count >= _LEAST_CHAIN):
            return time
    return None


def _described(head: bytes) -> Blocks:
    """What the blocks before the first frame say of the blocks after it."""
    blocks, at = Blocks(), 0
    while len(head) - at >= 12:
        total = blocks.measure(head, at, at)
        if len(head) - at < total or blocks.take(head, at, total, at) is not None:
            break
        at += total
    return blocks
