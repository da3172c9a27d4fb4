"""FRM-SIZE-MAX: a packet claims more than 4 MiB."""

from __future__ import annotations

from collections.abc import Iterator

from msmq_wire.detection.rule import Context, Detection, Rule, broken
from msmq_wire.detection.suricata_signature import ON_WIRE, SuricataSignature
from msmq_wire.records.record import Record
from msmq_wire.spec import SpecRef
from msmq_wire.wire.expressions import this
from msmq_wire.wire.headers.base_header import MAX_PACKET_SIZE, BaseHeader

_CODES = ("base_header.packet-size-maximum",)


def _check(record: Record, context: Context) -> Iterator[Detection]:
    for _, place in broken(record, _CODES):
        size = record.packet.base_header.packet_size
        yield Detection(message=f"PacketSize is {size} bytes, the maximum is 4194304", evidence=(place,))


RULE = Rule(
    id="FRM-SIZE-MAX",
    title="A PacketSize above the maximum",
    severity="medium",
    spec=(SpecRef("MS-MQMQ", "2.2.19.1"),),
    meaning="No queue manager sends a packet of more than 4 MiB. A queue manager that receives such a "
    "packet closes the session.",
    action="Find out what the sender is. A packet like this is made by hand, or the size of an earlier "
    "packet is wrong.",
    harmless="Bytes of a service that is not MSMQ, if the capture begins in the middle of a connection.",
    codes=_CODES,
    check=_check,
    suricata=(
        SuricataSignature(
            number=115, on=ON_WIRE, packet=BaseHeader, match=(this.packet_size > MAX_PACKET_SIZE,)
        ),
    ),
)
