"""FRM-TRUNC: a stream ends inside a packet."""

from __future__ import annotations

from collections.abc import Iterator

from msmq_wire.detection.packet_fields import PACKETS, field
from msmq_wire.detection.rule import Context, Detection, Rule, evidence_of
from msmq_wire.records.record import Record
from msmq_wire.spec import SpecRef
from msmq_wire.wire.headers.base_header import MAX_PACKET_SIZE
from msmq_wire.wire.stream import counted


def _check(record: Record, context: Context) -> Iterator[Detection]:
    if record.error is None or record.error.code != "missing-bytes" or not context.on_wire(record):
        return
    size = field(record, "base_header.packet_size")
    if size is not None and size > MAX_PACKET_SIZE:
        return
    whole = "" if size is None else f" of {size} bytes"
    yield Detection(
        message=f"the stream ends after {counted(record.length)} of a packet{whole}",
        evidence=(evidence_of(record, record.error.path, record.error.offset),),
    )


RULE = Rule(
    id="FRM-TRUNC",
    title="The stream ends inside a packet",
    severity="low",
    confidence="likely",
    spec=(SpecRef("MS-MQMQ", "2.2.19.1"),),
    meaning="The rest of the packet never came. A receiver drops the part that it has. A sender that "
    "follows the protocol sends the message again in its next session.",
    action="Look at how the connection ended, and whether the message was sent again.",
    harmless="The capture stopped first, or the connection was closed or lost while the packet was on its "
    "way.",
    types=PACKETS,
    when=(),
    needs=("around", "end"),
    check=_check,
    without_suricata="it is about bytes that never came",
)
