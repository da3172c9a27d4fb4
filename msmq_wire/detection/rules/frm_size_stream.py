"""FRM-SIZE-STREAM: the bytes after a packet do not start another packet."""

from __future__ import annotations

from collections.abc import Iterator

from msmq_wire.detection.packet_fields import begins_side, starts_like_a_packet
from msmq_wire.detection.rule import Context, Detection, Rule, evidence_of
from msmq_wire.records.record import Record
from msmq_wire.spec import SpecRef
from msmq_wire.wire.stream import counted


def _check(record: Record, context: Context) -> Iterator[Detection]:
    behind_a_packet = record.reason == "no-signature" and not begins_side(record)
    if behind_a_packet and not starts_like_a_packet(record.remainder):
        yield Detection(
            message=f"{counted(record.length)} after the end that PacketSize sets do not begin a packet",
            evidence=(evidence_of(record, data=record.remainder),),
        )


RULE = Rule(
    id="FRM-SIZE-STREAM",
    title="Bytes between two packets",
    severity="medium",
    spec=(SpecRef("MS-MQMQ", "2.2.19.1"), SpecRef("MS-MQMQ", "2.2.20.4")),
    meaning="A packet ends where PacketSize says, or 16 bytes later if it has a SessionHeader. The next "
    "packet starts there. Here it does not: PacketSize is too small, or something was inserted between the "
    "packets.",
    action="Look at the packet before these bytes: do they continue its body?",
    harmless="A program that computes PacketSize wrongly: one known packet says 226 and sends 230 bytes.",
    withheld=True,
    types=("gap",),
    needs=("before_here",),
    prefers=("opening",),
    check=_check,
    without_suricata="it is about where one packet ends and the next begins",
)
