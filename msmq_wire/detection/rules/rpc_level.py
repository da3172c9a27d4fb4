"""RPC-LEVEL: remote read without encryption."""

from __future__ import annotations

from collections.abc import Iterator

from msmq_wire.detection.rule import Context, Detection, Rule, evidence_of
from msmq_wire.detection.suricata_signature import CALLS, NO_VERIFIER, SuricataSignature, calls
from msmq_wire.records.record import Record
from msmq_wire.rpc.interfaces.remote_read import INTERFACE
from msmq_wire.rpc.interfaces.role import OPENS, Role
from msmq_wire.rpc.pdu_protection import AuthenticationLevel
from msmq_wire.spec import SpecRef

_LEVELS = {level.value: level.name for level in AuthenticationLevel}


def _check(record: Record, context: Context) -> Iterator[Detection]:
    call = record.packet
    if call.interface != INTERFACE.name or call.auth_level >= AuthenticationLevel.PKT_PRIVACY:
        return
    # One finding for each open queue: the calls on its handle say nothing new.
    if call.opnum is None or call.role is Role.ASK_PORT or call.opened_frame is not None:
        return
    if call.guessed and call.role not in OPENS:
        return
    level = _LEVELS.get(call.auth_level, str(call.auth_level))
    method = call.method or f"opnum {call.opnum}"
    refused = call.fault or bool(call.status)
    caveats = ["the server refused the call"] if refused else []
    if call.guessed:
        caveats.append("the bind was not captured: interface and method are guesses")
    can = "the call is not encrypted"
    can += "" if call.auth_level == AuthenticationLevel.PKT_INTEGRITY else " or protected against change"
    yield Detection(
        message=f"{method} is called at level {level}, which is below PKT_PRIVACY: {can}",
        evidence=(evidence_of(record, "auth_level"),),
        severity="low" if caveats else None,
        confidence="likely" if call.guessed else None,
        caveats=tuple(caveats),
    )


RULE = Rule(
    id="RPC-LEVEL",
    title="Remote read below packet privacy",
    severity="medium",
    spec=(SpecRef("MS-MQRR", "3.1.4.2"), SpecRef("MS-MQRR", "5.1")),
    meaning="Messages and queue names are sent in the clear. Below the level of packet integrity they can "
    "also be changed on the way. A server demands packet privacy unless it was configured otherwise.",
    action="On the receiver, look in HKLM\\Software\\Microsoft\\MSMQ\\Parameters\\security for "
    "AllowNonauthenticatedRpc, NewRemoteReadServerAllowNoneSecurityClient and DebugRpc, and remove them. "
    "Windows Server 2003 also accepts these calls where NewRemoteReadServerDenyWorkgroupClient is 0 or "
    "not there.",
    harmless="Windows Server 2003, workgroup computers, and hosts whose registry was relaxed on purpose.",
    standing=True,
    types=("rpc_call",),
    check=_check,
    suricata=(
        SuricataSignature(
            number=605,
            on=CALLS,
            match=(
                *calls(INTERFACE, [one.opnum for one in INTERFACE.methods.values() if one.role in OPENS]),
                *NO_VERIFIER,
            ),
            says="a queue is opened for remote read without authentication",
        ),
    ),
)
