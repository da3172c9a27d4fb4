"""What is in an SRMP request: its parts by what they are, its envelope, and everything that is wrong.

The rule kept here: offsets of anomalies count from the start of the request, chunk sizes taken out. Bytes
behind a hole are not put together with those before it.
"""

from __future__ import annotations

import re
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence

import msgspec

from msmq_wire.engines.reference import MAX_ANOMALIES
from msmq_wire.errors import DecodeError
from msmq_wire.invisible import escaped
from msmq_wire.records.srmp_packets import SrmpField, SrmpMessage, SrmpPart
from msmq_wire.spec import SpecRef
from msmq_wire.srmp.envelope import ParsedEnvelope, hrefs, parse_envelope
from msmq_wire.srmp.http.framer import MAX_BODY
from msmq_wire.srmp.http.message import HeaderFields, HttpMessage
from msmq_wire.srmp.mime import MimePart, Multipart, content_id_of, parse_multipart
from msmq_wire.srmp.rules import MESSAGE_ID, judge_receipt_parts, label_of
from msmq_wire.srmp.xml.element_tree import CUT
from msmq_wire.wire.musts import Anomaly
from msmq_wire.wire.types.guid import NULL_GUID

_PARTS = SpecRef("MC-MQSRM", "2.2.2")
_SIGNED = SpecRef("MC-MQSRM", "2.2.7.1.2")
_CODED = SpecRef("MC-MQSRM", "2.1.1")
_LONGEST_CODING = 40
_UNPACKED_LEAST, _UNPACKED_RATIO = 1 << 16, 64
"""A body is unpacked up to so many bytes, or times its size: many small ones stand for much else."""
_MISSING, _TOO_LARGE = "missing-bytes", "too-large"
_WEB = ("http://", "https://")
_ROLES = ("body", "extension")
_MSMQ = re.compile(r"/msmq/[^?#]", re.IGNORECASE)


class SrmpRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request taken apart; ``roles`` are its parts with what they are: envelope, body, extension, or empty.

    ``behind`` is what follows the first hole in its body. ``packed`` is how its body was compressed, empty
    where it was not; ``unpacked`` is how far that is read: None not at all. ``lacks`` is the code of why the
    parts are not all of the request, empty where they are.
    """

    http: HttpMessage
    multipart: Multipart
    parsed: ParsedEnvelope
    roles: tuple[tuple[MimePart, str], ...]
    behind: bytes = b""
    packed: str = ""
    unpacked: int | None = None
    lacks: str = ""

    @property
    def captured(self) -> int:
        """How many of its bytes were captured."""
        return self.http.length - sum(length for _, length in self.http.missing)

    @property
    def remainder(self) -> bytes:
        """What is in no part; the line end behind the last delimiter belongs to that."""
        epilogue = self.multipart.epilogue
        return (b"" if epilogue in (b"\r\n", b"\n") else epilogue) + self.behind


def take_apart(http: HttpMessage) -> SrmpRequest:
    """The parts of a request and its envelope; never raises."""
    hole = http.missing[0][0] if http.missing else len(http.body)
    coding = (http.header("content-encoding") or "").strip().lower()
    opened = _unpacked(http.body[:hole], coding)
    body, lacks = (http.body[:hole], "") if opened is None else opened
    multipart = parse_multipart(http.header("content-type") or "", body)
    root = multipart.root
    parsed = parse_envelope(b"" if root is None else root.data)
    packed = "" if coding in ("", "identity") else coding
    return SrmpRequest(
        http=http,
        multipart=multipart,
        parsed=parsed,
        roles=tuple(_roles(multipart, parsed)),
        behind=http.body[hole:],
        packed=packed,
        unpacked=None if opened is None else len(body),
        lacks=lacks if http.complete else _MISSING,
    )


def _unpacked(body: bytes, coding: str) -> tuple[bytes, str] | None:
    """A body that was compressed with gzip or deflate, and the code of why it is not all."""
    wbits = {"gzip": 31, "x-gzip": 31, "deflate": 15}.get(coding)
    if wbits is None:
        return None
    most = min(MAX_BODY, max(_UNPACKED_LEAST, _UNPACKED_RATIO * len(body)))
    for bits in (wbits, -15) if coding == "deflate" else (wbits,):
        reader = zlib.decompressobj(bits)
        try:
            data = reader.decompress(body, most)
        except zlib.error:
            continue
        return data, "" if reader.eof else _TOO_LARGE if len(data) == most else _MISSING
    return None


def is_srmp(http: HttpMessage) -> bool:
    """Whether a request that names no queue of MSMQ has an envelope of SRMP all the same."""
    media = (http.header("content-type") or "").lower()
    if http.method != "POST" or ("xml" not in media and "multipart/" not in media):
        return False
    value = take_apart(http).parsed.value
    return value is not None and value.header is not None and value.header.path is not None


def _roles(multipart: Multipart, parsed: ParsedEnvelope) -> list[tuple[MimePart, str]]:
    """The parts with what they are, by their Content-Id; a second one of a kind has no role.

    Windows names the body in the Content-Id; others name it as they like, and say its name in the envelope.
    """
    root, found, free = multipart.root, [], set(_ROLES)
    for part in multipart.parts:
        role = part.content_id.partition("@")[0].lower()
        if part is root:
            role = "envelope"
        elif role in free:
            free.remove(role)
        else:
            role = ""
        found.append((part, role))
    named = set(_named_parts(parsed)) if "body" in free else set()
    for place, (part, role) in enumerate(found):
        if "body" in free and not role and part.content_id in named:
            free.remove("body")
            found[place] = (part, "body")
    unnamed = [place for place, (part, role) in enumerate(found) if not role and not part.content_id]
    if "body" in free and len(unnamed) == 1:
        # The only part beside the envelope that says nothing of itself can be nothing else.
        found[unnamed[0]] = (found[unnamed[0]][0], "body")
    return found


def _named_parts(parsed: ParsedEnvelope) -> Iterator[str]:
    """The Content-Ids that the envelope names by an ``href``."""
    if parsed.value is not None:
        for url in hrefs(parsed.value):
            named = content_id_of(url)
            if named:
                yield named


def packet_of(request: SrmpRequest) -> SrmpMessage:
    """The message in a request, without a response."""
    http, value = request.http, request.parsed.value
    header = None if value is None else value.header
    path = None if header is None else header.path
    action = None if path is None else path.action
    # Where the envelope breaks off, it is not known that it would not have been one of MSMQ.
    is_msmq = request.parsed.error is not None or (header is not None and header.msmq is not None)
    data = {role: part.content for part, role in request.roles}
    return SrmpMessage(
        kind=request.parsed.kind,
        queue=(None if path is None else _queue(_whole(request, path.to))) or _asked(http),
        label=label_of(action),
        message_id=None if path is None else _message_id(is_msmq, _whole(request, path.id)),
        method=http.method,
        target=http.target,
        http_version=http.http_version,
        headers=http_fields(http.headers),
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
            for part, role in request.roles
        ),
        preamble=request.multipart.preamble,
        complete=http.complete,
    )


def _whole(request: SrmpRequest, text: str | None) -> str | None:
    """A text of the envelope; None for one in which its reading ended."""
    cut = request.parsed.error is not None and (text or "").endswith(CUT)
    return None if cut else text


def _queue(to: str | None) -> str | None:
    """The format name of a destination, [MC-MQSRM] 2.2.4.2."""
    if to is None:
        return None
    if to.lower().startswith(_WEB):
        return f"DIRECT={to}"
    # Another text is no queue of SRMP (``path.to``), and still where the message was to go.
    return to.removeprefix("MSMQ:") or None


def _asked(http: HttpMessage) -> str | None:
    """The format name that a request itself goes to, where its envelope tells none."""
    target, host = http.target, (http.header("host") or "").strip()
    if target.lower().startswith(_WEB):
        return f"DIRECT={target}"
    return f"DIRECT=http://{host}{target}" if host and _MSMQ.match(target) else None


def _message_id(is_msmq: bool, id_: str | None) -> str | None:
    """Queue manager and number as ``messages`` shows them, [MC-MQSRM] 2.2.4.3 and 3.1.5.1.1.

    An id of another form stays as it is.
    """
    if not is_msmq:
        # The id of other senders is ignored; every message of theirs gets this one.
        return f"{NULL_GUID}\\1"
    found = None if id_ is None else MESSAGE_ID.fullmatch(id_)
    return id_ or None if found is None else f"{found[2].lower()}\\{int(found[1])}"


def http_fields(fields: HeaderFields) -> tuple[SrmpField, ...]:
    """Headers as text."""
    return tuple(
        SrmpField(name=name.decode("latin-1"), value=value.decode("latin-1")) for name, value in fields
    )


def judge_request(request: SrmpRequest) -> tuple[Anomaly, ...]:
    """What is wrong with a request, at most 100 anomalies."""
    http, parsed = request.http, request.parsed
    head = len(http.head)
    root = request.multipart.root
    mime = request.multipart.problems
    if request.lacks:
        # What is not here makes no delimiter lack and no length lie.
        mime = tuple(one for one in mime if one.code not in ("mime.content-length", "mime.no-close"))
    beside = len(request.multipart.parts) - (root is not None)
    found = (
        *http.problems,
        *_judge_coding(request),
        *under("", mime, head),
        *under("envelope", judge_receipt_parts(parsed.kind, beside), head),
        *_judge_parts(request, head),
        *under("envelope", parsed.anomalies, head + (0 if root is None else root.offset)),
    )
    return found[:MAX_ANOMALIES]


def _judge_coding(request: SrmpRequest) -> Iterator[Anomaly]:
    """A compressed body, of which [MC-MQSRM] says nothing; offsets of its parts count unpacked bytes."""
    if request.packed:
        packed = escaped(request.packed[:_LONGEST_CODING])
        unread = ""
        if request.unpacked is None:
            unread = ", which is not read"
        elif request.http.complete and request.lacks:
            unread = f", of which {request.unpacked:,} bytes are read"
        message = f"the body is compressed ({packed}){unread}: MSMQ does not send that"
        yield Anomaly(
            code="http.content-encoding",
            message=message,
            path="headers",
            offset=0,
            length=len(request.http.head),
            spec=_CODED,
        )


def under(prefix: str, anomalies: Sequence[Anomaly], base: int) -> Iterator[Anomaly]:
    """Anomalies of a part, as those of the whole."""
    for one in anomalies:
        path = f"{prefix}.{one.path}" if prefix and one.path else prefix or one.path
        yield msgspec.structs.replace(one, path=path, offset=one.offset + base)


def _judge_parts(request: SrmpRequest, head: int) -> Iterator[Anomaly]:
    """Whether the parts are those that a message has, and those that its signature names."""
    for place, (part, role) in enumerate(request.roles):
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
    named = Counter(_reference(one.uri) for one in signature.signed_info.references)
    there = {f"cid:{part.content_id}" for part, role in request.roles if role in _ROLES}
    for uri in named:
        if uri not in there:
            message = "the signature covers a part that is not there"
            yield _signed("srmp_message.reference", message)
    for uri in there - set(named):
        yield _signed("srmp_message.unsigned-part", f"the signature does not cover {uri[4:20]}")


def _reference(uri: str | None) -> str | None:
    """A URI as the parts are named here."""
    named = None if uri is None else content_id_of(uri)
    return uri if named is None else f"cid:{named}"


def _signed(code: str, message: str) -> Anomaly:
    path = "envelope.header.signature"
    return Anomaly(code=code, message=message, path=path, offset=0, length=0, spec=_SIGNED)


def error_of(request: SrmpRequest) -> DecodeError | None:
    """Why a request cannot be read to its end; None when it can."""
    http, error = request.http, request.parsed.error
    if request.lacks:
        reported = (
            "the compressed body is not read to its end" if http.complete else "the request is not complete"
        )
        return DecodeError(request.lacks, reported, offset=len(http.head) + len(http.body))
    if error is None:
        return None
    root = request.multipart.root
    offset = (error.offset or 0) + len(http.head) + (0 if root is None else root.offset)
    path = f"envelope.{error.path}" if error.path else "envelope"
    return DecodeError(error.code, error.message, path=path, offset=offset, spec=error.spec)
