"""BOD-WCF: a body is framed by the WCF binding net.msmq."""

from __future__ import annotations

from collections.abc import Iterator

from msmq_wire.detection.guards import CodedCondition
from msmq_wire.detection.message_bodies import (
    BEGINS_WITH_NUL,
    BODY_TYPES,
    OPENED,
    body_of,
    caveats_of,
    place_of,
)
from msmq_wire.detection.rule import Context, Detection, Rule
from msmq_wire.records.message_body import IN_PACKET
from msmq_wire.records.record import Record
from msmq_wire.spec import SpecRef

_PREAMBLES = tuple(bytes((0, 1, 0, 1, mode)) for mode in range(1, 5))
"""Version record 1.0 and a mode record."""


def _is_preamble(start: bytes) -> bool:
    return start.startswith(_PREAMBLES)


def _check(record: Record, context: Context) -> Iterator[Detection]:
    body = body_of(record)
    if body is not None and body.data.startswith(_PREAMBLES):
        place = place_of(record, body, 5)
        yield Detection(
            message="the body begins with the preamble of .NET message framing",
            evidence=(place,),
            caveats=caveats_of(body),
        )


RULE = Rule(
    id="BOD-WCF",
    title="WCF message framing in a body",
    severity="info",
    confidence="likely",
    layer="application",
    spec=(SpecRef("MC-NMF", "2.2.3"),),
    meaning="The body holds SOAP envelopes, as WCF clients with netMsmqBinding send them.",
    action="Nothing to do. It shows which kind of application to look for.",
    harmless="Normal for WCF with net.msmq.",
    types=BODY_TYPES,
    when=(
        OPENED,
        (BEGINS_WITH_NUL, CodedCondition.of(_is_preamble, IN_PACKET, head=5)),
    ),
    check=_check,
)
