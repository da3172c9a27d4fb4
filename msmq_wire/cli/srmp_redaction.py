"""Messages over HTTP without what must not leave the house; what each of their values may tell.

The rule kept here: what is not known to be safe goes, whatever was asked for: names and values that no
document defines, texts that are not what their element says, queries, the bodies of responses.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from http import HTTPMethod, HTTPStatus
from typing import Any

import msgspec

from msmq_wire.records.srmp_packets import SrmpField, SrmpMessage, SrmpPart, SrmpResponse
from msmq_wire.srmp.rules import MESSAGE_ID
from msmq_wire.srmp.xml.fields import GUID as GUID_TEXT
from msmq_wire.srmp.xml.fields import (
    Child,
    Flag,
    Iso8601Date,
    IsoDate,
    UnsignedLong,
    XmlAttribute,
    XmlStruct,
    xml_fields,
)
from msmq_wire.srmp.xml.tree import Attribute, Element
from msmq_wire.wire.types.guid import GUID

__all__ = ["SrmpRedactor"]

_METHODS = frozenset(HTTPMethod)
_REASONS: Mapping[int, str] = {int(status): status.phrase for status in HTTPStatus}
_HEADER_NAMES = frozenset(
    (
        "cache-control",
        "connection",
        "content-length",
        "content-type",
        "date",
        "expect",
        "host",
        "proxy-accept",
        "proxy-connection",
        "server",
        "soapaction",
        "transfer-encoding",
        "user-agent",
        "via",
    )
)
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
_DECISIONS = ("positive", "negative")
_ALGORITHMS = frozenset(f"http://www.w3.org/2000/02/xmldsig#{name}" for name in ("dsa", "md5", "sha1"))

# Scheme with its slashes, host, path, and what follows it.
_URL = re.compile(r"((?:DIRECT=)?https?:/*)([^/?#\\\s]*)([^?#]*)(.*)", re.IGNORECASE | re.DOTALL)
_HOST = re.compile(r"[\w.-]*(?::[0-9]*)?|\[[0-9A-Fa-f:.]+\](?::[0-9]*)?")
_PATH = re.compile(r"(?:/[^/?#:@\\\s]+)*/?")
_OTHER_ID = re.compile(r"(uuid:[0-9]{1,20}@)(.*)", re.DOTALL)
_GROUP = re.compile(r"((?:MSMQ:)?MULTICAST=)?([0-9.]{7,15}(?::[0-9]{1,5})?)(/?)", re.IGNORECASE)
_STREAM_ID = re.compile(rf"uid:({GUID_TEXT.pattern})\\[0-9]{{1,20}}")
_PART_ID = re.compile(rf"(?:cid:)?(?:body|extension)@({GUID_TEXT.pattern})", re.IGNORECASE)
_NUMBER = re.compile(rf"({GUID_TEXT.pattern})\\[0-9]{{1,20}}")
_CORRELATION = 20
_VERSION = re.compile("[0-9][.][0-9]")


class SrmpRedactor:
    """Redacts messages; ``guid`` gives the stand-in for a queue manager.

    ``bodies``, ``labels`` and ``hosts`` say what was asked for. Texts and bytes keep their length.
    """

    def __init__(self, *, bodies: bool, labels: bool, hosts: bool, guid: Callable[[bytes], bytes]) -> None:
        self.bodies = bodies
        self.labels = labels
        self.hosts = hosts
        self._guid = guid
        self._texts: Mapping[str, Callable[[str], str]] = {
            "action": self._label,
            "to": self._queue,
            "via": self._queue,
            "send_to": self._queue,
            "send_receipts_to": self._queue,
            "id": lambda text: self._named(MESSAGE_ID, text, 2),
            "in_reply_to": lambda text: self._named(MESSAGE_ID, text, 2),
            "stream_id": lambda text: self._named(_STREAM_ID, text),
            "uri": lambda text: self._named(_PART_ID, text),
            "decision": lambda text: text if text in _DECISIONS else _blank(text),
            "connector_id": lambda text: self._named(GUID_TEXT, text, 0),
            "source_qm_guid": lambda text: self._named(GUID_TEXT, text, 0),
            # It names a kind of application, as everywhere.
            "connector_type": lambda text: text if GUID_TEXT.fullmatch(text) else _blank(text),
            "algorithm": lambda text: text if text in _ALGORITHMS else _blank(text),
        }

    def packet(self, message: SrmpMessage) -> SrmpMessage:
        """A copy of a message, and of the response to it, without what is redacted."""
        return msgspec.structs.replace(
            message,
            queue=None if message.queue is None else self._queue(message.queue),
            label=None if message.label is None else self._label(message.label),
            message_id=None if message.message_id is None else self.message_id(message.message_id),
            method=message.method if message.method in _METHODS else _blank(message.method),
            target=self._target(message.target),
            http_version=message.http_version
            if _VERSION.fullmatch(message.http_version)
            else _blank(message.http_version),
            headers=self._headers(message.headers),
            envelope=None if message.envelope is None else self._element(message.envelope),
            body=self._content(message.body),
            extension=self._content(message.extension),
            parts=tuple(self._part(part) for part in message.parts),
            preamble=bytes(len(message.preamble)),
            response=None if message.response is None else self._response(message.response),
        )

    def _response(self, response: SrmpResponse) -> SrmpResponse:
        known = _REASONS.get(response.status) == response.reason
        return msgspec.structs.replace(
            response,
            reason=response.reason if known else _blank(response.reason),
            headers=self._headers(response.headers),
            # What a server writes there may repeat the request.
            body=bytes(len(response.body)),
        )

    def _content(self, data: bytes | None) -> bytes | None:
        return bytes(len(data)) if data is not None and self.bodies else data

    def _label(self, text: str) -> str:
        if not self.labels:
            return text
        prefix, colon, rest = text.partition(":")
        return f"MSMQ:{_blank(rest)}" if (prefix, colon) == ("MSMQ", ":") else _blank(text)

    def _part(self, part: SrmpPart) -> SrmpPart:
        return msgspec.structs.replace(
            part,
            content_type=_media_type(part.content_type),
            content_id=self._named(_PART_ID, part.content_id),
            data=bytes(len(part.data)),
        )

    def _headers(self, headers: tuple[SrmpField, ...]) -> tuple[SrmpField, ...]:
        return tuple(self._header(one.name, one.value) for one in headers)

    def _header(self, name: str, value: str) -> SrmpField:
        key = name.lower()
        safe = _HEADER_VALUES.get(key)
        if key == "host":
            value = self._host(value)
        elif key == "content-type":
            value = _media_type(value)
        elif safe is None or not safe.fullmatch(value):
            value = _blank(value)
        return SrmpField(name=name if key in _HEADER_NAMES else _blank(name), value=value)

    def _host(self, text: str) -> str:
        return text if not self.hosts and _HOST.fullmatch(text) else _blank(text)

    def _target(self, text: str) -> str:
        """The path of a request without its query; a URL or an address has a host in front of it."""
        path, mark, query = text.partition("?")
        if path.startswith("/") and _PATH.fullmatch(path):
            return path + mark + _blank(query)
        return self._queue(text)

    def _queue(self, text: str) -> str:
        """A URL or a multicast address: of its host nothing is left, of its path the names of queues."""
        url = _URL.fullmatch(text)
        if url is not None:
            scheme, host, path, rest = url.groups()
            path = path if _PATH.fullmatch(path) else _blank(path)
            return scheme + self._host(host) + path + rest[:1] + _blank(rest[1:])
        group = _GROUP.fullmatch(text)
        if group is not None:
            return (group[1] or "") + self._host(group[2]) + group[3]
        return _blank(text)

    def _named(self, pattern: re.Pattern[str], text: str, group: int = 1) -> str:
        """A text with the GUID of a queue manager in it; one of another form goes."""
        found = pattern.fullmatch(text)
        if found is None:
            return _blank(text)
        if not self.hosts:
            return text
        stand_in = GUID(self._guid(GUID.parse(found[group].lower())))
        return text[: found.start(group)] + str(stand_in) + text[found.end(group) :]

    def message_id(self, text: str) -> str:
        """Queue manager and number; of another form the number stays, by which messages are told apart."""
        other = _OTHER_ID.fullmatch(text)
        return self._named(_NUMBER, text) if other is None else other[1] + _blank(other[2])

    def _element(self, value: XmlStruct) -> XmlStruct:
        known = xml_fields(type(value))
        tags = {tag for field in known.values() for tag in (field.tag, *_aliases(field))}
        changed = {name: self._field(name, field, getattr(value, name)) for name, field in known.items()}
        return msgspec.structs.replace(
            value,
            **changed,
            other_elements=tuple(_blank_element(one) for one in value.other_elements),
            other_attributes=tuple(_blank_attribute(one) for one in value.other_attributes),
            order=tuple(name if name in tags else _blank(name) for name in value.order),
            mixed_text=_blank(value.mixed_text),
            written_as=value.written_as if value.written_as in value.ALIASES else _blank(value.written_as),
        )

    def _field(self, name: str, field: Any, value: Any) -> Any:
        if value is None:
            return None
        match field:
            case Child():
                if isinstance(value, tuple):
                    return tuple(self._element(one) for one in value)
                return self._element(value)
            case Flag():
                return value
            case UnsignedLong():
                return _blank(value) if isinstance(value, str) else value
            case Iso8601Date():
                read = IsoDate.of(value.text)
                return IsoDate(_blank(value.text)) if read.seconds is None else read
            case XmlAttribute() if field.value is not None:
                return value if value == field.value else _blank(value)
        if isinstance(value, tuple):
            return tuple(self._queue(one) for one in value)
        if isinstance(value, bytes):
            if name == "correlation" and len(value) == _CORRELATION:
                return self._guid(value[:16]) + value[16:] if self.hosts else value
            return bytes(len(value))
        return self._texts.get(name, _blank)(value)


def _aliases(field: Any) -> tuple[str, ...]:
    return field.cls.ALIASES if isinstance(field, Child) else ()


def _media_type(value: str) -> str:
    """A media type without its parameters."""
    media, semicolon, rest = value.partition(";")
    known = media.strip().lower() in _MEDIA_TYPES
    return (media if known else _blank(media)) + semicolon + _blank(rest)


def _blank_element(element: Element) -> Element:
    return msgspec.structs.replace(
        element,
        namespace=_blank(element.namespace),
        name=_blank(element.name),
        attributes=tuple(_blank_attribute(one) for one in element.attributes),
        text=_blank(element.text),
        children=tuple(_blank_element(one) for one in element.children),
    )


def _blank_attribute(attribute: Attribute) -> Attribute:
    return Attribute(_blank(attribute.namespace), _blank(attribute.name), _blank(attribute.value))


def _blank(text: str) -> str:
    return "x" * len(text)
