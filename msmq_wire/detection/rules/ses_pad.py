"""SES-PAD: the padding of an EstablishConnection response is not 0x5A."""

from __future__ import annotations

from collections.abc import Iterator

from msmq_wire.detection.guards import CodedCondition
from msmq_wire.detection.packet_fields import reached
from msmq_wire.detection.rule import Context, Detection, Rule, evidence_of
from msmq_wire.detection.session_places import is_answer, is_from_server
from msmq_wire.detection.suricata_signature import TO_CLIENT, SuricataSignature
from msmq_wire.engines.field_offsets import span
from msmq_wire.records.record import Record
from msmq_wire.spec import SpecRef
from msmq_wire.wire.packets.establish_connection import EstablishConnection

_PATH = "establish_connection_header.padding"
_OFFSET, _LENGTH = span(EstablishConnection(), _PATH)


def _is_other(padding: bytes) -> bool:
    return bool(padding.lstrip(b"\x5a"))


def _check(record: Record, context: Context) -> Iterator[Detection]:
    padding = reached(record.packet, _PATH)
    if padding is None or not is_from_server(record):
        return
    others = padding.lstrip(b"\x5a")
    if others:
        wrong = len(padding) - padding.count(0x5A)
        yield Detection(
            message=f"{wrong} of the {len(padding)} padding bytes in the response are not 0x5A",
            evidence=(evidence_of(record, _PATH, _OFFSET + len(padding) - len(others), len(others), others),),
        )


RULE = Rule(
    id="SES-PAD",
    title="A response with unusual padding",
    severity="low",
    spec=(SpecRef("MS-MQQB", "2.2.3.1"),),
    meaning="A queue manager that answers EstablishConnection fills the packet with 0x5A. This one does "
    "not: it may not be a Windows queue manager, or it may be a decoy.",
    action="Find out what answers at this address.",
    harmless="Another implementation of the protocol.",
    conduct="EstablishConnection",
    types=("establish_connection",),
    when=((CodedCondition.of(is_answer, "_.src", "_.dst"), CodedCondition.of(_is_other, _PATH)),),
    check=_check,
    suricata=(
        SuricataSignature(
            number=416,
            on=TO_CLIENT,
            packet=EstablishConnection,
            match=(f'pcre:"/^.{{{_OFFSET}}}\\x5a{{0,{_LENGTH - 1}}}[^\\x5a]/s"',),
        ),
    ),
)
