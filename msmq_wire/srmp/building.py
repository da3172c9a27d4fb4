"""An SRMP message as one HTTP request, from message properties. [MC-MQSRM] 2.2 and 3.1.7.2.4."""

from __future__ import annotations

import re
from urllib.parse import urlsplit
from uuid import UUID

from msmq_wire.buffers import as_bytes
from msmq_wire.errors import EncodeError
from msmq_wire.srmp.elements.envelope import SoapBody, SrmpEnvelope, SrmpHeader
from msmq_wire.srmp.elements.header import (
    CommitmentReceiptRequest,
    DeliveryReceiptRequest,
    Path,
    Properties,
    Rev,
    Services,
    Start,
    Stream,
)
from msmq_wire.srmp.elements.msmq import Msmq
from msmq_wire.srmp.envelope import build_envelope
from msmq_wire.srmp.mime import build_multipart
from msmq_wire.srmp.rules import LABEL_PREFIX
from msmq_wire.srmp.xml.fields import IsoDate

_URL = re.compile(r"https?://[!-~]+", re.IGNORECASE)
_LAST_SECOND = 0x7FFFFFFF
"""Windows writes this second for a message that does not expire."""


def build_srmp(
    queue_url: str,
    body: bytes,
    *,
    source_qm_guid: UUID,
    message_number: int,
    sent_at: int,
    expires_at: int = _LAST_SECOND,
    label: str = "",
    extension: bytes = b"",
    priority: int = 3,
    body_type: int = 0,
    app: int = 0,
    correlation: bytes = bytes(20),
    hash_algorithm: int = 0,
    journal: bool = False,
    dead_letter: bool = False,
    trace: bool = False,
    durable: bool = False,
    response_queue: str | None = None,
    admin_queue: str | None = None,
    delivery_receipt: bool = False,
    positive_receipt: bool = False,
    negative_receipt: bool = False,
    stream_number: int | None = None,
    stream_current: int = 1,
    stream_previous: int | None = None,
    stream_receipts_to: str | None = None,
) -> bytes:
    """A user message to the queue at ``queue_url`` (http or https); times are seconds since 1970 in UTC.

    ``stream_number`` makes it a stream message, which is durable; its first one (``stream_current`` 1) needs
    ``stream_receipts_to``. A receipt needs ``admin_queue``. Raises EncodeError for properties that
    contradict the specification.
    """
    body, extension = as_bytes(body, "body"), as_bytes(extension, "extension")
    correlation = as_bytes(correlation, "correlation")
    guid = str(source_qm_guid)
    receipts = positive_receipt or negative_receipt
    if (delivery_receipt or receipts) and admin_queue is None:
        raise EncodeError("a receipt needs an administration queue", path="admin_queue")
    for name, url in (("admin_queue", admin_queue), ("stream_receipts_to", stream_receipts_to)):
        if url is not None and not _URL.fullmatch(url):
            raise EncodeError("an http or https URL is needed", path=name)
    numbers = {"message_number": message_number, "body_type": body_type, "app": app}
    numbers |= {"hash_algorithm": hash_algorithm, "stream_number": stream_number or 0}
    numbers |= {"stream_current": stream_current, "stream_previous": stream_previous or 0}
    for name, number in numbers.items():
        if number < 0 or number >> 64:
            raise EncodeError(f"{number} is no 64-bit number", path=name)
    if not 0 <= priority <= 7:
        raise EncodeError(f"{priority} is not in 0 to 7", path="priority")
    stream = None
    if stream_number is not None:
        stream = _stream(guid, stream_number, stream_current, stream_previous, stream_receipts_to)
    services = None
    if durable or stream or delivery_receipt or receipts:
        services = Services(
            must_understand="1",
            durable=durable or stream is not None,
            delivery_receipt_request=DeliveryReceiptRequest(send_to=admin_queue)
            if delivery_receipt
            else None,
            commitment_receipt_request=CommitmentReceiptRequest(
                send_to=admin_queue, positive_only=positive_receipt, negative_only=negative_receipt
            )
            if receipts
            else None,
        )
    header = SrmpHeader(
        path=Path(
            must_understand="1",
            action=LABEL_PREFIX + label,
            to=queue_url,
            id=f"uuid:{message_number}@{guid}",
            rev=None if response_queue is None else Rev(via=response_queue),
        ),
        properties=Properties(
            must_understand="1", expires_at=IsoDate.at(expires_at), sent_at=IsoDate.at(sent_at)
        ),
        services=services,
        stream=stream,
        msmq=Msmq(
            class_=0,
            priority=priority,
            journal=journal,
            dead_letter=dead_letter,
            correlation=correlation,
            trace=trace,
            app=app or None,
            body_type=body_type,
            hash_algorithm=hash_algorithm or None,
            source_qm_guid=guid,
            t_trq=IsoDate.at(expires_at),
        ),
    )
    parts = [(f"body@{guid}", body)]
    if extension:
        parts.append((f"extension@{guid}", extension))
    return build_srmp_request(queue_url, SrmpEnvelope(header=header, body=SoapBody()), parts)


def build_srmp_request(queue_url: str, envelope: SrmpEnvelope, parts: list[tuple[str, bytes]]) -> bytes:
    """The POST that carries an envelope and its parts, each a Content-Id and bytes; without parts plain XML.

    Raises EncodeError when ``queue_url`` is no http or https URL.
    """
    if not _URL.fullmatch(queue_url):
        raise EncodeError("an http or https URL is needed", path="queue_url")
    try:
        url = urlsplit(queue_url)
    except ValueError as error:
        raise EncodeError("not a URL", path="queue_url") from error
    if not url.netloc:
        raise EncodeError("a URL without host", path="queue_url")
    xml = build_envelope(envelope)
    content_type, content = "text/xml", xml
    if parts:
        boundary = _boundary([xml, *(data for _, data in parts)])
        content_type = f'multipart/related; boundary="{boundary}"; type=text/xml'
        content = build_multipart(
            [
                (_part_headers("text/xml; charset=UTF-8", xml), xml),
                *(
                    ([*_part_headers("application/octet-stream", data), ("Content-Id", name)], data)
                    for name, data in parts
                ),
            ],
            boundary,
        )
    target = (url.path or "/") + (f"?{url.query}" if url.query else "")
    head = [
        f"POST {target} HTTP/1.1",
        f"Host: {url.netloc.rpartition('@')[2]}",
        f"Content-Type: {content_type}",
        f"Content-Length: {len(content)}",
        'SOAPAction: "MSMQMessage"',
        "Proxy-Accept: NonInteractiveClient",
    ]
    return "\r\n".join([*head, "", ""]).encode("ascii") + content


def _stream(guid: str, number: int, current: int, previous: int | None, receipts_to: str | None) -> Stream:
    if current == 0:
        raise EncodeError("numbers in a stream begin with 1", path="stream_current")
    if (current == 1) != (receipts_to is not None):
        raise EncodeError(
            "the first message of a stream, and no other, says where receipts go", path="stream"
        )
    return Stream(
        must_understand="1",
        stream_id=f"uid:{guid}\\{number}",
        current=current,
        previous=previous or None,
        start=None if receipts_to is None else Start(send_receipts_to=receipts_to),
    )


def _part_headers(content_type: str, data: bytes) -> list[tuple[str, str]]:
    return [("Content-Type", content_type), ("Content-Length", str(len(data)))]


def _boundary(contents: list[bytes]) -> str:
    # The sum keeps the result the same for the same message.
    number = sum(map(len, contents)) % 100_000
    while any(f"MSMQ - SOAP boundary, {number}".encode() in content for content in contents):
        number += 1
    return f"MSMQ - SOAP boundary, {number}"
