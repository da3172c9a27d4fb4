"""Files that begin with a mark of their own: images, documents, archives, programs.

Only the beginning is looked at, nothing is opened. The marks are those the formats define for themselves.
"""

from __future__ import annotations

from typing import NamedTuple

from msmq_wire.records.bodies.body import Body, BodyKinds, Details

KINDS = (
    BodyKinds(
        ("image", "document", "archive", "program", "compound_file"),
        "the mark that such files begin with",
        "which one; the size of a PNG image",
    ),
)


class _Mark(NamedTuple):
    prefix: bytes
    kind: str
    title: str
    extension: str


_MARKS = (
    _Mark(b"\x89PNG\r\n\x1a\n", "image", "PNG image", "png"),
    _Mark(b"\xff\xd8\xff", "image", "JPEG image", "jpg"),
    _Mark(b"GIF87a", "image", "GIF image", "gif"),
    _Mark(b"GIF89a", "image", "GIF image", "gif"),
    _Mark(b"II*\0", "image", "TIFF image", "tif"),
    _Mark(b"MM\0*", "image", "TIFF image", "tif"),
    _Mark(b"%PDF-", "document", "PDF document", "pdf"),
    _Mark(b"PK\x03\x04", "archive", "ZIP archive", "zip"),
    _Mark(b"PK\x05\x06", "archive", "empty ZIP archive", "zip"),
    _Mark(b"7z\xbc\xaf\x27\x1c", "archive", "7-Zip archive", "7z"),
    _Mark(b"Rar!\x1a\x07", "archive", "RAR archive", "rar"),
    _Mark(b"MSCF\0\0\0\0", "archive", "cabinet", "cab"),
    _Mark(b"\xfd7zXZ\0", "archive", "xz data", "xz"),
    _Mark(b"\x28\xb5\x2f\xfd", "archive", "Zstandard data", "zst"),
    _Mark(b"\x7fELF", "program", "ELF program", "elf"),
    _Mark(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "compound_file", "compound file", "ole"),
    _Mark(b"SQLite format 3\0", "document", "SQLite database", "sqlite"),
)
_PREFIXES = tuple(mark.prefix for mark in _MARKS)
BEGINS = (*_PREFIXES, b"BZh", b"RIFF", b"BM", b"MZ")
"""What such a file begins with."""
_BZIP2_BLOCK = bytes.fromhex("314159265359")
_SIZED_IMAGE = "PNG image"


def marked_body(data: bytes) -> Body | None:
    """The body by the mark it begins with, ``likely``; None without a known one."""
    if data.startswith(_PREFIXES):
        mark = next(one for one in _MARKS if data.startswith(one.prefix))
        return Body(
            kind=mark.kind,
            confidence="likely",
            title=mark.title,
            details=_size(data) if mark.title == _SIZED_IMAGE else (),
            extension=mark.extension,
        )
    if data[:3] == b"BZh" and data[4:10] == _BZIP2_BLOCK:
        return Body(kind="archive", confidence="likely", title="bzip2 data", extension="bz2")
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return Body(kind="image", confidence="likely", title="WebP image", extension="webp")
    if data[:2] == b"BM" and len(data) >= 18 and int.from_bytes(data[14:18], "little") in (12, 40, 108, 124):
        return Body(kind="image", confidence="likely", title="BMP image", extension="bmp")
    if data[:2] == b"MZ":
        at = int.from_bytes(data[60:64], "little")
        if len(data) >= 64 and data[at : at + 4] == b"PE\0\0":
            return Body(kind="program", confidence="likely", title="Windows program", extension="exe")
    return None


def _size(data: bytes) -> Details:
    if data[12:16] != b"IHDR" or len(data) < 24:
        return ()
    width, height = (int.from_bytes(data[at : at + 4], "big") for at in (16, 20))
    return (("width", str(width)), ("height", str(height)))
