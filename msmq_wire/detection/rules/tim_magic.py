"""TIM-MAGIC: SentTime is the signature of the packets, as in the sample frame of the specification."""

from __future__ import annotations

from collections.abc import Iterable

from msmq_wire.detection.false_lengths import place_of
from msmq_wire.detection.packet_fields import reached
from msmq_wire.detection.rule import Context, Detection, Rule
from msmq_wire.detection.suricata_signature import ON_WIRE, SuricataSignature
from msmq_wire.records.record import Record
from msmq_wire.sessions.clocks import is_time
from msmq_wire.spec import SpecRef
from msmq_wire.wire.expressions import this
from msmq_wire.wire.headers.base_header import SIGNATURE
from msmq_wire.wire.packets.user_message import UserMessage


def _check(record: Record, context: Context) -> Iterable[Detection]:
    if reached(record.packet, "user_header.sent_time") != SIGNATURE or is_time(SIGNATURE, record.time):
        return ()
    place = place_of(record, "user_header.sent_time")
    caveats = () if record.time is not None else ("the capture has no times: it may be of October 2013",)
    return (
        Detection(message="SentTime is 0x524F494C, the letters LIOR", evidence=(place,), caveats=caveats),
    )


RULE = Rule(
    id="TIM-MAGIC",
    title="SentTime of the sample frame",
    severity="high",
    confidence="published",
    layer="host",
    spec=(SpecRef("MS-MQQB", "4.1.7"),),
    meaning="In frame 7 of the specification the bytes of SentTime are those of the packet signature. Test "
    "tools, templates for scanners and proofs of concept that began as a copy of that frame have the same "
    "SentTime.",
    action="Find out what the sender is and what else it sent. It is not a queue manager at work.",
    harmless="Your own test packets, made from the frame in the specification. The value is also the time "
    "2013-10-04 23:03:40 UTC; captures of those days are not judged.",
    behind=("FPR-SAMPLE",),
    types=("user_message", "message_packet", "order_ack", "final_ack"),
    when=(this.user_header.sent_time == SIGNATURE,),
    check=_check,
    suricata=(
        SuricataSignature(
            number=500, on=ON_WIRE, packet=UserMessage, match=(this.user_header.sent_time == SIGNATURE,)
        ),
    ),
)
