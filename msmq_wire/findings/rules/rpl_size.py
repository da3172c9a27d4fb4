"""RPL-SIZE: the sections of a message contradict the request."""

from __future__ import annotations

from msmq_wire.findings.deviation_places import contradicting
from msmq_wire.findings.rule import Rule
from msmq_wire.replay.deviation import ReplayKind
from msmq_wire.spec import SpecRef

RULE = Rule(
    id="RPL-SIZE",
    title="The sections of a message contradict the request",
    severity="medium",
    spec=(SpecRef("MS-MQRR", "3.1.4.7"), SpecRef("MS-MQRR", "2.2.6"), SpecRef("MS-MQQP", "3.1.4.1")),
    meaning="The server sent more or less of the body than the client asked for, or sections of the wrong "
    "type, or no message where it had to send one. A client that relies on its own limit writes past its "
    "buffer or loses the rest of the body.",
    action="Check whether the client handles this answer. Compare the server's version with that of others.",
    over="reply",
    check=contradicting(ReplayKind.SECTIONS),
)
