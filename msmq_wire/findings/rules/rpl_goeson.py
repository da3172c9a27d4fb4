"""RPL-GOESON: a session goes on that was refused."""

from __future__ import annotations

from msmq_wire.findings.deviation_places import contradicting
from msmq_wire.findings.rule import Rule
from msmq_wire.replay.deviation import ReplayKind
from msmq_wire.spec import SpecRef

RULE = Rule(
    id="RPL-GOESON",
    title="A refused session goes on",
    severity="medium",
    spec=(SpecRef("MS-MQQB", "3.1.5.3.2"),),
    meaning="The answer to EstablishConnection has CS set, or names another queue manager than the request. "
    "The initiator must then close the session, but it went on: it does not check the answer.",
    action="Find out what the initiator is, and what it sent to which queue manager afterwards.",
    harmless="Frames of different captures were put together.",
    over="reply",
    check=contradicting(ReplayKind.GOES_ON),
)
