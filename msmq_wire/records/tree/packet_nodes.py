"""A packet as a tree of named values for printing.

The rule kept here: it reads values and changes none. Absent parts, zero padding and zero reserved fields
are left out, unless the bytes are shown or something is wrong with them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import tzinfo
from typing import Any

import msgspec

from msmq_wire.engines import codec, field_offsets, reference
from msmq_wire.errors import DecodeError, EncodeError
from msmq_wire.records.message_body import properties_body
from msmq_wire.records.registered_queues import with_queue_names
from msmq_wire.records.signatures import checked_packet, signatures_are_asked
from msmq_wire.records.tree.body_nodes import body_node, extension_node
from msmq_wire.records.tree.meanings import bit_rows, selected
from msmq_wire.records.tree.tree_node import Block, NodeOptions, TreeNode
from msmq_wire.records.tree.value_text import (
    INLINE_BYTES,
    bytes_text,
    correlation_text,
    count_text,
    is_filler,
    is_filling,
    number_words,
    unix_time_text,
    word_text,
)
from msmq_wire.wire.fields import Field, WireStruct, fields
from msmq_wire.wire.headers.base_header import INFINITE
from msmq_wire.wire.headers.message_properties_header import MessagePropertiesHeader
from msmq_wire.wire.headers.mqf_signature_header import MQFSignatureHeader
from msmq_wire.wire.headers.security_header import SecurityData
from msmq_wire.wire.musts import Anomaly
from msmq_wire.wire.packets.message_packet import MessagePacket
from msmq_wire.wire.shown import ShownQueue, ShownText
from msmq_wire.wire.stream import Span
from msmq_wire.wire.types.guid import GUID, NULL_GUID
from msmq_wire.wire.types.mqf_format_name_element import MQFFormatNameElement, element_format_name
from msmq_wire.wire.types.wchar_text import WcharText

_OPENED = ("message_body", "extension_data")
_LISTED = 100


def packet_nodes(
    packet: Any,
    options: NodeOptions,
    *,
    anomalies: Sequence[Anomaly] = (),
    error: DecodeError | None = None,
) -> list[TreeNode]:
    """The nodes of a packet, whole or partial, with what is wrong in the place where it is wrong."""
    if not isinstance(packet, WireStruct):
        nodes = [] if packet is None else [_scalar(packet)]
    else:
        marked = {anomaly.path for anomaly in anomalies}
        root = _Builder(packet, options, marked, cut=error is not None).structure(packet, "", "")
        parts = root.children
        if not any(node.kind == "structure" for node in parts):
            parts = [root]
        nodes = parts
    place_marks(nodes, anomalies, error)
    return nodes


def place_marks(nodes: list[TreeNode], anomalies: Sequence[Anomaly], error: DecodeError | None) -> None:
    """Put what is wrong below the nodes where it is wrong."""
    for anomaly in anomalies:
        mark = TreeNode(anomaly.code, anomaly.message, str(anomaly.spec), "anomaly")
        _place(nodes, anomaly.path, mark)
    if error is not None:
        spec = "" if error.spec is None else str(error.spec)
        where = f" at {error.path}" if error.path else ""
        text = f"decoding stopped{where}, offset {error.offset}: {error.message}"
        _place(nodes, error.path, TreeNode(error.code, text, spec, "error"))


def _place(nodes: list[TreeNode], path: str, mark: TreeNode) -> None:
    """Put a mark below the deepest node on its path, before the marks of nodes after it."""
    found: TreeNode | None = None
    level = nodes
    while True:
        below = next((node for node in level if _on_path(node.path, path)), None)
        if below is None:
            break
        found, level = below, below.children
    (nodes if found is None else found.children).append(mark)


def _on_path(node: str, path: str) -> bool:
    return bool(node) and (path == node or (path.startswith(node) and path[len(node)] in ".["))


def _scalar(value: Any) -> TreeNode:
    name = type(value).stem() if hasattr(value, "stem") else "value"
    if isinstance(value, GUID):
        return TreeNode(name, str(value), span=Span(0, 16), wire=bytes(value))
    if isinstance(value, WcharText):
        return TreeNode(name, f'"{value.text}"', span=Span(0, len(value)), wire=bytes(value))
    return TreeNode(name, bytes_text(value) if isinstance(value, bytes) else str(value))


def text_node(name: str, value: WcharText, span: Span | None, path: str = "") -> TreeNode:
    """The node of a text: a long one stands below it."""
    text = value.text
    note = "" if value.exact else "not well-formed"
    if len(text) <= 128:
        return TreeNode(name, f'"{text}"', note, path=path, span=span)
    block = Block(bytes(value), 0 if span is None else span.offset, text)
    size = count_text(len(value), "byte")
    return TreeNode(name, size, note or "UTF-16 text", path=path, span=span, block=block)


def block_node(name: str, value: bytes, span: Span | None, path: str = "") -> TreeNode:
    """The node of bytes that stand below it."""
    block = Block(value, 0 if span is None else span.offset)
    return TreeNode(name, count_text(len(value), "byte"), path=path, span=span, block=block)


def _spans(packet: WireStruct) -> Mapping[str, Span]:
    """Where the fields lie; of a part of a packet, or of one with bytes missing, those that were reached."""
    try:
        codec.encode(packet)
    except EncodeError:
        return reference.layout(packet)
    return field_offsets.spans(packet)


class _Builder:
    def __init__(
        self, packet: WireStruct, options: NodeOptions, marked: set[str], *, cut: bool = False
    ) -> None:
        self.packet = packet
        self.cut = cut
        self.options = options
        self.marked = marked
        self.spans = _spans(packet)

    def structure(self, value: WireStruct, name: str, path: str, parents: tuple[Any, ...] = ()) -> TreeNode:
        span = self.spans.get(path)
        node = TreeNode(name or value.stem(), note=str(value.SPEC), kind="structure", path=path, span=span)
        if span is not None:
            node.value = count_text(span.length, "byte")
        for field in fields(type(value)):
            if not field.position:
                node.children += self.field(value, field, path, parents)
        for inner in getattr(value, "INSIDE", ()):
            part = getattr(value, inner)
            if isinstance(part, WireStruct):
                node.children.append(self.structure(part, inner, f"{path}.{inner}" if path else inner))
        if span is None and node.children and node.children[0].span is not None:
            # A structure that is cut has no span, but it begins where its first field does.
            node.span = Span(node.children[0].span.offset, 0)
        return node

    def field(
        self, parent: WireStruct, field: Field, prefix: str, parents: tuple[Any, ...]
    ) -> Iterator[TreeNode]:
        value = getattr(parent, field.name)
        path = f"{prefix}.{field.name}" if prefix else field.name
        if value is msgspec.UNSET:
            return
        if isinstance(field.shown, ShownQueue):
            node = self.queue(parent, field.name, field.shown.bits, path)
            if node is not None:
                yield node
                return
        if value is None or self.left_out(field, value, path):
            return
        if isinstance(value, WireStruct):
            yield self.structure(value, field.name, path, (parent, *parents))
        elif isinstance(value, tuple):
            yield from self.items(value, field.name, path, (parent, *parents))
        else:
            yield self.leaf(parent, field, value, path, parents)

    def left_out(self, field: Field, value: Any, path: str) -> bool:
        if path in self.marked:
            return False
        if isinstance(value, bytes) and not value:
            return True
        return is_filler(field) and not self.options.everything and is_filling(value)

    def queue(self, header: Any, name: str, bits: str, path: str) -> TreeNode | None:
        """A queue by its format name; None when it has none or its host is not known."""
        if not isinstance(header.flags, int):
            return None
        text = header.format_name(name)
        if text is None:
            return None
        table = type(header).BITS
        assert table is not None
        bit = table.bits[bits]
        kind = selected(bit, header.bit(bit.name))
        return self.spanned(name, path, with_queue_names(text), kind, getattr(header, name))

    def items(
        self, values: tuple[Any, ...], name: str, path: str, parents: tuple[Any, ...]
    ) -> Iterator[TreeNode]:
        node = TreeNode(name, count_text(len(values), "element"), path=path, span=self.spans.get(path))
        for index, value in enumerate(values[:_LISTED]):
            at = f"{path}[{index}]"
            text = element_format_name(value) if isinstance(value, MQFFormatNameElement) else None
            if text is not None:
                node.children.append(self.spanned(f"[{index}]", at, with_queue_names(text), "", value))
            elif isinstance(value, WireStruct):
                node.children.append(self.structure(value, f"[{index}]", at, parents))
            else:
                node.children.append(TreeNode(f"[{index}]", str(value), path=at, span=self.spans.get(at)))
        if len(values) > _LISTED:
            node.children.append(TreeNode("...", f"{len(values) - _LISTED} more elements"))
        if values or path in self.marked:
            yield node

    def leaf(
        self, parent: WireStruct, field: Field, value: Any, path: str, parents: tuple[Any, ...]
    ) -> TreeNode:
        table = type(parent).BITS
        if isinstance(value, int):
            if table is not None and table.field == field.name:
                return self.word(parent, field, value, path)
            text, note = number_words(field, value, self.options.zone)
            if self.absolute(path) and value != INFINITE:
                note = unix_time_text(value, self.options.zone)
            return self.spanned(field.name, path, text, note, value)
        if isinstance(value, GUID):
            return self.spanned(field.name, path, str(value), "none" if value == NULL_GUID else "", value)
        if isinstance(value, WcharText):
            node = text_node(field.name, value, self.spans.get(path), path)
            node.wire = self.wire(value, path) if self.options.everything else b""
            return node
        return self.binary(parent, field, value, path, parents)

    def absolute(self, path: str) -> bool:
        return path == "base_header.time_to_reach_queue" and isinstance(self.packet, MessagePacket)

    def word(self, parent: WireStruct, field: Field, value: int, path: str) -> TreeNode:
        node = self.spanned(field.name, path, word_text(field, value), "", value)
        node.children += [
            TreeNode(name, text, note, "bit") for name, text, note in bit_rows(type(parent), value)
        ]
        return node

    def binary(
        self, parent: WireStruct, field: Field, value: bytes, path: str, parents: tuple[Any, ...]
    ) -> TreeNode:
        if isinstance(parent, MessagePropertiesHeader):
            if field.name in _OPENED:
                return self.opened(parent, field.name, value, path)
            if field.name == "correlation_id":
                return self.spanned(field.name, path, correlation_text(value), "", value)
        if isinstance(field.shown, ShownText):
            number = field.shown.number(parent, parents[0] if parents else None)
            text = field.shown.text(number, value)
            if text is not None:
                return self.spanned(field.name, path, text, "", value)
        if len(value) <= INLINE_BYTES or not any(value):
            return self.spanned(field.name, path, bytes_text(value), "", value)
        node = block_node(field.name, value, self.spans.get(path), path)
        node.children = self.signature_nodes(parent, field.name)
        if node.children and not self.options.everything:
            node.block = None
        node.wire = self.wire(value, path) if self.options.everything else b""
        return node

    def signature_nodes(self, parent: WireStruct, name: str) -> list[TreeNode]:
        """What is said of a signature; nothing where the decode ended before the end of the packet."""
        return [] if self.cut else _signature_nodes(parent, name, self.packet, self.options)

    def opened(self, header: MessagePropertiesHeader, name: str, value: bytes, path: str) -> TreeNode:
        make = body_node if name == "message_body" else extension_node
        body = properties_body(header, self.packet)
        node = make(name, body, self.options, path=path, span=self.spans.get(path))
        node.wire = self.wire(value, path) if self.options.everything else b""
        return node

    def spanned(self, name: str, path: str, text: str, note: str, value: Any) -> TreeNode:
        span = self.spans.get(path)
        wire = self.wire(value, path) if self.options.everything else b""
        return TreeNode(name, text, note, path=path, span=span, wire=wire)

    def wire(self, value: Any, path: str) -> bytes:
        """The bytes of a value, put together from the values of its fields."""
        if isinstance(value, bytes):
            return bytes(value)
        if isinstance(value, int):
            span = self.spans.get(path)
            return b"" if span is None else value.to_bytes(span.length, "little")
        if isinstance(value, WireStruct):
            names = (field.name for field in fields(type(value)) if not field.position)
            return b"".join(self.wire(getattr(value, name), f"{path}.{name}") for name in names)
        return b""


def _signature_nodes(parent: WireStruct, name: str, packet: Any, options: NodeOptions) -> list[TreeNode]:
    """What a signature is worth and whom its certificate names, below the bytes of both, if somebody asked.

    There is nothing below another field.
    """
    if not isinstance(parent, SecurityData | MQFSignatureHeader) or not signatures_are_asked():
        return []
    if name not in ("signature", "sender_cert"):
        return []
    rows = _signature(packet) if name == "signature" else _certificate(packet, options.zone)
    return [TreeNode(name, value) for name, value in rows if value]


def _signature(packet: Any) -> Iterator[tuple[str, str]]:
    check = checked_packet(packet)
    if check is not None:
        yield "verdict", check.verdict
        yield "why", check.why
        yield "version", check.version or ""
        yield "reading", "" if check.reading is None else str(check.reading)
        yield "value", check.how


def _certificate(packet: Any, zone: tzinfo | None) -> Iterator[tuple[str, str]]:
    check = checked_packet(packet)
    certificate = None if check is None else check.certificate
    if certificate is not None:
        yield "subject", certificate.subject
        yield "issuer", certificate.issuer
        yield "not_before", _time(certificate.not_before, zone)
        yield "not_after", _time(certificate.not_after, zone)
        yield "thumbprint", f"{certificate.thumbprint} (SHA-1)"
        yield "key", f"RSA, {certificate.bits} bits" if certificate.bits else "no RSA key"
        if check is not None and check.trusted_by is not None:
            yield "trusted_by", check.trusted_by or "none of the certificates given"


def _time(seconds: int, zone: tzinfo | None) -> str:
    try:
        return unix_time_text(seconds, zone)
    except (OverflowError, ValueError, OSError):
        # The first and the last day of a calendar have no zone behind them.
        return f"{seconds} s"
