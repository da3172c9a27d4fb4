"""What the ``packet`` of SRMP records holds: `SrmpMessage`."""

from __future__ import annotations

import re
from http import HTTPMethod, HTTPStatus
from typing import Annotated, ClassVar

import msgspec

from msmq_wire.representation import label_text, line, shortened, struct_line
from msmq_wire.spec import SpecRef
from msmq_wire.srmp.elements.envelope import SrmpEnvelope
from msmq_wire.wire.expressions import this
from msmq_wire.wire.private import BODY, LABEL, MESSAGE_ID, PUBLIC, URL, Private, Public

_KNOWN = re.compile(
    "cache-control|connection|content-length|content-type|date|expect|host|proxy-accept|proxy-connection|"
    "server|soapaction|transfer-encoding|user-agent|via",
    re.IGNORECASE,
)
_VERSION = re.compile("[0-9][.][0-9]")


class SrmpField(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A header of an HTTP message."""

    SPEC: ClassVar[SpecRef] = SpecRef("MC-MQSRM", "2.1.1")
    name: Annotated[str, Public(_KNOWN), "As it was sent."]
    value: Annotated[str, Private("host", "header", this.name), "Folded lines joined by a blank."]

    __repr__ = struct_line


class SrmpPart(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A part of the HTTP body; ``offset`` counts from its first byte, chunk sizes taken out."""

    SPEC: ClassVar[SpecRef] = SpecRef("MC-MQSRM", "2.2.2")
    role: Annotated[str, PUBLIC, "envelope, body or extension; empty where that is not known."]
    content_type: Annotated[str, Private("secret", "media_type"), "Media type in lower case."]
    content_id: Annotated[str, Private("host", "part"), "What signatures name it by."]
    content_length: Annotated[int | None, "Bytes that its header claims."]
    offset: Annotated[int, "Where its data begins in the HTTP body."]
    length: Annotated[int, "Bytes of its data."]
    data: Annotated[bytes, "Its data where no other field shows it."] = b""

    __repr__ = struct_line


class SrmpResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The HTTP response to the message."""

    SPEC: ClassVar[SpecRef] = SpecRef("MC-MQSRM", "2.1.1")
    status: Annotated[int, "202 where the queue manager took the message."]
    reason: Annotated[str, Public(among=frozenset(one.phrase for one in HTTPStatus)), "The status in words."]
    headers: Annotated[tuple[SrmpField, ...], "Headers."]
    body: Annotated[bytes, "Body; there should be none."]
    frames: Annotated[tuple[int, ...], "Frames that carried it."]
    complete: Annotated[bool, "Whether all of it was captured."]

    __repr__ = struct_line


class SrmpMessage(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A message over HTTP, with the HTTP response to it.

    ``queue``, ``label`` and ``message_id`` are None where the envelope does not give them. ``response`` is
    None where it was not captured; without ``certain`` bytes were lost before, and it may answer another
    request. ``latency`` is the nanoseconds from the last frame of the request to the last of the response.
    """

    SPEC: ClassVar[SpecRef] = SpecRef("MC-MQSRM", "2.2.2")
    kind: Annotated[str, PUBLIC, "message, delivery_receipt, commitment_receipt or stream_receipt."]
    queue: Annotated[str | None, URL, "Format name of the destination queue."]
    label: Annotated[str | None, LABEL, "Label, without what precedes it in the envelope."]
    message_id: Annotated[str | None, MESSAGE_ID, "Queue manager and number, with a backslash between them."]
    method: Annotated[str, Public(among=frozenset(HTTPMethod)), "HTTP method."]
    target: Annotated[str, Private("host", "target"), "What the request asks for: a path, or a URL."]
    http_version: Annotated[str, Public(_VERSION), "1.1 most likely."]
    headers: Annotated[tuple[SrmpField, ...], "Headers of the request."]
    envelope: Annotated[SrmpEnvelope | None, "SOAP envelope; JSON text in a table."]
    body: Annotated[bytes | None, BODY, "Body of the message."]
    extension: Annotated[bytes | None, BODY, "Extension of the message."]
    parts: Annotated[tuple[SrmpPart, ...], "The parts of the HTTP body in order."]
    preamble: Annotated[bytes, "What precedes the first part."] = b""
    response: Annotated[SrmpResponse | None, "HTTP response."] = None
    interim: Annotated[tuple[int, ...], "Status of responses before the last one."] = ()
    certain: Annotated[bool, "False where the response may answer another request."] = True
    latency: Annotated[
        int | None, "Nanoseconds from the last frame of the request to the last of the response."
    ] = None
    complete: Annotated[bool, "Whether all of the request was captured."] = True

    @property
    def queue_and_label(self) -> tuple[str, str]:
        """The format name of the destination queue and the label, empty where they are not known."""
        return self.queue or "", self.label or ""

    def __repr__(self) -> str:
        queue = f"to {shortened(self.queue, 56)}" if self.queue else ""
        status = "no response" if self.response is None else f"status {self.response.status}"
        what = "" if self.kind == "message" else shortened(self.kind)
        return line(self, what, label_text(self.label), ", ".join(filter(None, (queue, status))))
