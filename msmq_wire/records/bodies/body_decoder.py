"""Decodes a body: by its declared body type, then by what its bytes look like.

The rule kept here: a guess never changes the bytes, it only chooses how they are shown and which file name
they get. No input raises, and nothing in a body is executed, resolved or fetched.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from msmq_wire.buffers import as_bytes
from msmq_wire.records.bodies import (
    activex,
    binary_formatter,
    change_notification,
    compressed,
    encrypted,
    magic,
    message_framing,
    queued_components,
    report_message,
    text,
    typed,
)
from msmq_wire.records.bodies.activex import state_of, stored_object, streamed_object
from msmq_wire.records.bodies.binary_formatter import binary_formatter_body
from msmq_wire.records.bodies.body import Body, BodyKinds, Confidence
from msmq_wire.records.bodies.change_notification import change_notification_body
from msmq_wire.records.bodies.compressed import LARGEST_INFLATED, inflate
from msmq_wire.records.bodies.conventions import envelope_members, extension_headers
from msmq_wire.records.bodies.encrypted import EncryptedBody, encrypted_as
from msmq_wire.records.bodies.magic import marked_body
from msmq_wire.records.bodies.message_framing import message_framing_body
from msmq_wire.records.bodies.queued_components import queued_components_body
from msmq_wire.records.bodies.report_message import report_message_body
from msmq_wire.records.bodies.text import is_utf8, looks_wide, text_body, with_byte_order_mark
from msmq_wire.records.bodies.typed import (
    BINARY_OBJECT,
    NARROW_STRING,
    STORED,
    STREAMED,
    array_body,
    is_outside_section,
    is_sized,
    scalar_body,
    type_name,
)
from msmq_wire.srmp.xml.element_tree import declared_encoding
from msmq_wire.wire.types.enumerations import BodyType

KINDS: tuple[BodyKinds, ...] = (
    *encrypted.KINDS,
    *typed.KINDS,
    *text.KINDS,
    *activex.KINDS,
    *magic.KINDS,
    *binary_formatter.KINDS,
    *message_framing.KINDS,
    *queued_components.KINDS,
    *change_notification.KINDS,
    *report_message.KINDS,
    *compressed.KINDS,
    BodyKinds(("binary",), "nothing of that", "the bytes"),
)
"""Every kind that a body can have."""

_WIDE_TYPES = (BodyType.VT_LPWSTR, BodyType.VT_BSTR)
# Encodings of a body that make it no string of its type; a body without text has none.
_NOT_WIDE, _NOT_NARROW = ("", "UTF-8"), ("", "UTF-16")
_UNFIT = {
    int(BodyType.VT_LPWSTR): _NOT_WIDE,
    int(BodyType.VT_BSTR): _NOT_WIDE,
    NARROW_STRING: _NOT_NARROW,
}
# What says no more than that there are bytes.
_OPAQUE_TYPES = frozenset((0x2011, 0x1011, BodyType.VT_BLOB, 66, 67, 70, BINARY_OBJECT))
_SURELY_NARROW = 16


def open_body(
    data: bytes,
    body_type: int | None,
    *,
    extension: bytes = b"",
    encrypted: EncryptedBody | None = None,
) -> Body:
    """Say what a body holds; never raises, and a body that was cut may be given.

    ``body_type`` is that of MessagePropertiesHeader ([MS-MQMQ] 2.2.19.3), None where it is not known;
    ``extension`` its ExtensionData, which may hold the headers of a messaging library; ``encrypted`` what
    ``encrypted_body`` found. Time is linear in the input; at most 1 MiB of XML, JSON or compressed data is
    read beyond its beginning.
    """
    data, extension = as_bytes(data), as_bytes(extension, "extension")
    declared = 0 if body_type is None else body_type
    body = _by_type(data, declared) or _by_content(data)
    body = _with_type(body, declared, len(data))
    # A privacy level is asked for before anything is encrypted: what can be read counts more.
    if encrypted is not None and (encrypted.declared or body.kind == "binary"):
        body = encrypted_as(encrypted, len(data))
    convention, headers = extension_headers(extension) if extension else ("", ())
    if body.kind in ("json", "text") and body.text is not None:
        envelope = envelope_members(body.text)
        if envelope:
            convention, headers = convention or "MassTransit", headers + envelope
    outside = is_outside_section(declared)
    if not (convention or headers or outside):
        return body
    return msgspec.structs.replace(
        body,
        convention=convention or body.convention,
        details=body.details + headers,
        outside_section=outside,
    )


def _by_type(data: bytes, body_type: int) -> Body | None:
    """The body by its type; None when the type says nothing or the bytes do not fit."""
    if not data:
        return None
    if body_type in _WIDE_TYPES:
        # No such text of Windows is made of printable ASCII alone; senders write UTF-8 under these types.
        # C programs fill their buffer with zeros behind it.
        narrow = data.rstrip(b"\0")
        if len(narrow) >= _SURELY_NARROW and 0 not in narrow[:4096] and is_utf8(narrow[:4096]):
            return text_body(narrow, "utf-8", "likely")
        return report_message_body(data) or _by_mark(data) or text_body(data, "utf-16-le", "declared")
    if body_type == NARROW_STRING:
        return _by_mark(data) or text_body(data, "utf-8", "declared") or text_body(data, "cp1252", "likely")
    if body_type == STREAMED:
        body = streamed_object(data)
        return None if body is None else _with_state(body, state_of(data))
    if body_type == STORED:
        return stored_object(data)
    return scalar_body(data, body_type) or array_body(data, body_type)


def _with_state(body: Body, state: bytes) -> Body:
    inner = _by_content(state)
    rows = (("state", f"{len(state)} bytes"), ("state_kind", inner.kind))
    return msgspec.structs.replace(
        body, text=inner.text, encoding=inner.encoding, details=body.details + rows + inner.details
    )


def _with_type(body: Body, body_type: int, size: int) -> Body:
    """Add what the declared type is worth, unless the body was read by it."""
    if body_type <= BodyType.VT_NULL or any(name == "body_type" for name, _ in body.details):
        return body
    note = type_name(body_type)
    confidence: Confidence = body.confidence
    if body_type in _OPAQUE_TYPES and body.kind == "binary":
        confidence = "declared"
    elif body.encoding in _UNFIT.get(body_type, ()):
        note += f", but {body.encoding or body.kind}"
    elif is_sized(body_type) or (body_type in (STREAMED, STORED) and body.confidence != "declared"):
        note += f", which {size} bytes do not fit"
    return msgspec.structs.replace(body, confidence=confidence, details=(("body_type", note), *body.details))


def _by_mark(data: bytes) -> Body | None:
    bom = with_byte_order_mark(data)
    if bom is None:
        return None
    return text_body(data[bom[1] :], bom[0], "certain")


def _by_content(data: bytes) -> Body:
    if not data:
        return Body(kind="binary", confidence="certain")
    for begins, read in _BY_CONTENT:
        body = read(data) if data.startswith(begins) else None
        if body is not None:
            return body
    return Body(kind="binary", confidence="guess")


def _as_text(data: bytes) -> Body | None:
    declared = declared_encoding(data)
    if declared is not None and not data.isascii():
        return text_body(data, declared, "certain")
    if looks_wide(data):
        return text_body(data, "utf-16-le", "likely")
    # The same test with the bytes of each unit exchanged.
    if data[0] == 0 and looks_wide(data[1:512]):
        return text_body(data, "utf-16-be", "likely")
    return text_body(data, "utf-8", "certain" if data.isascii() else "likely")


def _unpacked(data: bytes) -> Body | None:
    found = inflate(data)
    if found is None:
        return None
    inner = _inside(found.data)
    if found.format == "deflate" and inner is None:
        return None
    title = inner.title if inner else "bytes"
    rows = [("format", found.format), ("content", inner.kind if inner else "binary")]
    rows.append(("unpacked", f"{'at least ' if not found.whole else ''}{len(found.data)} bytes"))
    if len(found.data) >= LARGEST_INFLATED:
        rows.append(("limit", "only the first MiB was unpacked"))
    confidence: Confidence = "certain" if found.whole and found.format != "deflate" else "likely"
    return Body(
        kind=found.format,
        confidence=confidence,
        title=f"{found.format} of {title}",
        text=None if inner is None else inner.text,
        encoding="" if inner is None else inner.encoding,
        details=tuple(rows) + (inner.details if inner else ()),
        extension={"gzip": "gz", "zlib": "zlib", "deflate": "deflate"}[found.format],
    )


def _inside(data: bytes) -> Body | None:
    """What was unpacked, which is not unpacked again."""
    if not data:
        return None
    return _by_mark(data) or marked_body(data) or binary_formatter_body(data) or _as_text(data)


_BY_CONTENT: tuple[tuple[tuple[bytes, ...], Callable[[bytes], Body | None]], ...] = (
    (text.BEGINS, _by_mark),
    (magic.BEGINS, marked_body),
    (binary_formatter.BEGINS, binary_formatter_body),
    (message_framing.BEGINS, message_framing_body),
    (queued_components.BEGINS, queued_components_body),
    (change_notification.BEGINS, change_notification_body),
    (report_message.BEGINS, report_message_body),
    ((b"",), _as_text),
    ((b"",), _unpacked),
)
"""What looks at the bytes, in this order, and what these have to begin with."""
