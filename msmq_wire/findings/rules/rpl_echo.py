"""RPL-ECHO: an answer that opens a session does not repeat the request."""

from __future__ import annotations

from msmq_wire.findings.deviation_places import contradicting
from msmq_wire.findings.rule import Rule
from msmq_wire.replay.deviation import ReplayKind
from msmq_wire.spec import SpecRef

RULE = Rule(
    id="RPL-ECHO",
    title="The answer that opens a session differs from the request",
    severity="medium",
    spec=(SpecRef("MS-MQQB", "3.1.5.3.1"), SpecRef("MS-MQQB", "3.1.5.4.1")),
    meaning="The answer must repeat ClientGuid, TimeStamp and SE of EstablishConnection, and both time-outs "
    "of ConnectionParameters. This one did not: the two sides have different views of the session, or the "
    "answer was made for another request.",
    action="Find out what program answers: one that replays recorded packets, or a faulty one.",
    harmless="Frames of different captures were put together.",
    over="reply",
    check=contradicting(ReplayKind.ECHO),
)
