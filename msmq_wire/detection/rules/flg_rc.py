"""FLG-RC: the hop count is too high, or the message should not have been routed."""

from __future__ import annotations

from collections.abc import Iterator

from msmq_wire.detection.packet_fields import MESSAGES, field, flags_place, queue_type
from msmq_wire.detection.rule import Context, Detection, Rule
from msmq_wire.detection.suricata_signature import ON_WIRE, SuricataSignature
from msmq_wire.records.record import Record
from msmq_wire.spec import SpecRef
from msmq_wire.wire.expressions import this
from msmq_wire.wire.packets.user_message import UserMessage
from msmq_wire.wire.types.enumerations import QueueType

_MOST = 0x1D
_HOPS = this.user_header.flags & 0x1F


def _check(record: Record, context: Context) -> Iterator[Detection]:
    flags = field(record, "user_header.flags")
    if flags is None or not flags & 0x1F:
        return
    hops = flags & 0x1F
    if hops > _MOST:
        yield Detection(
            message=f"RC is {hops}, the maximum is {_MOST}", evidence=(flags_place(record, "user_header"),)
        )
    elif queue_type(flags, "destination_queue") == QueueType.DIRECT and context.on_wire(record):
        yield Detection(
            message=f"RC is {hops} in a message with a direct name, which goes straight to its host",
            evidence=(flags_place(record, "user_header"),),
            severity="info",
            confidence="likely",
            caveats=("the packet does not tell whether this is its first hop; routing servers raise RC",),
        )


RULE = Rule(
    id="FLG-RC",
    title="An unexpected count of routing servers",
    severity="low",
    spec=(SpecRef("MS-MQMQ", "2.2.19.2"), SpecRef("MS-MQQB", "3.1.5.8.2")),
    meaning="RC counts the routing servers that a message passed, at most 29. A message with a direct name "
    "goes straight to its host, so its first sender writes 0.",
    action="Check whether the sender is a routing server.",
    harmless="Each routing server adds 1 to the count of every message that it passes on.",
    types=MESSAGES,
    when=((_HOPS > _MOST) | ((_HOPS != 0) & (this.user_header.flags >> 10 & 7 == int(QueueType.DIRECT))),),
    exact=True,
    check=_check,
    suricata=(SuricataSignature(number=235, on=ON_WIRE, packet=UserMessage, match=(_HOPS > _MOST,)),),
)
