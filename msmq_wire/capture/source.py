"""Where capture bytes come from: files, standard input, streams, compressed or not, in bounded memory."""

from __future__ import annotations

import bz2
import contextlib
import lzma
import os
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from io import BufferedReader, TextIOBase
from types import TracebackType
from typing import Any, BinaryIO, Protocol, cast

from msmq_wire.arguments import wrong_type
from msmq_wire.capture.opened_file import OpenedFile, reason_of
from msmq_wire.capture.pcap import PCAP_MAGICS, Frame, Window, read_pcap
from msmq_wire.capture.pcapng import PCAPNG_MAGIC, CaptureLosses, read_pcapng
from msmq_wire.errors import CaptureError

CaptureSource = str | os.PathLike[str] | BinaryIO

_FIRST = 1 << 14
"""Bytes of the first read: who looks at the head of a file far away pays for them."""
_CHUNK = 1 << 20
_GZIP = b"\x1f\x8b"
_ZSTD = b"\x28\xb5\x2f\xfd"
_ZSTD_SKIPPABLE = b"\x2a\x4d\x18"  # after a first byte 0x50-0x5f
_ZSTD_WINDOW = 27
"""The logarithm of the largest window of zstd that is made room for, in bytes."""
_PIECE = 1 << 17
_FED = 1 << 14
_BZIP2 = b"BZh"
_XZ = b"\xfd7zXZ\0"
_XZ_MEMORY = 1 << 27
"""Bytes that xz may take to unpack: what xz -9 needs is half of it."""
_COMPRESSIONS = 2
_EDITCAP = "editcap FILE OUT.pcapng converts it"
_OTHER_FORMATS = {
    b"snoop": ("a snoop capture", _EDITCAP),
    b"GMBU": ("a capture of Network Monitor 2", _EDITCAP),
    b"RTSS": ("a capture of Network Monitor 1", _EDITCAP),
    b"MSCF": ("a cabinet (CAB)", "expand FILE -F:* . unpacks it"),
    b"ElfFile\0": ("a Windows event log (EVTX)", "--events FILE reads it beside a capture"),
    b"PK\x03\x04": ("a zip archive", "unzip FILE unpacks it"),
    b"\x04\x22\x4d\x18": ("lz4-compressed", "lz4 -d FILE unpacks it"),
}
"""What begins otherwise than a capture, and the way out."""
_ETL = ("an event trace log (ETL)", "pktmon etl2pcap FILE, or etl2pcapng FILE OUT, makes a capture of it")
_ETL_HEADER = 72
_SYSTEM_HEADERS = (1, 2)


class Source:
    """One opened capture: a path, ``"-"`` for standard input, or a binary file object.

    ``total`` is the size in bytes of what is read, or None where it cannot be known (a pipe);
    ``bytes_read`` is how much of it was consumed, before decompression. ``is_capture`` says that it began
    like a capture, ``compressed`` that its bytes are packed, ``losses`` what it says of itself.
    ``before_read`` is called before a read, which may have to wait, ``after_read`` with the bytes that it
    gave, ``through`` with the window of a capture: the one that it returns is read. Only files that were
    opened here, or are ``owned``, are closed here. Raises `CaptureError` when the path cannot be opened,
    TypeError for what is neither.
    """

    def __init__(self, source: CaptureSource | OpenedFile, *, owned: bool = False) -> None:
        self.bytes_read = 0
        self.is_capture = False
        self.losses = CaptureLosses()
        self.compressed = False
        self.before_read: Callable[[], None] | None = None
        self.after_read: Callable[[bytes | bytearray | memoryview], object] | None = None
        self.through: Callable[[Window], Window] | None = None
        self._owned = owned
        if source == "-":
            self.name = "standard input"
            self._file: BinaryIO | OpenedFile = sys.stdin.buffer
        elif isinstance(source, (str, os.PathLike)):
            self.name = os.fspath(source)
            try:
                self._file = open(source, "rb")  # noqa: SIM115  (closed by close)
            except (OSError, ValueError) as error:
                raise CaptureError(f"cannot open {self.name}: {reason_of(error)}") from error
            self._owned = True
        else:
            check_file("source", source, "a path, '-' or a binary file object")
            self.name = str(getattr(source, "name", "the stream"))
            self._file = source
        # What is made of other files knows how much of them was read.
        self._counts_itself = isinstance(getattr(self._file, "bytes_read", None), int)
        self.total = _size(self._file)

    def __enter__(self) -> Source:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file if it was opened here."""
        if self._owned:
            self._file.close()

    def frames(self) -> Iterator[Frame]:
        """Yield the frames; can be walked once. Errors: see `read_frames`."""
        window = self.window()
        if window.buffer[:4] == PCAPNG_MAGIC:
            yield from read_pcapng(window, self.losses)
        else:
            yield from read_pcap(window)

    def window(self) -> Window:
        """Return the window at the start of the pcap or pcapng bytes, decompressed; can be called once.

        Raises CaptureError when the source is no capture.
        """
        window = self.unpacked()
        head = window.buffer[:4]
        if head not in PCAP_MAGICS and head != PCAPNG_MAGIC:
            raise CaptureError(_no_capture(self.name, window.buffer))
        self.is_capture = True
        return window if self.through is None else self.through(window)

    def unpacked(self) -> Window:
        """Return the window at the start of the bytes, decompressed, whatever they are; can be called once.

        Raises CaptureError when nothing can be read, or it is compressed more than twice.
        """
        window = Window(self._read())
        for depth in range(_COMPRESSIONS + 1):
            whole = window.more(0, 4)
            head = window.buffer[:4]
            if head[:2] == _GZIP:
                window = Window(_gunzip(window.rest()))
            elif head[:3] == _BZIP2:
                window = Window(_unpacked(window.rest(), "bzip2"))
            elif head == _XZ[:4] and window.more(0, 6) and window.buffer[:6] == _XZ:
                window = Window(_unpacked(window.rest(), "xz"))
            elif head == _ZSTD or (head[1:] == _ZSTD_SKIPPABLE and head[0] & 0xF0 == 0x50):
                window = Window(_unpacked(window.rest(), "zstd"))
            elif not whole and window.failure is not None:
                raise window.failure
            else:
                if not depth and self._owned:
                    window.fill = self._fill
                return window
            self.compressed = True
        raise CaptureError(f"{self.name} is compressed more than {_COMPRESSIONS} times")

    def read_rest(self) -> bool:
        """Read what a walk over the frames left; whether that could be done. Nobody should wait for it."""
        with contextlib.suppress(CaptureError):
            for _ in self._read():
                pass
            return True
        return False

    def _fill(self, view: memoryview) -> int:
        """Read into ``view``, as `Window.fill` says: without a bytes object for every chunk."""
        if self.before_read is not None:
            self.before_read()
        # One read of the system at a time, so that an error loses nothing that was read before it.
        try:
            file = cast(BufferedReader | OpenedFile, self._file)
            count = (file.readinto1 if isinstance(file, BufferedReader) else file.readinto)(view)
        except (OSError, ValueError) as error:
            raise CaptureError(f"cannot read {self.name}: {reason_of(error)}") from error
        self._count(count)
        if self.after_read is not None:
            self.after_read(view[:count])
        return count

    def _count(self, size: int) -> None:
        """Count what was read."""
        file: Any = self._file
        self.bytes_read = file.bytes_read if self._counts_itself else self.bytes_read + size

    def _read(self) -> Iterator[bytes]:
        # read1 gives what a pipe has now; read would wait for a full chunk.
        read: Callable[[int], object] = getattr(self._file, "read1", self._file.read)
        size = min(_FIRST, _CHUNK)
        while True:
            if self.before_read is not None:
                self.before_read()
            try:
                chunk = read(size)
            except (OSError, ValueError, EOFError) as error:
                raise CaptureError(f"cannot read {self.name}: {reason_of(error)}") from error
            if not isinstance(chunk, (bytes, bytearray, memoryview)):
                raise CaptureError(f"cannot read {self.name}: it is not a blocking binary stream")
            if not chunk:
                return
            size = _CHUNK
            self._count(len(chunk))
            if self.after_read is not None:
                self.after_read(chunk)
            yield bytes(chunk)


def check_file(name: str, value: object, expected: str) -> None:
    """Raises TypeError for what is no binary file object, with what to write instead where that is known."""
    hint = ""
    if isinstance(value, bytes | bytearray | memoryview):
        hint = "io.BytesIO(data)"
    elif isinstance(value, TextIOBase):
        hint = 'open it with "rb"'
    elif callable(getattr(value, "read", None)):
        return
    raise TypeError(wrong_type(name, expected, value, hint))


def can_seek(file: BinaryIO) -> bool:
    """Whether a file object can be read again."""
    seekable: Callable[[], bool] | None = getattr(file, "seekable", None)
    return seekable is not None and seekable()


def read_frames(source: CaptureSource | Source) -> Iterator[Frame]:
    """Yield the frames of a pcap or pcapng capture, plain, gzip, bzip2, xz or zstd, compressed at most twice.

    ``source`` is a path, ``"-"`` for standard input, a binary file object, or an opened `Source`, whose
    ``bytes_read`` and ``total`` then show the progress. Raises `CaptureError` (``offset``: bytes of the
    uncompressed file) when the file cannot be opened or is no capture, and after the last whole frame when it
    is cut or damaged.
    """
    if isinstance(source, Source):
        yield from source.frames()
        return
    with Source(source) as opened:
        yield from opened.frames()


def size_of(source: CaptureSource | OpenedFile) -> int | None:
    """How many bytes a source has from here on; None where that cannot be known."""
    if isinstance(source, str | os.PathLike):
        return os.stat(source).st_size if os.path.isfile(source) else None
    return _size(source)


def _size(file: BinaryIO | OpenedFile) -> int | None:
    total = getattr(file, "total", None)
    if isinstance(total, int):
        return total
    try:
        if not file.seekable():
            return None
        here = file.tell()
        size = file.seek(0, os.SEEK_END) - here
        file.seek(here)
    except (AttributeError, OSError, ValueError):
        return None
    return size or None


def _no_capture(name: str, head: bytes) -> str:
    if not head:
        return f"{name} is empty"
    known = next((reported for magic, reported in _OTHER_FORMATS.items() if head.startswith(magic)), None)
    if known is None and _is_event_trace(head):
        known = _ETL
    if known is not None:
        return f"{name} is {known[0]}, not pcap or pcapng: {known[1]}"
    if all(byte in b"\t\r\n" or 0x20 <= byte < 0x7F for byte in head[:64]):
        return f"{name} is text, not pcap or pcapng"
    return f"{name} is neither pcap nor pcapng: it starts with {head[:4].hex()}"


def _is_event_trace(head: bytes) -> bool:
    """Whether a file begins with the buffer and the system header of an event trace log."""
    size = int.from_bytes(head[:4], "little")
    behind = head[_ETL_HEADER : _ETL_HEADER + 4]
    return (
        len(behind) == 4
        and size % 1024 == 0 < size <= 1 << 24
        and behind[2] in _SYSTEM_HEADERS
        and behind[3] == 0xC0
    )


def _fed(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The same in small pieces: behind each stream a decompressor copies what is left of its input."""
    for chunk in chunks:
        for at in range(0, len(chunk), _FED):
            yield chunk[at : at + _FED]


class _Decompressor(Protocol):
    """What unpacks one stream of a kind, as those of the standard library do."""

    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int, /) -> bytes: ...


def _decompressors(kind: str) -> tuple[Callable[[], _Decompressor], tuple[type[Exception], ...]]:
    """What makes a decompressor of a kind, and what it raises."""
    if kind == "bzip2":
        return bz2.BZ2Decompressor, (OSError, EOFError)
    if kind == "xz":
        return partial(lzma.LZMADecompressor, memlimit=_XZ_MEMORY), (lzma.LZMAError, EOFError)
    try:
        if sys.version_info < (3, 14):
            from backports import zstd
        else:
            from compression import zstd
    except ImportError as error:
        raise CaptureError("reading a zstd-compressed capture needs the package backports.zstd") from error
    options: dict[int, int] = {zstd.DecompressionParameter.window_log_max: _ZSTD_WINDOW}
    return partial(zstd.ZstdDecompressor, options=options), (zstd.ZstdError, EOFError)


def _unpacked(chunks: Iterable[bytes], kind: str) -> Iterator[bytes]:
    """Yield the bytes of concatenated streams of bzip2, xz or zstd, pieces of at most 128 KiB.

    Where a stream is damaged the piece with the damage is lost.
    """
    make, errors = _decompressors(kind)
    stream = make()
    begun = False
    try:
        for chunk in _fed(chunks):
            pending = chunk
            while pending or (begun and not stream.eof and not stream.needs_input):
                if stream.eof:
                    pending = pending.lstrip(b"\0")
                    if not pending:
                        break
                    stream = make()
                begun = True
                piece = stream.decompress(pending, _PIECE)
                pending = stream.unused_data if stream.eof else b""
                if piece:
                    yield piece
    except errors as error:
        raise CaptureError(f"the {kind} stream is damaged ({error})") from error
    if begun and not stream.eof:
        raise CaptureError(f"the {kind} stream is cut")


def _gunzip(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the bytes of concatenated gzip members, pieces of at most 1 MiB; zeros may follow a member."""
    inflate = zlib.decompressobj(zlib.MAX_WBITS | 16)
    started = False
    for chunk in _fed(chunks):
        pending = chunk
        while pending:
            if inflate.eof:
                inflate = zlib.decompressobj(zlib.MAX_WBITS | 16)
                started = False
            if not started:
                pending = pending.lstrip(b"\0")
                if not pending:
                    break
                started = True
            before = inflate.copy()
            try:
                piece = inflate.decompress(pending, _CHUNK)
            except zlib.error as error:
                yield from _salvage(before, pending)
                raise CaptureError("the gzip stream is damaged") from error
            if piece:
                yield piece
            pending = inflate.unused_data if inflate.eof else inflate.unconsumed_tail
    # A bounded decompress may keep output back after it took the last input.
    while started and not inflate.eof:
        try:
            piece = inflate.decompress(b"", _CHUNK)
        except zlib.error as error:
            raise CaptureError("the gzip stream is damaged") from error
        if not piece and not inflate.eof:
            raise CaptureError("the gzip stream is cut")
        yield piece


def _salvage(inflate: zlib._Decompress, data: bytes) -> Iterator[bytes]:
    """Yield what the bytes before the damage in ``data`` decompress to; zlib drops it when it fails."""
    at = 0
    step = 1 << len(data).bit_length()
    while step := step >> 1:
        before = inflate.copy()
        try:
            piece = inflate.decompress(data[at : at + step])
        except zlib.error:
            inflate = before
            continue
        at += step
        if piece:
            yield piece
