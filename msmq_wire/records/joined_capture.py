"""A capture that lies in several files: its name, and which frame of it is which frame of which file.

The rule kept here: inside, the frames of a joined capture are numbered through all files, as mergecap numbers
them, so that whatever follows a connection sees one capture. What is printed names the file and the number
that the frame has there.
"""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, Self, TypeVar

import msgspec

from msmq_wire.records.transit import NO_TRANSITS, Transits

_T = TypeVar("_T", bound=msgspec.Struct)
_OWN_FRAMES = ("opened_frame", "started_frame")
"""Fields of a call that name a frame of an earlier call."""


Extent = Literal["whole", "part", "none"]
Unseen = Literal["absent", "lost", "outside", "unknown"]


class Sight(msgspec.Struct, frozen=True):
    """How much of some bytes one vantage point saw, and why it did not see all of them.

    ``absent``: it was recording this direction of the connection, or before and after it other traffic of
    these hosts, and nobody was seen to acknowledge the bytes. ``lost``: the receiver has the bytes, so the
    recording lost frames. ``outside``: it was not recording at that time. ``unknown``: nothing of this is
    known.
    """

    extent: Extent
    reason: Unseen | None = None


def joined_name(files: Sequence[str]) -> str:
    """What a capture that lies in ``files`` is called: by the first and the last of them."""
    return files[0] if len(files) == 1 else f"{files[0]} to {os.path.basename(files[-1])}"


class JoinedCapture(str):
    """The name of a capture that lies in ``files``, which are in order of time.

    ``starts`` are the numbers of the frame before each file that was read, with the place of that file in
    ``files``; ``owned`` the places of those that records without frames are about, by the ids of these.
    """

    files: tuple[str, ...]
    starts: list[tuple[int, int]]
    owned: dict[int, int]

    def __new__(
        cls, files: Sequence[str], known: JoinedCapture | None = None, *, name: str | None = None
    ) -> Self:
        """Make a name, by default `joined_name`.

        That of a capture which is ``known`` by other names tells of the same frames.
        """
        joined = super().__new__(cls, name or joined_name(files))
        joined.files = tuple(files)
        joined.starts = [] if known is None else known.starts
        joined.owned = {} if known is None else known.owned
        return joined

    @property
    def point_files(self) -> tuple[tuple[str, ...], ...]:
        """The files of each vantage point, the one that times are told by first; none for a ring."""
        return ()

    @property
    def transits(self) -> Transits:
        """How long packets took between the vantage points."""
        return NO_TRANSITS

    def seen_at(self, frames: Iterable[int]) -> tuple[Sight, ...]:
        """What each vantage point saw of the bytes in some frames; nothing where there are no points."""
        return ()

    def lost_frames(self, point: int) -> int:
        """How many frames with data came to the place of a point, and are not in its recording."""
        return 0

    @property
    def clock_offsets(self) -> tuple[int, ...]:
        """What to add to the times of each vantage point to have those that are told (ns)."""
        return ()

    @property
    def translations(self) -> tuple[tuple[int, str, str], ...]:
        """Addresses with ports that are translated between vantage points (NAT).

        Each with the number of a point, what that calls it, and what it is called here.
        """
        return ()

    def renamed(self, files: Sequence[str], named: Callable[[str], str] = str) -> JoinedCapture:
        """The same capture with other names of its files; ``named`` gives those of addresses."""
        return JoinedCapture(files, self)

    def begin(self, file: str, after: int) -> None:
        """Say that the frames of the next file are numbered from ``after`` + 1 on."""
        self.starts.append((after, self.files.index(file)))

    def locate(self, frame: int) -> tuple[str, int]:
        """The file of a frame, and the number that the frame has in it."""
        start, place = self.starts[max(bisect_left(self.starts, (frame,)) - 1, 0)]
        return self.files[place], frame - start

    def own(self, record: int, file: str) -> None:
        """Say which file a record without frames is about."""
        self.owned[record] = self.files.index(file)

    def file_of(self, record: int) -> str:
        """The file that a record without frames is about."""
        return self.files[self.owned[record]] if record in self.owned else str(self)


class LocatedFile(str):
    """The file that holds the last frame of something, as `located` names it, of a capture with points.

    ``of`` is the capture, ``frames`` are the numbers that all of its frames have there.
    """

    of: JoinedCapture
    frames: tuple[int, ...]

    def __new__(cls, file: str, of: JoinedCapture, frames: tuple[int, ...]) -> Self:
        """Make the name of a file."""
        named = super().__new__(cls, file)
        named.of, named.frames = of, frames
        return named


def files_of(capture: str) -> tuple[str, ...]:
    """The files of a capture."""
    return capture.files if isinstance(capture, JoinedCapture) else (capture,)


def located_frame(capture: str, frame: int) -> tuple[str, int]:
    """The file of a frame, and its number there."""
    return capture.locate(frame) if isinstance(capture, JoinedCapture) else (capture, frame)


def frames_by_file(capture: str, frames: Iterable[int]) -> dict[str, tuple[int, ...]]:
    """Frames of a capture by file, each with the numbers that they have in it."""
    if not isinstance(capture, JoinedCapture):
        return {capture: tuple(frames)}
    found: dict[str, tuple[int, ...]] = {}
    for frame in frames:
        file, number = capture.locate(frame)
        found[file] = (*found.get(file, ()), number)
    return found


def last_file(capture: str, frames: tuple[int, ...]) -> tuple[str, tuple[int, ...]]:
    """The file that holds the last of some frames, and the numbers of those that lie there."""
    if not isinstance(capture, JoinedCapture) or not frames:
        return capture, frames
    file, _ = capture.locate(max(frames))
    return file, frames_by_file(capture, frames)[file]


def first_file(capture: str, frames: tuple[int, ...]) -> tuple[str, tuple[int, ...]]:
    """The file that holds the first of some frames, and the numbers of those that lie there."""
    return next(iter(frames_by_file(capture, frames).items()), (capture, frames))


def located(item: _T) -> _T:
    """A record, or a place, with the file that holds the last of its frames, and the frames that lie there.

    What is of one file already comes back as it is.
    """
    # Structures differ in all but these names.
    known: Any = item
    capture = known.capture
    if not isinstance(capture, JoinedCapture):
        return item
    file, frames = last_file(capture, known.frames)
    if not frames:
        file = capture.file_of(getattr(known, "id", 0))
    if capture.point_files:
        # What its points saw of it may be asked later.
        file = LocatedFile(file, capture, known.frames)
    changed: dict[str, Any] = {"capture": file, "frames": frames}
    packet: Any = getattr(known, "packet", None)
    inside = _inside(packet, capture, file)
    if inside:
        changed["packet"] = _replaced(packet, inside)
    return msgspec.structs.replace(item, **changed)


def _replaced(value: Any, changed: dict[str, Any]) -> Any:
    return msgspec.structs.replace(value, **changed)


def _inside(packet: Any, capture: JoinedCapture, file: str) -> dict[str, Any]:
    """The fields of a call or a request that name frames, without the frames of other files."""
    changed: dict[str, Any] = {}
    for name in _OWN_FRAMES:
        frame = getattr(packet, name, None)
        if frame is not None:
            place, number = capture.locate(frame)
            changed[name] = number if place == file else None
    response = getattr(packet, "response", None)
    frames = getattr(response, "frames", None)
    if isinstance(response, msgspec.Struct) and isinstance(frames, tuple):
        own = frames_by_file(capture, frames).get(file, ())
        changed["response"] = msgspec.structs.replace(response, frames=own)
    return changed
