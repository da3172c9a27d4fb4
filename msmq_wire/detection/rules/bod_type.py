"""BOD-TYPE: the body type says text, but the bytes are not text."""

from __future__ import annotations

import re
from collections.abc import Iterator

from msmq_wire.detection.guards import CodedCondition
from msmq_wire.detection.message_bodies import BODY_TYPES, OPENED, body_of, caveats_of, place_of
from msmq_wire.detection.rule import Context, Detection, Rule
from msmq_wire.records.message_body import IN_PACKET
from msmq_wire.records.record import Record
from msmq_wire.spec import SpecRef
from msmq_wire.wire.expressions import one_of, this
from msmq_wire.wire.types.enumerations import BodyType

_NARROW = 30
_WIDE = (int(BodyType.VT_LPWSTR), int(BodyType.VT_BSTR))
_LOOKED_AT = 4096
_SAMPLE = 256
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0e-\x1f]")


_PLAIN = re.compile(rb"(?:[\t\n\f\r -\x7f]*\0*|(?:[\t\n\f\r -\x7f]\0)*(?:\0\0)*)")
"""ASCII in 8 or 16 bits."""


def _is_more(head: bytes) -> bool:
    return _PLAIN.fullmatch(head) is None


def _check(record: Record, context: Context) -> Iterator[Detection]:
    body = body_of(record)
    if body is None or (body.body_type != _NARROW and body.body_type not in _WIDE) or body.encrypted:
        return
    head = body.data[:_LOOKED_AT]
    goes_on = not body.whole or len(body.data) > _LOOKED_AT
    # UTF-8 under a wide type and UTF-16 under the narrow one are common mistakes, and text.
    encodings = ("utf-8", "utf-16-le", "latin-1") if body.body_type == _NARROW else ("utf-8", "utf-16-le")
    if any(_is_text(head, encoding, goes_on) for encoding in encodings):
        return
    if caveats_of(body):
        # Bytes that may be chance are no text.
        return
    yield Detection(
        message=f"BodyType is {body.body_type} (text), but the {len(body.data)} bytes are not text",
        evidence=(place_of(record, body, 64),),
    )


def _is_text(data: bytes, encoding: str, goes_on: bool) -> bool:
    """Whether bytes are text without control characters; cut bytes may end inside a character."""
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        if not goes_on or error.start < len(data) - 3:
            return False
        text = data[: error.start].decode(encoding)
    text = text.rstrip("\0")
    return _CONTROL.search(text) is None and (text.isascii() or not _strange(text[:_SAMPLE]))


def _strange(text: str) -> bool:
    """Whether over an eighth of the characters are unprintable; random bytes in UTF-16 give many."""
    return 8 * sum(not char.isprintable() and not char.isspace() for char in text) > len(text)


RULE = Rule(
    id="BOD-TYPE",
    title="A body that is not text, though its type says so",
    severity="low",
    confidence="likely",
    layer="application",
    spec=(SpecRef("MS-MQMQ", "2.2.12"),),
    meaning="A program that trusts the type shows rubbish or stops. A filter that trusts the type finds no "
    "text to check.",
    action="Look at the bytes and at what the application expects.",
    harmless="An application with its own formatter, which does not change the type.",
    types=BODY_TYPES,
    when=(
        OPENED,
        (
            one_of(this.message_properties_header.body_type, _NARROW, *_WIDE),
            CodedCondition.of(_is_more, IN_PACKET, head=_LOOKED_AT),
        ),
    ),
    check=_check,
)
