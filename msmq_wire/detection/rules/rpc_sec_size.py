"""RPC-SEC-SIZE: sections that do not add up to their packet."""

from __future__ import annotations

from collections.abc import Iterator

from msmq_wire.detection.rule import Context, Detection, Rule, broken
from msmq_wire.records.record import Record
from msmq_wire.spec import SpecRef

_CODES = ("sections.sum", "sections.alloc", "sections.body")


def _check(record: Record, context: Context) -> Iterator[Detection]:
    for anomaly, place in broken(record, _CODES):
        yield Detection(message=anomaly.message, evidence=(place,))


RULE = Rule(
    id="RPC-SEC-SIZE",
    title="Sections that do not add up",
    severity="low",
    spec=(SpecRef("MS-MQRR", "3.1.4.7"),),
    meaning="A server may split a message and leave out a part of it. The bytes that it sends and leaves "
    "out must add up to PacketSize. Here they do not, whether the 0 to 3 padding bytes are counted or not.",
    action="Compare with the same message read with a larger limit, if there is one.",
    harmless="The specification does not say where the padding goes. A server may count it in an unknown "
    "way.",
    needs=("record",),
    types=("message_packet",),
    codes=_CODES,
    check=_check,
)
