"""TRC-FORM: a report message that breaks the rules of its text or its flags."""

from __future__ import annotations

from collections.abc import Iterator

from msmq_wire.detection.false_lengths import place_of
from msmq_wire.detection.packet_fields import reached
from msmq_wire.detection.rule import Context, Detection, Rule
from msmq_wire.records.message_body import message_body
from msmq_wire.records.record import Record
from msmq_wire.spec import SpecRef
from msmq_wire.wire.expressions import this, within
from msmq_wire.wire.report_message import ReportBody, ReportLabel, ReportMessage
from msmq_wire.wire.types.enumerations import MessageClass

_REPORT = int(MessageClass.MQMSG_CLASS_REPORT)
_MOST_HOPS = 0x1D
"""A routing server rejects a message with a higher RC. [MS-MQMQ] 2.2.19.2"""
_PROPERTIES = "message_properties_header"
_NAMES = {"message_id": "message identifier", "hops": "hop count", "next_hop": "next hop"}


def _check(record: Record, context: Context) -> Iterator[Detection]:
    properties = reached(record.packet, _PROPERTIES)
    if reached(properties, "message_class") != _REPORT:
        return
    base, user = (reached(record.packet, name) for name in ("base_header", "user_header"))
    wrong: dict[str, str] = {}
    if base is not None and base.bit("tr"):
        wrong["base_header.flags"] = "it asks for reports itself"
    if reached(user, "flags") is not None and user.bit("dm"):
        wrong["user_header.flags"] = "it is not express"
    body = message_body(record)
    if body is not None and record.error is None:
        said = ReportMessage(label=ReportLabel.parse(body.label), body=ReportBody.parse(body.data))
        hops = said.hops
        if hops is not None and hops > _MOST_HOPS:
            wrong[f"{_PROPERTIES}.label"] = (
                f"its hop count is {hops}, and no message passes more than 29 hops"
            )
        if said.disagreements:
            names = " and the ".join(_NAMES[one] for one in said.disagreements)
            wrong[f"{_PROPERTIES}.message_body"] = f"label and body differ in the {names}"
    if wrong:
        yield Detection(
            message=f"a report message looks forged: {', '.join(wrong.values())}",
            evidence=tuple(place_of(record, path) for path in wrong),
        )


RULE = Rule(
    id="TRC-FORM",
    title="A report message that no queue manager writes",
    severity="low",
    confidence="likely",
    spec=(SpecRef("MS-MQQB", "3.1.5.8.9"), SpecRef("MS-MQQB", "3.1.7.1.7"), SpecRef("MS-MQMQ", "2.2.19.2")),
    meaning="A queue manager that handles a traced message sends a report message about it. Such a message "
    "is express, is not traced itself, and names the traced message and its hop count twice, in its label "
    "and in its body. This one breaks one of these rules.",
    action="Find out which program at the address of the sender wrote it. Do not rely on what it says about "
    "the path of the message.",
    harmless="An application may send messages of class 0x0001 for a purpose of its own.",
    types=("user_message", "message_packet"),
    when=(within(this.message_properties_header.message_class, _REPORT, _REPORT),),
    check=_check,
    without_suricata="label and body are in no fixed place",
)
