"""RPC-OPNUM: a call of a method that does not exist on the wire."""

from __future__ import annotations

from collections.abc import Iterator

from msmq_wire.detection.rule import Context, Detection, Rule, evidence_of
from msmq_wire.detection.suricata_signature import CALLS, SuricataSignature, calls, undefined
from msmq_wire.records.record import Record
from msmq_wire.rpc.interfaces import INTERFACES
from msmq_wire.spec import SpecRef

_LAST = {interface.name: max(interface.methods) for interface in INTERFACES.values()}


def _check(record: Record, context: Context) -> Iterator[Detection]:
    call = record.packet
    last = _LAST.get(call.interface)
    if last is None or call.opnum is None or call.method is not None:
        return
    what = f"the last is {last}" if call.opnum > last else "it is reserved for local use"
    yield Detection(
        message=f"opnum {call.opnum} of {call.interface} is called, {what}",
        evidence=(evidence_of(record, "opnum"),),
        severity="low" if call.guessed else None,
        confidence="guess" if call.guessed else None,
        caveats=("the bind was not captured: the interface is a guess",) if call.guessed else (),
    )


_NUMBERS = {
    "RemoteRead": 620,
    "qmcomm": 621,
    "qmcomm2": 622,
    "qm2qm": 623,
    "qmmgmt": 624,
    "dscomm": 625,
    "dscomm2": 626,
}


RULE = Rule(
    id="RPC-OPNUM",
    title="A method that does not exist",
    severity="medium",
    spec=(SpecRef("MS-MQRR", "3.1.4"), SpecRef("MS-MQMP", "3.1.4"), SpecRef("MS-MQQP", "3.1.4")),
    meaning="The number is reserved for use inside one computer, or beyond the last method. No client has a "
    "reason to send it.",
    action="Find out what the client is. Calls like this come from tools that try out numbers.",
    harmless="An alter_context that was not captured can give the number to another interface.",
    types=("rpc_call",),
    check=_check,
    suricata=tuple(
        SuricataSignature(
            number=_NUMBERS[one.name],
            on=CALLS,
            match=calls(one, undefined(one)),
            says=f"a method that {one.name} does not have",
        )
        for one in INTERFACES.values()
    ),
)
