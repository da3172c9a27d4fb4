"""FLG-ACK-NOAQ: a message requests acknowledgments, but names no administration queue."""

from __future__ import annotations

from collections.abc import Iterator

from msmq_wire.detection.rule import Context, Detection, Rule, broken
from msmq_wire.records.record import Record
from msmq_wire.spec import SpecRef

_CODES = (
    "user_message.admin-queue-missing",
    "message_packet.admin-queue-missing",
    "order_ack.admin-queue-missing",
    "final_ack.admin-queue-missing",
)


def _check(record: Record, context: Context) -> Iterator[Detection]:
    for _, place in broken(record, _CODES):
        asked = record.packet.message_properties_header.flags & 0x0F
        message = (
            f"acknowledgments are asked for (0x{asked:X}), but AQ is 0: no administration queue is named"
        )
        yield Detection(message=message, evidence=(place,))


RULE = Rule(
    id="FLG-ACK-NOAQ",
    title="Acknowledgments requested without an administration queue",
    severity="info",
    layer="application",
    spec=(SpecRef("MS-MQMQ", "2.2.19.2"),),
    meaning="The message asks for administration acknowledgments, but names no queue for them, so none will "
    "be sent.",
    action="If somebody waits for acknowledgments of this message, the sender has to name an administration "
    "queue.",
    harmless="Common: the example in the specification does this.",
    codes=_CODES,
    check=_check,
)
