"""FRM-PAD-LEN: the headers of a packet are not padded to multiples of 4 bytes."""

from __future__ import annotations

from collections.abc import Iterator

from msmq_wire.detection.packet_fields import USER_PACKETS, field, size_place
from msmq_wire.detection.rule import Context, Detection, Rule
from msmq_wire.records.record import Record
from msmq_wire.spec import SpecRef
from msmq_wire.wire.expressions import this

_UNALIGNED = ("soap_header", "multi_queue_format_header", "compound_message_header")
"""Headers that the specification does not pad."""


def _check(record: Record, context: Context) -> Iterator[Detection]:
    size = field(record, "base_header.packet_size")
    if size is None or size & 3 == 0:
        return
    error = record.error
    if error is not None:
        wrong = error.code == "past-packet-size" and error.path.endswith("padding")
    else:
        wrong = bool(record.packet.undeclared) or all(field(record, name) is None for name in _UNALIGNED)
    if wrong:
        yield Detection(
            message=f"PacketSize is {size}, not a multiple of 4: a byte too many or padding left out",
            evidence=(size_place(record),),
        )


RULE = Rule(
    id="FRM-PAD-LEN",
    title="Headers that are not padded to 4 bytes",
    severity="medium",
    spec=(SpecRef("MS-MQMQ", "2.2.19.1"), SpecRef("MS-MQMQ", "2.2.19.3")),
    meaning="With its padding each header is a multiple of 4 bytes long, and so is their sum. Queue "
    "managers pad their headers; packets made by hand often have no padding.",
    action="Find out what the sender is.",
    harmless="A program with its own implementation of the protocol. One public probe sends a byte too "
    "many, with PacketSize 233.",
    behind=("FPR-SENSOR", "FPR-SCRIPT"),
    types=USER_PACKETS,
    when=(this.base_header.packet_size & 3 != 0,),
    check=_check,
)
