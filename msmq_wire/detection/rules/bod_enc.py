"""BOD-ENC: a body looks encrypted or packed, and its headers do not say so."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from math import log2

from msmq_wire.detection.guards import CodedCondition
from msmq_wire.detection.message_bodies import BODY_TYPES, body_of, place_of
from msmq_wire.detection.rule import Context, Detection, Rule
from msmq_wire.records.bodies.compressed import inflate
from msmq_wire.records.bodies.magic import marked_body
from msmq_wire.records.message_body import IN_PACKET
from msmq_wire.records.record import Record
from msmq_wire.spec import SpecRef
from msmq_wire.wire.expressions import size_, this

_SHORTEST = 512
_FIRST = 256
_DISTINCT = 140
"""Distinct values among the first 256 bytes: random bytes have 162, text and records far fewer."""
_LOOKED_AT = 4096
_SPARE = 0.75
"""Allowed bits of entropy below random bytes; text and records are two or more below."""


def _has_many_values(start: bytes) -> bool:
    return len(set(start)) >= _DISTINCT


def _check(record: Record, context: Context) -> Iterator[Detection]:
    body = body_of(record)
    if body is None or body.encrypted or body.ciphertext or len(body.data) < _SHORTEST:
        return
    if not _has_many_values(body.data[:_FIRST]):
        return
    head = body.data[:_LOOKED_AT]
    # Quicker than the entropy of all.
    if not _looks_random(head):
        return
    entropy = _entropy(head)
    # With few bytes even chance does not reach 8 bits.
    if entropy < min(8.0, log2(len(head))) - _SPARE:
        return
    if marked_body(body.data) is not None or inflate(body.data[:_LOOKED_AT]) is not None:
        return
    yield Detection(
        message=f"the first {len(head)} bytes have {entropy:.1f} bits of entropy each (at most 8), "
        "and EB is 0",
        evidence=(place_of(record, body, 64),),
    )


def _entropy(data: bytes) -> float:
    """Entropy in bits per byte, 0 to 8."""
    size = len(data)
    return -sum(n / size * log2(n / size) for n in Counter(data).values())


def _looks_random(data: bytes) -> bool:
    """Whether the differences between neighbours vary as random bytes do; counters and repeats fail."""
    steps = {(after - before) & 0xFF for before, after in pairwise(data[:_FIRST])}
    return len(steps) >= _DISTINCT


RULE = Rule(
    id="BOD-ENC",
    title="A body that looks encrypted",
    severity="info",
    confidence="guess",
    layer="application",
    spec=(SpecRef("MS-MQMQ", "2.2.20.6"),),
    meaning="The bytes of the body look random, as encrypted data does. MSMQ did not encrypt them: its flag "
    "EB is 0.",
    action="Ask what the application does with its messages.",
    harmless="Compressed data without a known signature, media, and encryption by the application.",
    types=BODY_TYPES,
    when=(
        (
            (size_(this.message_properties_header.message_body) >= _SHORTEST)
            & (this.message_properties_header.privacy_level == 0),
            CodedCondition.of(_has_many_values, IN_PACKET, head=_FIRST),
        ),
    ),
    check=_check,
)
