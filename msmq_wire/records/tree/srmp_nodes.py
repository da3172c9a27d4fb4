"""What records of SRMP hold as nodes of a tree: request, response, SOAP envelope, parts, body.

The rule kept here: names and nesting are those of the JSON view, so that what is read here can be asked for
in a filter. Values of an envelope have no offsets of their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from msmq_wire.errors import DecodeError
from msmq_wire.records.message_body import MessageBody, srmp_body
from msmq_wire.records.srmp_packets import SrmpField, SrmpMessage, SrmpPart, SrmpResponse
from msmq_wire.records.tree.body_nodes import body_node, extension_node
from msmq_wire.records.tree.packet_nodes import place_marks
from msmq_wire.records.tree.tree_node import Block, NodeOptions, TreeNode
from msmq_wire.records.tree.value_text import (
    bytes_text,
    count_text,
    enumeration_text,
    identifier_text,
    unix_time_text,
)
from msmq_wire.srmp.elements.envelope import SoapBody
from msmq_wire.srmp.xml.element_tree import Attribute, Element
from msmq_wire.srmp.xml.fields import Flag, IsoDate, Text, XmlAttribute, XmlField, XmlStruct, xml_fields
from msmq_wire.units import MILLISECOND
from msmq_wire.wire.fields import Field, fields
from msmq_wire.wire.headers.message_properties_header import MessagePropertiesHeader
from msmq_wire.wire.musts import Anomaly

_SHOWN_HEADERS = ("host", "content-type", "soapaction")
_LISTED = 100
_LONGEST = 256
_LONGEST_NAME = 40
_DEEPEST = 8
_INLINE_BYTES = 32
"""A hash is shown on its line."""
_LARGEST_TIME = 0x7FFFFFFF
_LIMITS = ("expires_at", "t_trq")
"""Dates that Windows sets to the largest time of 32 bits where there is no limit."""

_ENUMERATED: Mapping[str, Field] = {
    {"message_class": "class_"}.get(field.name, field.name): field
    for field in fields(MessagePropertiesHeader)
    if field.name in ("message_class", "body_type", "hash_algorithm")
}
"""The numbers of the Msmq element that packets of the binary protocol have too."""


def status_words(message: SrmpMessage) -> str:
    """How the message was answered, for the first line of its record."""
    if message.response is None:
        return "no response"
    return f"{message.response.status} {shortened(message.response.reason)}".strip()


def shortened(text: str, longest: int = 128) -> str:
    """A text from the traffic that is short enough for one line."""
    return text if len(text) <= longest else text[: longest - 3] + "..."


def srmp_nodes(
    message: SrmpMessage,
    options: NodeOptions,
    *,
    anomalies: Sequence[Anomaly] = (),
    error: DecodeError | None = None,
    parent: int | None = None,
) -> list[TreeNode]:
    """The nodes of a message with what is wrong in the place where it is wrong.

    ``parent`` is the id of the message packet that the message was stored in, None when it was captured.
    """
    tree = _Tree(message, options, [_moved(one, message) for one in anomalies])
    nodes = [*tree.request(), *tree.response(parent)]
    if message.envelope is not None:
        nodes.append(tree.element("envelope", message.envelope, "envelope"))
    elif error is not None and error.path.startswith("envelope"):
        nodes.append(TreeNode("envelope", "none", "cannot be read", path="envelope"))
    nodes += [*tree.parts(), *tree.content()]
    place_marks(nodes, tree.anomalies, error)
    return nodes


def _moved(anomaly: Anomaly, message: SrmpMessage) -> Anomaly:
    """What is wrong with the media type stands at the header that gives it."""
    if anomaly.path != "content_type":
        return anomaly
    for place, field in enumerate(message.headers):
        if field.name.lower() == "content-type":
            return msgspec.structs.replace(anomaly, path=f"headers[{place}]")
    return msgspec.structs.replace(anomaly, path="headers")


class _Tree:
    def __init__(self, message: SrmpMessage, options: NodeOptions, anomalies: Sequence[Anomaly]) -> None:
        self.message = message
        self.options = options
        self.anomalies = anomalies
        self.marked = {anomaly.path for anomaly in anomalies}

    def request(self) -> Iterator[TreeNode]:
        message = self.message
        line = f"{message.method} {message.target} HTTP/{message.http_version}"
        yield _text("request", line, path="head")
        node = self.headers(message.headers, "headers", _SHOWN_HEADERS)
        if node is not None:
            yield node

    def headers(self, headers: tuple[SrmpField, ...], path: str, names: tuple[str, ...]) -> TreeNode | None:
        """Those that are called ``names``, and those that are wrong; all where all is asked for."""
        everything = self.options.everything or path in self.marked
        found = [
            _text(shortened(field.name, _LONGEST_NAME), field.value, path=f"{path}[{place}]")
            for place, field in enumerate(headers)
            if everything or field.name.lower() in names or f"{path}[{place}]" in self.marked
        ]
        if not found and path not in self.marked:
            return None
        node = TreeNode("headers", count_text(len(headers), "header"), path=path, children=found)
        if len(found) < len(headers):
            node.value, node.note = f"{len(found)} of {node.value}", "--hex shows all"
        return node

    def response(self, parent: int | None) -> Iterator[TreeNode]:
        message, response = self.message, self.message.response
        if message.interim:
            yield TreeNode(
                "interim", ", ".join(map(str, message.interim)), "before the response", path="interim"
            )
        if response is not None:
            yield self.answer(response)
        elif parent is not None:
            yield TreeNode("response", "none", f"stored in the message packet #{parent}", path="response")
        else:
            yield TreeNode("response", "none", "not captured", path="response")

    def answer(self, response: SrmpResponse) -> TreeNode:
        notes = []
        if self.message.latency is not None:
            milliseconds = f"{self.message.latency / MILLISECOND:.3f}".rstrip("0").rstrip(".")
            notes.append(f"{milliseconds} ms after the request")
        if not self.message.certain:
            notes.append("may answer another request: bytes were lost")
        if not response.complete:
            notes.append("cut")
        status = f"{response.status} {shortened(response.reason)}".strip()
        node = TreeNode("response", status, "; ".join(notes), path="response")
        headers = self.headers(response.headers, "response.headers", ())
        if headers is not None:
            node.children.append(headers)
        if response.body:
            body = MessageBody(data=response.body, size=len(response.body))
            node.children.append(body_node("body", body, self.options, path="response.body"))
        return node

    def element(self, name: str, value: XmlStruct, path: str) -> TreeNode:
        """An element with its fields, and what no field names."""
        node = TreeNode(name, note=str(value.SPEC), kind="structure", path=path)
        for key, field in xml_fields(type(value)).items():
            inner = getattr(value, key)
            at = f"{path}.{key}"
            if at not in self.marked and not self.shows(field, inner):
                continue
            node.children += self.field(key, field, inner, at)
        for place, attribute in enumerate(value.other_attributes):
            node.children.append(_attribute(attribute, f"{path}.other_attributes[{place}]"))
        if value.mixed_text:
            text = value.mixed_text.strip()
            node.children.append(_text("text", text, "between the elements", path=f"{path}.mixed_text"))
        for place, other in enumerate(value.other_elements[:_LISTED]):
            node.children.append(_other(other, f"{path}.other_elements[{place}]", 0))
        if len(value.other_elements) > _LISTED:
            node.children.append(TreeNode("...", f"{len(value.other_elements) - _LISTED} more elements"))
        return node

    def shows(self, field: XmlField, value: Any) -> bool:
        """Whether a value says something: an attribute with its only value and an empty SOAP body do not."""
        if value is None or value is False or value == ():
            return False
        if self.options.everything:
            return True
        if isinstance(value, SoapBody):
            return value != SoapBody()
        return not isinstance(field, XmlAttribute) or field.value is None or value != field.value

    def field(self, key: str, field: XmlField, value: Any, path: str) -> Iterator[TreeNode]:
        name = key.rstrip("_")
        match value:
            case XmlStruct():
                yield self.element(name, value, path)
            case tuple() if value and isinstance(value[0], XmlStruct):
                for place, one in enumerate(value):
                    yield self.element(f"{name}[{place}]", one, f"{path}[{place}]")
            case tuple():
                yield _names(name, value, path)
            case True:
                yield TreeNode(name, "yes", _note(field.doc) if isinstance(field, Flag) else "", path=path)
            case IsoDate():
                yield _text(name, value.text, self.date(key, value), path=path)
            case int():
                yield TreeNode(name, str(value), _meaning(key, value), path=path)
            case bytes():
                yield _bytes(name, value, path)
            case str():
                yield _text(name, value, "" if value else "empty", path=path, quoted=isinstance(field, Text))
            case _:
                # Only what is wrong with it makes a value that is not there a line.
                yield TreeNode(name, "none", path=path)

    def date(self, key: str, value: IsoDate) -> str:
        if value.seconds is None:
            return "no date"
        try:
            text = unix_time_text(value.seconds, self.options.zone)
        except (OverflowError, ValueError, OSError):
            # The first and the last day of the calendar do not exist in every zone.
            text = unix_time_text(value.seconds)
        return f"{text}, never" if key in _LIMITS and value.seconds == _LARGEST_TIME else text

    def parts(self) -> Iterator[TreeNode]:
        message = self.message
        if message.preamble:
            size = count_text(len(message.preamble), "byte")
            block = Block(message.preamble, 0)
            yield TreeNode("preamble", size, "before the first part", path="preamble", block=block)
        plain = len(message.parts) == 1 and message.parts[0].role == "envelope" and not message.parts[0].data
        if not message.parts or (plain and not self.options.everything and "parts[0]" not in self.marked):
            return
        shown = message.parts[:_LISTED]
        node = TreeNode("parts", count_text(len(message.parts), "part"), path="parts")
        node.children = [_part(part, place) for place, part in enumerate(shown)]
        if len(message.parts) > _LISTED:
            node.children.append(TreeNode("...", f"{len(message.parts) - _LISTED} more parts"))
        yield node

    def content(self) -> Iterator[TreeNode]:
        """The body and the extension."""
        message = self.message
        if message.body is not None:
            yield body_node("body", srmp_body(message), self.options, path="body")
        if message.extension is not None:
            yield extension_node("extension", srmp_body(message), self.options, path="extension")


def _part(part: SrmpPart, place: int) -> TreeNode:
    path = f"parts[{place}]"
    size = f"{count_text(part.length, 'byte')} at {part.offset}"
    words = [part.role or "unknown", shortened(part.content_type, _LONGEST_NAME), size]
    reported = ", ".join(word for word in words if word)
    node = TreeNode(f"[{place}]", reported, shortened(part.content_id), path=path)
    if part.data:
        node.block = Block(part.data, part.offset)
    return node


def _names(name: str, values: tuple[str, ...], path: str) -> TreeNode:
    if len(values) == 1:
        return _text(name, values[0], path=path)
    node = TreeNode(name, count_text(len(values), "name"), path=path)
    for place, value in enumerate(values[:_LISTED]):
        node.children.append(_text(f"[{place}]", value, path=f"{path}[{place}]"))
    if len(values) > _LISTED:
        node.children.append(TreeNode("...", f"{len(values) - _LISTED} more names"))
    return node


def _other(element: Element, path: str, depth: int) -> TreeNode:
    """An element that no field names, with what is in it."""
    text = element.text.strip()
    node = _text(f"<{shortened(element.name, _LONGEST_NAME)}>", text, path=path)
    node.note = "; ".join(filter(None, (node.note, "not in the document", shortened(element.namespace, 64))))
    if depth >= _DEEPEST:
        if element.children:
            node.children.append(TreeNode("...", "elements nested deeper"))
        return node
    node.children += [
        _attribute(one, f"{path}.attributes[{place}]") for place, one in enumerate(element.attributes)
    ]
    node.children += [
        _other(one, f"{path}.children[{place}]", depth + 1)
        for place, one in enumerate(element.children[:_LISTED])
    ]
    if len(element.children) > _LISTED:
        node.children.append(TreeNode("...", f"{len(element.children) - _LISTED} more elements"))
    return node


def _attribute(attribute: Attribute, path: str) -> TreeNode:
    name = f"@{shortened(attribute.name, _LONGEST_NAME)}"
    return _text(name, attribute.value, shortened(attribute.namespace, 64), path=path)


def _text(name: str, text: str, note: str = "", *, path: str, quoted: bool = False) -> TreeNode:
    """A text on its line, a long one as a block below it."""
    if len(text) <= _LONGEST:
        return TreeNode(name, f'"{text}"' if quoted else text, note, path=path)
    data = text.encode("utf-8", "surrogatepass")
    return TreeNode(name, count_text(len(text), "character"), note, path=path, block=Block(data, 0, text))


def _bytes(name: str, value: bytes, path: str) -> TreeNode:
    if name == "correlation":
        if not any(value):
            return TreeNode(name, "none", path=path)
        identifier = identifier_text(value)
        if identifier:
            return TreeNode(name, identifier, path=path)
    if len(value) <= _INLINE_BYTES or not any(value):
        return TreeNode(name, bytes_text(value), path=path)
    return TreeNode(name, count_text(len(value), "byte"), path=path, block=Block(value, 0))


def _meaning(key: str, value: int) -> str:
    """The name of a number, where it has one."""
    field = _ENUMERATED.get(key)
    if field is None:
        return ""
    return enumeration_text(field, value) or ("none" if value == 0 else "unknown value")


def _note(doc: str) -> str:
    """What is said of a field, as a meaning."""
    return doc[:1].lower() + doc[1:].rstrip(".")
