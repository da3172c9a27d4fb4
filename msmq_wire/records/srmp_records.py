"""The records of SRMP: what an HTTP request with an envelope looks like, captured or stored in a packet.

The rule kept here: nothing is decided about a connection and nothing is remembered; messages go in, their
record comes out. Offsets of anomalies count from the start of the request, chunk sizes taken out; those whose
path begins with ``response`` from the start of the response.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec

from msmq_wire.engines.places import span
from msmq_wire.engines.reference import MAX_ANOMALIES
from msmq_wire.errors import DecodeError
from msmq_wire.records.record import NewRecord, Record
from msmq_wire.records.srmp_packets import SrmpField, SrmpMessage, SrmpPart, SrmpResponse
from msmq_wire.spec import SpecRef
from msmq_wire.srmp.envelope import ParsedEnvelope, parse_envelope
from msmq_wire.srmp.http import HttpExchange, HttpHole, HttpMessage, parse_message
from msmq_wire.srmp.http_message import HeaderFields
from msmq_wire.srmp.mime import MimePart, Multipart, parse_multipart
from msmq_wire.srmp.rules import LABEL_PREFIX, MESSAGE_ID, judge_receipt_parts
from msmq_wire.wire.headers.compound_message_header import CompoundMessageHeader
from msmq_wire.wire.headers.srmp_envelope_header import SRMPEnvelopeHeader
from msmq_wire.wire.musts import Anomaly

__all__ = ["SrmpPlace", "is_srmp", "stored_message"]

_PARTS = SpecRef("MC-MQSRM", "2.2.2")
_SIGNED = SpecRef("MC-MQSRM", "2.2.7.1.2")
_COMPOUND, _ENVELOPE = CompoundMessageHeader.SPEC, SRMPEnvelopeHeader.SPEC
_MULTICAST = "MSMQ:MULTICAST="
_WEB = ("http://", "https://")
_PADDING = 3
_ROLES = ("body", "extension")


class _Request(msgspec.Struct, frozen=True, kw_only=True):
    """A request taken apart."""

    http: HttpMessage
    multipart: Multipart
    parsed: ParsedEnvelope


def _take_apart(http: HttpMessage) -> _Request:
    multipart = parse_multipart(http.header("content-type") or "", http.body)
    root = multipart.root
    parsed = parse_envelope(b"" if root is None else root.data)
    return _Request(http=http, multipart=multipart, parsed=parsed)


def is_srmp(http: HttpMessage) -> bool:
    """Whether a request that names no queue of MSMQ has an envelope of SRMP all the same."""
    media = (http.header("content-type") or "").lower()
    if http.method != "POST" or ("xml" not in media and "multipart/" not in media):
        return False
    value = _take_apart(http).parsed.value
    return value is not None and value.header is not None and value.header.path is not None


class SrmpPlace:
    """A connection as its records name it; ``frames`` gives the frames that carried what came as others."""

    __slots__ = ("_frames", "_names", "_record", "stream")

    def __init__(
        self,
        record: NewRecord,
        frames: Callable[[tuple[int, ...]], tuple[int, ...]],
        names: Callable[[int, int], tuple[str, str]],
        stream: int,
    ) -> None:
        self._record = record
        self._frames = frames
        self._names = names
        self.stream = stream

    def message(self, exchange: HttpExchange) -> Record:
        """The record of a request with its response."""
        http, answer = exchange.request, exchange.response
        assert http is not None
        request = _take_apart(http)
        src, dst = self._names(self.stream, 0 if http.from_client else 1)
        latency = None
        if answer is not None and http.time and answer.time >= http.time:
            latency = answer.time - http.time
        packet = msgspec.structs.replace(
            _packet(request),
            response=None if answer is None else _response(answer, self._frames(answer.frames)),
            interim=tuple(one.status for one in exchange.interim),
            certain=exchange.certain,
            latency=latency,
        )
        told = () if answer is None else tuple(_under("response", answer.problems, 0))
        frames = (*http.frames, *(() if answer is None else answer.frames))
        length = http.length + (0 if answer is None else answer.length)
        remainder = _epilogue(request)
        return self._record(
            type=_type(packet),
            frames=self._frames(tuple(dict.fromkeys(frames))),
            time=http.time if answer is None else max(http.time, answer.time),
            src=src,
            dst=dst,
            stream=self.stream,
            offset=http.offset,
            length=length,
            packet=packet,
            anomalies=(*_anomalies(request), *told),
            consumed=length - len(remainder),
            remainder=remainder,
            error=_error(request),
        )

    def gap(self, hole: HttpHole) -> Record:
        """The record of bytes that are in no message."""
        src, dst = self._names(self.stream, 0 if hole.from_client else 1)
        return self._record(
            type="gap",
            frames=self._frames(hole.frames),
            time=hole.time,
            src=src,
            dst=dst,
            stream=self.stream,
            offset=hole.offset,
            length=0 if hole.missing else hole.length or 0,
            remainder=hole.data,
            missing=hole.length if hole.missing else 0,
            reason=hole.reason,
        )


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
        message = f"Data goes on for {len(rest)} bytes behind the HTTP message"
        judge.say("compound_message_header.http-body-size", message, "http_body_size", _COMPOUND)
    elif whole and not http.complete:
        message = "Data ends before the HTTP message does"
        judge.say("compound_message_header.http-body-size", message, "http_body_size", _COMPOUND)
    if not http.body and rest.strip(b"\0") and http.header("content-type"):
        # Without a Content-Length that can be meant, HTTPBodySize alone says where the body ends.
        http = msgspec.structs.replace(http, body=rest, length=http.length + len(rest))
        rest = b""
    request = _take_apart(http)
    if whole:
        _judge_body(compound, request, judge)
    if whole or request.parsed.error is None:
        _judge_envelope(getattr(packet, "srmp_envelope_header", None), request, judge)
    return tuple(judge.anomalies), StoredMessage(request, rest)


class StoredMessage:
    """An HTTP message inside a packet; ``rest`` is what follows it there."""

    __slots__ = ("_request", "_rest")

    def __init__(self, request: _Request, rest: bytes) -> None:
        self._request = request
        self._rest = rest

    def record(self, new: NewRecord, parent: Record) -> Record:
        """The record of the message, which ``parent`` carried."""
        request = self._request
        packet = _packet(request)
        length = request.http.length + len(self._rest)
        remainder = _epilogue(request) + self._rest
        return new(
            type=_type(packet),
            parent=parent.id,
            frames=parent.frames,
            time=parent.time,
            src=parent.src,
            dst=parent.dst,
            stream=parent.stream,
            offset=parent.offset,
            length=length,
            packet=packet,
            anomalies=_anomalies(request),
            consumed=length - len(remainder),
            remainder=remainder,
            error=_error(request),
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


def _judge_body(compound: CompoundMessageHeader, request: _Request, judge: _Judge) -> None:
    """Whether MsgBodyOffset and MsgBodySize are where the part is that holds the body."""
    body = next((part for part, role in _roles(request) if role == "body"), None)
    if body is None:
        if compound.msg_body_size:
            message = "MsgBodySize is not 0, and no part of the HTTP message is a body"
            judge.say("compound_message_header.msg-body-size", message, "msg_body_size", _COMPOUND)
        return
    at = len(request.http.head) + body.offset
    if compound.msg_body_offset != at:
        message = f"MsgBodyOffset is {compound.msg_body_offset}, the body begins at {at} of Data"
        judge.say("compound_message_header.msg-body-offset", message, "msg_body_offset", _COMPOUND)
    if compound.msg_body_size != len(body.data):
        message = f"MsgBodySize is {compound.msg_body_size}, the body has {len(body.data)} bytes"
        judge.say("compound_message_header.msg-body-size", message, "msg_body_size", _COMPOUND)


def _judge_envelope(header: Any, request: _Request, judge: _Judge) -> None:
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


def _roles(request: _Request) -> list[tuple[MimePart, str]]:
    """The parts with what they are, by their Content-Id; a second one of a kind has no role."""
    root, found, free = request.multipart.root, [], set(_ROLES)
    for part in request.multipart.parts:
        role = part.content_id.partition("@")[0].lower()
        if part is root:
            role = "envelope"
        elif role in free:
            free.remove(role)
        else:
            role = ""
        found.append((part, role))
    unnamed = [place for place, (part, role) in enumerate(found) if not role and not part.content_id]
    if "body" in free and len(unnamed) == 1:
        # The only part beside the envelope that says nothing of itself can be nothing else.
        found[unnamed[0]] = (found[unnamed[0]][0], "body")
    return found


def _epilogue(request: _Request) -> bytes:
    """What follows the last delimiter; its line end belongs to it."""
    epilogue = request.multipart.epilogue
    return b"" if epilogue in (b"\r\n", b"\n") else epilogue


def _packet(request: _Request) -> SrmpMessage:
    http, value = request.http, request.parsed.value
    header = None if value is None else value.header
    path = None if header is None else header.path
    action = None if path is None else path.action
    found = _roles(request)
    data = {role: part.data for part, role in found}
    return SrmpMessage(
        kind=request.parsed.kind,
        queue=None if path is None else _queue(path.to),
        label=None if action is None else action.removeprefix(LABEL_PREFIX),
        message_id=None if path is None else _message_id(path.id),
        method=http.method,
        target=http.target,
        http_version=http.http_version,
        headers=_fields(http.headers),
        envelope=value,
        body=data.get("body"),
        extension=data.get("extension"),
        parts=tuple(
            SrmpPart(
                role=role,
                content_type=part.content_type,
                content_id=part.content_id,
                content_length=part.content_length,
                offset=part.offset,
                length=len(part.data),
                data=part.data if not role or (role == "envelope" and value is None) else b"",
            )
            for part, role in found
        ),
        preamble=request.multipart.preamble,
        complete=http.complete,
    )


def _type(packet: SrmpMessage) -> str:
    return "srmp_message" if packet.kind == "message" else "srmp_receipt"


def _queue(to: str | None) -> str | None:
    """The format name of a destination, [MC-MQSRM] 2.2.4.2."""
    if to is None:
        return None
    if to.lower().startswith(_WEB):
        return f"DIRECT={to}"
    return to.removeprefix("MSMQ:") if to.startswith(_MULTICAST) else None


def _message_id(id_: str | None) -> str | None:
    """Queue manager and number as ``messages`` shows them, [MC-MQSRM] 2.2.4.3."""
    found = None if id_ is None else MESSAGE_ID.fullmatch(id_)
    return None if found is None else f"{found[2].lower()}\\{int(found[1])}"


def _fields(fields: HeaderFields) -> tuple[SrmpField, ...]:
    return tuple(
        SrmpField(name=name.decode("latin-1"), value=value.decode("latin-1")) for name, value in fields
    )


def _response(http: HttpMessage, frames: tuple[int, ...]) -> SrmpResponse:
    return SrmpResponse(
        status=http.status,
        reason=http.reason,
        headers=_fields(http.headers),
        body=http.body,
        frames=frames,
        complete=http.complete,
    )


def _anomalies(request: _Request) -> tuple[Anomaly, ...]:
    http, parsed = request.http, request.parsed
    head = len(http.head)
    root = request.multipart.root
    mime, envelope = request.multipart.problems, parsed.anomalies
    if not http.complete:
        # What was not captured makes no delimiter and no element lack and no length lie.
        mime = tuple(one for one in mime if one.code not in ("mime.content-length", "mime.no-close"))
        if parsed.error is not None:
            envelope = tuple(one for one in envelope if not one.code.endswith(".missing"))
    beside = len(request.multipart.parts) - (root is not None)
    found = (
        *http.problems,
        *_under("", mime, head),
        *_under("envelope", judge_receipt_parts(parsed.kind, beside), head),
        *_judge_parts(request, head),
        *_under("envelope", envelope, head + (0 if root is None else root.offset)),
    )
    return found[:MAX_ANOMALIES]


def _under(prefix: str, anomalies: Sequence[Anomaly], base: int) -> Iterator[Anomaly]:
    """Anomalies of a part, as those of the whole."""
    for one in anomalies:
        path = f"{prefix}.{one.path}" if prefix and one.path else prefix or one.path
        yield msgspec.structs.replace(one, path=path, offset=one.offset + base)


def _judge_parts(request: _Request, head: int) -> Iterator[Anomaly]:
    """Whether the parts are those that a message has, and those that its signature names."""
    found = _roles(request)
    for place, (part, role) in enumerate(found):
        if role == "envelope" or (role and part.content_id):
            continue
        if not part.content_id:
            message = "a part without Content-Id"
        elif part.content_id.partition("@")[0].lower() in _ROLES:
            message = "a second part of its kind"
        else:
            message = "the Content-Id is neither body@ nor extension@ with an identifier"
        yield Anomaly(
            code="srmp_message.part",
            message=message,
            path=f"parts[{place}]",
            offset=head + part.offset,
            length=len(part.data),
            spec=_PARTS,
        )
    value = request.parsed.value
    signature = None if value is None or value.header is None else value.header.signature
    if signature is None or signature.signed_info is None:
        return
    named = Counter(one.uri for one in signature.signed_info.references)
    there = {f"cid:{part.content_id}" for part, role in found if role in _ROLES}
    for uri in named:
        if uri not in there:
            message = "the signature covers a part that is not there"
            yield _signed("srmp_message.reference", message)
    for uri in there - set(named):
        yield _signed("srmp_message.unsigned-part", f"the signature does not cover {uri[4:20]}")


def _signed(code: str, message: str) -> Anomaly:
    path = "envelope.header.signature"
    return Anomaly(code=code, message=message, path=path, offset=0, length=0, spec=_SIGNED)


def _error(request: _Request) -> DecodeError | None:
    http, error = request.http, request.parsed.error
    if not http.complete:
        return DecodeError(
            "missing-bytes", "the request is not complete", offset=len(http.head) + len(http.body)
        )
    if error is None:
        return None
    root = request.multipart.root
    offset = (error.offset or 0) + len(http.head) + (0 if root is None else root.offset)
    path = f"envelope.{error.path}" if error.path else "envelope"
    return DecodeError(error.code, error.message, path=path, offset=offset, spec=error.spec)
