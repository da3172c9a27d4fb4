"""SRM-ID: the id of a message over HTTP does not identify its sender."""

from __future__ import annotations

from collections.abc import Iterator

from msmq_wire.detection.rule import Context, Detection, Rule, broken, evidence_of
from msmq_wire.detection.suricata_signature import POSTS, SuricataSignature, posted
from msmq_wire.records.record import Record
from msmq_wire.spec import SpecRef
from msmq_wire.srmp.rules import MESSAGE_ID
from msmq_wire.wire.types.guid import NULL_GUID

_OTHER, _FORM = "path.id-source", "path.id"
_LONGEST = 80


def _check(record: Record, context: Context) -> Iterator[Detection]:
    header = getattr(record.packet.envelope, "header", None)
    id_ = getattr(getattr(header, "path", None), "id", None)
    found = MESSAGE_ID.fullmatch(id_) if isinstance(id_, str) else None
    if found is not None and found[2] == str(NULL_GUID):
        of_manager = getattr(header, "msmq", None) is not None
        yield Detection(
            message=f"the id is {id_}: its GUID is zero",
            evidence=(evidence_of(record, "envelope.header.path.id", 0, len(found[0]), found[0].encode()),),
            severity=None if of_manager else "info",
            confidence=None if of_manager else "likely",
            caveats=() if of_manager else ("without an Msmq element a receiver ignores the id",),
        )
        return
    for anomaly, place in broken(record, (_OTHER, _FORM)):
        yield Detection(
            message=f"{str(id_)[:_LONGEST]}: {anomaly.message}",
            evidence=(place,),
            severity="low",
            confidence="likely" if anomaly.code == _OTHER else None,
            caveats=("the specification only recommends that both are the same",)
            if anomaly.code == _OTHER
            else (),
        )


RULE = Rule(
    id="SRM-ID",
    title="The id of a message over HTTP is not its sender's",
    severity="medium",
    spec=(SpecRef("MC-MQSRM", "2.2.4.3"),),
    meaning="A queue manager puts its own GUID into the id and into SourceQmGuid. If the id has a GUID of "
    "zeros, the GUID of another queue manager, or another form, a program that is no queue manager may have "
    "made it.",
    action="Find out what the sender is.",
    harmless="Senders that are not Windows queue managers make ids of their own. Examples in the "
    "specification have zeros, and the GUID of another queue manager.",
    types=("srmp_message", "srmp_receipt"),
    check=_check,
    suricata=(
        SuricataSignature(
            number=700,
            on=POSTS,
            match=posted(f"@{NULL_GUID}".encode(), b"<Msmq"),
            says="the GUID in the id is zero",
        ),
    ),
)
