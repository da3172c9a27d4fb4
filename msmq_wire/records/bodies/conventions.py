"""What messaging libraries add to a message: headers in ExtensionData, an envelope around the body.

NServiceBus serializes its headers as XML in ExtensionData, Rebus as a JSON object; MassTransit puts message
and headers into one JSON object. None of it is described by Microsoft; the names are those of the libraries.
"""

from __future__ import annotations

from typing import Any
from xml.parsers import expat

from msmq_wire.errors import DecodeError
from msmq_wire.records.bodies.body import Details, first_of, shortened
from msmq_wire.records.bodies.json_text import json_value
from msmq_wire.records.bodies.xml_text import LARGEST_XML

_LISTED = 100
_BEGINNING = 512
_DAMAGED = "damaged"
_PREFIXES = {"NServiceBus.": "NServiceBus", "rbs2-": "Rebus"}

# Members of a MassTransit envelope; these two are in every one.
_REQUIRED = {"messageType", "message"}
_SHOWN = (
    "messageId",
    "requestId",
    "correlationId",
    "conversationId",
    "initiatorId",
    "sourceAddress",
    "destinationAddress",
    "responseAddress",
    "faultAddress",
    "messageType",
    "sentTime",
    "expirationTime",
)


def extension_headers(extension: bytes) -> tuple[str, Details]:
    """The headers in ExtensionData and the library they belong to; nothing when they are no list of headers.

    At most 100 headers of 500 characters each; what is cut says so.
    """
    data = extension.removeprefix(b"\xef\xbb\xbf").rstrip(b"\0")
    if len(data) > LARGEST_XML:
        return "", ()
    start = data.lstrip()[:1]
    try:
        if start == b"<":
            pairs = _header_infos(data)
        elif start == b"{":
            pairs = _json_headers(data.decode("utf-8"))
        else:
            return "", ()
    except ValueError as error:
        library = _begins_like(data)
        return (
            (library, ((_DAMAGED, shortened(f"{library} headers, unreadable: {error}")),))
            if library
            else ("", ())
        )
    convention = next(
        (name for key, _ in pairs for prefix, name in _PREFIXES.items() if key.startswith(prefix)), ""
    )
    # An XML list of HeaderInfo is the form of NServiceBus whatever the keys are.
    if not convention and pairs and start == b"<":
        convention = "NServiceBus"
    if not convention:
        return "", ()
    return convention, first_of([(shortened(key), shortened(value)) for key, value in pairs], _LISTED)


def damaged_headers(extension: bytes, text: str) -> str:
    """What is wrong with the headers of a library, in ExtensionData or around a body; empty for nothing."""
    reported = dict(extension_headers(extension)[1]).get(_DAMAGED, "")
    return reported or dict(envelope_members(text)).get(_DAMAGED, "")


def _begins_like(data: bytes) -> str:
    """The library whose headers bytes begin like."""
    head = data[:_BEGINNING]
    if b"<ArrayOfHeaderInfo" in head:
        return "NServiceBus"
    return "Rebus" if head.lstrip().startswith(b'{"rbs2-') else ""


def envelope_members(text: str) -> Details:
    """The members of a MassTransit envelope in a JSON text; empty when it is no envelope."""
    if '"messageType"' not in text:
        return ()
    try:
        value = json_value(text)
    except ValueError as error:
        if not text.lstrip().startswith("{") or "urn:message:" not in text:
            return ()
        return ((_DAMAGED, shortened(f"a MassTransit envelope, unreadable as JSON: {error}")),)
    if not isinstance(value, dict) or not value.keys() >= _REQUIRED:
        return ()
    types = value["messageType"]
    if not isinstance(types, list) or not any(str(one).startswith("urn:message:") for one in types[:_LISTED]):
        return ()
    rows = [(name, _plain(value[name])) for name in _SHOWN if value.get(name) is not None]
    headers = value.get("headers")
    if isinstance(headers, dict):
        own = [(shortened(str(name)), _plain(value)) for name, value in headers.items()]
        rows += first_of(own, _LISTED)
    return tuple(rows)


def _plain(value: Any) -> str:
    if isinstance(value, list):
        more = f", and {len(value) - _LISTED:,} more" if len(value) > _LISTED else ""
        return shortened(", ".join(shortened(str(one)) for one in value[:_LISTED]) + more)
    return shortened("{...}" if isinstance(value, dict) else str(value))


def _json_headers(text: str) -> list[tuple[str, str]]:
    value = json_value(text)
    return [(key, _plain(one)) for key, one in value.items()] if isinstance(value, dict) else []


def _header_infos(data: bytes) -> list[tuple[str, str]]:
    """Key and Value of each HeaderInfo; ValueError when the bytes are not such a list."""
    reader = _HeaderInfos()
    parser = expat.ParserCreate("utf-8")
    parser.buffer_text = True
    parser.StartDoctypeDeclHandler = reader.doctype
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    parser.CharacterDataHandler = reader.characters
    try:
        parser.Parse(data, True)
    except (DecodeError, expat.ExpatError) as error:
        raise ValueError(f"{_why(error)} at byte {max(parser.ErrorByteIndex, 0)}") from error
    return reader.pairs


def _why(error: Exception) -> str:
    return expat.ErrorString(error.code) if isinstance(error, expat.ExpatError) else str(error)


class _HeaderInfos:
    """Collects what stands in ArrayOfHeaderInfo / HeaderInfo / Key and Value."""

    def __init__(self) -> None:
        self.path: list[str] = []
        self.pairs: list[tuple[str, str]] = []
        self.parts: dict[str, list[str]] = {}

    def doctype(self, *_: object) -> None:
        raise DecodeError("document-type", "a document type is not read")

    def start(self, name: str, _: object) -> None:
        if len(self.path) >= 3 or (not self.path and name != "ArrayOfHeaderInfo"):
            raise DecodeError("headers", "no list of headers")
        self.path.append(name)
        if self.path[1:] == ["HeaderInfo"]:
            self.parts = {"Key": [], "Value": []}

    def end(self, _: str) -> None:
        if self.path[1:] == ["HeaderInfo"]:
            self.pairs.append(("".join(self.parts["Key"]), "".join(self.parts["Value"])))
        self.path.pop()

    def characters(self, text: str) -> None:
        if len(self.path) == 3 and self.path[2] in self.parts:
            self.parts[self.path[2]].append(text)
