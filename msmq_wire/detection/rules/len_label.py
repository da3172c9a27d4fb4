"""LEN-LABEL: a label that is too long, reaches past its packet, or does not end with its only NUL."""

from __future__ import annotations

from msmq_wire.detection.false_lengths import FRAMED, UNREADABLE, lying_lengths
from msmq_wire.detection.finding import Severity
from msmq_wire.detection.packet_fields import reached
from msmq_wire.detection.rule import Rule
from msmq_wire.records.record import Record
from msmq_wire.spec import SpecRef
from msmq_wire.wire.musts import Anomaly

_LENGTH = "message_properties_header.label-length"
_CODES = (_LENGTH, "message_properties_header.label")
_MEASURES = {"message_properties_header.label": "message_properties_header.label_length"}


def _explain(record: Record, anomaly: Anomaly) -> tuple[str, Severity | None]:
    header = reached(record.packet, "message_properties_header")
    if anomaly.code == _LENGTH:
        return f"LabelLength is {header.label_length}, the maximum is 250 characters", None
    if header.label.terminated:
        return "there is a NUL inside the label", None
    return "there is no NUL at the end of the label", None


RULE = Rule(
    id="LEN-LABEL",
    title="A label that does not end as it must",
    severity="medium",
    spec=(SpecRef("MS-MQMQ", "2.2.19.3"),),
    meaning="LabelLength counts the characters of the label, including the NUL that ends it, at most 250. "
    "If the NUL is in another place, a reader that looks for it and a reader that counts see different "
    "labels. A receiver refuses a label that reaches past the packet.",
    action="Find out what the sender is: queue managers write correct labels.",
    harmless="A client that is not from Microsoft and leaves the NUL out. Lone surrogates are allowed and "
    "not judged.",
    prefers=FRAMED,
    types=("user_message", "message_packet", "order_ack", "final_ack"),
    codes=(*_CODES, *UNREADABLE),
    check=lying_lengths(codes=_CODES, measures=_MEASURES, severity="medium", explain=_explain),
)
