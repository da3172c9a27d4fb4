"""Writes small .evtx files by hand: a header, chunks of 64 KiB, records of binary XML without templates."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from xml.etree import ElementTree

_CHUNK, _HEADER = 1 << 16, 1 << 12
_BEGINS = 512
_FILE_TIME = 133_000_000_000_000_000


def evtx_file(chunks: Sequence[Sequence[str]], *, first: int = 1) -> bytes:
    """A file with events, given as XML, in chunks; record ids run on from ``first``."""
    bodies, number = [], first
    for events in chunks:
        bodies.append(_chunk(events, number))
        number += len(events)
    head = b"ElfFile\0" + struct.pack("<QQQ", 0, max(len(bodies) - 1, 0), number)
    head += struct.pack("<IHHHH", 128, 1, 3, _HEADER, len(bodies)) + bytes(76)
    head += struct.pack("<II", 0, zlib.crc32(head))
    return b"".join([head.ljust(_HEADER, b"\0"), *bodies])


def _chunk(events: Sequence[str], first: int) -> bytes:
    data, at, last = b"", _BEGINS, _BEGINS
    for number, event in enumerate(events, first):
        last = at + len(data)
        body = _Binary(last + 24).fragment(ElementTree.fromstring(event))
        size = len(body) + 28
        size += -size % 8
        body = body.ljust(size - 28, b"\0")
        data += b"**\0\0" + struct.pack("<IQQ", size, number, _FILE_TIME) + body + struct.pack("<I", size)
    end = at + len(data)
    assert end <= _CHUNK
    final = first + len(events) - 1
    head = b"ElfChnk\0" + struct.pack("<QQQQ", first, final, first, final)
    head += struct.pack("<IIII", 128, last, end, zlib.crc32(data)) + bytes(64)
    tables = bytes(4 * 64 + 4 * 32)
    head += struct.pack("<II", 0, zlib.crc32(tables, zlib.crc32(head))) + tables
    return (head + data).ljust(_CHUNK, b"\0")


class _Binary:
    """Elements as tokens; a name stands where it is used first, and is named by its offset later."""

    def __init__(self, at: int) -> None:
        self._begun = at
        self._out = bytearray()
        self._names: dict[str, int] = {}

    def fragment(self, root: ElementTree.Element) -> bytes:
        self._out += b"\x0f\x01\x01\0"
        self._element(root)
        self._out += b"\0"
        return bytes(self._out)

    def _element(self, element: ElementTree.Element) -> None:
        namespace, _, name = element.tag.rpartition("}")
        attributes = dict(element.attrib)
        if namespace and name == "Event":
            attributes = {"xmlns": namespace[1:], **attributes}
        self._out += struct.pack("<BI", 0x41 if attributes else 0x01, 0)
        sized = len(self._out) - 4
        self._name(name)
        if attributes:
            self._out += bytes(4)
            listed = len(self._out)
            for place, (key, value) in enumerate(attributes.items(), 1):
                self._out.append(0x06 if place == len(attributes) else 0x46)
                self._name(key)
                self._text(value)
            self._out[listed - 4 : listed] = struct.pack("<I", len(self._out) - listed)
        if len(element) or element.text:
            self._out.append(0x02)
            if element.text and element.text.strip():
                self._text(element.text)
            for child in element:
                self._element(child)
            self._out.append(0x04)
        else:
            self._out.append(0x03)
        self._out[sized : sized + 4] = struct.pack("<I", len(self._out) - sized - 4)

    def _name(self, name: str) -> None:
        if name in self._names:
            self._out += struct.pack("<I", self._names[name])
            return
        at = self._names[name] = self._begun + len(self._out) + 4
        letters = name.encode("utf-16-le")
        code = 0
        for letter in name:
            code = (code * 65599 + ord(letter)) & 0xFFFFFFFF
        self._out += struct.pack("<IIHH", at, 0, code & 0xFFFF, len(name)) + letters + b"\0\0"

    def _text(self, text: str) -> None:
        self._out += b"\x05\x01" + struct.pack("<H", len(text)) + text.encode("utf-16-le")
