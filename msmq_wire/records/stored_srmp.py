"""SRMP messages inside packets: what a packet says of them is compared with what they are.

The rule kept here: a lie changes nothing in what is shown; it is told beside it. [MS-MQRR] 2.2.5.1.2
"""

from __future__ import annotations

from typing import Any

import msgspec

from msmq_wire.engines.field_offsets import span
from msmq_wire.records.record import NewRecord, Record
from msmq_wire.records.srmp_content import SrmpRequest, error_of, judge_request, packet_of, take_apart
from msmq_wire.records.srmp_records import record_type
from msmq_wire.spec import SpecRef
from msmq_wire.srmp.envelope import parse_envelope
from msmq_wire.srmp.http.connection import parse_message
from msmq_wire.wire.headers.compound_message_header import CompoundMessageHeader
from msmq_wire.wire.headers.srmp_envelope_header import SRMPEnvelopeHeader
from msmq_wire.wire.musts import Anomaly

_COMPOUND, _ENVELOPE = CompoundMessageHeader.SPEC, SRMPEnvelopeHeader.SPEC
_PADDING = 3


def stored_message(packet: Any) -> tuple[tuple[Anomaly, ...], StoredMessage | None]:
    """What a packet with an SRMP message says against itself, and that message; None when there is none.

    The packet may be a part of one. Its SRMPEnvelopeHeader, the sizes in its CompoundMessageHeader and the
    HTTP message in it are compared. [MS-MQRR] 2.2.5.1.2
    """
    compound = getattr(packet, "compound_message_header", None)
    if not isinstance(compound, CompoundMessageHeader) or not isinstance(compound.data, bytes):
        return (), None
    # What a section split left out, or the packet's end, is no lie of what is there.
    whole = len(compound.data) == compound.http_body_size
    http, rest = parse_message(bytes(compound.data))
    judge = _Judge(packet)
    if http is None or not http.is_request:
        if whole:
            judge.say("compound_message_header.http-message", "Data is no HTTP request", "data", _COMPOUND)
        return tuple(judge.anomalies), None
    if whole and (rest.strip(b"\0") or len(rest) > _PADDING):
        message = f"Data has {len(rest)} bytes more than the HTTP message"
        judge.say("compound_message_header.http-body-size", message, "http_body_size", _COMPOUND)
    elif whole and not http.complete:
        message = "Data ends before the HTTP message does"
        judge.say("compound_message_header.http-body-size", message, "http_body_size", _COMPOUND)
    if not http.body and rest.strip(b"\0") and http.header("content-type"):
        # Without a Content-Length that can be meant, HTTPBodySize alone says where the body ends.
        http = msgspec.structs.replace(http, body=rest, length=http.length + len(rest))
        rest = b""
    request = take_apart(http)
    if whole:
        _judge_body(compound, request, judge)
    if whole or request.parsed.error is None:
        _judge_envelope(getattr(packet, "srmp_envelope_header", None), request, judge)
    return tuple(judge.anomalies), StoredMessage(request, rest)


class StoredMessage:
    """An HTTP message inside a packet; ``rest`` is what follows it there."""

    __slots__ = ("_request", "_rest")

    def __init__(self, request: SrmpRequest, rest: bytes) -> None:
        self._request = request
        self._rest = rest

    def record(self, new: NewRecord, parent: Record) -> Record:
        """The record of the message, which ``parent`` carried."""
        request = self._request
        packet = packet_of(request)
        length = request.captured + len(self._rest)
        remainder = request.remainder + self._rest
        return new(
            type=record_type(packet),
            parent=parent.id,
            frames=parent.frames,
            time=parent.time,
            src=parent.src,
            dst=parent.dst,
            stream=parent.stream,
            offset=parent.offset,
            length=length,
            packet=packet,
            anomalies=judge_request(request),
            consumed=length - len(remainder),
            remainder=remainder,
            error=error_of(request),
        )


class _Judge:
    """Collects anomalies of a packet, in the place where they are."""

    def __init__(self, packet: Any) -> None:
        self._packet = packet
        self.anomalies: list[Anomaly] = []

    def say(self, code: str, message: str, name: str, spec: SpecRef) -> None:
        path = f"{code.partition('.')[0]}.{name}"
        offset, length = span(self._packet, path)
        self.anomalies.append(
            Anomaly(code=code, message=message, path=path, offset=offset, length=length, spec=spec)
        )


def _judge_body(compound: CompoundMessageHeader, request: SrmpRequest, judge: _Judge) -> None:
    """Whether MsgBodyOffset and MsgBodySize are where the part is that holds the body."""
    body = next((part for part, role in request.roles if role == "body"), None)
    if body is None:
        if compound.msg_body_size:
            message = "MsgBodySize is not 0, but the HTTP message has no part that is a body"
            judge.say("compound_message_header.msg-body-size", message, "msg_body_size", _COMPOUND)
        return
    at = len(request.http.head) + body.offset
    if compound.msg_body_offset != at:
        message = f"MsgBodyOffset is {compound.msg_body_offset}, the body begins at {at} of Data"
        judge.say("compound_message_header.msg-body-offset", message, "msg_body_offset", _COMPOUND)
    if compound.msg_body_size != len(body.data):
        message = f"MsgBodySize is {compound.msg_body_size}, the body has {len(body.data)} bytes"
        judge.say("compound_message_header.msg-body-size", message, "msg_body_size", _COMPOUND)


def _judge_envelope(header: Any, request: SrmpRequest, judge: _Judge) -> None:
    """Whether the envelope of the packet says the same as that of the HTTP message."""
    if not isinstance(header, SRMPEnvelopeHeader) or not isinstance(header.data, bytes):
        return
    other = parse_envelope(bytes(header.data))
    if other.error is not None:
        message = f"Data is no envelope: {other.error.message}"
        judge.say("srmp_envelope_header.envelope", message, "data", _ENVELOPE)
    elif other.value != request.parsed.value:
        message = "Data says something else than the envelope in the HTTP message"
        judge.say("srmp_envelope_header.differs", message, "data", _ENVELOPE)
