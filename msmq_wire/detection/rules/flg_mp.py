"""FLG-MP: a message without MessagePropertiesHeader."""

from __future__ import annotations

from collections.abc import Iterator

from msmq_wire.detection.rule import Context, Detection, Rule, broken
from msmq_wire.detection.suricata_signature import ON_WIRE, SuricataSignature
from msmq_wire.records.record import Record
from msmq_wire.spec import SpecRef
from msmq_wire.wire.expressions import this
from msmq_wire.wire.packets.user_message import UserMessage

_CODES = ("user_header.message-properties",)


def _check(record: Record, context: Context) -> Iterator[Detection]:
    for _, place in broken(record, _CODES):
        yield Detection(message="MP is 0: the packet has no MessagePropertiesHeader", evidence=(place,))


RULE = Rule(
    id="FLG-MP",
    title="No MessagePropertiesHeader",
    severity="medium",
    spec=(SpecRef("MS-MQMQ", "2.2.19.2"),),
    meaning="MP must always be set. A packet without this header has no body, label or class.",
    action="Find out what the sender is: no queue manager sends this.",
    harmless="A program with its own, faulty implementation of the protocol.",
    codes=_CODES,
    check=_check,
    suricata=(
        SuricataSignature(
            number=225, on=ON_WIRE, packet=UserMessage, match=(this.user_header.flags & 0x200000 == 0,)
        ),
    ),
)
