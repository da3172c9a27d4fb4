"""SRMP envelopes among other bytes: where one begins and ends, and the message that it belongs to.

The rule kept here: an envelope is known by its root element and by the namespaces of SOAP and SRMP at its
start. It holds no other one and no NUL, so no byte is looked at for two of them.
"""

from __future__ import annotations

import re

from msmq_wire.capture.carve.validation import Validation
from msmq_wire.records.srmp_content import SrmpRequest, error_of, judge_request, packet_of, take_apart
from msmq_wire.records.srmp_records import record_type
from msmq_wire.srmp.http.connection import parse_message
from msmq_wire.srmp.http.message import HttpMessage, is_credible
from msmq_wire.wire.headers.base_header import MAX_PACKET_SIZE
from msmq_wire.wire.musts import Anomaly

NAMESPACE = b"schemas.xmlsoap.org/soap/envelope/"
"""What every root element says, and few other bytes: what is searched for."""
AROUND = 8 << 10
"""Bytes before a root element that may belong to its message: the head of a request, and of its part."""
REACH = MAX_PACKET_SIZE + (1 << 16)
"""Bytes from a root element on that may belong to its message."""
SRMP_TYPES = ("srmp_message", "srmp_receipt")
_SRMP = b"schemas.xmlsoap.org/srmp/"
LONGEST_TAG = 4096
"""Bytes in which a root element says what it is."""
_ROOT = re.compile(rb"<(?:([A-Za-z_][\w.-]{0,63}):)?Envelope(?=[\s>])")
_CLOSING = re.compile(rb"</(?:([A-Za-z_][\w.-]{0,63}):)?Envelope\s{0,64}>|\0")
_PART_HEAD = re.compile(
    rb"--([^\r\n]{1,1000})\r?\n(?:[^\r\n]{1,1000}\r?\n){0,64}\r?\n(?:\xef\xbb\xbf)?(?:<\?xml[^>]{0,200}>\s{0,16})?\Z"
)
_XML = re.compile(rb"\nContent-Type:[ \t]*text/xml", re.IGNORECASE)
_LINES = 64
"""Places that are tried as the begin of a delimiter."""
_REQUEST_HEAD = re.compile(rb"\r?\n\r?\n(?:\xef\xbb\xbf)?(?:<\?xml[^>]{0,200}>\s{0,16})?\Z")


def find_root(data: bytes | bytearray, at: int) -> int:
    """Where the start tag begins that says `NAMESPACE` at ``data[at:]``; -1 where that is in no root."""
    first = max(0, at - LONGEST_TAG)
    begin = data.rfind(b"<", first, at)
    return begin if begin >= 0 and _ROOT.match(data, begin) and data.find(b">", begin, at) < 0 else -1


def is_srmp(data: bytes | bytearray, root: int, following: int) -> bool:
    """Whether an envelope names SRMP where it says what it is, before the next one begins."""
    end = min(root + LONGEST_TAG, following)
    nul = data.find(b"\0", root, end)
    return data.find(_SRMP, root, end if nul < 0 else nul) >= 0


def walk_envelope(data: bytes, root: int, following: int, *, alone: bool = False) -> Validation:
    """Judge the envelope at ``data[root:]``, with `AROUND` before it and `REACH` behind it if they are there.

    ``following`` is where the next root element begins, or the end. ``before`` of the result counts the bytes
    of its message before the root element; an envelope ``alone`` is all of its message.
    """
    end = _end(data, root, following)
    if end < 0:
        there = data.find(b"\0", root, following)
        stop = following if there < 0 else there
        # What stands in the element in which it ends may be a part of that.
        judged = max(root, data.rfind(b"</", root, stop))
        request = _request(data[root:judged], b"text/xml", complete=False)
        return _walk(request, 0, stop - root, "the end of its envelope is not there")
    request, start, stop = _around(data, root, end, alone=alone)
    return _walk(request, root - start, stop - start, "the end of its last part is not there")


def request_of(data: bytes, before: int) -> SrmpRequest:
    """The request that a find holds, as `walk_envelope` found it; without its head it has none."""
    following = len(data)
    end = _end(data, before, following)
    if end < 0:
        return _request(data[before:], b"text/xml", complete=False)
    # What lies alone is all that there is.
    return _around(data, before, end, alone=False)[0]


def _end(data: bytes, root: int, following: int) -> int:
    """Where the end tag of an envelope ends; -1 where it is not there."""
    tag = _ROOT.match(data, root)
    assert tag is not None
    for found in _CLOSING.finditer(data, root, following):
        if found[0] == b"\0":
            break
        if found[1] == tag[1]:
            return found.end()
    return -1


def _around(data: bytes, root: int, end: int, *, alone: bool) -> tuple[SrmpRequest, int, int]:
    """The message around a whole envelope: its request, and where its bytes begin and end."""
    lead = b"" if alone else data[max(0, root - AROUND) : root]
    begin = root - len(lead)
    part = _part_head(lead)
    head_end = root if part is None else begin + part.start()
    post = lead.rfind(b"POST ", 0, head_end - begin)
    if post >= 0 and _REQUEST_HEAD.search(data[begin + post : head_end]) and is_credible(lead[post:]):
        http, _ = parse_message(data[begin + post : root + REACH])
        if http is not None and len(http.head) <= root - begin - post < http.length:
            return take_apart(http), begin + post, begin + post + http.length
    if part is None:
        return _request(data[root:end], b"text/xml", complete=True), root, end
    start = begin + part.start()
    closing = b"--" + part[1].rstrip() + b"--"
    close = data.find(closing, end, root + REACH)
    stop = end if close < 0 else close + len(closing)
    content_type = b'multipart/related; boundary="' + part[1].rstrip().replace(b'"', b'\\"') + b'"'
    return _request(data[start:stop], content_type, complete=close >= 0), start, stop


def _part_head(lead: bytes) -> re.Match[bytes] | None:
    """The delimiter and the head of the part that begins where ``lead`` ends."""
    at = len(lead)
    for _ in range(_LINES):
        at = lead.rfind(b"--", 0, at)
        if at < 0:
            break
        found = _PART_HEAD.match(lead, at)
        if found is not None and lead[at - 1 : at] in (b"", b"\n", b"\0") and _XML.search(found[0]):
            return found
    return None


def _request(body: bytes, content_type: bytes, *, complete: bool) -> SrmpRequest:
    """What was found without the head of its request."""
    http = HttpMessage(
        from_client=True,
        http_version="",
        head=b"",
        headers=((b"Content-Type", content_type),),
        body=body,
        complete=complete,
        frames=(),
        time=0,
        offset=0,
        length=len(body),
    )
    return take_apart(http)


def _walk(request: SrmpRequest, before: int, length: int, cut: str) -> Validation:
    type_ = record_type(packet_of(request))
    error, anomalies = error_of(request), judge_request(request)
    if not request.http.complete and not anomalies:
        return Validation("cut", type_, length, reason=cut, before=before)
    if error is None and not anomalies:
        return Validation("intact", type_, length, before=before)
    reported = [*anomalies[:3]]
    return Validation(
        "broken", type_, length, reason="; ".join(map(_reported, reported)) or str(error), before=before
    )


def _reported(anomaly: Anomaly) -> str:
    return f"{anomaly.path}: {anomaly.message}"
