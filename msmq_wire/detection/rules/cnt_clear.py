"""CNT-CLEAR: the body of a message crosses the network in clear text."""

from __future__ import annotations

from collections.abc import Iterable

from msmq_wire.detection.false_lengths import place_of
from msmq_wire.detection.guards import CodedCondition
from msmq_wire.detection.packet_fields import reached
from msmq_wire.detection.rule import Context, Detection, Rule, evidence_of
from msmq_wire.records.message_body import IN_PACKET
from msmq_wire.records.record import Record
from msmq_wire.spec import SpecRef
from msmq_wire.wire.expressions import one_of, size_, this
from msmq_wire.wire.types.enumerations import BodyType, MessageClass

_EB = 0x20
_LEAST = 16
"""Shorter bodies are not judged."""
_TEXT_TYPES = (BodyType.VT_BSTR, BodyType.VT_LPWSTR)
_MARKS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")
_OPENINGS = frozenset(b"<{[")
_STARTS = frozenset(bytes((one,)) for one in {*_OPENINGS, *b"\0 \t\r\n", *(mark[0] for mark in _MARKS)})
_HEADER = this.message_properties_header
_IS_LONG = (_HEADER.message_class == MessageClass.MQMSG_CLASS_NORMAL) & (
    size_(_HEADER.message_body) >= _LEAST
)


def _check(record: Record, context: Context) -> Iterable[Detection]:
    header = reached(record.packet, "message_properties_header")
    body = reached(header, "message_body")
    if body is None or len(body) < _LEAST or header.message_class != MessageClass.MQMSG_CLASS_NORMAL:
        return ()
    if (reached(record.packet, "security_header.flags") or 0) & _EB or not context.on_wire(record):
        return ()
    kind = _kind(header.body_type, body)
    if not kind:
        return ()
    # The place only: what a body says is not for a list of findings.
    place = place_of(record, IN_PACKET)
    place = evidence_of(record, place.path, place.offset, place.length)
    return (Detection(message=f"{len(body)} bytes of {kind} are sent in clear", evidence=(place,)),)


def _may_be_text(start: bytes) -> bool:
    return bool(_kind(BodyType.VT_EMPTY, start))


def _kind(body_type: int, body: bytes) -> str:
    if body_type in _TEXT_TYPES:
        return "text"
    start = body[:_LEAST]
    for mark in _MARKS:
        start = start.removeprefix(mark)
    # Text of 16 bits has a zero byte before or behind each of these characters.
    start = start.strip(b"\0 \t\r\n")
    return "XML or JSON" if start and start[0] in _OPENINGS else ""


RULE = Rule(
    id="CNT-CLEAR",
    title="A body in clear text",
    severity="info",
    confidence="likely",
    layer="application",
    spec=(SpecRef("MS-MQMQ", "2.2.20.6"),),
    meaning="The body is readable text, and EB is 0 (not encrypted). Anybody who sees the traffic can read "
    "it.",
    action="If the content must be protected, require encrypted bodies (privacy level of queue and message) "
    "or use a protected network.",
    harmless="Normal: MSMQ does not encrypt bodies by default.",
    types=("user_message",),
    when=(
        (_IS_LONG, one_of(_HEADER.body_type, *_TEXT_TYPES)),
        (
            CodedCondition.of(_STARTS.__contains__, IN_PACKET, head=1),
            _IS_LONG,
            CodedCondition.of(_may_be_text, IN_PACKET, head=_LEAST),
        ),
    ),
    check=_check,
)
