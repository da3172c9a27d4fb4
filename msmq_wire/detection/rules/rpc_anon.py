"""RPC-ANON: calls without authentication from another network."""

from __future__ import annotations

from collections.abc import Iterator

from msmq_wire.detection.address_scope import is_outside
from msmq_wire.detection.rule import Context, Detection, Rule, evidence_of
from msmq_wire.detection.suricata_signature import NO_VERIFIER, OUTSIDE_CALLS, SuricataSignature, calls
from msmq_wire.records.endpoint import host_of
from msmq_wire.records.record import Record
from msmq_wire.rpc.interfaces import qm2qm, qmcomm, qmcomm2
from msmq_wire.rpc.interfaces.role import Role
from msmq_wire.rpc.pdu_protection import AuthenticationLevel
from msmq_wire.spec import SpecRef

_CALLED = (qmcomm.INTERFACE, qmcomm2.INTERFACE, qm2qm.INTERFACE)
_INTERFACES = tuple(one.name for one in _CALLED)
_ALWAYS_OPEN = (Role.ASK_PORT, Role.ASK_VERSION)
"""Roles of methods that anybody may call."""


def _check(record: Record, context: Context) -> Iterator[Detection]:
    call = record.packet
    if call.interface not in _INTERFACES or call.auth_level > AuthenticationLevel.NONE:
        return
    if call.method is None or call.role in _ALWAYS_OPEN or call.opened_frame is not None:
        return
    if not is_outside(record.src, record.dst):
        return
    refused = call.fault or bool(call.status)
    caveats = ["only its address says that the client is outside"]
    if refused:
        caveats.append("the server refused the call")
    yield Detection(
        message=f"{host_of(record.src)} calls {call.method} without authentication",
        evidence=(evidence_of(record, "auth_level"),),
        severity="low" if refused else None,
        caveats=tuple(caveats),
    )


RULE = Rule(
    id="RPC-ANON",
    title="Queue calls without authentication from another network",
    severity="medium",
    confidence="likely",
    layer="host",
    spec=(SpecRef("MS-MQMP", "5.1"), SpecRef("MS-MQQP", "5.1")),
    meaning="Anybody may call the interfaces for dependent clients. Only the access list of a queue and the "
    "firewall protect it. A client with a public address passed the firewall.",
    action="Close ports 135, 2101, 2103 and 2105 to other networks; look at the access lists of the queues.",
    harmless="The protocol allows it. Sites with public addresses of their own have such clients.",
    types=("rpc_call",),
    check=_check,
    suricata=tuple(
        SuricataSignature(
            number=number,
            on=OUTSIDE_CALLS,
            match=(
                *calls(
                    one,
                    [method.opnum for method in one.methods.values() if method.role not in _ALWAYS_OPEN],
                ),
                *NO_VERIFIER,
            ),
        )
        for number, one in zip((610, 611, 612), _CALLED, strict=True)
    ),
)
