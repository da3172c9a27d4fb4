"""MIME multipart/related, as SRMP messages use it, and bodies of one part.

Windows writes no line end between the data of a part and the delimiter behind it, so data that ends in a line
end, or holds the delimiter, can only be told by its Content-Length. The rule: where a delimiter, or the end,
lies exactly behind the bytes that Content-Length counts, they are the part; else the first delimiter ends it
and Content-Length lies.
"""

from __future__ import annotations

import binascii
import re
from collections.abc import Iterable
from urllib.parse import unquote

import msgspec

from msmq_wire.buffers import as_bytes
from msmq_wire.errors import EncodeError
from msmq_wire.spec import SpecRef
from msmq_wire.srmp.http.message import HeaderFields, header_fields
from msmq_wire.wire.musts import Anomaly

MAX_PARTS = 64
"""Parts that are taken apart; what follows them is the epilogue."""
_MAX_HEADERS = 16 << 10
_MAX_FIELDS = 256
_MAX_BOUNDARY = 1024
_MAX_PARAMETERS = 64
_SPEC = SpecRef("MC-MQSRM", "2.2.2")

# A name, then a value in quotes, which may lack its end, or one up to the next semicolon.
_PARAMETER = re.compile(r';\s*([^\s=;"]{1,64})\s*=\s*(?:"((?:[^"\\]|\\.)*)"?|([^;"]*))', re.DOTALL)
_QUOTED_PAIR = re.compile(r"\\(.)", re.DOTALL)
_LINE_REST = re.compile(rb"[ \t]*(?:\r?\n|\Z)")
_HEADERS_END = re.compile(rb"\r?\n\r?\n")
_EMPTY_LINE = re.compile(rb"\r?\n")
_DIGITS = re.compile(rb"[0-9]{1,18}")
_FIELD_NAME = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,64}")
# Blanks at either end do not survive the quotes of every reader.
_BOUNDARY = re.compile(
    r"[0-9A-Za-z'()+_,\-./:=?](?:[0-9A-Za-z'()+_,\-./:=? ]{0,68}[0-9A-Za-z'()+_,\-./:=?])?"
)


class MimePart(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One part: ``data`` begins at ``offset`` of the body; ``content_length`` is what its header claims."""

    headers: HeaderFields
    data: bytes
    offset: int
    content_length: int | None = None

    def header(self, name: str) -> str | None:
        """The value of the first header ``name`` in any case, read as Latin-1; None when there is none."""
        value = _field(self.headers, name.lower().encode("latin-1", "replace"))
        return None if value is None else value.decode("latin-1")

    @property
    def content_type(self) -> str:
        """The media type in lower case, without parameters; empty when the part does not say."""
        return _media_type(self.header("content-type") or "")

    @property
    def content(self) -> bytes:
        """What ``data`` means by its Content-Transfer-Encoding (RFC 2045 6), as it is where none fits."""
        match (self.header("content-transfer-encoding") or "").strip().lower():
            case "base64":
                try:
                    return binascii.a2b_base64(b"".join(self.data.split()), strict_mode=True)
                except binascii.Error:
                    return self.data
            case "quoted-printable":
                return binascii.a2b_qp(self.data)
        return self.data

    @property
    def content_id(self) -> str:
        """The Content-Id without angle brackets; empty when there is none."""
        return _bare(self.header("content-id") or "")


class Multipart(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A body taken apart; a body that is no multipart is one part with the headers of its message.

    ``content_type`` is the media type in lower case, ``start`` the Content-Id of the root part, both empty
    when not said. ``preamble`` and ``epilogue`` are the bytes before the first and behind the last delimiter.
    ``problems`` count from the start of the body.
    """

    content_type: str
    boundary: str = ""
    start: str = ""
    parts: tuple[MimePart, ...]
    preamble: bytes = b""
    epilogue: bytes = b""
    problems: tuple[Anomaly, ...] = ()

    @property
    def root(self) -> MimePart | None:
        """The part that ``start`` names, else the first one; None when there are none."""
        wanted = _bare(self.start)
        named = (part for part in self.parts if part.content_id == wanted) if wanted else iter(())
        return next(named, self.parts[0] if self.parts else None)


def parse_content_type(value: str) -> tuple[str, dict[str, str]]:
    """The media type in lower case and its parameters, names in lower case; at most 64, the first one counts.

    Values may be quoted, and need not be where they hold blanks.
    """
    _, semicolon, rest = value.partition(";")
    parameters: dict[str, str] = {}
    for number, found in enumerate(_PARAMETER.finditer(semicolon + rest)):
        if number >= _MAX_PARAMETERS:
            break
        name, quoted, plain = found.groups()
        text = plain.strip() if quoted is None else _QUOTED_PAIR.sub(r"\1", quoted)
        parameters.setdefault(name.lower(), text)
    return _media_type(value), parameters


def _media_type(content_type: str) -> str:
    return content_type.partition(";")[0].strip().lower()


def parse_multipart(content_type: str, body: bytes) -> Multipart:
    """Take ``body`` apart as the Content-Type of its message says. Nothing is raised, nothing is dropped.

    Problems have the codes ``mime.boundary`` (no usable boundary parameter), ``mime.no-part`` (the delimiter
    does not occur), ``mime.headers`` (a part without the empty line behind its headers),
    ``mime.content-length`` (it counts other bytes than the delimiters enclose), ``mime.delimiter-inside``
    (the part that Content-Length counts holds a delimiter: other readers may end it there),
    ``mime.no-close`` (no closing delimiter) and ``mime.part-count``. [MC-MQSRM] 2.2.2, [RFC2046] 5.1
    """
    body = as_bytes(body, "body")
    media, parameters = parse_content_type(content_type)
    if not media.startswith("multipart/"):
        headers = ((b"Content-Type", content_type.encode("latin-1", "replace")),) if content_type else ()
        return Multipart(content_type=media, parts=(MimePart(headers=headers, data=body, offset=0),))
    boundary = parameters.get("boundary", "")
    problems: list[Anomaly] = []
    if not 0 < len(boundary) <= _MAX_BOUNDARY:
        problems.append(_anomaly("mime.boundary", "no usable boundary parameter", "content_type", 0, 0))
        boundary = _shown_boundary(body)
    splitter = _Splitter(body, boundary.encode("latin-1", "replace"), problems)
    if boundary:
        splitter.split()
    return Multipart(
        content_type=media,
        boundary=boundary,
        start=parameters.get("start", ""),
        parts=tuple(splitter.parts),
        preamble=body[: splitter.begin],
        epilogue=body[splitter.end :],
        problems=tuple(problems),
    )


def _shown_boundary(body: bytes) -> str:
    """The boundary in the first line of ``body``; empty when that is no delimiter."""
    line = body[: _MAX_BOUNDARY + 4].partition(b"\n")[0].strip()
    return line[2:].decode("latin-1") if line.startswith(b"--") and len(line) < _MAX_BOUNDARY else ""


class _Splitter:
    """Walks once through a body; the preamble ends at ``begin``, the epilogue begins at ``end``."""

    __slots__ = ("_body", "_delimiter", "_problems", "begin", "end", "parts")

    def __init__(self, body: bytes, boundary: bytes, problems: list[Anomaly]) -> None:
        self._body = body
        self._delimiter = b"--" + boundary
        self._problems = problems
        self.parts: list[MimePart] = []
        self.begin = self.end = len(body)

    def split(self) -> None:
        body = self._body
        at, after, closes = self._find(0)
        if at < 0:
            self._note("mime.no-part", "the delimiter does not occur", "body", 0, len(body))
            return
        self.begin = at
        while not closes and len(self.parts) < MAX_PARTS:
            at, after, closes = self._take_part(after)
            if at < 0:
                self.end = after
                self._note("mime.no-close", "no closing boundary follows the last part", "body", len(body), 0)
                return
        self.end = after
        if not closes:
            message = f"more than {MAX_PARTS} parts"
            self._note("mime.part-count", message, "body", after, len(body) - after)

    def _take_part(self, start: int) -> tuple[int, int, bool]:
        """Take the part whose headers begin at ``start``; return the delimiter behind it, see `_find`."""
        body, path = self._body, f"parts[{len(self.parts)}]"
        first = self._find(start)
        stop = len(body) if first[0] < 0 else first[0]
        headers: HeaderFields = ()
        data_at = start
        empty = _EMPTY_LINE.match(body, start, stop)
        end = None if empty else _HEADERS_END.search(body, start, min(stop, start + _MAX_HEADERS))
        if empty is not None:
            data_at = empty.end()
        elif end is not None:
            headers, data_at = header_fields(body[start : end.start()])[0][:_MAX_FIELDS], end.end()
        elif stop > start:
            self._note("mime.headers", "no empty line behind the headers", path, start, stop - start)
        claimed = _field(headers, b"content-length")
        length = int(claimed) if claimed is not None and _DIGITS.fullmatch(claimed) else None
        following = None if length is None else self._delimiter_behind(data_at + length)
        if following is None and first[0] < 0 and length is not None and data_at + length <= len(body):
            # No delimiter says otherwise: what is left behind the part may be one that was cut.
            end_at, following = data_at + length, (-1, data_at + length, False)
            message = f"Content-Length counts {length} of the {stop - data_at} bytes up to the end"
            self._note("mime.content-length", message, path, data_at, stop - data_at)
        elif following is None:
            # A line end before a delimiter belongs to it, unless Content-Length says otherwise.
            end_at, following = self._line_end_before(data_at, stop) if first[0] >= 0 else stop, first
            if claimed is not None:
                message = (
                    f"Content-Length does not end at the delimiter: the part has {end_at - data_at} bytes"
                )
                self._note("mime.content-length", message, path, data_at, end_at - data_at)
        else:
            assert length is not None
            end_at = data_at + length
            if stop < end_at:
                message = "the data holds the delimiter: Content-Length and delimiters differ"
                self._note("mime.delimiter-inside", message, path, stop, end_at - stop)
        self.parts.append(
            MimePart(headers=headers, data=body[data_at:end_at], offset=data_at, content_length=length)
        )
        return following

    def _find(self, start: int) -> tuple[int, int, bool]:
        """The next delimiter line: where it begins and ends, and whether it closes; begins at -1: none."""
        at = self._body.find(self._delimiter, start)
        while at >= 0:
            line = self._delimiter_at(at)
            if line is not None:
                return line
            at = self._body.find(self._delimiter, at + 1)
        return -1, len(self._body), False

    def _delimiter_at(self, at: int) -> tuple[int, int, bool] | None:
        body, delimiter = self._body, self._delimiter
        if not body.startswith(delimiter, at):
            return None
        end = at + len(delimiter)
        if body.startswith(b"--", end):
            return at, end + 2, True
        rest = _LINE_REST.match(body, end)
        return None if rest is None else (at, rest.end(), False)

    def _delimiter_behind(self, at: int) -> tuple[int, int, bool] | None:
        """The delimiter, or the end, that lies at ``at`` or one line end behind it; None: other bytes do."""
        body = self._body
        if at > len(body):
            return None
        if at == len(body):
            return -1, at, False
        line_end = _EMPTY_LINE.match(body, at)
        return self._delimiter_at(at) or (self._delimiter_at(line_end.end()) if line_end else None)

    def _line_end_before(self, start: int, stop: int) -> int:
        body = self._body
        for line_end in (b"\r\n", b"\n"):
            if body.endswith(line_end, start, stop):
                return stop - len(line_end)
        return stop

    def _note(self, code: str, message: str, path: str, offset: int, length: int) -> None:
        self._problems.append(_anomaly(code, message, path, offset, length))


def build_multipart(parts: Iterable[tuple[Iterable[tuple[str, str]], bytes]], boundary: str) -> bytes:
    """Write parts (headers and data) in the shape that Windows sends; Content-Length is added where it lacks.

    No line end precedes a delimiter, one follows the last. EncodeError for a boundary or a header that cannot
    be written.
    """
    if not _BOUNDARY.fullmatch(boundary):
        raise EncodeError("a boundary has 1 to 70 characters of [RFC2046] 5.1.1", path="boundary")
    delimiter = b"--" + boundary.encode("ascii")
    written = []
    for number, (headers, data) in enumerate(parts):
        fields = list(headers)
        if not any(name.lower() == "content-length" for name, _ in fields):
            # Behind Content-Type, where Windows writes it.
            fields.insert(1, ("Content-Length", str(len(data))))
        lines = [_header_line(name, value, f"parts[{number}]") for name, value in fields]
        written += [delimiter, b"\r\n", *lines, b"\r\n", data]
    if not written:
        raise EncodeError("a multipart body has a part at least", path="parts")
    return b"".join([*written, delimiter, b"--\r\n"])


def _header_line(name: str, value: str, path: str) -> bytes:
    try:
        text = value.encode("latin-1")
    except UnicodeEncodeError:
        raise EncodeError("a header is Latin-1 text", path=path) from None
    if not _FIELD_NAME.fullmatch(name) or any(byte < 0x20 and byte != 0x09 for byte in text):
        raise EncodeError("a header has a name and is one line", path=path)
    return name.encode("ascii") + b": " + text + b"\r\n"


def _field(headers: HeaderFields, name: bytes) -> bytes | None:
    for key, value in headers:
        if key.lower() == name:
            return value
    return None


def _bare(content_id: str) -> str:
    return content_id.strip().removeprefix("<").removesuffix(">").strip()


def content_id_of(url: str) -> str | None:
    """The Content-Id that a ``cid:`` URL names, percent signs decoded; None for another URL. [RFC2392] 2"""
    scheme, colon, rest = url.strip().partition(":")
    return _bare(unquote(rest, "latin-1")) if colon and scheme.lower() == "cid" else None


def _anomaly(code: str, message: str, path: str, offset: int, length: int) -> Anomaly:
    return Anomaly(code=code, message=message, path=path, offset=offset, length=length, spec=_SPEC)
