"""Values of which a part stays, by the `Form` of their marker: names of queues, identifiers, senders.

The rule kept here: what is not as its form says goes as a whole.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from msmq_wire.reassembly.encapsulation import without_proxied
from msmq_wire.records.joined_capture import files_of
from msmq_wire.report.redaction.stand_ins import StandIns, blank
from msmq_wire.wire.names.queue_format_types import QueueFormatType
from msmq_wire.wire.private import Form
from msmq_wire.wire.types.enumerations import SenderIdType
from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.wchar_text import WcharText

Instead: TypeAlias = Callable[[StandIns, Any, Any], Any]
"""What stands for a value; the last argument is what its marker has it by."""

NOT_SHOWN = "not shown"

_GUID_TEXT = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
# A format name that has no host in it but for its GUID; what follows the semicolon of a list is a domain.
_BY_GUID = re.compile(
    rf"(PUBLIC|PRIVATE|MACHINE|CONNECTOR|DL)=({_GUID_TEXT})(\\[0-9a-f]{{1,8}})?"
    r"(;JOURNAL|;DEADLETTER|;DEADXACT|;XACTONLY)?(;.*)?",
    re.IGNORECASE | re.DOTALL,
)
_NAMES_NO_HOST = ("PUBLIC", "DL")
# Protocol and all slashes, host, path. The host of a URL ends at a slash, of another name at a backslash.
_WEB_HOSTED = re.compile(r"((?:DIRECT=)?(HTTPS?):[/\\]*+)([^/]*)(/.*)", re.IGNORECASE | re.DOTALL)
_LONG_HOSTED = re.compile(
    r"((?:DIRECT=)?(?:(?:OS|TCP|SPX|IPX):)?[/\\]*+)()([^\\]*)(\\.*)", re.IGNORECASE | re.DOTALL
)
# Without one it ends at a slash; what is no known protocol is host.
_HOSTED = re.compile(
    r"((?:DIRECT=)?(?:(?:OS|TCP|SPX|IPX|(HTTPS?)):)?[/\\]*+)([^/\\]*)([/\\].*)", re.IGNORECASE | re.DOTALL
)
# What stands behind a protocol that is not known, a colon or two slashes may be a host as well.
_ANOTHER_HOST = re.compile(r"[/\\]{2}|:")
_GUIDS = re.compile(f" {_GUID_TEXT}")
_ROOTED = re.compile(r"(?<![\w.\]/\\-])(?:[A-Za-z]:|\.\.?|~)?[/\\][^\s:;,'\"]+")
# What an image names, and what other programs say of it, is quoted.
_QUOTED = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"")
_PLACE = re.compile(r"[a-z0-9_.\[\]-]*")
_NOTHING_BUT_FILLING = bytes(byte if byte == 0x5A else 0 for byte in range(256))
"""What fills a response tells nothing, and a rule counts what is something else."""
# A SID of an account from its authority on: S-1-5-21; three numbers of its machine or domain follow.
_ACCOUNT = bytes.fromhex("000000000005 15000000")
_LARGEST_ACCOUNT = 28
# SIDs that are the same on every machine: S-1-0 to S-1-3 and S-1-5 with one number, and S-1-5-32 with two.
_WELL_KNOWN = re.compile(rb"\x01(?:\x01\0{5}[\x00-\x03\x05].\0{3}|\x02\0{5}\x05\x20\0{3}..\0{2})", re.DOTALL)


def _queue(stand_ins: StandIns, value: Any, kind: Any) -> Any:
    """A format name or a path name; its GUID where it has a structure of its own, by its ``kind``."""
    if isinstance(value, GUID):
        return stand_ins.made(value) if kind == QueueFormatType.PUBLIC else stand_ins.guid(value)
    if isinstance(value, str):
        return _name(stand_ins, value)
    if not isinstance(value, WcharText) or len(value) % 2:
        return blank(value)
    # What is behind the end of the text goes too.
    text, nul, _ = bytes(value).decode("utf-16-le", "surrogatepass").partition("\0")
    shown = f"{_name(stand_ins, text)}{nul}".encode("utf-16-le", "surrogatepass")
    return type(value)(shown.ljust(len(value), b"\0"))


def _name(stand_ins: StandIns, name: str) -> str:
    found = _BY_GUID.fullmatch(name)
    if found is not None:
        kind, guid, number, suffix, _ = found.groups("")
        instead = stand_ins.made if kind.upper() in _NAMES_NO_HOST else stand_ins.guid
        value = GUID.parse(guid)
        after = GUID(instead(value))
        # Its letters stay as they were written.
        guid = guid if after == value else str(after)
        return f"{kind}={guid}{number}{suffix}"
    hosted = _HOSTED.fullmatch(name)
    if hosted is None:
        return _letters(name)
    found = _WEB_HOSTED.fullmatch(name) if hosted[2] else _LONG_HOSTED.fullmatch(name) or hosted
    if found is None:
        return f"{hosted[1]}{_letters(name[hosted.end(1) :])}"
    before, url, host, path = found.groups()
    asked = re.split("[?#]", path, maxsplit=1)[0] if url else path
    if host.endswith(":") or _ANOTHER_HOST.search(asked):
        return before + _letters(host + path)
    return f"{before}{_letters(host)}{asked}{_letters(path[len(asked) :])}"


def _letters(text: str) -> str:
    """As many letters as the text has code units: a name is as long in a packet as in a sentence."""
    return "x" * (len(text.encode("utf-16-le", "surrogatepass")) // 2)


def _sender(stand_ins: StandIns, sender: bytes, kind: Any) -> bytes:
    """By ST: the GUID of a queue manager, or a SID with a stand-in for its machine or domain."""
    if kind != SenderIdType.SID:
        return bytes(stand_ins.guid(sender))
    if sender[:1] == b"\1" and sender[2:12] == _ACCOUNT and len(sender) <= _LARGEST_ACCOUNT:
        machine = stand_ins.guid(sender[12:24].ljust(16, b"\xff"))[4:]
        return sender[:12] + machine[: len(sender) - 12] + sender[24:]
    return sender if _WELL_KNOWN.fullmatch(sender) else bytes(len(sender))


def _binding(stand_ins: StandIns, text: str, _: Any) -> str:
    protocol, colon, address = text.partition(":")
    return f"{protocol}:{blank(address)}" if colon else blank(text)


def declared_path(path: str) -> str:
    """A path of declared fields; nothing of any other text."""
    return path if _PLACE.fullmatch(path) else ""


def without_paths(text: str, known: Mapping[str, str]) -> str:
    """A sentence with ``known`` texts replaced, and of every other path that it names nothing."""
    if known:
        found = "|".join(re.escape(one) for one in sorted(known, key=len, reverse=True))
        text = re.sub(rf"(?<![\w.-])(?:{found})(?![\w-])", lambda one: known[one[0]], text)
    return _ROOTED.sub("a path", _QUOTED.sub("a name", text))


def _reason(stand_ins: StandIns, text: str, named: Any) -> str:
    """A file error may name the file, an image the files that it is made of, a PROXY header a client."""
    capture, *ends = named if isinstance(named, tuple) else (named,)
    known = {file: stand_ins.file(file) for file in (files_of(capture) if capture else ())}
    return without_paths(text, known | {end: stand_ins.endpoint(end) for end in ends})


def without_guids(text: str) -> str:
    """A sentence of the package, whichever queue manager it is about."""
    return _GUIDS.sub("", text)


FORMS: Mapping[Form, Instead] = {
    "": lambda stand_ins, value, _: stand_ins.host(value),
    "binding": _binding,
    "captured_in": lambda _stand_ins, value, _: without_proxied(value),
    "endpoint": lambda stand_ins, value, _: stand_ins.endpoint(value),
    "file": lambda stand_ins, value, _: stand_ins.file(value),
    "filler": lambda stand_ins, value, _: value.translate(_NOTHING_BUT_FILLING),
    "identifier": lambda stand_ins, value, _: stand_ins.made(value),
    "note": lambda stand_ins, value, _: NOT_SHOWN if value else value,
    "path": lambda stand_ins, value, _: declared_path(value),
    "port": lambda stand_ins, value, _: value if value.isdecimal() and value.isascii() else blank(value),
    "queue": _queue,
    "reason": _reason,
    "sender": _sender,
    "sentence": lambda stand_ins, value, _: "",
    "without_guids": lambda stand_ins, value, _: without_guids(value),
}
"""What stands for a value that goes."""
