"""Parses keytab files, MIT format 0x0501 and 0x0502: the long-term keys of services.

The format is described in the MIT Kerberos documentation, "Keytab file format".
"""

from __future__ import annotations

import struct
from typing import Literal

import msgspec

from msmq_wire.buffers import as_bytes
from msmq_wire.errors import DecodeError

_Order = Literal["little", "big"]


class KeytabEntry(msgspec.Struct, frozen=True, gc=False):
    """One key of ``principal`` (``HOST/server@REALM``). ``repr`` does not show the key.

    [RFC 3961] 8 lists the values of ``etype``.
    """

    principal: str
    kvno: int
    etype: int
    key: bytes

    def __repr__(self) -> str:
        return f"KeytabEntry({self.principal!r}, kvno={self.kvno}, etype={self.etype})"

    def __rich_repr__(self) -> list[tuple[str, object]]:
        return [("principal", self.principal), ("kvno", self.kvno), ("etype", self.etype)]


class _Reader:
    """Reads one record, and nothing beyond its ``end``."""

    def __init__(self, data: bytes, start: int, end: int, order: _Order) -> None:
        self._data = data
        self._order: _Order = order
        self.at = start
        self.end = end

    def take(self, size: int, path: str) -> bytes:
        if size > self.end - self.at:
            message = f"{size} bytes are needed, {self.end - self.at} are left in the record"
            raise DecodeError("missing-bytes", message, path=path, offset=self.at)
        taken = self._data[self.at : self.at + size]
        self.at += size
        return taken

    def number(self, size: int, path: str) -> int:
        return int.from_bytes(self.take(size, path), self._order)

    def counted_octets(self, path: str) -> bytes:
        return self.take(self.number(2, path), path)


def parse_keytab(data: bytes) -> tuple[KeytabEntry, ...]:
    """Return every key of a keytab; skip holes (deleted entries).

    Raises `DecodeError` if the bytes are not a keytab, or if a record exceeds its length. Its ``partial`` is
    the tuple of the entries before. Errors show no byte of the file.
    """
    data = as_bytes(data)
    version = data[:2]
    if version not in (b"\x05\x01", b"\x05\x02"):
        message = "no keytab of version 0x0501 or 0x0502"
        raise DecodeError("keytab-version", message, path="version", partial=())
    if version == b"\x05\x02":
        return _entries(data, "big", components_with_realm=False)
    # Version 1 is in the byte order of the machine that wrote it, which the file does not say.
    try:
        return _entries(data, "little", components_with_realm=True)
    except DecodeError as little:
        try:
            return _entries(data, "big", components_with_realm=True)
        except DecodeError as big:
            raise max(little, big, key=_count) from None


def _count(error: DecodeError) -> int:
    return len(error.partial) if isinstance(error.partial, tuple) else 0


def _entries(data: bytes, order: _Order, *, components_with_realm: bool) -> tuple[KeytabEntry, ...]:
    entries: list[KeytabEntry] = []
    at = 2
    while at + 4 <= len(data):
        (size,) = struct.unpack_from("<i" if order == "little" else ">i", data, at)
        at += 4
        if size == 0:
            break
        if size > 0:
            if size > len(data) - at:
                message = f"a record of {size} bytes, {len(data) - at} are left"
                raise DecodeError(
                    "missing-bytes", message, path="size", offset=at - 4, partial=tuple(entries)
                )
            reader = _Reader(data, at, at + size, order)
            try:
                entries.append(_entry(reader, components_with_realm=components_with_realm))
            except DecodeError as error:
                error.partial = tuple(entries)
                raise
        at += abs(size)
    return tuple(entries)


def _entry(reader: _Reader, *, components_with_realm: bool) -> KeytabEntry:
    count = reader.number(2, "num_components") - components_with_realm
    if count < 0:
        raise DecodeError("negative-length", "a principal without its realm", path="num_components")
    realm = reader.counted_octets("realm").decode("utf-8", "replace")
    components = [reader.counted_octets("components").decode("utf-8", "replace") for _ in range(count)]
    if not components_with_realm:
        reader.take(4, "name_type")
    reader.take(4, "timestamp")
    kvno = reader.number(1, "vno8")
    etype = reader.number(2, "keyblock.type")
    key = reader.counted_octets("keyblock.data")
    if reader.end - reader.at >= 4:
        kvno = reader.number(4, "vno") or kvno
    return KeytabEntry(f"{'/'.join(components)}@{realm}", kvno, etype, key)
