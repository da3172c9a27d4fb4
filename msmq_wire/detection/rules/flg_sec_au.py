"""FLG-SEC-AU: a packet that is sent says that it is authenticated."""

from __future__ import annotations

from collections.abc import Iterator

from msmq_wire.detection.rule import Context, Detection, Rule, broken
from msmq_wire.records.record import Record
from msmq_wire.spec import SpecRef

_CODES = ("security_header.authenticated", "security_header.authentication-signature")


def _check(record: Record, context: Context) -> Iterator[Detection]:
    if not context.on_wire(record):
        return
    places = tuple(place for _, place in broken(record, _CODES))
    if places:
        header = record.packet.security_header
        yield Detection(
            message=f"AU is {header.bit('au')} and AS is {header.bit('as')} in a packet that was sent",
            evidence=places[:1],
        )


RULE = Rule(
    id="FLG-SEC-AU",
    title="A packet that calls itself authenticated",
    severity="low",
    spec=(SpecRef("MS-MQMQ", "2.2.20.6"),),
    meaning="The receiver sets AU and AS after it has checked a signature. In a packet that is sent they "
    "must be 0. A receiver that relies on them accepts the claim of the sender without a check.",
    action="Check whether the sender is a routing server, and whether the message has a signature.",
    harmless="A routing server may forward a message as it stored it. In packets that remote reads return "
    "these bits are normal.",
    codes=_CODES,
    check=_check,
)
