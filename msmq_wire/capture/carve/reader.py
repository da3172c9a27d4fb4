"""`CarveReader`: files that are no captures in, the records of what lies in them out.

The rule kept here: the same bytes are one record, however often they lie somewhere. All files are searched
before the first record is told, so that it can say all its places, unless there are more than are kept.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from types import TracebackType
from typing import IO, Annotated

import msgspec

from msmq_wire.capture.carve.envelopes import SRMP_TYPES, request_of
from msmq_wire.capture.carve.hashing import HashedFile
from msmq_wire.capture.carve.media import Medium
from msmq_wire.capture.carve.parts import BEHIND, finds_in_part
from msmq_wire.capture.carve.search import CarvedItem, Carver
from msmq_wire.capture.carve.storage import StorageKind, storage_kind
from msmq_wire.engines.codec import inspect
from msmq_wire.errors import CaptureError
from msmq_wire.records.record import FileLocation, Grade, Record
from msmq_wire.records.srmp_content import error_of, judge_request, packet_of
from msmq_wire.wire.expressions import this
from msmq_wire.wire.packets.message_packet import MessagePacket
from msmq_wire.wire.private import FILE, PUBLIC, Private

_MOST = 1 << 18
"""Finds that are kept until all files are searched; then what was found so far is told."""
_REMEMBERED = 1 << 20
"""Finds of which copies are known for good, also after they were told."""
_IN_MEMORY = 1 << 26
"""Bytes of finds in streams that are kept in memory; more go to a file without a name."""


PART = "part of an image"
"""What a file is whose bytes were searched with the disk of an image before it."""


class SearchedFile(msgspec.Struct, kw_only=True):
    """What was found in a file: how many of each grade, ``copies`` of others among them, and facts about it.

    ``kind`` says what the file is, ``storage`` what a file of that name holds in a storage folder. ``sha256``
    is that of the file as it lies, None where it was not hashed: ``unhashed`` says why if that was wanted. Of
    an image ``files`` are all the files that it consists of, ``disk_sha256`` is that of the disk in them, and
    ``size`` that of the disk. ``nested`` counts what lies in finds and is none.
    ``unreadable`` bytes gave errors; ``failure`` is what ended the reading.
    """

    name: Annotated[str, FILE]
    kind: Annotated[str, PUBLIC] = "file"
    storage: Annotated[StorageKind | None, PUBLIC] = None
    size: int = 0
    sha256: Annotated[str | None, PUBLIC] = None
    disk_sha256: Annotated[str | None, PUBLIC] = None
    unhashed: Annotated[str | None, PUBLIC] = None
    files: tuple[HashedFile, ...] = ()
    grades: Counter[str] = msgspec.field(default_factory=Counter)
    copies: int = 0
    nested: Counter[str] = msgspec.field(default_factory=Counter)
    unreadable: int = 0
    failure: Annotated[str | None, Private("host", "reason", this.name)] = None
    space: Annotated[str, PUBLIC] = ""


class _Kept(msgspec.Struct):
    """A find that waits to be told: where its bytes can be read again."""

    file: int
    offset: int
    at: int
    before: int
    length: int
    type: str
    grade: Grade
    reason: str | None
    locations: list[FileLocation]


def finds_in(medium: Medium, carver: Carver) -> Iterator[CarvedItem]:
    """Search a medium to its end, or to where it is damaged."""
    for extent in medium.extents(carver.offset):
        if extent.offset > carver.offset or not extent.joined:
            yield from carver.hole(extent.offset - carver.offset)
        yield from carver.feed(extent.data)
    yield from carver.finish()


def _offsets_in(medium: Medium, offsets: Sequence[int]) -> Sequence[int]:
    """Offsets of the medium: addresses are turned into those where it has a map."""
    if medium.is_stream:
        raise CaptureError("a list of offsets needs a file that can be read anywhere in it")
    if medium.map is None or not medium.map.ranges:
        return offsets
    return sorted(medium.map.offsets(offsets))


def _finds_at(medium: Medium, offsets: Sequence[int], envelopes: bool) -> Iterator[CarvedItem]:
    """What begins at offsets, as a search of all finds it; what lies near each other is read together."""
    wanted = set(offsets)
    stretches: list[tuple[int, int]] = []
    for offset in offsets:
        first = stretches.pop()[0] if stretches and offset - stretches[-1][1] < BEHIND else offset
        stretches.append((first, offset + 1))
    for first, last in stretches:
        finds = finds_in_part(medium, first, last, envelopes=envelopes)
        yield from (find for find in finds if find.offset in wanted)


def record_of(
    find: CarvedItem, *, number: int, capture: str, locations: Sequence[FileLocation] = ()
) -> Record:
    """The record of a find in a file."""
    known = tuple(locations) or (FileLocation(capture=capture, offset=find.offset),)
    if find.type in SRMP_TYPES:
        request = request_of(find.data, find.before)
        packet, remainder = packet_of(request), request.remainder
        if not request.http.head:
            # Nobody has seen the headers by which its parts were told.
            packet = msgspec.structs.replace(packet, headers=())
        return Record(
            id=number,
            type=find.type,
            capture=capture,
            offset=find.offset,
            length=len(find.data),
            packet=packet,
            anomalies=judge_request(request),
            consumed=len(find.data) - len(remainder),
            remainder=remainder,
            error=error_of(request),
            reason=find.reason,
            grade=find.grade,
            locations=known,
        )
    stored = MessagePacket.stem()
    result = inspect(find.data, stored if find.type == stored else None)
    return Record(
        id=number,
        type=result.type or find.type,
        capture=capture,
        offset=find.offset,
        length=len(find.data),
        packet=result.packet,
        anomalies=result.anomalies,
        consumed=result.consumed,
        remainder=result.remainder,
        error=result.error,
        reason=find.reason,
        grade=find.grade,
        locations=known,
    )


class CarveReader:
    """Searches files and iterates over the records of what it finds, in the order of the files and offsets.

    ``sources`` are paths, or ``"-"`` for standard input. Without ``envelopes`` only packets are searched, and
    with ``hashing`` the SHA-256 of each file is taken on the way. ``first_id`` numbers the first record. With
    ``offsets`` only what begins at one of these is looked for, or at one of these addresses in a dump whose
    head gives them; only their surroundings are read, and nothing is hashed.

    ``searched`` tells of each file once it was searched, ``told_before`` counts copies of what was told
    before they were found, ``data`` are the bytes of the record that was told last. What is damaged ends its
    file with an ``error`` record. `opened` may be replaced to watch each `Medium`.
    """

    def __init__(
        self,
        sources: Iterable[str],
        *,
        envelopes: bool = True,
        hashing: bool = True,
        first_id: int = 1,
        offsets: Sequence[int] | None = None,
    ) -> None:
        self._sources = list(sources)
        self._offsets = offsets
        self._envelopes = envelopes
        self._hashing = hashing
        self._next_id = first_id
        self.searched: list[SearchedFile] = []
        self.told_before = 0
        self.data = b""
        self._kept: list[_Kept] = []
        self._known: dict[bytes, int] = {}
        self._reported = 0
        self._spool: IO[bytes] | None = None

    def __enter__(self) -> CarveReader:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._spool is not None:
            self._spool.close()

    def opened(self, source: str) -> Medium:
        """Open a source. Raises `CaptureError`."""
        return Medium(source, hashing=self._hashing and self._offsets is None)

    def __iter__(self) -> Iterator[Record]:
        parts: set[str] = set()
        for number, source in enumerate(self._sources):
            searched = SearchedFile(name=source, storage=storage_kind(source))
            self.searched.append(searched)
            if parts and os.path.realpath(source) in parts:
                # What is in it was found in the disk.
                searched.kind = PART
                continue
            try:
                medium = self.opened(source)
            except CaptureError as error:
                searched.failure = error.message
                continue
            parts.update(medium.image_files[1:])
            with medium:
                yield from self._search(number, medium, searched)
        yield from self._tell()
        for one in self.searched:
            if one.failure is not None:
                yield self._record(type="error", capture=one.name, reason=one.failure, offset=one.size)

    def _search(self, number: int, medium: Medium, searched: SearchedFile) -> Iterator[Record]:
        carver = Carver(envelopes=self._envelopes)
        try:
            wanted = None if self._offsets is None else _offsets_in(medium, self._offsets)
            finds = finds_in(medium, carver) if wanted is None else _finds_at(medium, wanted, self._envelopes)
            for find in finds:
                self._keep(number, medium, find, searched)
                if len(self._kept) >= _MOST:
                    yield from self._tell()
            if medium.failure is not None:
                searched.failure = medium.failure.message
        except CaptureError as error:
            searched.failure = error.message
            for find in carver.finish():
                self._keep(number, medium, find, searched)
        searched.kind = medium.kind
        searched.size = medium.bytes_read
        searched.files = tuple(medium.files)
        if searched.failure is None or searched.files:
            # The files of a damaged image are hashed to their ends, its disk is not.
            searched.sha256 = medium.sha256
        if searched.failure is None:
            searched.disk_sha256 = medium.disk_sha256
            searched.unhashed = medium.unhashed
        searched.nested = carver.nested
        searched.unreadable = medium.unreadable
        searched.space = "" if medium.map is None else medium.map.space

    def _keep(self, number: int, medium: Medium, find: CarvedItem, searched: SearchedFile) -> None:
        searched.grades[find.grade] += 1
        key = hashlib.blake2b(find.data, digest_size=16).digest()
        address = None if medium.map is None else medium.map.address(find.offset)
        location = FileLocation(capture=self._sources[number], offset=find.offset, address=address)
        known = self._known.get(key)
        if known is not None:
            searched.copies += 1
            if known < self._reported:
                self.told_before += 1
            else:
                self._kept[known - self._reported].locations.append(location)
            return
        if len(self._known) < _REMEMBERED:
            self._known[key] = self._reported + len(self._kept)
        at = find.offset - find.before
        if medium.is_stream:
            if self._spool is None:
                self._spool = tempfile.SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115  (closed by __exit__)
            at = self._spool.seek(0, 2)
            self._spool.write(find.data)
        kept = _Kept(
            file=-1 if medium.is_stream else number,
            offset=find.offset,
            at=at,
            before=find.before,
            length=len(find.data),
            type=find.type,
            grade=find.grade,
            reason=find.reason,
            locations=[location],
        )
        self._kept.append(kept)

    def _tell(self) -> Iterator[Record]:
        kept, self._kept = self._kept, []
        self._reported += len(kept)
        medium: Medium | None = None
        at = -1
        try:
            for one in kept:
                if one.file != at and one.file >= 0:
                    if medium is not None:
                        medium.close()
                    medium, at = Medium(self._sources[one.file], hashing=False), one.file
                yield self._record_of(one, medium)
        finally:
            if medium is not None:
                medium.close()

    def _record_of(self, kept: _Kept, medium: Medium | None) -> Record:
        if kept.file < 0:
            assert self._spool is not None
            self._spool.seek(kept.at)
            data = self._spool.read(kept.length)
        else:
            assert medium is not None
            data = medium.read(kept.at, kept.length)
        find = CarvedItem(
            offset=kept.offset,
            type=kept.type,
            grade=kept.grade,
            data=data,
            claimed=kept.length,
            reason=kept.reason,
            before=kept.before,
        )
        number, self._next_id = self._next_id, self._next_id + 1
        self.data = data
        return record_of(find, number=number, capture=kept.locations[0].capture, locations=kept.locations)

    def _record(self, **values: object) -> Record:
        number, self._next_id = self._next_id, self._next_id + 1
        return Record(id=number, **values)  # type: ignore[arg-type]  # each by its name


def carve(*sources: str, envelopes: bool = True, hashing: bool = False) -> Iterator[Record]:
    """Yield the records of what lies in files; arguments as for `CarveReader`."""
    with CarveReader(sources, envelopes=envelopes, hashing=hashing) as reader:
        yield from reader
