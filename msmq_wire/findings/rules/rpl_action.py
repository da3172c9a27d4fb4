"""RPL-ACTION: an action is accepted whose other parameters forbid it."""

from __future__ import annotations

from msmq_wire.findings.deviation_places import contradicting
from msmq_wire.findings.rule import Rule
from msmq_wire.replay.deviation import ReplayKind
from msmq_wire.spec import SpecRef

RULE = Rule(
    id="RPL-ACTION",
    title="A server grants an invalid request",
    severity="low",
    spec=(
        SpecRef("MS-MQRR", "3.1.4.7"),
        SpecRef("MS-MQRR", "3.1.4.13"),
        SpecRef("MS-MQQP", "3.1.4.1"),
        SpecRef("MS-MQQP", "3.1.4.11"),
        SpecRef("MS-MQMP", "3.1.4.17"),
        SpecRef("MS-MQMP", "3.1.5.2"),
        SpecRef("MS-MQMP", "3.1.5.3"),
    ),
    meaning="The server does not check the request. No document says what it then does, and other servers "
    "refuse the same call.",
    action="Correct the client that asks for it. If it is a tool that tries out what servers accept, ask who "
    "runs it.",
    over="reply",
    check=contradicting(ReplayKind.ACTION),
)
