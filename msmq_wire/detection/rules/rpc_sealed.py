"""RPC-SEALED: calls that cannot be read."""

from __future__ import annotations

from collections.abc import Iterator

from msmq_wire.detection.rule import Context, Detection, Rule, evidence_of
from msmq_wire.records.record import Record
from msmq_wire.rpc.interfaces.role import OPENS
from msmq_wire.spec import SpecRef


def _check(record: Record, context: Context) -> Iterator[Detection]:
    call = record.packet
    if not call.sealed:
        return
    # Every use of a queue begins with one of these, unless the capture began later.
    if context.started(record) and call.role not in OPENS:
        return
    account = f" of {call.account}" if call.account else ""
    yield Detection(
        message=f"{call.method or 'a call'}{account} is encrypted: its queue and its messages cannot be seen",
        evidence=(evidence_of(record),),
        caveats=(call.note,) if call.note else (),
    )


RULE = Rule(
    id="RPC-SEALED",
    title="Calls are encrypted, and no key was given that opens them",
    severity="info",
    spec=(SpecRef("MS-MQRR", "5.1"),),
    meaning="Rules about parameters and messages cannot check these calls. That they report nothing does "
    "not mean that nothing is wrong.",
    action="If you may decrypt the capture, give the keys of the accounts: a keytab or NT hashes.",
    harmless="Normal: remote reads should be encrypted.",
    types=("rpc_call",),
    check=_check,
)
