"""RPL-TIME: a time-out at the wrong time."""

from __future__ import annotations

from msmq_wire.findings.deviation_places import contradicting
from msmq_wire.findings.rule import Rule
from msmq_wire.replay.deviation import ReplayKind
from msmq_wire.spec import SpecRef

RULE = Rule(
    id="RPL-TIME",
    title="A read times out at the wrong time",
    severity="low",
    spec=(SpecRef("MS-MQRR", "3.1.2.1"), SpecRef("MS-MQQP", "3.1.2")),
    meaning="The wait ended more than 1 s before the time-out that the client asked for, or 10 s or more "
    "after it. Clients then poll too often, or wait too long.",
    action="Compare the clocks and the load of the server; check whether a middlebox answers in its place.",
    harmless="A server that is overloaded, when it is late.",
    over="reply",
    check=contradicting(ReplayKind.TIME),
)
