"""FRM-SIZE-MIN: a packet claims less than its headers take."""

from __future__ import annotations

from collections.abc import Iterator

from msmq_wire.detection.packet_fields import LEAST, MP, PACKETS, field, least_size, size_place
from msmq_wire.detection.rule import Context, Detection, Rule
from msmq_wire.detection.suricata_signature import ON_WIRE, SuricataSignature
from msmq_wire.records.record import Record
from msmq_wire.spec import SpecRef
from msmq_wire.wire.expressions import this
from msmq_wire.wire.packets.connection_parameters import ConnectionParameters
from msmq_wire.wire.packets.establish_connection import EstablishConnection
from msmq_wire.wire.packets.session_ack import SessionAck
from msmq_wire.wire.packets.user_message import UserMessage


def _check(record: Record, context: Context) -> Iterator[Detection]:
    # A packet that is too small for its headers does not decode.
    if record.error is None:
        return
    size = field(record, "base_header.packet_size")
    least = least_size(record)
    if size is not None and size < least:
        yield Detection(
            message=f"PacketSize is {size} bytes, but the headers of this packet take at least {least}",
            evidence=(size_place(record),),
        )


RULE = Rule(
    id="FRM-SIZE-MIN",
    title="A PacketSize below the size of the headers",
    severity="medium",
    spec=(SpecRef("MS-MQMQ", "2.2.19.1"),),
    meaning="PacketSize counts all headers of a packet, so it cannot be smaller than the headers that the "
    "packet must have: 120 bytes in a message, 572 in EstablishConnection. A receiver that relies on it "
    "looks for the next packet in the wrong place.",
    action="Find out what the sender is: no queue manager writes such a size.",
    harmless="Bytes after a gap in the capture that only resemble a packet.",
    explains=("FRM-OVERLAP", "LEN-DIRECT"),
    explains_later=("FRM-SIZE-STREAM",),
    types=PACKETS,
    when=(),
    check=_check,
    suricata=tuple(
        SuricataSignature(
            number=number,
            on=ON_WIRE,
            packet=packet,
            match=(this.base_header.packet_size < LEAST[packet.stem()], *more),
        )
        for number, packet, more in (
            (110, UserMessage, (this.user_header.flags & MP != 0,)),
            (111, EstablishConnection, ()),
            (112, ConnectionParameters, ()),
            (113, SessionAck, ()),
        )
    ),
)
