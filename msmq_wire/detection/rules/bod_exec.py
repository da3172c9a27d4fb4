"""BOD-EXEC: a body is a program, a script or an archive."""

from __future__ import annotations

from collections.abc import Iterator

from msmq_wire.detection.guards import CodedCondition
from msmq_wire.detection.message_bodies import BODY_TYPES, OPENED, body_of, caveats_of, place_of
from msmq_wire.detection.rule import Context, Detection, Rule
from msmq_wire.records.bodies.magic import marked_body
from msmq_wire.records.message_body import IN_PACKET
from msmq_wire.records.record import Record
from msmq_wire.spec import SpecRef

_FIRST = frozenset(b"MP7Rs\x1fM\xfd\x28\x7fB\x1f")
_KINDS = ("program", "archive")
_GZIP = b"\x1f\x8b\x08"
_SCRIPTS = (
    (b"#!/", "script with an interpreter line"),
    (b"#! /", "script with an interpreter line"),
    (b"@echo off", "batch file"),
    (b"<?php", "PHP script"),
    (b"<script", "script element"),
    (b"<%@", "server page"),
)
_SCRIPT_STARTS = frozenset(b"#@<")
_LOOKED_AT = 16
_STARTS = frozenset(bytes((one,)) for one in _FIRST | _SCRIPT_STARTS)


def _check(record: Record, context: Context) -> Iterator[Detection]:
    body = body_of(record)
    if body is None:
        return
    what = _kind(body.data)
    if what:
        yield Detection(
            message=f"the body of {len(body.data)} bytes begins like: {what}",
            evidence=(place_of(record, body, _LOOKED_AT),),
            caveats=caveats_of(body),
        )


def _may_be_one(start: bytes) -> bool:
    # What a program begins with leads further than that.
    return start.startswith(b"MZ") or bool(_kind(start))


def _kind(data: bytes) -> str:
    """The kind of file that the first bytes show; empty if unknown."""
    if data[0] in _SCRIPT_STARTS:
        head = data[:_LOOKED_AT].lower()
        return next((title for mark, title in _SCRIPTS if head.startswith(mark)), "")
    if data[0] not in _FIRST:
        return ""
    if data.startswith(_GZIP):
        return "gzip data"
    found = marked_body(data)
    return found.title if found is not None and found.kind in _KINDS else ""


RULE = Rule(
    id="BOD-EXEC",
    title="A program, script or archive in a body",
    severity="medium",
    confidence="likely",
    layer="application",
    spec=(SpecRef("MS-MQMQ", "2.2.19.3"),),
    meaning="The body begins like a file that can be run or unpacked.",
    action="Save the body and examine it like any other file that came over the network.",
    harmless="Applications that move files or compressed data through queues.",
    types=BODY_TYPES,
    when=(
        OPENED,
        (
            CodedCondition.of(_STARTS.__contains__, IN_PACKET, head=1),
            CodedCondition.of(_may_be_one, IN_PACKET, head=_LOOKED_AT),
        ),
    ),
    check=_check,
)
