"""FLG-SEC-AU: a packet that is sent says that it is authenticated."""

from __future__ import annotations

from collections.abc import Iterator

from msmq_wire.findings.rule import Context, Rule, Seen, broken
from msmq_wire.records.record import Record
from msmq_wire.spec import SpecRef

__all__ = ["RULE"]

_CODES = ("security_header.authenticated", "security_header.authentication-signature")


def _check(record: Record, context: Context) -> Iterator[Seen]:
    if not context.on_wire(record):
        return
    places = tuple(place for _, place in broken(record, _CODES))
    if places:
        header = record.packet.security_header
        yield Seen(
            message=f"AU is {header.bit('au')} and AS is {header.bit('as')} in a packet that was sent",
            evidence=places[:1],
        )


RULE = Rule(
    id="FLG-SEC-AU",
    title="A packet that calls itself authenticated",
    severity="low",
    spec=(SpecRef("MS-MQMQ", "2.2.20.6"),),
    meaning="AU and AS are written by the receiver once it has checked a signature; in a packet that is "
    "sent they must be 0. A receiver that believes them believes the sender.",
    action="Look at whether the sender is a routing server, and whether the message has a signature.",
    harmless="A routing server may send on what it has stored. In packets of remote read the bits are "
    "normal.",
    codes=_CODES,
    check=_check,
)
