"""SES-REFUSED: a queue manager refuses a session."""

from __future__ import annotations

from collections.abc import Iterable

from msmq_wire.detection.false_lengths import place_of
from msmq_wire.detection.packet_fields import reached
from msmq_wire.detection.rule import Context, Detection, Rule
from msmq_wire.detection.suricata_signature import TO_CLIENT, SuricataSignature
from msmq_wire.records.record import Record
from msmq_wire.spec import SpecRef
from msmq_wire.wire.expressions import this
from msmq_wire.wire.packets.connection_parameters import ConnectionParameters
from msmq_wire.wire.packets.establish_connection import EstablishConnection

_FLAGS = "internal_header.flags"
_CS = 0x10
_NAMES = {"establish_connection": "EstablishConnection", "connection_parameters": "ConnectionParameters"}


def _check(record: Record, context: Context) -> Iterable[Detection]:
    flags = reached(record.packet, _FLAGS)
    if flags is None or not flags & _CS:
        return ()
    message = f"CS is set in {_NAMES[record.type]} from {record.src}"
    return (Detection(message=message, evidence=(place_of(record, _FLAGS),)),)


RULE = Rule(
    id="SES-REFUSED",
    title="A session that was refused",
    severity="info",
    spec=(SpecRef("MS-MQQB", "2.2.1"), SpecRef("MS-MQQB", "3.1.5.3.1")),
    meaning="The other side refuses this session: it is another queue manager than the one requested, or it "
    "has reached its limit of connections. Messages wait at the sender.",
    action="Compare the ServerGuid of request and response; look at the limits of the server.",
    harmless="A server that was installed again has another GUID. Clients find it again by its name.",
    types=tuple(_NAMES),
    when=(this.internal_header.flags & _CS != 0,),
    check=_check,
    suricata=tuple(
        SuricataSignature(
            number=number, on=TO_CLIENT, packet=packet, match=(this.internal_header.flags & _CS != 0,)
        )
        for number, packet in ((410, EstablishConnection), (411, ConnectionParameters))
    ),
)
