"""RPC-OLD: the interface of MSMQ 1.0 that no current queue manager offers."""

from __future__ import annotations

from collections.abc import Iterator

from msmq_wire.detection.rule import Context, Detection, Rule, evidence_of
from msmq_wire.detection.suricata_signature import BINDS, CALLS, SuricataSignature, binds, calls
from msmq_wire.records.record import Record
from msmq_wire.records.rpc_packets import RpcBind, RpcCall
from msmq_wire.spec import SpecRef
from msmq_wire.wire.types.guid import GUID

_OLD = "msqueue (old)"
_UUID = "975201b0-59ca-11d0-a8d5-00a0c90d8051"
_OPNUM = 4


def _check(record: Record, context: Context) -> Iterator[Detection]:
    packet = record.packet
    if isinstance(packet, RpcBind):
        for number, asked in enumerate(packet.contexts):
            if asked.interface != _OLD:
                continue
            refused = packet.nak_reason is not None or (packet.answered and asked.result != 0)
            answer = "refused" if refused else "accepted" if packet.answered else "no answer was captured"
            yield Detection(
                message=f"the client asks for interface {_UUID}: {answer}",
                evidence=(evidence_of(record, f"contexts[{number}].interface"),),
                severity="medium" if refused else None,
                # The condition needs a call.
                cves=(),
                caveats=("the server refused: it does not have the interface",) if refused else (),
            )
    elif isinstance(packet, RpcCall) and packet.interface == _OLD and packet.opnum == _OPNUM:
        yield Detection(
            message=f"opnum {_OPNUM} of interface {_UUID} is called: the interface and the method that "
            "CVE-2003-0995 is about",
            evidence=(evidence_of(record, "opnum"),),
            confidence="published",
            caveats=("its parameters are not decoded: the length that the CVE depends on is not known",),
        )


_INTERFACE = GUID.parse(_UUID)


RULE = Rule(
    id="RPC-OLD",
    title="Use of the RPC interface of MSMQ 1.0",
    severity="high",
    layer="host",
    spec=(SpecRef("MS-RPCE", "2.2.2.4"),),
    meaning="Public detection rules for the interface of MSMQ 1.0 look for one call: opnum 4 with a length "
    "above 128, which overflows a buffer of Windows 2000. Current queue managers do not offer the interface.",
    action="Find out what the client is, and whether the server is Windows 2000 without fixes.",
    harmless="Inventory tools and scanners ask for every interface that they know.",
    cves=("CVE-2003-0995",),
    types=("rpc_bind", "rpc_call"),
    check=_check,
    suricata=(
        SuricataSignature(
            number=600,
            on=BINDS,
            match=binds(_INTERFACE),
            says="the RPC interface of MSMQ 1.0 is asked for",
            cves=(),
        ),
        SuricataSignature(
            number=601,
            on=CALLS,
            match=calls(_INTERFACE, (_OPNUM,)),
            says="the method of the published condition of CVE-2003-0995 is called",
        ),
    ),
)
