"""SRM-PGM: a message for a multicast address."""

from __future__ import annotations

from collections.abc import Iterator

from msmq_wire.detection.rule import Context, Detection, Rule, evidence_of
from msmq_wire.records.record import Record
from msmq_wire.spec import SpecRef

_MULTICAST = "MULTICAST="


def _check(record: Record, context: Context) -> Iterator[Detection]:
    queue = record.packet.queue
    if queue is not None and queue.upper().startswith(_MULTICAST):
        yield Detection(
            message=f"the destination is {queue}",
            evidence=(evidence_of(record, "envelope.header.path.to"),),
        )


RULE = Rule(
    id="SRM-PGM",
    title="A message for a multicast address",
    severity="info",
    spec=(SpecRef("MC-MQSRM", "2.1.2"), SpecRef("MC-MQSRM", "2.2.4.2")),
    meaning="The sender uses MSMQ multicast, so the PGM driver is enabled on it and on its receivers. PGM "
    "itself is not decoded here.",
    action="Check that hosts with MSMQ multicast have the fixes of their PGM driver.",
    harmless="An application that was made for multicast.",
    types=("srmp_message", "srmp_receipt"),
    check=_check,
)
