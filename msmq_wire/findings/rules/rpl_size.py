"""RPL-SIZE: the sections of a message contradict the request."""

from __future__ import annotations

from msmq_wire.findings.deviation_places import contradicting
from msmq_wire.findings.rule import Rule
from msmq_wire.replay.deviation import ReplayKind
from msmq_wire.spec import SpecRef

__all__ = ["RULE"]

RULE = Rule(
    id="RPL-SIZE",
    title="The sections of a message contradict what was asked for",
    severity="medium",
    spec=(SpecRef("MS-MQRR", "3.1.4.7"), SpecRef("MS-MQRR", "2.2.6"), SpecRef("MS-MQQP", "3.1.4.1")),
    meaning="More of the body was sent than the client asked for, less, or in sections of the wrong type, or "
    "there is no message where one is due. A client that trusts the limit that it gave writes past its "
    "buffer or loses the rest of the body.",
    action="Look at whether the client handles what came. Compare the server's version with that of others.",
    over="reply",
    check=contradicting(ReplayKind.SECTIONS),
)
