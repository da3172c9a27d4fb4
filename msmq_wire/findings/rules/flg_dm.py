"""FLG-DM: a delivery mode that is not defined, or does not go with a transaction."""

from __future__ import annotations

from collections.abc import Iterator

from msmq_wire.findings.rule import Context, Rule, Seen, broken
from msmq_wire.records.record import Record
from msmq_wire.spec import SpecRef

__all__ = ["RULE"]

_CODES = (
    "user_header.delivery-mode",
    "user_header.transaction-delivery",
    "user_message.transaction-priority",
    "order_ack.transaction-priority",
    "final_ack.transaction-priority",
    "message_packet.transaction-priority",
)


def _check(record: Record, context: Context) -> Iterator[Seen]:
    for anomaly, place in broken(record, _CODES):
        base, user = record.packet.base_header, record.packet.user_header
        values = f"DM is {user.bit('dm')}, TH is {user.bit('th')}, PR is {base.bit('pr')}"
        yield Seen(message=f"{values}: {anomaly.message}", evidence=(place,))


RULE = Rule(
    id="FLG-DM",
    title="Delivery mode, transaction and priority do not go together",
    severity="medium",
    spec=(SpecRef("MS-MQMQ", "2.2.19.2"), SpecRef("MS-MQMQ", "2.2.19.1")),
    meaning="DM is 0 for express and 1 for recoverable messages. A message in a transaction is recoverable, "
    "and its priority is 0.",
    action="Look at what the sender is: a queue manager sets these fields itself.",
    harmless="A program that writes the protocol itself, with a mistake.",
    codes=_CODES,
    check=_check,
)
