"""SRM-XML: the envelope of a message over HTTP cannot be parsed, or uses XML that SOAP forbids."""

from __future__ import annotations

from collections.abc import Iterator

from msmq_wire.detection.packet_fields import bytes_of
from msmq_wire.detection.rule import Context, Detection, Rule, evidence_of
from msmq_wire.detection.suricata_signature import POSTS, SuricataSignature, posted
from msmq_wire.records.record import Record
from msmq_wire.spec import SpecRef

_FORBIDDEN = ("xml.doctype", "xml.entity", "xml.processing-instruction")
_LIMITS = ("xml.depth", "xml.elements", "xml.attributes", "xml.name", "xml.tag")
_BROKEN = ("xml.not-well-formed", "xml.encoding")


def _check(record: Record, context: Context) -> Iterator[Detection]:
    error = record.error
    if error is None or error.code not in RULE.codes:
        return
    yield Detection(
        message=f"the envelope cannot be read further: {error.message}",
        evidence=(evidence_of(record, error.path or "envelope", error.offset or 0),),
        severity="low" if error.code in _BROKEN else None,
        needs=bytes_of(record),
    )


RULE = Rule(
    id="SRM-XML",
    title="An envelope that cannot be read to its end",
    severity="medium",
    spec=(SpecRef("MC-MQSRM", "2.2.2"),),
    meaning="The envelope says where a message goes and what it is. A document type, an entity or a "
    "processing instruction is forbidden there. A receiver that follows one may open files, ask other "
    "servers, or use up its memory. Different receivers read broken XML (severity low) differently.",
    action="Look at the bytes of the envelope, and find out what the sender is; check whether the receiver "
    "accepted the request.",
    harmless="Software that writes XML by hand, in another encoding than it declares, or with characters "
    "that XML does not allow.",
    needs=("record",),
    types=("srmp_message", "srmp_receipt"),
    codes=(*_FORBIDDEN, *_LIMITS, *_BROKEN),
    check=_check,
    suricata=(
        SuricataSignature(
            number=706,
            on=POSTS,
            match=posted(b"<!DOCTYPE"),
            says="a message over HTTP with a document type",
        ),
    ),
)
