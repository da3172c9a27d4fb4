"""RPC-ABORTS: a stored message says that it failed again and again."""

from __future__ import annotations

from collections.abc import Iterator

from msmq_wire.detection.false_lengths import place_of
from msmq_wire.detection.packet_fields import field
from msmq_wire.detection.rereads import AGAIN
from msmq_wire.detection.rule import Context, Detection, Rule
from msmq_wire.records.record import Record
from msmq_wire.spec import SpecRef

_COUNTER = "subqueue_header.abort_counter"


def _check(record: Record, context: Context) -> Iterator[Detection]:
    aborts, name = field(record, _COUNTER), field(record, "subqueue_header.subqueue_name")
    if aborts is None or aborts < AGAIN or name is None or not name.text:
        return
    moves = record.packet.subqueue_header.move_counter
    yield Detection(
        message=f"AbortCounter is {aborts} and MoveCounter {moves}, in subqueue {name.text}",
        evidence=(place_of(record, _COUNTER),),
    )


RULE = Rule(
    id="RPC-ABORTS",
    title="A message that failed again and again",
    severity="low",
    layer="application",
    spec=(SpecRef("MS-MQRR", "2.2.5.3"),),
    meaning="AbortCounter counts the failed attempts in a row to read or move the message. MoveCounter "
    "counts its moves between subqueues: libraries move a message to try it again later. A message that no "
    "reader can process fails at every attempt.",
    action="Look at the body and at the application that reads the queue; move the message to another queue.",
    harmless="A reader that was stopped several times while it had the message.",
    types=("message_packet",),
    check=_check,
)
