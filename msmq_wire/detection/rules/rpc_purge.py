"""RPC-PURGE: a client asks a server to purge a queue."""

from __future__ import annotations

from collections.abc import Iterator

from msmq_wire.detection.rule import Context, Detection, Rule, evidence_of
from msmq_wire.detection.suricata_signature import CALLS, SuricataSignature, calls
from msmq_wire.records.record import Record
from msmq_wire.rpc.interfaces import qm2qm, qmcomm, remote_read
from msmq_wire.rpc.interfaces.role import Role
from msmq_wire.spec import SpecRef

_FAILED = 0x80000000


def _check(record: Record, context: Context) -> Iterator[Detection]:
    call = record.packet
    if call.role is not Role.PURGE:
        return
    refused = call.fault or bool(call.status)
    caveats = []
    if refused:
        caveats.append(_answer_text(call.status or 0, fault=call.fault))
    elif call.status is None:
        caveats.append("whether it succeeded is not known: the answer is sealed or was not captured")
    if call.guessed:
        caveats.append("the bind was not captured: the method is a guess")
    queue = f" of {call.queue}" if call.queue else ""
    account = f" as {call.account}" if call.account else ""
    yield Detection(
        message=f"{call.method}{queue}{account}",
        evidence=(evidence_of(record, "opnum"),),
        severity="low" if refused or call.guessed else None,
        confidence="likely" if call.guessed else None,
        caveats=tuple(caveats),
    )


def _answer_text(status: int, *, fault: bool) -> str:
    """What a server answered instead of purging."""
    if fault or status & _FAILED:
        return f"the server refused it with 0x{status:08x}"
    return f"the server answered 0x{status:08x}, which does not say that it purged the queue"


RULE = Rule(
    id="RPC-PURGE",
    title="A purge of a queue over the network",
    severity="medium",
    layer="application",
    spec=(SpecRef("MS-MQRR", "3.1.4.6"), SpecRef("MS-MQMP", "3.1.4.22"), SpecRef("MS-MQQP", "3.1.4.7")),
    meaning="A purge deletes all messages of the queue at once. Messages with journaling are not copied to "
    "the journal.",
    action="Ask the owners of the queue whether they sent the request.",
    harmless="Administration, tests and applications that purge their queue when they start.",
    types=("rpc_call",),
    check=_check,
    suricata=tuple(
        SuricataSignature(
            number=number,
            on=CALLS,
            match=calls(one, [method.opnum for method in one.methods.values() if method.role is Role.PURGE]),
        )
        for number, one in ((630, remote_read.INTERFACE), (631, qmcomm.INTERFACE), (632, qm2qm.INTERFACE))
    ),
)
