"""Frames to a capture file: classic pcap with nanoseconds while it can hold them, else pcapng."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator
from struct import Struct
from tempfile import SpooledTemporaryFile
from typing import IO, Literal

import msgspec

from msmq_wire.capture.pcap import Frame, Window, read_pcap
from msmq_wire.capture.pcapng import PCAPNG_MAGIC
from msmq_wire.errors import CaptureError
from msmq_wire.output import whole_file
from msmq_wire.units import SECOND

_SPOOL = 1 << 23
_USUAL_SNAP_LENGTH = 1 << 18
_LARGEST_FRAME = (1 << 27) - 32  # with a packet block around it: what the readers accept

_file_header = Struct("<IHHiIII").pack
_record_header = Struct("<IIII").pack
_limits = Struct("<II").pack
_section_header = Struct("<4sIIHHqI").pack
_interface = Struct("<IIHHIHHB3xHHI").pack
_enhanced_packet = Struct("<IIIIIII").pack
_length = Struct("<I").pack


class WriteSummary(msgspec.Struct, frozen=True):
    """What was written: how many frames, and in which format."""

    frames: int
    format: Literal["pcap", "pcapng"]


def write_pcap(
    target: str | os.PathLike[str] | IO[bytes], frames: Iterable[Frame], *, force: bool = True
) -> WriteSummary:
    """Write frames in the given order, their bytes, lengths and nanoseconds unchanged.

    ``target`` is a path or a binary file object, which is written from where it stands. The result is classic
    pcap (little endian, nanoseconds); frames of several link types, or later than the year 2106, make it
    pcapng with one interface a link type. Numbers, sections and interfaces are not kept; a frame without time
    gets time 0. No frames give an empty Ethernet capture. When ``frames`` raises, a file object has the
    frames before it, and a path is as it was. A file that is there is replaced unless ``force`` is
    false, a link never. Raises `CaptureError` for a target that cannot be written and for a frame that no
    capture file can hold.
    """
    try:
        if isinstance(target, (str, os.PathLike)):
            with whole_file(target, force=force) as file:
                return _write(file, frames) if file.readable() else _spool(file, frames)
        return _spool(target, frames)
    except OSError as error:
        raise CaptureError(f"cannot write the capture: {error.strerror or error}") from error


def _spool(target: IO[bytes], frames: Iterable[Frame]) -> WriteSummary:
    # A file object need not be readable or seekable; the format is known for sure only at the end.
    with SpooledTemporaryFile(max_size=_SPOOL) as spool:
        try:
            return _write(spool, frames)
        finally:
            spool.seek(0)
            shutil.copyfileobj(spool, target)


def _write(file: IO[bytes], frames: Iterable[Frame]) -> WriteSummary:
    remaining = iter(frames)
    link_type: int | None = None
    snap_length = _USUAL_SNAP_LENGTH
    count = 0
    file.write(_file_header(0xA1B23C4D, 2, 4, 0, 0, snap_length, 1))
    try:
        for frame in remaining:
            _check(frame)
            seconds, nanoseconds = divmod(frame.time or 0, SECOND)
            if link_type is None:
                link_type = frame.link_type
            if frame.link_type != link_type or seconds >> 32:
                break
            captured = len(frame.data)
            snap_length = max(snap_length, captured)
            file.write(_record_header(seconds, nanoseconds, captured, frame.length))
            file.write(frame.data)
            count += 1
        else:
            return WriteSummary(count, "pcap")
    finally:
        file.seek(16)
        file.write(_limits(snap_length, 1 if link_type is None else link_type))
    return _write_pcapng(file, count, frame, remaining)


def _write_pcapng(file: IO[bytes], count: int, frame: Frame, remaining: Iterator[Frame]) -> WriteSummary:
    """Turn the pcap written so far, ``count`` frames, into pcapng and go on with ``frame``."""
    with SpooledTemporaryFile(max_size=_SPOOL) as before:
        file.seek(0)
        shutil.copyfileobj(file, before)
        before.seek(0)
        file.seek(0)
        file.truncate()
        interfaces: dict[int, int] = {}
        file.write(_section_header(PCAPNG_MAGIC, 28, 0x1A2B3C4D, 1, 0, -1, 28))
        for earlier in read_pcap(Window(iter(lambda: before.read(1 << 20), b""))):
            _write_packet(file, earlier, interfaces)
        _write_packet(file, frame, interfaces)
        count += 1
        for later in remaining:
            _check(later)
            _write_packet(file, later, interfaces)
            count += 1
    return WriteSummary(count, "pcapng")


def _write_packet(file: IO[bytes], frame: Frame, interfaces: dict[int, int]) -> None:
    link_type = frame.link_type
    interface = interfaces.get(link_type)
    if interface is None:
        interface = interfaces[link_type] = len(interfaces)
        # One option, if_tsresol (9): 10 to the power of -9; then the end of options.
        file.write(_interface(1, 32, link_type, 0, 0, 9, 1, 9, 0, 0, 32))
    captured = len(frame.data)
    padding = -captured & 3
    total = 32 + captured + padding
    time = frame.time or 0
    file.write(_enhanced_packet(6, total, interface, time >> 32, time & 0xFFFFFFFF, captured, frame.length))
    file.write(frame.data)
    file.write(bytes(padding) + _length(total))


def _check(frame: Frame) -> None:
    if len(frame.data) > _LARGEST_FRAME:
        raise CaptureError(f"frame {frame.number} holds {len(frame.data)} bytes, over {_LARGEST_FRAME}")
    if not 0 <= frame.link_type <= 0xFFFF:
        raise CaptureError(f"frame {frame.number} has link type {frame.link_type}, over 16 bits")
    if not 0 <= frame.length <= 0xFFFFFFFF:
        raise CaptureError(f"frame {frame.number} has length {frame.length}, over 32 bits")
    if not 0 <= (frame.time or 0) < 1 << 64:
        raise CaptureError(f"frame {frame.number} has time {frame.time}, outside 64 bits")
