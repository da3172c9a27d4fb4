"""`finds_in_part`: what begins in a part of a file, as a search of all of it finds it.

The rule kept here: however a file is cut, each find is in one part, with the grade, the bytes and the reason
that a single search gives it. What a search knows where a part begins is what reaches over that place:

* Packets that walk to their ends. The one of them that ends last, and of several such the first, pushes out
  whatever was open and ends before it, and begins at most a packet of the largest size before the part. So
  that much is enough, in whatever chain packets overlap.
* The SRMP message that the search is in: what lies in it is an envelope alone. Which message that is may rest
  on the one before it, and so on, without a bound. All searches agree behind the first byte that no message
  claims, and `BEHIND` holds two of the largest size, with the head of the first: they may differ only where
  messages of which each claims the begin of the next cover all of that.

Behind a part a search goes on until all finds that begin in it are told: two packets of the largest size at
most, and what is read at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msmq_wire.capture.carve.envelopes import AROUND, REACH
from msmq_wire.capture.carve.media import READ_SIZE, Medium
from msmq_wire.capture.carve.search import CarvedItem, Carver
from msmq_wire.errors import CaptureError

BEHIND = -(-(2 * REACH + AROUND) // READ_SIZE) * READ_SIZE
"""Bytes before a part that are searched, too; no packet is longer than an SRMP message may be."""


def part_starts(total: int, size: int) -> range:
    """Where parts of about ``size`` bytes begin, each whole pieces: so all searches read the same pieces."""
    return range(0, max(total, 1), max(size // READ_SIZE, 1) * READ_SIZE)


def finds_in_part(
    medium: Medium,
    first: int = 0,
    last: int | None = None,
    *,
    envelopes: bool = True,
    behind: int = BEHIND,
) -> Iterator[CarvedItem]:
    """Yield the finds with offsets from ``first`` up to ``last``, by default all; a stream has one part.

    Raises `CaptureError` behind what was found where the medium cannot be read further.
    """

    def inside(finds: Iterable[CarvedItem]) -> Iterator[CarvedItem]:
        return (find for find in finds if first <= find.offset and (last is None or find.offset < last))

    carver = Carver(envelopes=envelopes, offset=max(0, first - behind))
    try:
        for extent in medium.extents(carver.offset):
            if extent.offset > carver.offset or not extent.joined:
                yield from inside(carver.hole(extent.offset - carver.offset))
            yield from inside(carver.feed(extent.data))
            if last is not None and carver.reported >= last:
                return
    except CaptureError:
        yield from inside(carver.finish())
        raise
    yield from inside(carver.finish())
