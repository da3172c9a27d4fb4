"""FRM-OVERLAP: a part of a packet ends after the packet."""

from __future__ import annotations

from collections.abc import Iterator

from msmq_wire.detection.false_lengths import FRAMED
from msmq_wire.detection.packet_fields import PACKETS, field, least_size
from msmq_wire.detection.rule import Context, Detection, Rule, evidence_of
from msmq_wire.records.record import Record
from msmq_wire.spec import SpecRef


def _check(record: Record, context: Context) -> Iterator[Detection]:
    error = record.error
    # Padding that is not there is no part that lies elsewhere.
    if error is None or error.code != "past-packet-size" or error.path.endswith("padding"):
        return
    size = field(record, "base_header.packet_size")
    if size is not None and size >= least_size(record):
        yield Detection(
            message=f"{error.path} reaches past PacketSize {size}: {error.message}",
            evidence=(evidence_of(record, error.path, error.offset, max(0, size - error.offset)),),
        )


RULE = Rule(
    id="FRM-OVERLAP",
    title="A part reaches past the end of its packet",
    severity="high",
    layer="host",
    spec=(SpecRef("MS-MQMQ", "2.2.19"), SpecRef("MS-MQMQ", "2.2.20")),
    meaning="A length or a flag announces more bytes than PacketSize leaves. A receiver that does not "
    "compare the two reads memory outside the packet.",
    action="Look at the field that the finding names, and at the sender; check that the receiver has its "
    "updates.",
    harmless="A program that computes PacketSize or a length wrongly.",
    behind=(
        "LEN-ENV",
        "LEN-SOAP",
        "LEN-CMP",
        "LEN-BODY",
        "LEN-LABEL",
        "LEN-SEC",
        "LEN-MQF",
        "LEN-DIRECT",
        "LEN-EXT",
    ),
    prefers=FRAMED,
    types=PACKETS,
    when=(),
    check=_check,
)
