"""What is in a file, hashed as it is read: `ContentHash`; `FileDigest` is what is kept of one.

The rule kept here: the hash is that of the bytes unpacked, so that a capture and its compressed copy are one.
Of what is no capture, or is damaged where it is compressed, the bytes of the file itself count.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterable, Mapping

import msgspec

from msmq_wire.capture.pcap import Window
from msmq_wire.capture.source import Source
from msmq_wire.errors import CaptureError

_BLOCK = 1 << 20


class FileDigest(msgspec.Struct, frozen=True):
    """What is in a file: bytes, and the SHA-256 of all of them and of some beginnings, by their lengths."""

    length: int
    digest: str
    marks: Mapping[int, str] = {}


class _Hash:
    """SHA-256 of what came so far, and of the beginnings with some lengths."""

    def __init__(self, lengths: Iterable[int]) -> None:
        self.length = 0
        self._sha = hashlib.sha256()
        self._waiting = sorted({one for one in lengths if one > 0}, reverse=True)
        self._marks: dict[int, str] = {}

    def update(self, data: bytes | bytearray | memoryview) -> None:
        view = memoryview(data)
        while self._waiting and self._waiting[-1] <= self.length + len(view):
            mark = self._waiting.pop()
            self._sha.update(view[: mark - self.length])
            view, self.length = view[mark - self.length :], mark
            self._marks[mark] = self._sha.hexdigest()
        self._sha.update(view)
        self.length += len(view)

    def result(self) -> FileDigest:
        return FileDigest(self.length, self._sha.hexdigest(), self._marks)


class _HashedWindow(Window):
    """A window that hashes what leaves it."""

    __slots__ = ("_hash",)

    def __init__(self, window: Window, into: _Hash) -> None:
        super().__init__(window.rest())
        self._hash = into
        # What is in the buffer has not left it yet.
        self.more(0, 1)

    def more(self, at: int, need: int) -> bool:
        self._hash.update(self.buffer[:at])
        return super().more(at, need)

    def read_into(self, view: memoryview) -> int:
        count = super().read_into(view)
        self._hash.update(view[:count])
        return count


class ContentHash:
    """Hashes a source that nothing was read of yet; ``lengths`` are the beginnings to mark, in bytes."""

    def __init__(self, source: Source, lengths: Iterable[int] = ()) -> None:
        self._source = source
        self._lengths = tuple(lengths)
        self._raw = _Hash(self._lengths)
        self._unpacked: tuple[Window, _Hash] | None = None
        source.after_read = self._raw.update
        source.through = self._through

    def _through(self, window: Window) -> Window:
        if not self._source.compressed:
            return window
        unpacked = _Hash(self._lengths)
        hashed = _HashedWindow(window, unpacked)
        self._unpacked = hashed, unpacked
        return hashed

    def finish(self) -> FileDigest | None:
        """Read what is left; return what the source holds, None where it cannot be read to its end."""
        if self._unpacked is not None:
            window, unpacked = self._unpacked
            block = memoryview(bytearray(_BLOCK))
            while window.read_into(block):
                pass
            if window.failure is None:
                return unpacked.result()
        if not self._source.read_rest() or self._raw.length != (self._source.total or 0):
            return None
        return self._raw.result()


def content_digest(source: Source, lengths: Iterable[int] = ()) -> FileDigest | None:
    """Read all of a source that nothing was read of yet; see `ContentHash`."""
    found = ContentHash(source, lengths)
    # It is hashed whatever it is.
    with contextlib.suppress(CaptureError):
        source.window()
    return found.finish()
