"""FLG-USER-RSV: reserved bits of UserHeader.Flags are set."""

from __future__ import annotations

from collections.abc import Iterator

from msmq_wire.detection.packet_fields import MESSAGES, field, flags_place
from msmq_wire.detection.rule import Context, Detection, Rule
from msmq_wire.detection.suricata_signature import ON_WIRE, SuricataSignature
from msmq_wire.records.record import Record
from msmq_wire.spec import SpecRef
from msmq_wire.wire.expressions import this
from msmq_wire.wire.packets.user_message import UserMessage

_RESERVED = 1 << 7 | 1 << 24 | 0b111 << 29


def _check(record: Record, context: Context) -> Iterator[Detection]:
    flags = field(record, "user_header.flags")
    if flags is not None and flags & _RESERVED:
        yield Detection(
            message=f"UserHeader.Flags is 0x{flags:08X}: the reserved bits 0x{flags & _RESERVED:08X} are set",
            evidence=(flags_place(record, "user_header"),),
        )


RULE = Rule(
    id="FLG-USER-RSV",
    title="Reserved bits in UserHeader.Flags",
    severity="low",
    spec=(SpecRef("MS-MQMQ", "2.2.19.2"),),
    meaning="Bits 7, 24 and 29 to 31 should not be set when a packet is sent; a receiver must ignore them.",
    action="Find out what the sender is.",
    harmless="The bits have no effect. A program with its own implementation of the protocol may set them.",
    types=MESSAGES,
    when=(this.user_header.flags & _RESERVED != 0,),
    exact=True,
    check=_check,
    suricata=(
        SuricataSignature(
            number=210, on=ON_WIRE, packet=UserMessage, match=(this.user_header.flags & _RESERVED != 0,)
        ),
    ),
)
