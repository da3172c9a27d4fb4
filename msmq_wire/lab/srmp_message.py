"""An SRMP message of an HTTP POST as the message that a queue holds. [MC-MQSRM] 3.1.5.1, [MS-MQRR] 2.2.5.1

The rule kept here: what is stored is the whole HTTP message, and beside it its envelope, as remote readers
get it. What an attribute cannot hold is refused: nothing is cut off.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import unquote, urlsplit

import msgspec

from msmq_wire.engines.fit import fit
from msmq_wire.engines.message_builder import build_message
from msmq_wire.errors import EncodeError, FormatNameError
from msmq_wire.lab.model.data.elements import ModelMessage, ModelQueueManager, Queue
from msmq_wire.lab.model.data.stored_message import message_of
from msmq_wire.lab.srmp_message_type import SrmpMessageType, message_type
from msmq_wire.lab.srmp_outcome import SrmpAnswer, SrmpOutcome
from msmq_wire.srmp.elements.envelope import SrmpHeader
from msmq_wire.srmp.elements.header import Services
from msmq_wire.srmp.elements.msmq import Msmq
from msmq_wire.srmp.envelope import ParsedEnvelope, parse_envelope
from msmq_wire.srmp.http.message import HttpMessage
from msmq_wire.srmp.mime import MimePart, Multipart, parse_multipart
from msmq_wire.srmp.rules import LABEL_PREFIX, MESSAGE_ID, WEB, judge_receipt_parts, label_of
from msmq_wire.srmp.xml.element_tree import xml_text
from msmq_wire.wire.headers.base_header import INFINITE
from msmq_wire.wire.headers.compound_message_header import CompoundMessageHeader
from msmq_wire.wire.headers.debug_header import DebugHeader
from msmq_wire.wire.headers.mqf_address_header import MQFAddressHeader
from msmq_wire.wire.headers.multi_queue_format_header import MultiQueueFormatHeader
from msmq_wire.wire.headers.srmp_envelope_header import SRMPEnvelopeHeader
from msmq_wire.wire.types.enumerations import MessageClass
from msmq_wire.wire.types.guid import GUID, NULL_GUID
from msmq_wire.wire.types.mqf_direct_queue_format_name import MQFDirectQueueFormatName
from msmq_wire.wire.types.mqf_format_name_element import MQFFormatNameElement
from msmq_wire.wire.types.wchar_text import WcharText

UNIDENTIFIED = bytes(NULL_GUID) + (1).to_bytes(4, "little")
"""The identifier of every message without <Msmq>. [MC-MQSRM] 3.1.5.1.1"""

_ROOT = "msmq"
_DIRECT = "DIRECT="
_WITHOUT_MSMQ = Msmq(class_=0, priority=3, body_type=0)
"""Defaults of the attributes that <Msmq> sets. [MS-MQDMPR] 3.1.1.12"""
_CLASSES = frozenset(MessageClass)
_TOLERATED = frozenset(
    {
        # 2.2.2: what the SOAP body holds is ignored.
        "body.not-empty",
        # 3.1.5.1.1: an action without MSMQ: gives no label.
        "path.action",
        # 2.2.4.3: the two GUIDs should be one.
        "path.id-source",
        # 3.1.5.1.5: a message of no type is ignored.
        "delivery_receipt.alone",
        # 4.4 writes it so.
        "stream.name",
    }
)
"""Anomalies of an envelope that do not make it malformed."""


class SrmpModelMessage(ModelMessage, eq=False, kw_only=True):
    """A message that came over HTTP, with attributes for which its properties have no place.

    [MC-MQSRM] 3.1.1.1.4, [MS-MQDMPR] 3.1.1.12
    """

    final_ack_required: bool = False
    connector_queue_manager_identifier: GUID | None = None
    destination_multi_queue_format_name: tuple[str, ...] = ()
    administration_multi_queue_format_name: tuple[str, ...] = ()
    response_multi_queue_format_name: tuple[str, ...] = ()


def srmp_message(
    manager: ModelQueueManager, request: HttpMessage, is_here: Callable[[str], bool]
) -> tuple[Queue, SrmpModelMessage] | SrmpAnswer:
    """The queue that a POST names, and the message for it; ``is_here`` says whether a host is this one."""
    multipart = parse_multipart(request.header("content-type") or "", request.body)
    parsed = parse_envelope(b"" if multipart.root is None else multipart.root.data)
    problem = _problem(parsed, len(multipart.parts) - 1)
    if problem:
        return SrmpAnswer(SrmpOutcome.MALFORMED, problem)
    assert parsed.value is not None
    header = parsed.value.header
    assert header is not None
    assert header.path is not None
    queue = _queue(manager, header.path.to or "", is_here)
    if isinstance(queue, SrmpOutcome):
        return SrmpAnswer(queue)
    if header.stream is not None and not queue.transactional:
        return SrmpAnswer(SrmpOutcome.STREAM_TO_PLAIN_QUEUE)
    if header.stream is None and queue.transactional:
        return SrmpAnswer(SrmpOutcome.PLAIN_TO_TRANSACTIONAL)
    type_ = message_type(header)
    if type_ is None:
        return SrmpAnswer(SrmpOutcome.IGNORED)
    if type_ is SrmpMessageType.FINAL_STREAM_RECEIPT:
        return SrmpAnswer(SrmpOutcome.NO_SUCH_STREAM)
    if header.stream is not None:
        return SrmpAnswer(SrmpOutcome.NO_STREAMS)
    try:
        return queue, _message(manager, request, header, multipart)
    except (EncodeError, FormatNameError) as error:
        return SrmpAnswer(SrmpOutcome.MALFORMED, str(error))


def _problem(parsed: ParsedEnvelope, attached: int) -> str:
    """Why an envelope with so many attached parts does not conform to section 2; empty where it does."""
    if parsed.error is not None:
        return str(parsed.error)
    for anomaly in (*parsed.anomalies, *judge_receipt_parts(parsed.kind, attached)):
        if anomaly.code not in _TOLERATED:
            return f"{anomaly.message} ({anomaly.spec})"
    header = None if parsed.value is None else parsed.value.header
    if header is not None and header.msmq is not None and header.msmq.class_ not in _CLASSES:
        return "<Class> is no class of messages ([MC-MQSRM] 2.2.6.1)"
    return ""


def _queue(manager: ModelQueueManager, url: str, is_here: Callable[[str], bool]) -> Queue | SrmpOutcome:
    """The queue of a URL as ``http://host/msmq/private$/orders``; no URL of multicast has one."""
    try:
        parts = urlsplit(url)
        host, path = parts.hostname or "", unquote(parts.path)
    except ValueError:
        return SrmpOutcome.NO_QUEUE
    if url.lower().startswith(WEB) and not is_here(host):
        return SrmpOutcome.OTHER_HOST
    root, _, name = path.lstrip("/").partition("/")
    queue = manager.queue_collection.get(name.replace("/", "\\").casefold())
    return SrmpOutcome.NO_QUEUE if queue is None or root.casefold() != _ROOT else queue


def _message(
    manager: ModelQueueManager, request: HttpMessage, header: SrmpHeader, multipart: Multipart
) -> SrmpModelMessage:
    """Message Deserialization, of an envelope that conforms to section 2. [MC-MQSRM] 3.1.5.1.1"""
    # What was found to conform has values of the types that its fields declare.
    path: Any = header.path
    times: Any = header.properties
    msmq: Any = header.msmq or _WITHOUT_MSMQ
    named: Any = None if header.msmq is None else MESSAGE_ID.fullmatch(path.id)
    services = header.services or Services()
    delivery, commitment = services.delivery_receipt_request, services.commitment_receipt_request
    wanted = {
        "pa": delivery is not None,
        "pr": commitment is not None and commitment.positive_only,
        "nr": commitment is not None and commitment.negative_only,
    }
    admin = next((f"{_DIRECT}{one.send_to}" for one in (commitment, delivery) if one is not None), None)
    response = None if path.rev is None else _response_queue(path.rev.via)
    expires = (times.expires_at if header.msmq is None else msmq.t_trq).seconds
    sent = max(0, min(manager.current_time, expires)) if times.sent_at is None else times.sent_at.seconds
    body, extension = (_part(multipart, role) for role in ("body@", "extension@"))
    packet = build_message(
        f"{_DIRECT}{path.to}",
        label=label_of(path.action) or "",
        delivery="recoverable" if services.durable else "express",
        priority=msmq.priority,
        source_queue_manager=NULL_GUID if named is None else GUID.parse(named[2]),
        message_id=1 if named is None else int(named[1]),
        message_class=msmq.class_,
        # A packet whose message asks for no acknowledgment has no administration queue.
        admin_queue=admin if any(wanted.values()) else None,
        acknowledge=[name for name, asked in wanted.items() if asked],  # type: ignore[misc]  # its names
        response_queue=response,
        connector_type=_guid(msmq.connector_type),
        correlation_id=bytes(20) if msmq.correlation is None else msmq.correlation,
        application_tag=msmq.app or 0,
        extension=b"" if extension is None else extension.data,
        sent_time=sent,
        time_to_reach_queue=min(max(0, expires - sent), INFINITE),
    )
    described = packet.message_properties_header
    assert described is not None
    lists = [_format_names(one) for one in (msmq.destination_mqf, msmq.admin_mqf, msmq.response_mqf)]
    content = b"" if body is None else body.data
    data = request.head + request.body
    root: Any = multipart.root
    xml = WcharText.of(xml_text(root.data))
    # A packet of the binary protocol has no such headers; one that is stored has.
    packet = msgspec.structs.replace(
        packet,
        base_header=packet.base_header.with_bits(tr=int(msmq.trace)),
        user_header=packet.user_header.with_bits(jp=int(msmq.journal), jn=int(msmq.dead_letter)),
        message_properties_header=msgspec.structs.replace(
            described,
            body_type=msmq.body_type,
            hash_algorithm=msmq.hash_algorithm or described.hash_algorithm,
        ),
        debug_header=DebugHeader() if msmq.trace else None,
        srmp_envelope_header=SRMPEnvelopeHeader(data_length=len(xml) // 2, data=xml),
        compound_message_header=CompoundMessageHeader(
            http_body_size=len(data),
            msg_body_size=len(content),
            msg_body_offset=0 if body is None else len(request.head) + body.offset,
            data=data,
        ),
        multi_queue_format_header=_multi_queue_format_header(lists) if any(lists) else None,
    )
    message = message_of(fit(packet))
    eod, provider = msmq.eod, msmq.provider
    message.properties = msgspec.structs.replace(
        message.properties,
        destination_queue_format_name=f"{_DIRECT}{path.to}",
        administration_queue_format_name=admin,
        response_queue_format_name=response,
        source_machine_identifier=_guid(msmq.source_qm_guid) or NULL_GUID,
        first_in_transaction=None if eod is None else eod.first,
        last_in_transaction=None if eod is None else eod.last,
        authentication_provider_type=None if provider is None else provider.type,
        authentication_provider_name=None if provider is None else WcharText.of(provider.name),
        body=content,
        body_length=len(content),
    )
    # Receipts go over HTTP, which nothing here sends: nobody is told what becomes of the message.
    message.acknowledgements_requested = 0
    return SrmpModelMessage(
        **msgspec.structs.asdict(message),
        final_ack_required=commitment is not None,
        connector_queue_manager_identifier=None if eod is None else _guid(eod.connector_id),
        destination_multi_queue_format_name=lists[0],
        administration_multi_queue_format_name=lists[1],
        response_multi_queue_format_name=lists[2],
    )


def _part(multipart: Multipart, role: str) -> MimePart | None:
    return next((one for one in multipart.parts if one.content_id.casefold().startswith(role)), None)


def _response_queue(via: str) -> str | None:
    """The format name in <via>; None where it is empty or none."""
    if via.lower().startswith(WEB):
        return f"{_DIRECT}{via}"
    prefix, name = via[: len(LABEL_PREFIX)], via[len(LABEL_PREFIX) :]
    return name if name and prefix == LABEL_PREFIX else None


def _format_names(urls: Iterable[str] | None) -> tuple[str, ...]:
    """The format names of a list of URLs; names of another form are left out."""
    return tuple(f"{_DIRECT}{one}" for one in urls or () if one.lower().startswith(WEB))


def _multi_queue_format_header(lists: Iterable[tuple[str, ...]]) -> MultiQueueFormatHeader:
    destination, administration, response = (
        MQFAddressHeader(
            format_name_list=tuple(
                MQFFormatNameElement(
                    format_name=MQFDirectQueueFormatName(
                        direct_format_name=WcharText.of(one.removeprefix(_DIRECT))
                    )
                )
                for one in names
            )
        )
        for names in lists
    )
    return MultiQueueFormatHeader(
        destination=destination,
        administration=administration if administration.format_name_list else None,
        response=response if response.format_name_list else None,
    )


def _guid(text: str | None) -> GUID | None:
    return None if text is None else GUID.parse(text)
