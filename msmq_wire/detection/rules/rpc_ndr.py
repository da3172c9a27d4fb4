"""RPC-NDR: parameters that a server with strict checks refuses."""

from __future__ import annotations

from collections.abc import Iterator

from msmq_wire.detection.finding import Severity
from msmq_wire.detection.rule import Context, Detection, Rule, broken, evidence_of
from msmq_wire.records.record import Record
from msmq_wire.spec import SpecRef

_CODES = (
    "ndr.size-is",
    "ndr.length-is",
    "ndr.array-offset",
    "ndr.past-max-count",
    "ndr.range",
    "ndr.string-terminator",
    "ndr.ref-pointer",
    "ndr.null-array",
)


def _check(record: Record, context: Context) -> Iterator[Detection]:
    call = record.packet
    if not record.anomalies and record.error is None:
        return
    severity: Severity | None = None
    caveats: tuple[str, ...] = ()
    if call.guessed:
        severity, caveats = "low", ("the bind was not captured: interface and syntax are guesses",)
    elif not call.complete:
        severity, caveats = "low", ("not all fragments of the call were captured",)
    elif record.type == "com_call":
        severity, caveats = "medium", ("calls of COM objects carry more than the interface says",)
    for anomaly, place in broken(record, _CODES):
        message = f"{anomaly.path}: {anomaly.message}"
        yield Detection(message=message, evidence=(place,), severity=severity, caveats=caveats)
    error = record.error
    if error is not None and call.complete:
        yield Detection(
            message=f"{error.path}: {error.message}",
            evidence=(evidence_of(record, error.path or "request", error.offset or 0),),
            severity=severity,
            caveats=caveats,
        )


RULE = Rule(
    id="RPC-NDR",
    title="RPC parameters that contradict their own counts",
    severity="high",
    layer="host",
    spec=(SpecRef("MS-MQRR", "3.1.4"), SpecRef("MS-RPCE", "3.1.1.5.3")),
    meaning="A count, a range or a pointer does not fit the data that follows it. The RPC runtime of "
    "Windows never writes this, and a server with strict checks refuses it.",
    action="Look at the client: the parameters were made by hand. Check whether the server answered with a "
    "fault.",
    harmless="A client that does not use the RPC runtime of Windows and encodes a structure wrongly.",
    needs=("record",),
    types=("rpc_call", "com_call"),
    check=_check,
)
