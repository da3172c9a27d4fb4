"""The grammar of HTTP/1.1, judged strictly: what is wrong with a head or with trailers, in words.

The rule kept here: one problem is told, of the first line that breaks the grammar, else of the first header
that cannot be meant ([RFC9112] 3 to 6). h11, a library that is as strict, says the same: a test asks it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

TOKEN = rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]"
"""A character of a method, or of the name of a header."""
_TEXT = rb"[^\0\r\n\f\v]*+"
_START = re.compile(
    TOKEN + rb"++ [\x21-\x7e]++ HTTP/(?P<version>\d\.\d)\r?\n"
    rb"|HTTP/\d\.\d (?P<status>\d{3})(?: " + _TEXT + rb")?\r?\n"
)
_FIELDS = re.compile(
    # A header with all its lines, or none of it.
    rb"(?:" + TOKEN + rb"++:" + _TEXT + rb"\r?\n(?:[ \t]" + _TEXT + rb"\r?\n)*(?![ \t]))*(?:\r?\n\Z)?"
)
_WHOLE_FIELD = re.compile(rb"[^\n]*(?:\n[ \t][^\n]*)*")
_FOLD = re.compile(rb"\r?\n[ \t]+")
_LENGTH = re.compile(rb"[0-9]{1,20}")
_MAX_TEXT = 160  # characters of a problem that quotes the traffic


def head_problem(head: bytes, fields: Iterable[tuple[bytes, bytes]]) -> str:
    """What breaks the grammar in a head with these ``fields``, up to its empty line; empty when nothing."""
    start = _START.match(head)
    if start is None:
        kind = "status" if head.startswith(b"HTTP/") else "request"
        return _quoting(f"illegal {kind} line", head.partition(b"\n")[0])
    problem = fields_problem(head, fields, start.end())
    if problem:
        return problem
    if start["status"] is not None:
        return "a status code below 100" if start["status"] < b"100" else ""
    hosts = sum(name.lower() == b"host" for name, _ in fields)
    if not hosts and start["version"] == b"1.1":
        return "Missing mandatory Host: header"
    return "Found multiple Host: headers" if hosts > 1 else ""


def fields_problem(block: bytes, fields: Iterable[tuple[bytes, bytes]], at: int = 0) -> str:
    """The same of header lines that begin at ``at`` of a block."""
    found = _FIELDS.match(block, at)
    end = at if found is None else found.end()
    if end < len(block):
        if block.startswith((b" ", b"\t"), end):
            return "continuation line at start of headers"
        whole = _WHOLE_FIELD.match(block, end)
        return _quoting("illegal header line", b"" if whole is None else _FOLD.sub(b" ", whole[0]))
    length: bytes | None = None
    chunked = False
    for name, value in fields:
        match name.lower():
            case b"content-length":
                claimed = {one.strip() for one in value.split(b",")}
                one = claimed.pop()
                if claimed:
                    return "conflicting Content-Length headers"
                if not _LENGTH.fullmatch(one):
                    return "bad Content-Length"
                if length not in (None, one):
                    return "conflicting Content-Length headers"
                length = one
            case b"transfer-encoding":
                if chunked:
                    return "multiple Transfer-Encoding headers"
                if value.strip().lower() != b"chunked":
                    return "Only Transfer-Encoding: chunked is supported"
                chunked = True
    return ""


def _quoting(problem: str, line: bytes) -> str:
    quoted = repr(line.removesuffix(b"\r"))[2:-1]
    return f'{problem}: "{quoted}"'[:_MAX_TEXT]
