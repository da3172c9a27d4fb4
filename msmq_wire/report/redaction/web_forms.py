"""Texts of messages over HTTP, where anything may stand in the place of what the documents define.

The rule kept here: what is not as its form says goes, whatever was asked for: names and values that no
document defines, texts that are not what their element says, queries.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from msmq_wire.report.redaction.stand_ins import StandIns, blank
from msmq_wire.wire.private import Form
from msmq_wire.wire.types.guid import GUID

Checked: TypeAlias = Callable[[StandIns, Any, Any, bool], Any]
"""As `Instead`, whatever was asked for; the last argument says whether it was to go."""

_HEADER_VALUES: Mapping[str, re.Pattern[str]] = {
    "connection": re.compile("keep-alive|close", re.IGNORECASE),
    "content-length": re.compile("[0-9]{1,19}"),
    "expect": re.compile("100-continue", re.IGNORECASE),
    "proxy-accept": re.compile("NonInteractiveClient"),
    "soapaction": re.compile('"?MSMQMessage"?'),
    "transfer-encoding": re.compile("chunked", re.IGNORECASE),
}
"""Values that say nothing of who sent them."""
_MEDIA_TYPES = frozenset(("application/octet-stream", "multipart/related", "text/html", "text/xml"))

# Scheme with its slashes, host, path, and what follows it.
_URL = re.compile(r"((?:DIRECT=)?https?:/*)([^/?#\\\s]*)([^?#]*)(.*)", re.IGNORECASE | re.DOTALL)
_HOST = re.compile(r"[\w.-]*(?::[0-9]*)?|\[[0-9A-Fa-f:.]+\](?::[0-9]*)?")
_PATH = re.compile(r"(?:/[^/?#:@\\\s]+)*/?")
_GROUP = re.compile(r"((?:MSMQ:)?MULTICAST=)?([0-9.]{7,15}(?::[0-9]{1,5})?)(/?)", re.IGNORECASE)
_GUID_TEXT = "([0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12})"
_GUID = re.compile(_GUID_TEXT)
_STREAM = re.compile(rf"uid:{_GUID_TEXT}\\[0-9]{{1,20}}")
_PART = re.compile(rf"(?:cid:)?(?:body|extension)@{_GUID_TEXT}", re.IGNORECASE)
_MESSAGE = re.compile(rf"(?:uuid:[0-9]{{1,20}}@)?{_GUID_TEXT}(?:\\[0-9]{{1,20}})?")
_OTHER_MESSAGE = re.compile(r"(uuid:[0-9]{1,20}@)(.*)", re.DOTALL)
_CORRELATION = 20


def _correlation(stand_ins: StandIns, value: Any, _: Any, goes: bool) -> Any:
    """Sixteen bytes of a queue manager, and the number of a message."""
    if not isinstance(value, bytes) or len(value) != _CORRELATION:
        return blank(value)
    return stand_ins.guid(value[:16]) + value[16:] if goes else value


def _label(stand_ins: StandIns, text: str, _: Any, goes: bool) -> str:
    if not goes:
        return text
    prefix = "MSMQ:" if text.startswith("MSMQ:") else ""
    return prefix + blank(text[len(prefix) :])


def _header(stand_ins: StandIns, value: str, name: Any, goes: bool) -> str:
    """The value of a header by its name."""
    key = str(name).lower()
    if key == "host":
        return _host(value, goes)
    if key == "content-type":
        return _media_type(stand_ins, value, None, goes)
    safe = _HEADER_VALUES.get(key)
    return value if safe is not None and safe.fullmatch(value) else blank(value)


def _host(text: str, goes: bool) -> str:
    return text if not goes and _HOST.fullmatch(text) else blank(text)


def _target(stand_ins: StandIns, text: str, _: Any, goes: bool) -> str:
    """The path of a request without its query; a URL or an address has a host in front of it."""
    path, mark, query = text.partition("?")
    if path.startswith("/") and _PATH.fullmatch(path):
        return path + mark + blank(query)
    return _url(stand_ins, text, None, goes)


def _url(stand_ins: StandIns, text: str, _: Any, goes: bool) -> str:
    """A URL or a multicast address: of its host nothing is left, of its path the names of queues."""
    url = _URL.fullmatch(text)
    if url is not None:
        scheme, host, path, rest = url.groups()
        path = path if _PATH.fullmatch(path) else blank(path)
        return scheme + _host(host, goes) + path + rest[:1] + blank(rest[1:])
    group = _GROUP.fullmatch(text)
    if group is not None:
        return (group[1] or "") + _host(group[2], goes) + group[3]
    return blank(text)


def _media_type(stand_ins: StandIns, value: str, _: Any, goes: bool) -> str:
    """A media type without its parameters."""
    media, semicolon, rest = value.partition(";")
    known = media.strip().lower() in _MEDIA_TYPES
    return (media if known else blank(media)) + semicolon + blank(rest)


def _naming(pattern: re.Pattern[str]) -> Checked:
    """A text with the GUID of a queue manager in it."""

    def named(stand_ins: StandIns, text: str, _: Any, goes: bool) -> str:
        found = pattern.fullmatch(text)
        if found is None:
            return blank(text)
        if not goes:
            return text
        guid = GUID(stand_ins.guid(GUID.parse(found[1].lower())))
        return f"{text[: found.start(1)]}{guid}{text[found.end(1) :]}"

    return named


_known_message = _naming(_MESSAGE)


def _message_id(stand_ins: StandIns, text: str, _: Any, goes: bool) -> str:
    """Queue manager and number; of another form the number stays, by which messages are told apart."""
    other = None if _MESSAGE.fullmatch(text) else _OTHER_MESSAGE.fullmatch(text)
    return _known_message(stand_ins, text, None, goes) if other is None else other[1] + blank(other[2])


CHECKED: Mapping[Form, Checked] = {
    "correlation": _correlation,
    "guid": _naming(_GUID),
    "header": _header,
    "label": _label,
    "media_type": _media_type,
    "message_id": _message_id,
    "part": _naming(_PART),
    "stream": _naming(_STREAM),
    "target": _target,
    "url": _url,
}
"""What stays of a text, or stands for it."""
