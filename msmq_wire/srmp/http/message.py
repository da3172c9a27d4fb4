"""HTTP messages as plain values, and what their heads say.

Heads are read leniently, since broken ones are evidence as well; `grammar` says what breaks the rules.
"""

from __future__ import annotations

import re
from typing import Literal, TypeAlias

import msgspec

from msmq_wire.buffers import as_bytes
from msmq_wire.spec import SpecRef
from msmq_wire.srmp.http.grammar import TOKEN, head_problem
from msmq_wire.wire.musts import Anomaly

MAX_HEAD = 64 << 10
"""Bytes of start line and headers that are read as one head."""
BLANK_LINES = (b"\n\r\n", b"\n\n")
"""What a head ends with."""
_MAX_FIELDS = 256
_MAX_DIGITS = 19
_SPEC = SpecRef("MC-MQSRM", "2.1.1")

HeaderFields: TypeAlias = tuple[tuple[bytes, bytes], ...]
HoleReason: TypeAlias = Literal["loss", "snaplen", "pending-limit", "no-start-line"]

_START_LINE = re.compile(
    # Receivers take more blanks than one, and the name of the protocol in any case.
    rb"(?P<method>"
    + TOKEN
    + rb"{1,32}) {1,8}(?P<target>[^\r\n]*[^\r\n ]) {1,8}(?i:HTTP)/(?P<version>\d\.\d)\r?\n"
    rb"|HTTP/(?P<answered>\d\.\d) (?P<status>\d{3})(?: (?P<reason>[^\r\n]*))?\r?\n"
)
# No repetition here runs into another candidate for long, so a search is linear.
_SEARCHED = re.compile(
    rb"(?:GET|HEAD|POST|PUT|DELETE|CONNECT|OPTIONS|TRACE|PATCH) [^\s]{1,2048} HTTP/1\.[01]\r?\n"
    rb"|HTTP/1\.[01] [1-5]\d\d(?: [^\r\n]{0,256})?\r?\n"
)
LONGEST_SEARCHED = 2080
"""No start line that a search finds has more bytes."""
_BEGINNING = re.compile(
    rb"(?:GET|HEAD|POST|PUT|DELETE|CONNECT|OPTIONS|TRACE|PATCH) {1,8}[^\s]|HTTP/1\.[01] [1-5]\d\d[ \r]"
)
_TO_MSMQ = re.compile(rb"/msmq(?:[/?]|\Z)", re.IGNORECASE)
_SRMP_HEADER = re.compile(
    rb"\nSOAPAction:[ \t]*\"?MSMQMessage|\nContent-Type:[ \t]*multipart/related;[^:]{0,200}boundary=\"?MSMQ",
    re.IGNORECASE,
)
_LOOKED_AT = 8 << 10


class HttpMessage(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One request or response.

    A request has ``method`` and ``target``, a response ``status`` and ``reason``; text is the bytes sent,
    read as Latin-1. ``head`` is the start line and the headers as sent, ``headers`` the first 256 fields of
    it with folded lines joined by a blank, ``trailers`` those behind a chunked body. ``body`` is free of
    chunk sizes; ``missing`` lists ranges (start, length) of the body that the capture lacks, which
    ``body`` leaves out. ``complete`` says that all of the message is there. ``problems`` count from the start
    of the message.

    ``frames`` are the distinct frames that carried it, ``time`` is that of the last one captured, ``offset``
    counts from the first byte of the direction, ``length`` is what the message takes there, bytes missing in
    the middle included. [MC-MQSRM] 2.1.1
    """

    from_client: bool
    method: str = ""
    target: str = ""
    status: int = 0
    reason: str = ""
    http_version: str
    head: bytes
    headers: HeaderFields
    trailers: HeaderFields = ()
    body: bytes = b""
    missing: tuple[tuple[int, int], ...] = ()
    complete: bool
    problems: tuple[Anomaly, ...] = ()
    frames: tuple[int, ...]
    time: int
    offset: int
    length: int

    @property
    def is_request(self) -> bool:
        """Whether it is a request."""
        return bool(self.method)

    def header(self, name: str) -> str | None:
        """The value of the first header ``name`` in any case, read as Latin-1; None when there is none."""
        wanted = name.lower().encode("latin-1", "replace")
        for key, value in self.headers:
            if key.lower() == wanted:
                return value.decode("latin-1")
        return None


class HttpExchange(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A request with its response, or one of them where the other was not captured.

    ``interim`` are responses 1xx before the response, which may be all there is. Without ``certain``
    something was lost before, and the two may not belong together.
    """

    request: HttpMessage | None
    response: HttpMessage | None
    interim: tuple[HttpMessage, ...] = ()
    certain: bool = True


class HttpHole(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Bytes of one direction that are in no message: not captured (``missing``), or behind no start line.

    ``length`` is None where nobody knows it; ``data`` holds at most the first 256 bytes.
    """

    from_client: bool
    reason: HoleReason
    missing: bool
    frames: tuple[int, ...]
    time: int
    offset: int
    length: int | None
    data: bytes = b""


class Head(msgspec.Struct, frozen=True, gc=False):
    """What a head says; ``fields`` are all its headers, ``problems`` what is wrong with it."""

    method: str
    target: str
    status: int
    reason: str
    http_version: str
    fields: HeaderFields
    problems: tuple[Anomaly, ...]

    @property
    def shown(self) -> HeaderFields:
        """The fields that a message keeps."""
        return self.fields[:_MAX_FIELDS]


class Framing(msgspec.Struct, frozen=True, gc=False):
    """Where a body ends: after ``length`` bytes, at the last chunk, where the connection ends; or unknown."""

    kind: Literal["length", "chunked", "close", "unknown"]
    length: int = 0
    problems: tuple[Anomaly, ...] = ()


def anomaly(code: str, message: str, path: str, offset: int = 0, length: int = 0) -> Anomaly:
    """What is wrong with a message, ``offset`` and ``length`` counted from its start."""
    return Anomaly(code=code, message=message, path=path, offset=offset, length=length, spec=_SPEC)


def is_start_line(data: bytes | bytearray) -> bool:
    """Whether ``data`` begins with the start line of a message."""
    return _START_LINE.match(data) is not None


def find_start_line(data: bytes | bytearray) -> tuple[int, int]:
    """Where the first start line in ``data`` begins and ends; (-1, -1) when there is none."""
    found = _SEARCHED.search(data)
    return found.span() if found else (-1, -1)


def looks_like_http(data: bytes) -> bool:
    """Whether ``data``, the first bytes of a side, begin like an HTTP/1 message."""
    return _BEGINNING.match(data) is not None


def is_credible(data: bytes) -> bool:
    """Whether a segment of a client looks like an SRMP request, whatever the port.

    That is a POST whose target has a segment ``msmq``, or a request with the SOAPAction or the multipart
    boundary that MSMQ sends.
    """
    if not looks_like_http(data) or data.startswith(b"HTTP/"):
        return False
    begin = bytes(data[:_LOOKED_AT])
    line = _START_LINE.match(begin)
    if line is None:
        return False
    to_msmq = line["method"] == b"POST" and _TO_MSMQ.search(line["target"]) is not None
    return to_msmq or _SRMP_HEADER.search(begin) is not None


def parse_head(head: bytes) -> Head:
    """Read a head whose first line is a start line; bytes behind the headers must not follow.

    Problems have the codes ``http.grammar`` (by `head_problem`), ``http.header-line`` (no name and colon)
    and ``http.header-count`` (more fields than a message keeps).
    """
    head = as_bytes(head, "head")
    found = _START_LINE.match(head)
    parts = found.groups(b"") if found else (b"",) * _START_LINE.groups
    method, target, version, answered, status, reason = (part.decode("latin-1") for part in parts)
    fields, broken = header_fields(head[found.end() if found else 0 :])
    problems = []
    # A head that was cut breaks nothing by its end.
    reported = head_problem(head, fields) if head.endswith(BLANK_LINES) else ""
    if reported:
        problems.append(anomaly("http.grammar", reported, "head", 0, len(head)))
    if broken:
        message = f"{broken} lines of the head are no headers"
        problems.append(anomaly("http.header-line", message, "headers", 0, len(head)))
    if len(fields) > _MAX_FIELDS:
        message = f"{len(fields)} headers, of which the first {_MAX_FIELDS} are kept"
        problems.append(anomaly("http.header-count", message, "headers", 0, len(head)))
    return Head(method, target, int(status or 0), reason, version or answered, fields, tuple(problems))


def header_fields(block: bytes) -> tuple[HeaderFields, int]:
    """The fields of a block of header lines, and how many lines are none.

    A line that begins with a blank goes on with the one before it ([RFC2616] 2.2); MSMQ folds Content-Type.
    """
    fields: list[tuple[bytes, list[bytes]]] = []
    broken = 0
    for line in block.split(b"\n"):
        if not line.strip():
            continue
        if line[:1] in (b" ", b"\t") and fields:
            fields[-1][1].append(line.strip())
            continue
        name, colon, value = line.partition(b":")
        if colon and name:
            fields.append((name, [value.strip()]))
        else:
            broken += 1
    return tuple((name, b" ".join(values)) for name, values in fields), broken


def framing(head: Head, answered: str) -> Framing:
    """Where the body behind ``head`` ends; ``answered`` is the method of the request that a response is for.

    The rules of [RFC2616] 4.4. Problems: ``http.both-lengths`` (Content-Length beside Transfer-Encoding,
    which wins: two readers may disagree), ``http.content-length`` (no number, or several), and
    ``http.transfer-encoding`` (not just chunked).
    """
    response, status = not head.method, head.status
    if response and (status < 200 or status in (204, 304) or answered == "HEAD"):
        return Framing("length")
    if response and answered == "CONNECT" and status < 300:
        return Framing("length")
    codings = _listed(head.fields, b"transfer-encoding")
    lengths = _listed(head.fields, b"content-length")
    problems = []
    if codings and lengths:
        message = (
            "it has Content-Length and Transfer-Encoding: two readers may find different ends of the body"
        )
        problems.append(anomaly("http.both-lengths", message, "headers"))
    if codings:
        if codings != [b"chunked"]:
            problems.append(anomaly("http.transfer-encoding", "not just chunked", "headers"))
        if codings[-1] == b"chunked":
            return Framing("chunked", 0, tuple(problems))
        return Framing("close" if response else "unknown", 0, tuple(problems))
    if lengths:
        length = _number(lengths[0])
        if length is None or len(set(lengths)) > 1:
            message = "Content-Length is no number" if length is None else "several Content-Lengths"
            problems.append(anomaly("http.content-length", message, "headers"))
            return Framing("unknown", 0, tuple(problems))
        return Framing("length", length)
    return Framing("close" if response else "length")


def _listed(fields: HeaderFields, name: bytes) -> list[bytes]:
    """The comma-separated elements of all headers ``name``, in lower case."""
    values = [value for key, value in fields if key.lower() == name]
    return [element.strip().lower() for value in values for element in value.split(b",")]


def _number(digits: bytes) -> int | None:
    return int(digits) if digits.isdigit() and len(digits) <= _MAX_DIGITS else None
