"""Events in XML, one after the other: `EventXml`, which is fed bytes and gives `WrittenEvent`.

The rule kept here: nothing is built of a document but one event at a time. It is read behind a root of our
own, where no document type can stand, so there are no entities. Depth, tags, texts and the number of texts
are bounded before they are kept.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from datetime import UTC, datetime
from xml.parsers import expat

import msgspec

MAX_DEPTH = 32
MAX_DATA = 32
"""Texts of one event."""
MAX_TEXT = 4096
"""Characters of one text: what is longer is cut."""
_MAX_TOKEN = 1 << 18
"""Bytes of one tag."""
_ROOT, _END = b"<msmq-wire-events>", b"</msmq-wire-events>"
_BILLION = 10**9
_NO_XML = {code: "\ufffd" for code in (*range(32), 0xFFFE, 0xFFFF) if chr(code) not in "\0\t\n\r"} | {0: None}
"""What stands for characters that XML does not have, and names of queues may: NUL is only filling."""
_IN_SYSTEM = frozenset(("EventID", "EventRecordID", "Channel", "Computer"))
_DATA = frozenset(("EventData", "UserData"))


class WrittenEvent(msgspec.Struct, array_like=True):
    """An event as it was written; ``time`` is ns since 1970, None where it is none."""

    provider: str = ""
    provider_id: str = ""
    channel: str = ""
    computer: str = ""
    event_id: int | None = None
    record_id: int | None = None
    time: int | None = None
    data: list[str] = []


class EventXml:
    """Feed it the bytes of a file in pieces; each call gives the events that ended in it.

    A root is not needed: ``wevtutil qe /f:xml`` writes none. ``problem`` says why the reading ended before
    the end, empty if it did not. UTF-8, and UTF-16 with byte order mark or without.
    """

    def __init__(self) -> None:
        self.problem = ""
        self._head = b""
        self._size_read = 0
        self._is_utf16 = False
        self._decoder: codecs.IncrementalDecoder | None = None
        self._parser = expat.ParserCreate("utf-8", "\n")
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._begin
        self._parser.EndElementHandler = self._finish
        self._parser.CharacterDataHandler = self._characters
        self._given = 0
        self._path: list[str] = []
        self._event: WrittenEvent | None = None
        self._begun = 0
        self._text: list[str] | None = None
        self._size = 0
        self._leaf = False
        self._ready: list[WrittenEvent] = []

    def feed(self, data: bytes, *, last: bool = False) -> Iterator[WrittenEvent]:
        """Take the next bytes; ``last`` says that there are no more."""
        if self.problem:
            return
        self._size_read += len(data)
        text = self._decoded(data, last)
        if self.problem:
            return
        try:
            if text:
                self._parse(text.translate(_NO_XML).encode("utf-8", "replace"))
            if last and self._given:
                self._parser.Parse(_END, True)
                self.problem = "it is cut off" if self._is_utf16 and self._size_read % 2 else ""
        except expat.ExpatError as error:
            self.problem = (
                f"the XML is not well-formed (line {error.lineno}): {expat.ErrorString(error.code)}"
            )
        except _Refused as error:
            self.problem = str(error)
        ready, self._ready = self._ready, []
        yield from ready

    def _decoded(self, data: bytes, last: bool) -> str:
        if self._decoder is None:
            self._head += data
            if len(self._head) < 256 and not last:
                return ""
            head, self._head = self._head, b""
            name, skipped = _encoding(head)
            self._is_utf16 = name != "utf-8"
            self._decoder = codecs.getincrementaldecoder(name)("replace")
            text = _without_declaration(self._decoder.decode(head[skipped:], last))
            if text.lstrip().startswith("<!DOCTYPE"):
                self.problem = "it has a document type, which no event log has"
            return text
        return self._decoder.decode(data, last)

    def _parse(self, data: bytes) -> None:
        if not self._given:
            self._parser.Parse(_ROOT, False)
            self._given = len(_ROOT)
        for at in range(0, len(data), 1 << 16):
            piece = data[at : at + (1 << 16)]
            self._parser.Parse(piece, False)
            self._given += len(piece)
            if self._given - max(self._parser.CurrentByteIndex, 0) > _MAX_TOKEN:
                raise _Refused(f"a tag is longer than {_MAX_TOKEN:,} bytes")

    def _begin(self, name: str, attributes: dict[str, str]) -> None:
        if len(self._path) >= MAX_DEPTH:
            raise _Refused(f"elements are nested deeper than {MAX_DEPTH}")
        local = name.rpartition("\n")[2][:64]
        self._path.append(local)
        if self._event is None:
            if local == "Event":
                self._event, self._begun = WrittenEvent(), len(self._path)
            return
        inside = self._path[self._begun :]
        self._leaf = True
        if inside == ["System", "Provider"]:
            self._event.provider = attributes.get("Name", "")[:256]
            self._event.provider_id = attributes.get("Guid", "")[:64].strip("{}").lower()
        elif inside == ["System", "TimeCreated"]:
            self._event.time = time_of(attributes.get("SystemTime", "")[:64])
        if (inside[0] == "System" and len(inside) == 2 and local in _IN_SYSTEM) or (
            inside[0] in _DATA and len(inside) > 1
        ):
            self._text, self._size = [], 0

    def _characters(self, text: str) -> None:
        if self._text is not None and self._size < MAX_TEXT:
            self._text.append(text[: MAX_TEXT - self._size])
            self._size += len(text)

    def _finish(self, _: str) -> None:
        event, path = self._event, self._path
        if event is not None:
            if len(path) == self._begun:
                self._ready.append(event)
                self._event = None
            elif self._text is not None and self._leaf:
                _take(event, path[self._begun :], "".join(self._text).strip())
            self._text, self._leaf = None, False
        path.pop()


class _Refused(Exception):
    """Why a document is not read on."""


def _take(event: WrittenEvent, inside: list[str], text: str) -> None:
    if inside[0] in _DATA:
        if len(event.data) < MAX_DATA:
            event.data.append(text)
        return
    match inside[-1]:
        case "EventID":
            event.event_id = _number(text)
        case "EventRecordID":
            event.record_id = _number(text)
        case "Channel":
            event.channel = text[:256]
        case "Computer":
            event.computer = text[:256]


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= 20 else None


def time_of(text: str) -> int | None:
    """Nanoseconds since 1970 of ``2026-11-20T09:14:07.1234567Z``; None for what is no time."""
    whole, rest = text[:19], text[19:]
    digits = ""
    if rest[:1] == ".":
        zone = rest[1:].lstrip("0123456789")
        digits, rest = rest[1 : len(rest) - len(zone)], zone
    try:
        moment = datetime.fromisoformat(whole + ("" if rest in ("", "Z") else rest))
    except ValueError:
        return None
    if len(whole) < 19:
        return None
    seconds = round(moment.replace(tzinfo=moment.tzinfo or UTC).timestamp())
    return seconds * _BILLION + int(digits[:9].ljust(9, "0") or 0)


def _encoding(data: bytes) -> tuple[str, int]:
    """The encoding of a text, and the bytes of its byte order mark."""
    if data.startswith(codecs.BOM_UTF8):
        return "utf-8", 3
    if data.startswith(codecs.BOM_UTF16_LE):
        return "utf-16-le", 2
    if data.startswith(codecs.BOM_UTF16_BE):
        return "utf-16-be", 2
    if len(data) > 1 and (data[0] == 0) != (data[1] == 0):
        return ("utf-16-be", 0) if data[0] == 0 else ("utf-16-le", 0)
    return "utf-8", 0


def _without_declaration(text: str) -> str:
    """The text behind its XML declaration: the root that is put before it makes it wrong there."""
    begun = text.lstrip()
    end = begun.find("?>", 0, 256) if begun.startswith("<?xml") else -1
    return text if end < 0 else begun[end + 2 :]
