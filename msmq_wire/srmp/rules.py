"""MUSTs of [MC-MQSRM] 2.2 that no single field can say. One function, one rule."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import msgspec

from msmq_wire.spec import SpecRef
from msmq_wire.srmp.elements.envelope import SrmpEnvelope, SrmpHeader
from msmq_wire.srmp.xml.fields import GUID, Child, XmlAttribute, XmlStruct, xml_fields
from msmq_wire.wire.musts import Anomaly

LABEL_PREFIX = "MSMQ:"
ORDER_ACK = "MSMQ:QM Ordering Ack"
"""Action of every stream receipt."""

MESSAGE_ID = re.compile(rf"uuid:([0-9]{{1,20}})@({GUID.pattern})")
"""Id of a message: its number, and the GUID of its queue manager."""
_STREAM_ID = re.compile(rf"uid:{GUID.pattern}\\([0-9]{{1,20}})")
WEB = ("http://", "https://")
_MULTICAST = "MSMQ:MULTICAST="


class Breach(msgspec.Struct, frozen=True):
    """A broken rule: ``path`` from the envelope, as in ``header.path.to``."""

    code: str
    message: str
    path: str
    section: str


def label_of(action: str | None) -> str | None:
    """The label in an action, [MC-MQSRM] 3.1.5.1.1; None where it has none."""
    if action is None or not action.startswith(LABEL_PREFIX):
        return None
    return action.removeprefix(LABEL_PREFIX)


def envelope_breaches(envelope: SrmpEnvelope) -> Iterator[Breach]:
    """Everything the envelope breaks beyond its single fields."""
    if envelope.header is not None and envelope.body is not None and envelope.order:
        names = [name for name in envelope.order if name in ("Header", "Body")]
        if envelope.order[:2] != ("Header", "Body") or len(names) != 2:
            yield Breach("envelope.order", "<Header> and then <Body> come first", "body", "2.2.2")
    body = envelope.body
    if body is not None and (body.other_elements or body.mixed_text):
        yield Breach("body.not-empty", "the SOAP body has content", "body", "2.2.2")
    if envelope.header is not None:
        for rule in HEADER_RULES:
            yield from rule(envelope.header)


def judge_receipt_parts(kind: str, parts: int) -> tuple[Anomaly, ...]:
    """A receipt with attached parts (``parts`` beside the envelope) breaks [MC-MQSRM] 2.2.2."""
    if kind == "message" or parts <= 0:
        return ()
    message = f"a receipt with {parts} attached parts"
    spec = SpecRef("MC-MQSRM", "2.2.2")
    return (
        Anomaly(code="envelope.receipt-parts", message=message, path="header", offset=0, length=0, spec=spec),
    )


def _stream_needs(header: SrmpHeader) -> Iterator[Breach]:
    if header.stream is None:
        return
    if header.services is None or not header.services.durable:
        yield Breach("stream.durable", "a stream message without <durable/>", "header.stream", "2.2.5.2.1")
    if header.msmq is None:
        yield Breach("stream.msmq", "a stream message without <Msmq>", "header.stream", "2.2.5.3")


def _stream_start(header: SrmpHeader) -> Iterator[Breach]:
    stream = header.stream
    if stream is None or not isinstance(stream.current, int):
        return
    if stream.current == 1 and stream.start is None:
        yield Breach("stream.start", "the first message is without <start>", "header.stream", "2.2.5.3.4")
    if stream.current != 1 and stream.start is not None:
        message = "<start> after the first message"
        yield Breach("stream.start", message, "header.stream.start", "2.2.5.3.4")
    if stream.current == 0:
        message = "numbers in a stream begin with 1"
        yield Breach("stream.current", message, "header.stream.current", "2.2.5.3.2")


def _stream_name(header: SrmpHeader) -> Iterator[Breach]:
    if header.stream is not None and header.stream.written_as:
        message = f"<stream> is written <{header.stream.written_as}>"
        yield Breach("stream.name", message, "header.stream", "2.2.5.3")


def _stream_ids(header: SrmpHeader) -> Iterator[Breach]:
    for name, part in (("stream", header.stream), ("stream_receipt", header.stream_receipt)):
        if part is None or part.stream_id is None:
            continue
        found = _STREAM_ID.fullmatch(part.stream_id)
        if found is None or int(found.group(1)) >> 64:
            path = f"header.{name}.stream_id"
            yield Breach(f"{name}.stream-id", "not uid:<GUID>\\<number>", path, "2.2.5.3.1")


def _message_id(header: SrmpHeader) -> Iterator[Breach]:
    # Without <Msmq> the id is ignored.
    if header.path is None or header.path.id is None or header.msmq is None:
        return
    found = MESSAGE_ID.fullmatch(header.path.id)
    if found is None or int(found.group(1)) >> 64:
        yield Breach("path.id", "not uuid:<number>@<GUID>", "header.path.id", "2.2.4.3")
        return
    source = header.msmq.source_qm_guid
    if source is not None and found.group(2).lower() != source.lower():
        message = "the GUID is not the one of <SourceQmGuid>"
        yield Breach("path.id-source", message, "header.path.id", "2.2.4.3")


def _action(header: SrmpHeader) -> Iterator[Breach]:
    if header.path is None or header.path.action is None:
        return
    action = header.path.action
    if action and not action.startswith(LABEL_PREFIX):
        yield Breach("path.action", f"the label is without {LABEL_PREFIX}", "header.path.action", "2.2.4.1")
    elif header.stream_receipt is not None and action != ORDER_ACK:
        yield Breach("path.action", f"a stream receipt is not {ORDER_ACK}", "header.path.action", "2.2.4.1")


def _destination(header: SrmpHeader) -> Iterator[Breach]:
    if header.path is None or header.path.to is None:
        return
    if not header.path.to.lower().startswith((*WEB, _MULTICAST.lower())):
        message = f"neither http://, https:// nor {_MULTICAST}"
        yield Breach("path.to", message, "header.path.to", "2.2.4.2")


def _receipt_queues(header: SrmpHeader) -> Iterator[Breach]:
    queues: list[tuple[str, str | None, str]] = []
    services = header.services
    if services is not None and services.delivery_receipt_request is not None:
        send_to = services.delivery_receipt_request.send_to
        queues.append(("services.delivery_receipt_request.send_to", send_to, "2.2.5.2.2"))
    if services is not None and services.commitment_receipt_request is not None:
        send_to = services.commitment_receipt_request.send_to
        queues.append(("services.commitment_receipt_request.send_to", send_to, "2.2.5.2.3"))
    if header.stream is not None and header.stream.start is not None:
        start = header.stream.start
        queues.append(("stream.start.send_receipts_to", start.send_receipts_to, "2.2.5.3.4"))
    for path, queue, section in queues:
        if queue is not None and not queue.lower().startswith(WEB):
            owner, _, name = path.rpartition(".")
            code = f"{owner.rpartition('.')[2]}.{name.replace('_', '-')}"
            yield Breach(code, "neither http:// nor https://", f"header.{path}", section)


def _decision(header: SrmpHeader) -> Iterator[Breach]:
    receipt = header.commitment_receipt
    if receipt is None or receipt.decision is None:
        return
    if receipt.decision not in ("positive", "negative"):
        path = "header.commitment_receipt.decision"
        yield Breach("commitment_receipt.decision", "neither positive nor negative", path, "2.2.5.5")


def _receipts_exclude(header: SrmpHeader) -> Iterator[Breach]:
    # A stream receipt with a commitment receipt is a final stream receipt.
    delivery = header.delivery_receipt is not None
    if delivery and (header.commitment_receipt is not None or header.stream_receipt is not None):
        message = "a delivery receipt together with another receipt"
        yield Breach("delivery_receipt.alone", message, "header.delivery_receipt", "3.1.5.1.5")


HEADER_RULES: tuple[Callable[[SrmpHeader], Iterator[Breach]], ...] = (
    _action,
    _destination,
    _message_id,
    _receipt_queues,
    _stream_needs,
    _stream_start,
    _stream_name,
    _stream_ids,
    _decision,
    _receipts_exclude,
)
"""Every rule over a header."""

HEADER_CODES = (
    "body.not-empty",
    "commitment_receipt.decision",
    "commitment_receipt_request.send-to",
    "delivery_receipt.alone",
    "delivery_receipt_request.send-to",
    "envelope.order",
    "envelope.receipt-parts",
    "path.action",
    "path.id",
    "path.id-source",
    "path.to",
    "start.send-receipts-to",
    "stream.current",
    "stream.durable",
    "stream.msmq",
    "stream.name",
    "stream.start",
    "stream.stream-id",
    "stream_receipt.stream-id",
)
"""The codes of what the functions here tell."""


def element_codes() -> tuple[str, ...]:
    """The codes that the elements themselves can leave when an envelope is read, by their declarations."""
    codes: set[str] = set()
    waiting: list[type[XmlStruct]] = [SrmpEnvelope]
    seen: set[type[XmlStruct]] = set()
    while waiting:
        cls = waiting.pop()
        if cls in seen:
            continue
        seen.add(cls)
        for name, field in xml_fields(cls).items():
            if isinstance(field, XmlAttribute):
                codes.add(f"{cls.stem()}.{name.replace('_', '-')}")
                continue
            codes.add(f"{cls.stem()}.duplicate")
            codes |= {f"{cls.stem()}.missing"} if field.required else set()
            if isinstance(field, Child):
                waiting.append(field.cls)
            else:
                codes |= {f"{cls.stem()}.unexpected", f"{cls.stem()}.{field.problem}"}
    return tuple(sorted(code for code in codes if not code.endswith(".")))
