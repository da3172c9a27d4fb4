"""SOAP envelopes of SRMP: bytes to a typed value with everything that is wrong, and back. [MC-MQSRM] 2.2."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import msgspec

from msmq_wire.errors import DecodeError
from msmq_wire.spec import SpecRef
from msmq_wire.srmp.elements.envelope import SrmpEnvelope
from msmq_wire.srmp.rules import envelope_breaches
from msmq_wire.srmp.xml.element_tree import Element, parse_xml
from msmq_wire.srmp.xml.fields import ParseState, XmlStruct, xml_fields
from msmq_wire.srmp.xml.writer import write_xml
from msmq_wire.wire.musts import Anomaly

EnvelopeKind = Literal["message", "delivery_receipt", "commitment_receipt", "stream_receipt"]

_SPEC = SpecRef("MC-MQSRM", "2.2.2")


class ParsedEnvelope(msgspec.Struct, frozen=True, kw_only=True):
    """An envelope as far as it was read.

    ``value`` is None when the bytes have no SOAP envelope at all. ``error`` is what ended or spoiled the XML
    (codes of `XmlProblem`, or ``envelope.missing``); offsets count bytes of the input. Where it ended the
    reading, no element counts as missing in one whose end was not reached.
    """

    value: SrmpEnvelope | None
    anomalies: tuple[Anomaly, ...] = ()
    error: DecodeError | None = None
    kind: EnvelopeKind = "message"


def parse_envelope(data: bytes) -> ParsedEnvelope:
    """Read an envelope in UTF-8, or in UTF-16 as SRMPEnvelopeHeader has it; never raises on bytes."""
    tree = parse_xml(data)
    problem = tree.problem
    error = None
    if problem is not None:
        error = DecodeError(problem.code, problem.message, offset=problem.offset, spec=_SPEC)
    root = tree.root
    if root is None or (root.namespace, root.name) != (SrmpEnvelope.NAMESPACE, SrmpEnvelope.TAG):
        if error is None:
            message = "the document is no SOAP 1.1 envelope"
            error = DecodeError("envelope.missing", message, offset=root.offset if root else 0, spec=_SPEC)
        return ParsedEnvelope(value=None, error=error)
    reading = ParseState(tree.unclosed)
    value = SrmpEnvelope.from_element(root, reading)
    anomalies = list(reading.anomalies)
    for breach in envelope_breaches(value):
        offset, length = reading.places.get(breach.path, (root.offset, root.length))
        anomalies.append(
            Anomaly(
                code=breach.code,
                message=breach.message,
                path=breach.path,
                offset=offset,
                length=length,
                spec=SpecRef("MC-MQSRM", breach.section),
            )
        )
    if error is not None:
        error.partial = value
    return ParsedEnvelope(value=value, anomalies=tuple(anomalies), error=error, kind=envelope_kind(value))


def build_envelope(value: SrmpEnvelope) -> bytes:
    """The envelope in UTF-8 with the namespaces as Windows writes them.

    Raises EncodeError for what XML cannot hold.
    """
    return write_xml(value.to_element())


def hrefs(value: XmlStruct) -> Iterator[str]:
    """Every ``href`` of elements that SRMP does not know, as senders of SOAP 1.1 name attached parts by."""
    waiting: list[Element] = list(reversed(value.other_elements))
    while waiting:
        element = waiting.pop()
        yield from (one.value for one in element.attributes if one.name == "href")
        waiting += reversed(element.children)
    for name in xml_fields(type(value)):
        child = getattr(value, name)
        for one in child if isinstance(child, tuple) else (child,):
            if isinstance(one, XmlStruct):
                yield from hrefs(one)


def envelope_kind(value: SrmpEnvelope) -> EnvelopeKind:
    """What the message is by its receipts; a final stream receipt counts as stream receipt.

    [MC-MQSRM] 3.1.5.1.5.
    """
    header = value.header
    if header is None:
        return "message"
    if header.stream_receipt is not None:
        return "stream_receipt"
    if header.commitment_receipt is not None:
        return "commitment_receipt"
    return "delivery_receipt" if header.delivery_receipt is not None else "message"
