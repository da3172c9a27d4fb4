"""FLG-USER-X3: bit 26 or 27 of UserHeader.Flags is set."""

from __future__ import annotations

from collections.abc import Iterator

from msmq_wire.detection.packet_fields import MESSAGES, field, flags_place
from msmq_wire.detection.rule import Context, Detection, Rule
from msmq_wire.detection.suricata_signature import ON_WIRE, SuricataSignature
from msmq_wire.records.record import Record
from msmq_wire.spec import SpecRef
from msmq_wire.wire.expressions import this
from msmq_wire.wire.packets.user_message import UserMessage

_X3 = 0x0C000000


def _check(record: Record, context: Context) -> Iterator[Detection]:
    flags = field(record, "user_header.flags")
    if flags is not None and flags & _X3:
        bits = "bits 26 and 27 are" if flags & _X3 == _X3 else f"bit {26 if flags >> 26 & 1 else 27} is"
        yield Detection(
            message=f"UserHeader.Flags is 0x{flags:08X}: reserved {bits} set",
            evidence=(flags_place(record, "user_header"),),
        )


RULE = Rule(
    id="FLG-USER-X3",
    title="Reserved bit 26 or 27 of UserHeader.Flags is set",
    severity="high",
    layer="host",
    spec=(SpecRef("MS-MQMQ", "2.2.19.2"),),
    meaning="These bits are reserved: receivers must ignore them. Two published hostile packets set bit 26 "
    "and add bytes after the last header. Queue managers seem to read one more header there.",
    action="Find out what the sender is; check that the receiver has its updates. See whether FRM-LEFTOVER "
    "reports the same packet.",
    harmless="No harmless packet with these bits is known.",
    behind=("FRM-LEFTOVER", "FPR-SENSOR"),
    types=MESSAGES,
    when=(this.user_header.flags & _X3 != 0,),
    check=_check,
    suricata=(
        SuricataSignature(
            number=205, on=ON_WIRE, packet=UserMessage, match=(this.user_header.flags & _X3 != 0,)
        ),
    ),
)
