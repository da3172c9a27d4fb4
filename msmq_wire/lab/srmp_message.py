"""An SRMP message of an HTTP POST as the message that a queue holds. [MC-MQSRM] 3.1.5, [MS-MQRR] 2.2.5.1

The rule kept here: what is stored is the whole HTTP message, and beside it its envelope, as remote readers
get it. Messages of streams need receipts, which nobody sends here: they are refused.
"""

from __future__ import annotations

import re
from urllib.parse import unquote, urlsplit

import msgspec

from msmq_wire.engines.fit import fit
from msmq_wire.engines.message_builder import build_message
from msmq_wire.errors import EncodeError, FormatNameError, MsmqWireError
from msmq_wire.lab.model.data.elements import ModelMessage, ModelQueueManager, Queue
from msmq_wire.lab.model.data.stored_message import message_of
from msmq_wire.srmp.elements.envelope import SrmpHeader
from msmq_wire.srmp.envelope import parse_envelope
from msmq_wire.srmp.http.message import HttpMessage
from msmq_wire.srmp.mime import MimePart, Multipart, parse_multipart
from msmq_wire.srmp.rules import label_of
from msmq_wire.wire.headers.compound_message_header import CompoundMessageHeader
from msmq_wire.wire.headers.srmp_envelope_header import SRMPEnvelopeHeader
from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.wchar_text import WcharText

_ID = re.compile(r"uuid:(\d{1,20})@([0-9a-fA-F-]{36})")
_ROOT = "msmq"
_INFINITE = 0xFFFF_FFFF


class SrmpRefusal(msgspec.Struct, frozen=True):
    """Why a POST is no message for a queue here."""

    reason: str


def srmp_message(
    manager: ModelQueueManager, request: HttpMessage
) -> tuple[Queue, ModelMessage] | SrmpRefusal:
    """The queue that a POST names, and the message for it."""
    multipart = parse_multipart(request.header("content-type") or "", request.body)
    root = multipart.root
    envelope = None if root is None else parse_envelope(root.data)
    header = None if envelope is None or envelope.value is None else envelope.value.header
    if root is None or header is None or header.path is None or header.path.to is None:
        return SrmpRefusal("no SRMP envelope that names a queue")
    assert envelope is not None
    if envelope.error is not None or envelope.kind != "message":
        return SrmpRefusal("no SRMP message" if envelope.error is None else str(envelope.error))
    queue = _queue(manager, header.path.to)
    if queue is None:
        return SrmpRefusal("no such queue")
    if queue.transactional or header.stream is not None:
        return SrmpRefusal("messages of streams and to transactional queues are not taken over HTTP")
    try:
        return queue, _message(manager, request, header, root, multipart)
    except (EncodeError, FormatNameError) as error:
        return SrmpRefusal(str(error))


def _queue(manager: ModelQueueManager, url: str) -> Queue | None:
    """The queue of a URL as ``http://host/msmq/private$/orders``."""
    try:
        path = unquote(urlsplit(url).path)
    except ValueError:
        return None
    root, _, name = path.lstrip("/").partition("/")
    if root.casefold() != _ROOT:
        return None
    return manager.queue_collection.get(name.replace("/", "\\").casefold())


def _message(
    manager: ModelQueueManager, request: HttpMessage, header: SrmpHeader, root: MimePart, multipart: Multipart
) -> ModelMessage:
    path, msmq, services = header.path, header.msmq, header.services
    assert path is not None
    data = request.head + request.body
    body = next((one for one in multipart.parts if one.content_id.casefold().startswith("body@")), None)
    named = _ID.fullmatch(path.id or "")
    try:
        source = manager.identifier if named is None else GUID.parse(named[2])
    except (MsmqWireError, ValueError):
        source = manager.identifier
    label = label_of(path.action) or ""
    xml = WcharText.of(root.data.decode("utf-8", "replace"))
    packet = build_message(
        f"DIRECT={_direct(path.to or '')}",
        label=label[:249],
        delivery="recoverable" if services is not None and services.durable else "express",
        priority=_number(getattr(msmq, "priority", None), 3, 7),
        source_queue_manager=source,
        message_id=_number(None if named is None else int(named[1]), manager.sequential_id + 1, _INFINITE),
        body_type=_number(getattr(msmq, "body_type", None), 0, _INFINITE),
        application_tag=_number(getattr(msmq, "app", None), 0, _INFINITE),
        sent_time=manager.current_time,
    )
    # A packet of the binary protocol has no such headers; one that is stored has.
    packet = msgspec.structs.replace(
        packet,
        srmp_envelope_header=SRMPEnvelopeHeader(data_length=len(xml) // 2, data=xml),
        compound_message_header=CompoundMessageHeader(
            http_body_size=len(data),
            msg_body_size=0 if body is None else len(body.data),
            msg_body_offset=0 if body is None else len(request.head) + body.offset,
            data=data,
        ),
    )
    message = message_of(fit(packet))
    content = b"" if body is None else body.data
    message.properties = msgspec.structs.replace(message.properties, body=content, body_length=len(content))
    return message


def _direct(url: str) -> str:
    scheme, separator, rest = url.partition("://")
    return f"{scheme.upper()}{separator}{rest}"


def _number(value: object, default: int, most: int) -> int:
    return value if isinstance(value, int) and 0 <= value <= most else default
