"""FLG-QTYPE: a queue type that is not defined."""

from __future__ import annotations

from collections.abc import Iterator

from msmq_wire.detection.packet_fields import MESSAGES, field, flags_place, queue_type
from msmq_wire.detection.rule import Context, Detection, Rule
from msmq_wire.detection.suricata_signature import ON_WIRE, SuricataSignature
from msmq_wire.records.record import Record
from msmq_wire.spec import SpecRef
from msmq_wire.wire.expressions import one_of, this
from msmq_wire.wire.packets.user_message import UserMessage

_UNDEFINED = {
    "user_header.destination_queue": "DQ",
    "user_header.admin_queue": "AQ",
}


def _check(record: Record, context: Context) -> Iterator[Detection]:
    error = record.error
    if error is None or error.code != "unknown-selector" or error.path not in _UNDEFINED:
        return
    flags = field(record, "user_header.flags")
    name = _UNDEFINED[error.path]
    value = queue_type(flags, "destination_queue" if name == "DQ" else "admin_queue")
    yield Detection(
        message=f"{name} is {value}, which is not a queue type of this field",
        evidence=(flags_place(record, "user_header"),),
        tells=(error.path,),
    )


_FLAGS = this.user_header.flags


RULE = Rule(
    id="FLG-QTYPE",
    title="An undefined queue type",
    severity="medium",
    spec=(SpecRef("MS-MQMQ", "2.2.19.2"),),
    meaning="The queue type says in which form a queue is named. If it is not valid, the rest of the packet "
    "cannot be read: a receiver must close the session.",
    action="Find out what the sender is: no queue manager writes these values.",
    harmless="A program with its own, faulty implementation of the protocol.",
    types=MESSAGES,
    when=(),
    check=_check,
    suricata=(
        SuricataSignature(
            number=220,
            on=ON_WIRE,
            packet=UserMessage,
            match=(one_of(_FLAGS >> 10 & 7, 1, 2, 4, 6) | one_of(_FLAGS >> 13 & 7, 1, 4),),
        ),
    ),
)
