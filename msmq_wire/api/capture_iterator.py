"""`CaptureIterator`: what a function of the Python API gives for captures, one item after the other.

The rule kept here: nothing is lost in silence. A capture that cannot be read raises; what else a reader has
to know is in ``errors`` and ``notices`` when the iteration has ended.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from inspect import currentframe
from operator import index
from types import TracebackType
from typing import BinaryIO, TypeAlias, TypeVar, cast

from msmq_wire.api.accounts import default_negotiator, without_secrets
from msmq_wire.api.limits import dropped_text
from msmq_wire.arguments import wrong_type
from msmq_wire.capture.capture_counts import most_text
from msmq_wire.capture.capture_sequence import CaptureSequence
from msmq_wire.capture.machine_memory import default_memory
from msmq_wire.capture.named_captures import captures_named
from msmq_wire.capture.source import check_file
from msmq_wire.errors import ArgumentError, CaptureError, CaptureWarning
from msmq_wire.records.recognition import Ports
from msmq_wire.representation import reading_line
from msmq_wire.rpc.pdu_protection import Negotiator
from msmq_wire.sessions import LeftOut
from msmq_wire.units import byte_count

_T = TypeVar("_T", covariant=True)
_PACKAGE = "msmq_wire."
CapturePath: TypeAlias = str | os.PathLike[str]
Captures: TypeAlias = CapturePath | BinaryIO | Sequence[CapturePath]
"""A path, ``"-"`` for standard input, a binary file object, or several paths."""
_CAPTURES = "a path, '-', a binary file object or a list of paths"


class CaptureIterator(Iterator[_T]):
    """Iterates over what captures hold, as they are read.

    Iterate once: a second loop gives nothing, and ``repr`` says that it has ended. `list` keeps the items.
    ``errors`` and ``notices`` are complete when the iteration has ended; a CaptureWarning then says what is
    missing. `close` ends it early and closes the file, as the end of a ``with`` block does; the warning is
    then of what was met until there.
    """

    def __init__(self, reading: CaptureReport, items: Iterator[_T]) -> None:
        self._reading = reading
        self._items = items
        self._given = 0
        self._ended = False

    def __repr__(self) -> str:
        return reading_line(self, self._reading.title, "item", self._given, ended=self._ended)

    def __iter__(self) -> CaptureIterator[_T]:
        return self

    def __next__(self) -> _T:
        try:
            item = next(self._items)
        except StopIteration:
            self._ended = True
            self._reading.warn()
            raise
        self._given += 1
        return item

    def __enter__(self) -> CaptureIterator[_T]:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def errors(self) -> tuple[CaptureError, ...]:
        """Why files could not be read to their end; what is before the damage was given."""
        return self._reading.errors

    @property
    def notices(self) -> tuple[str, ...]:
        """What else to know: captures without MSMQ, sealed calls, what was left out."""
        return self._reading.notices

    @property
    def frames(self) -> int:
        """How many frames were read so far."""
        return self._reading.sequence.counts.frames

    def close(self) -> None:
        """End the iteration and close the file; what is missing so far is a CaptureWarning."""
        self._ended = True
        close: Callable[[], None] | None = getattr(self._items, "close", None)
        if close is not None:
            close()
        self._reading.warn()


class CaptureReport:
    """A reading of captures, and what has to be known of it afterwards; call `warn` at its end."""

    def __init__(
        self,
        captures: Captures,
        *,
        ports: Ports = (),
        streams: bool = False,
        negotiator: Negotiator | None = None,
        memory: int | None = None,
        recursive: bool = False,
    ) -> None:
        files, stream = _named(captures)
        self.title = ", ".join("standard input" if file == "-" else file for file in files)
        self._left_out = self._deeper = 0
        if stream is None:
            files, self._left_out, self._deeper = captures_named(files, recursive)
        if not files:
            raise ArgumentError("no capture is given")
        self.sequence = CaptureSequence(
            files,
            given={} if stream is None else {files[0]: stream},
            ports=ports,
            streams=streams,
            negotiator=negotiator or default_negotiator(),
            memory=_bytes_of(memory),
        )
        self._warned = False
        self.dropped = LeftOut()
        self.more: tuple[str, ...] = ()

    @property
    def errors(self) -> tuple[CaptureError, ...]:
        """Why files could not be read to their end."""
        return tuple(self.sequence.errors)

    @property
    def notices(self) -> tuple[str, ...]:
        """What else to know."""
        counts = self.sequence.counts
        sealed = counts.sealed if self.sequence.negotiator in (None, without_secrets) else 0
        closed = f"{sealed} sealed calls could not be read: a negotiator opens them"
        return (
            *self.sequence.notices,
            *((most_text(counts.may_hide_msmq),) if counts.may_hide_msmq else ()),
            *counts.notice_texts,
            *((closed,) if sealed else ()),
            *self._missing,
        )

    @property
    def _missing(self) -> tuple[str, ...]:
        """What is not in the answer, though it was captured."""
        named = f"files left out of folders, as their names are not those of captures: {self._left_out}"
        deeper = f"folders inside left out: {self._deeper}; recursive=True reads those, too"
        dropped = dropped_text(self.dropped)
        return (
            *((named,) if self._left_out else ()),
            *((deeper,) if self._deeper else ()),
            *((f"dropped to save memory, the oldest first: {dropped}",) if dropped else ()),
            *self.more,
        )

    def warn(self) -> None:
        """Warn whoever called this package of each error, and of what is missing; once."""
        texts = () if self._warned else (*map(str, self.errors), *self._missing)
        self._warned = True
        for text in texts:
            warnings.warn(text, CaptureWarning, stacklevel=_outside())


def stream_of(captures: Captures) -> BinaryIO | None:
    """The file object that is to be read; None for paths. Raises TypeError for what is neither."""
    if isinstance(captures, (str, os.PathLike)):
        return None
    if isinstance(captures, Sequence) and not isinstance(captures, bytes | bytearray | memoryview):
        for place, one in enumerate(captures):
            if not isinstance(one, (str, os.PathLike)):
                raise TypeError(wrong_type(f"path[{place}]", "a path", one))
        return None
    check_file("path", captures, _CAPTURES)
    return cast("BinaryIO", captures)


def _named(captures: Captures) -> tuple[list[str], BinaryIO | None]:
    """The names of what is to be read, and the file object where that is one."""
    stream = stream_of(captures)
    if stream is not None:
        return [str(getattr(stream, "name", "the stream"))], stream
    paths = [captures] if isinstance(captures, (str, os.PathLike)) else captures
    return [os.fspath(one) for one in cast("Sequence[CapturePath]", paths)], None


def _bytes_of(memory: int | None) -> int:
    """What may be used. Raises TypeError or ArgumentError for what is no size."""
    if memory is None:
        return default_memory()
    try:
        size = index(memory)
    except TypeError:
        meant = byte_count(memory) if isinstance(memory, str) else None
        hint = "" if meant is None else f"memory={meant}"
        raise TypeError(wrong_type("memory", "a number of bytes", memory, hint)) from None
    if size < 1:
        raise ArgumentError(f"memory is {size}: it is a number of bytes, at least 1")
    return size


def _outside() -> int:
    """The stack level, as seen by who asks for it, of the first function that is not of this package."""
    level, frame = 0, currentframe()
    while frame is not None and frame.f_globals.get("__name__", "").startswith(_PACKAGE):
        level, frame = level + 1, frame.f_back
    return level
