"""FLG-BASE-RSV: reserved bits of BaseHeader.Flags are set."""

from __future__ import annotations

from collections.abc import Iterator

from msmq_wire.detection.packet_fields import PACKETS, field, flags_place
from msmq_wire.detection.rule import Context, Detection, Rule
from msmq_wire.detection.suricata_signature import ON_WIRE, SuricataSignature
from msmq_wire.records.record import Record
from msmq_wire.spec import SpecRef
from msmq_wire.wire.expressions import this
from msmq_wire.wire.headers.base_header import BaseHeader

_RESERVED = 0xFEC0


def _check(record: Record, context: Context) -> Iterator[Detection]:
    flags = field(record, "base_header.flags")
    if flags is not None and flags & _RESERVED:
        yield Detection(
            message=f"BaseHeader.Flags is 0x{flags:04X}: the reserved bits 0x{flags & _RESERVED:04X} are set",
            evidence=(flags_place(record, "base_header"),),
        )


RULE = Rule(
    id="FLG-BASE-RSV",
    title="Reserved bits in BaseHeader.Flags",
    severity="low",
    spec=(SpecRef("MS-MQMQ", "2.2.19.1"),),
    meaning="These bits should not be set when a packet is sent; a receiver ignores them.",
    action="Find out which program sent the packet.",
    harmless="The bits have no effect. A program with its own implementation of the protocol may set them.",
    types=PACKETS,
    when=(this.base_header.flags & _RESERVED != 0,),
    exact=True,
    check=_check,
    suricata=(
        SuricataSignature(number=200, on=ON_WIRE, packet=BaseHeader, match=(this.flags & _RESERVED != 0,)),
    ),
)
