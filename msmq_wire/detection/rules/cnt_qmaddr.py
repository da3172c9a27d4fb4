"""CNT-QMADDR: a packet to a direct queue names a destination queue manager."""

from __future__ import annotations

from collections.abc import Iterator

from msmq_wire.detection.false_lengths import place_of
from msmq_wire.detection.rule import Context, Detection, Rule, broken
from msmq_wire.detection.suricata_signature import ON_WIRE, SuricataSignature
from msmq_wire.records.record import Record
from msmq_wire.spec import SpecRef
from msmq_wire.wire.expressions import this
from msmq_wire.wire.packets.user_message import UserMessage
from msmq_wire.wire.types.enumerations import QueueType
from msmq_wire.wire.types.guid import NULL_GUID

_CODES = (
    "user_message.queue-manager-address",
    "order_ack.queue-manager-address",
    "final_ack.queue-manager-address",
)


def _check(record: Record, context: Context) -> Iterator[Detection]:
    if context.on_wire(record):
        for anomaly, _ in broken(record, _CODES):
            value = record.packet.user_header.queue_manager_address
            text = f"QueueManagerAddress is {value}, but must be zeros: the destination is a direct name"
            yield Detection(message=text, evidence=(place_of(record, anomaly.path),))


RULE = Rule(
    id="CNT-QMADDR",
    title="A queue manager named in a packet for a direct queue",
    severity="low",
    spec=(SpecRef("MS-MQMQ", "2.2.19.2"),),
    meaning="In a packet that is sent to a direct queue QueueManagerAddress must be zeros: the direct name "
    "alone says where the packet goes.",
    action="Find out what the sender is: queue managers leave the field empty.",
    harmless="In messages that are read remotely the same bytes hold the address of the sender: those are "
    "not judged. A message that was copied out of a queue and sent again has them as well.",
    codes=_CODES,
    check=_check,
    suricata=(
        SuricataSignature(
            number=520,
            on=ON_WIRE,
            packet=UserMessage,
            match=(
                this.user_header.flags >> 10 & 7 == QueueType.DIRECT,
                this.user_header.queue_manager_address != NULL_GUID,
            ),
        ),
    ),
)
