"""FRM-SEG: a packet arrived in a large number of tiny segments."""

from __future__ import annotations

from collections.abc import Iterator

from msmq_wire.detection.packet_fields import PACKETS
from msmq_wire.detection.rule import Context, Detection, Rule, evidence_of
from msmq_wire.records.record import Record
from msmq_wire.spec import SpecRef
from msmq_wire.wire.expressions import size_, this

_MANY = 24
_TINY = 16


def _check(record: Record, context: Context) -> Iterator[Detection]:
    count = len(record.frames)
    if count >= _MANY and record.length <= count * _TINY and context.on_wire(record):
        yield Detection(
            message=f"{record.length} bytes of a packet came in {count} frames",
            evidence=(evidence_of(record),),
        )


RULE = Rule(
    id="FRM-SEG",
    title="A packet in very many tiny segments",
    severity="low",
    spec=(SpecRef("MS-MQQB", "2.1.1"),),
    meaning="The packet came in 24 frames or more, with 16 bytes or less in each on average. This hides it "
    "from filters that look at one frame at a time, and keeps a receiver busy.",
    action="Look at the sender, and at other connections from it.",
    harmless="A slow or broken link, or a test.",
    types=PACKETS,
    when=((size_(this._.frames) >= _MANY) & (this._.length <= size_(this._.frames) * _TINY),),
    check=_check,
    without_suricata="it counts segments",
)
