"""BOD-BINFMT: a body is a stream of the .NET BinaryFormatter."""

from __future__ import annotations

from collections.abc import Iterator

from msmq_wire.detection.address_scope import is_outside
from msmq_wire.detection.guards import CodedCondition
from msmq_wire.detection.message_bodies import (
    BEGINS_WITH_NUL,
    BODY_TYPES,
    OPENED,
    body_of,
    caveats_of,
    place_of,
)
from msmq_wire.detection.rule import Context, Detection, Rule
from msmq_wire.detection.suricata_signature import ON_WIRE, POSTS, SuricataSignature, posted
from msmq_wire.records.endpoint import host_of
from msmq_wire.records.message_body import IN_PACKET
from msmq_wire.records.record import Record
from msmq_wire.spec import SpecRef
from msmq_wire.wire.packets.user_message import UserMessage

_VERSION = bytes.fromhex("0100000000000000")
"""MajorVersion 1 and MinorVersion 0 of SerializationHeaderRecord, after its two ids."""
_HEADER = 17
_CVES = ("CVE-2024-8068", "CVE-2024-8069")


def _is_header(start: bytes) -> bool:
    return start[9:_HEADER] == _VERSION and start[0] == 0


def _check(record: Record, context: Context) -> Iterator[Detection]:
    body = body_of(record)
    if body is None or not _is_header(body.data):
        return
    place = place_of(record, body, _HEADER)
    outside = is_outside(record.src, record.dst)
    source = f" from {host_of(record.src)}" if outside else ""
    message = f"a body of {len(body.data)} bytes{source} is a BinaryFormatter stream"
    # A stored message was posted somewhere else.
    posted = record.type == "srmp_message" and record.parent is None
    if posted:
        message += (
            ", posted over HTTP: matches the published condition of CVE-2024-8068 and CVE-2024-8069 if the "
            "receiver is Citrix Session Recording"
        )
    yield Detection(
        message=message,
        evidence=(place,),
        severity="high" if outside else None,
        caveats=(
            *(("only its address says that the sender is outside",) if outside else ()),
            *caveats_of(body),
        ),
        cves=_CVES if posted else (),
    )


_USUAL = bytes.fromhex("0001000000ffffffff") + _VERSION
"""The header with the ids that the formatter writes: 1 for the root, -1 for no header."""


RULE = Rule(
    id="BOD-BINFMT",
    title="A .NET BinaryFormatter stream in a body",
    severity="low",
    confidence="likely",
    layer="application",
    spec=(SpecRef("MS-NRBF", "2.6.1"),),
    meaning="A program that reads such a stream creates the objects that the stream names. If the program "
    "does not limit their types, a sender can run code in it. The severity is higher if the sender is in "
    "another network.",
    action="Find the application that reads the queue, and let it use another formatter or limit the types "
    "that it accepts.",
    harmless="Old .NET applications that use BinaryMessageFormatter send these streams.",
    cves=_CVES,
    standing=True,
    types=BODY_TYPES,
    when=(
        OPENED,
        (BEGINS_WITH_NUL, CodedCondition.of(_is_header, IN_PACKET, head=_HEADER)),
    ),
    check=_check,
    suricata=(
        SuricataSignature(number=720, on=ON_WIRE, packet=UserMessage, match=(_USUAL,), cves=()),
        SuricataSignature(
            number=721,
            on=POSTS,
            match=posted(_USUAL),
            says="a .NET BinaryFormatter stream in a body, posted over HTTP",
        ),
    ),
)
