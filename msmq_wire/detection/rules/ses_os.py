"""SES-OS: the low byte of OperatingSystem is not 0x10."""

from __future__ import annotations

from collections.abc import Iterator

from msmq_wire.detection.false_lengths import place_of
from msmq_wire.detection.packet_fields import reached
from msmq_wire.detection.rule import Context, Detection, Rule
from msmq_wire.detection.suricata_signature import ON_WIRE, SuricataSignature
from msmq_wire.records.record import Record
from msmq_wire.spec import SpecRef
from msmq_wire.wire.expressions import this
from msmq_wire.wire.packets.establish_connection import EstablishConnection

_PATH = "establish_connection_header.operating_system"


def _check(record: Record, context: Context) -> Iterator[Detection]:
    value = reached(record.packet, _PATH)
    if value is not None:
        yield Detection(
            message=f"OperatingSystem is 0x{value:04X}: its low byte must be 0x10",
            evidence=(place_of(record, _PATH),),
        )


RULE = Rule(
    id="SES-OS",
    title="OperatingSystem with another low byte",
    severity="medium",
    spec=(SpecRef("MS-MQQB", "2.2.3.1"),),
    meaning="Every queue manager sends 0x10 here. One public scanner writes the two bytes in the wrong "
    "order.",
    action="Find out what the sender is; check whether the session was ever opened.",
    harmless="A client that is not a Windows queue manager.",
    conduct="EstablishConnection",
    types=("establish_connection",),
    codes=("establish_connection_header.operating-system",),
    check=_check,
    suricata=(
        SuricataSignature(
            number=415,
            on=ON_WIRE,
            packet=EstablishConnection,
            match=(this.establish_connection_header.operating_system & 0xFF != 0x10,),
        ),
    ),
)
