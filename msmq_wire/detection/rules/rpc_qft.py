"""RPC-QFT: a QUEUE_FORMAT that contradicts itself or its method."""

from __future__ import annotations

from collections.abc import Iterator

from msmq_wire.detection.call_queues import named_queues
from msmq_wire.detection.rule import Context, Detection, Rule, broken, evidence_of
from msmq_wire.records.record import Record
from msmq_wire.rpc.interfaces.remote_read import INTERFACE
from msmq_wire.rpc.interfaces.role import OPENS
from msmq_wire.spec import SpecRef
from msmq_wire.wire.names.queue_format_types import QueueFormatType
from msmq_wire.wire.types.wchar_text import WcharText

_NAME, _UNION = "queue_format.format-name", "ndr.union-tag"
_CODES = ("queue_format.suffix-and-flags", _NAME, _UNION)
_OPENED = (
    QueueFormatType.PUBLIC,
    QueueFormatType.PRIVATE,
    QueueFormatType.DIRECT,
    QueueFormatType.MACHINE,
    QueueFormatType.SUBQUEUE,
)
_ADDRESSES = ("TCP:", "OS:")
"""Protocols of direct names in remote read, [MS-MQRR] 2.2.3."""


def _check(record: Record, context: Context) -> Iterator[Detection]:
    call = record.packet
    caveats = ("the bind was not captured: interface and syntax are guesses",) if call.guessed else ()
    kinds = list(_kinds(record)) if call.interface == INTERFACE.name and call.role in OPENS else []
    if record.anomalies:
        for anomaly, place in broken(record, _CODES):
            if anomaly.code == _NAME and kinds:
                # A kind that cannot be opened is told below.
                continue
            if anomaly.code != _UNION or "queue_format" in anomaly.path or "object_format" in anomaly.path:
                yield Detection(
                    message=f"{anomaly.path}: {anomaly.message}",
                    evidence=(place,),
                    severity="low" if caveats else None,
                    caveats=caveats,
                )
    for path, reason in kinds:
        yield Detection(
            message=reason,
            evidence=(evidence_of(record, f"{path}.m_qft"),),
            severity="low" if caveats else None,
            caveats=caveats,
        )


def _kinds(record: Record) -> Iterator[tuple[str, str]]:
    """Queues of kinds that the method cannot open."""
    for path, queue in named_queues(record):
        if not isinstance(queue.m_qft, int):
            continue
        if queue.m_qft not in _OPENED:
            yield path, f"the kind of name (m_qft) is {queue.m_qft}, which {record.packet.method} cannot open"
        elif isinstance(queue.arm, WcharText) and not queue.arm.text.upper().startswith(_ADDRESSES):
            yield path, "the direct name begins with neither TCP: nor OS:"


RULE = Rule(
    id="RPC-QFT",
    title="A queue name of a form that no client builds",
    severity="medium",
    spec=(SpecRef("MS-MQMQ", "2.2.7"), SpecRef("MS-MQRR", "2.2.3"), SpecRef("MS-MQRR", "3.1.4.2")),
    meaning="The kind of the queue name, its suffix, its flags and the member that holds it contradict each "
    "other, or the method cannot open a name of this kind. Clients of Windows never build such a structure.",
    action="Find out what the client is: the structure was made by hand, or changed on the way.",
    harmless="A client library that is not from Microsoft and has a mistake. m_reserved may hold anything "
    "and is not checked.",
    behind=("RPC-FMTLEN",),
    needs=("record",),
    types=("rpc_call",),
    check=_check,
)
