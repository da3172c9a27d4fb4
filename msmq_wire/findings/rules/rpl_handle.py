"""RPL-HANDLE: a server accepts a handle that is not one."""

from __future__ import annotations

from msmq_wire.findings.deviation_places import contradicting
from msmq_wire.findings.rule import Rule
from msmq_wire.replay.deviation import ReplayKind
from msmq_wire.spec import SpecRef

RULE = Rule(
    id="RPL-HANDLE",
    title="A server accepts a handle that it must refuse",
    severity="medium",
    spec=(
        SpecRef("MS-MQRR", "2.2.4"),
        SpecRef("MS-MQQP", "3.1.4.4"),
        SpecRef("MS-MQMP", "3.1.4.18"),
        SpecRef("MS-RPCE", "3.3.1.4.1"),
    ),
    meaning="The handle is NULL, was closed before, or was given to another client. The server keeps state "
    "that it should have discarded, or does not tell its clients apart: one client may use what another has "
    "opened.",
    action="Find out what the client did with the handle afterwards, and which product the server is. If it "
    "is not a Windows queue manager, report this to its maker.",
    harmless="The capture has the same connection twice, or several servers share an address.",
    over="reply",
    check=contradicting(ReplayKind.HANDLE),
)
