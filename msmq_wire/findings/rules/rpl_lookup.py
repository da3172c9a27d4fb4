"""RPL-LOOKUP: another message than the one asked for."""

from __future__ import annotations

from msmq_wire.findings.deviation_places import contradicting
from msmq_wire.findings.rule import Rule
from msmq_wire.replay.deviation import ReplayKind
from msmq_wire.spec import SpecRef

RULE = Rule(
    id="RPL-LOOKUP",
    title="A server returns another message than the one asked for",
    severity="medium",
    spec=(SpecRef("MS-MQRR", "3.1.4.7"), SpecRef("MS-MQRR", "3.1.4.13"), SpecRef("MS-MQQP", "3.1.4.11")),
    meaning="The client asked for a message by its lookup identifier and got another. It may mistake this "
    "message for the one that it looked at before, and remove it.",
    action="Find out what the client did with the message, above all whether it acknowledged it.",
    over="reply",
    check=contradicting(ReplayKind.LOOKUP),
)
