"""`Run`: packets by column and the records between them, as a capture that is read by column hands them on.

The rule kept here: a run says what its records say, one by one and in order; who takes it as a whole gives
what feeding them gives. A record is made only where somebody asks for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from msmq_wire.records.record import Record

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from msmq_wire.engines.columns import ProvenPackets

    Integers: TypeAlias = NDArray[Any]


class Run(Protocol):
    """Packets of one capture in order of completion, and the records between them.

    Packet ``i`` has the bytes ``data[offsets[i] : offsets[i + 1]]``. ``id``, ``time`` (0 for none),
    ``stream`` (-1 for none) and ``pair`` have one value a packet. The numbers of the frames that
    carry it are ``carriers[first[i] : last[i]]``, ``pairs[pair[i]]`` are its source and destination.
    ``others`` are the records that are no packet; the ids of both rise.
    """

    @property
    def capture(self) -> str: ...
    @property
    def data(self) -> Integers: ...
    @property
    def offsets(self) -> Integers: ...
    @property
    def id(self) -> Integers: ...
    @property
    def time(self) -> Integers: ...
    @property
    def stream(self) -> Integers: ...
    @property
    def pair(self) -> Integers: ...
    @property
    def first(self) -> Integers: ...
    @property
    def last(self) -> Integers: ...
    @property
    def carriers(self) -> Integers: ...
    @property
    def others(self) -> tuple[Record, ...]: ...
    @property
    def pairs(self) -> tuple[tuple[str, str], ...]: ...

    def __len__(self) -> int:
        """How many packets there are."""

    def record(self, index: int, /) -> Record:
        """One packet, decoded and judged the first time that it is asked for."""

    def proven(self) -> Sequence[ProvenPackets]:
        """The packets that are whole and break no MUST, by class, as far as that is proven."""


def in_order(run: Run) -> Iterator[Record]:
    """All records of a run, each made once however often a run is gone through."""
    others = iter(run.others)
    other = next(others, None)
    for place, number in enumerate(run.id.tolist()):
        while other is not None and other.id < number:
            yield other
            other = next(others, None)
        yield run.record(place)
    if other is not None:
        yield other
    yield from others


def bounds(run: Run) -> tuple[int, int]:
    """The ids of the first and the last of everything in a run, which is not empty."""
    ends = [*map(int, (*run.id[:1], *run.id[-1:])), *(one.id for one in (*run.others[:1], *run.others[-1:]))]
    return min(ends), max(ends)


def ids_of(run: Run) -> list[int]:
    """The ids of everything in a run, in order."""
    return sorted([*run.id.tolist(), *(one.id for one in run.others)])


def time_until(run: Run, number: int) -> int | None:
    """The last time that anything in a run has up to the one with an id."""
    place = int(run.id.searchsorted(number, "right"))
    timed = run.time[:place].nonzero()[0]
    found = (0, None) if not len(timed) else (int(run.id[timed[-1]]), int(run.time[timed[-1]]))
    for other in reversed(run.others):
        if other.id <= number and other.time:
            return other.time if other.id > found[0] else found[1]
    return found[1]


def last_frames(run: Run) -> Integers:
    """The last frame that carries each packet of a run."""
    ends = run.carriers[run.last - 1] if len(run) else run.id
    for row in (run.last - run.first > 1).nonzero()[0].tolist():
        ends[row] = run.carriers[run.first[row] : run.last[row]].max()
    return ends


def is_ordered(run: Run, frames: Integers) -> bool:
    """Whether later frames of everything in a run that has a connection have no earlier times."""
    timed = (run.stream >= 0) & (run.time > 0)
    ids, frames, times = run.id[timed], frames[timed], run.time[timed]
    if not bool(((frames[1:] >= frames[:-1]) & (times[1:] >= times[:-1])).all()):
        return False
    last = 0, 0
    for record in run.others:
        if record.stream is None or not record.frames or record.time is None:
            continue
        here, place = (max(record.frames), record.time), int(ids.searchsorted(record.id))
        before = (int(frames[place - 1]), int(times[place - 1])) if place else last
        after = (int(frames[place]), int(times[place])) if place < len(ids) else here
        for one, other in ((last, here), (before, here), (here, after)):
            if one[0] > other[0] or one[1] > other[1]:
                return False
        last = here
    return True
