"""FLG-AH-WIRE: a message over TCP 1801 announces the headers of SRMP."""

from __future__ import annotations

from collections.abc import Iterator

from msmq_wire.detection.rule import Context, Detection, Rule, broken
from msmq_wire.detection.suricata_signature import ON_WIRE, SuricataSignature
from msmq_wire.records.record import Record
from msmq_wire.spec import SpecRef
from msmq_wire.wire.expressions import this
from msmq_wire.wire.packets.user_message import UserMessage

_SAID = "AH (SRMP headers follow) is set in UserHeader.Flags, and must be clear in a packet over TCP"
_CODES = ("user_message.over-http", "order_ack.over-http", "final_ack.over-http")


def _check(record: Record, context: Context) -> Iterator[Detection]:
    if context.on_wire(record):
        for _, place in broken(record, _CODES):
            yield Detection(message=_SAID, evidence=(place,))


_AH = 1 << 25


RULE = Rule(
    id="FLG-AH-WIRE",
    title="SRMP headers in a packet over TCP",
    severity="high",
    layer="host",
    spec=(SpecRef("MS-MQMQ", "2.2.19.2"),),
    meaning="The flag AH announces headers that only stored messages have. A packet that is sent must not "
    "have it. A receiver that reads these headers takes their lengths from the network.",
    action="Find out what the sender is; check that the receiver has the fixes of April 2023.",
    harmless="Scanners set the flag to test whether a host has these fixes.",
    cves=("CVE-2023-21554",),
    behind=("LEN-ENV", "LEN-CMP", "FPR-METASPLOIT"),
    codes=_CODES,
    check=_check,
    suricata=(
        SuricataSignature(
            number=215, on=ON_WIRE, packet=UserMessage, match=(this.user_header.flags & _AH != 0,)
        ),
    ),
)
