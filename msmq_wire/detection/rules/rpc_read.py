"""RPC-READ: a client receives from a journal or a dead-letter queue."""

from __future__ import annotations

from collections.abc import Iterator

from msmq_wire.detection.rule import Context, Detection, Rule, evidence_of
from msmq_wire.records.record import Record
from msmq_wire.rpc.constants import ReceiveAction
from msmq_wire.rpc.interfaces.role import READS
from msmq_wire.spec import SpecRef

_SUFFIXES = (";journal", ";deadletter", ";deadxact")
_REMOVING = frozenset(action.value for action in ReceiveAction if action.removes)


def _check(record: Record, context: Context) -> Iterator[Detection]:
    call = record.packet
    if call.role not in READS or call.queue is None or not call.queue.lower().endswith(_SUFFIXES):
        return
    action = call.members.action
    if call.asked(action) not in _REMOVING or call.fault or call.status:
        return
    unanswered = call.response is None
    yield Detection(
        message=f"{call.method} receives a message from {call.queue}",
        evidence=(evidence_of(record, f"request.{action}"),),
        severity="low" if unanswered else None,
        caveats=("no answer was captured: whether a message was taken is not known",) if unanswered else (),
    )


RULE = Rule(
    id="RPC-READ",
    title="A receive from a journal or dead-letter queue",
    severity="medium",
    layer="application",
    spec=(SpecRef("MS-MQMQ", "2.2.7"), SpecRef("MS-MQRR", "3.1.4.7")),
    meaning="These queues hold copies of messages and messages that failed, of any application. Management "
    "tools look at them without taking a message out.",
    action="Ask who reads this queue from that computer. The record of the message says what was taken.",
    harmless="Programs that process dead letters or archive the journal do this by design.",
    types=("rpc_call",),
    check=_check,
)
