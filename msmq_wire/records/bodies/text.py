"""Bodies that are text: the encoding, and whether the text is XML or JSON.

The rule kept here: control characters other than blanks mean that bytes are no text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from msmq_wire.records.bodies.body import Body, BodyKinds, Confidence, Details, shortened
from msmq_wire.records.bodies.json_text import json_value
from msmq_wire.records.bodies.xml_text import xml_form

KINDS = (
    BodyKinds(
        ("text",),
        "VT_LPSTR, VT_LPWSTR, VT_BSTR; a byte order mark; UTF-16 by its zero bytes; UTF-8 without control "
        "characters",
        "the text",
    ),
    BodyKinds(
        ("xml",), "text that begins with a tag", "laid out, if it is well-formed; the name of the root"
    ),
    BodyKinds(("json",), "text that is an object or a list", "laid out"),
)

_BOMS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))
BEGINS = tuple(mark for mark, _ in _BOMS)
"""What a text with a byte order mark begins with."""
_NAMES = {"utf-8": "UTF-8", "utf-16-le": "UTF-16", "utf-16-be": "UTF-16", "cp1252": "Windows-1252"}
_NARROW = ("utf-8", "cp1252")
_ALLOWED_CONTROLS = frozenset("\t\n\r\f")
# NUL may end a text.
_CONTROL = re.compile(rb"[\x01-\x08\x0b\x0e-\x1f\x7f]")
_BEGINNING = 64
_LISTED = 32


def with_byte_order_mark(data: bytes) -> tuple[str, int] | None:
    """The encoding that a byte order mark names, and the length of the mark; None without one."""
    return next(((encoding, len(bom)) for bom, encoding in _BOMS if data.startswith(bom)), None)


def looks_wide(data: bytes) -> bool:
    """Whether most code units of the beginning are Latin letters in UTF-16."""
    # What fills a buffer says nothing of the text before it.
    head = data.rstrip(b"\0")[:512]
    if len(head) < len(data) and len(head) % 2:
        head += b"\0"
    if head.count(0) * 4 < len(head) // 2 * 3:
        # Too few zero bytes, wherever they are.
        return False
    return len(head) >= 4 and head[1::2].count(0) * 4 >= len(head[1::2]) * 3 and 0 not in head[0:4:2]


def is_utf8(data: bytes) -> bool:
    """Whether bytes are UTF-8, but for a character that the end may cut, and hold no control characters."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        if error.start < len(data) - 3:
            return False
    return _CONTROL.search(data) is None


def text_body(data: bytes, encoding: str, confidence: Confidence) -> Body | None:
    """The body as text in an encoding (``utf-8``, ``utf-16-le``, ``utf-16-be``, ``cp1252``).

    ``confidence`` is that of the encoding, and of the kind where it is plain text. A character that is cut
    by the end is left out, and so are terminators. None when the bytes are no text.
    """
    if encoding in _NARROW and _CONTROL.search(data, 0, _BEGINNING):
        return None
    text = _decoded(data, encoding)
    if text is None:
        return None
    text = text.rstrip("\0")
    if not text or any(c < " " and c not in _ALLOWED_CONTROLS for c in set(text)) or "\x7f" in text:
        return None
    name = _NAMES.get(encoding, encoding)
    start = text.lstrip()[:2]
    if start[:1] == "<" and (start[1:].isalpha() or start[1:] in ("?", "!", "_", ":")):
        return _xml(text, name)
    if start[:1] in ("{", "["):
        body = _json(text, name)
        if body is not None:
            return body
    return Body(kind="text", confidence=confidence, title="text", text=text, encoding=name, extension="txt")


def _decoded(data: bytes, encoding: str) -> str | None:
    # A cut body may end inside a character, a whole one in a terminator.
    if encoding.startswith("utf-16"):
        data = data[: len(data) & ~1]
    for cut in range(4):
        try:
            return data[: len(data) - cut].decode(encoding)
        except UnicodeDecodeError as error:
            if error.start < len(data) - 4:
                return None
    return None


def _xml(text: str, encoding: str) -> Body:
    form, root = xml_form(text.strip())
    confidence: Confidence = "certain"
    details: Details = (("root", root),) if root else ()
    if form != "well-formed":
        confidence = "guess" if form == "malformed" else "likely"
        details += (("form", form),)
    return Body(
        kind="xml",
        confidence=confidence,
        title="XML",
        text=text,
        encoding=encoding,
        details=details,
        extension="xml",
    )


def _members(value: Mapping[str, object]) -> str:
    more = f", and {len(value) - _LISTED:,} more" if len(value) > _LISTED else ""
    return ", ".join(list(value)[:_LISTED]) + more


def _json(text: str, encoding: str) -> Body | None:
    try:
        value = json_value(text)
    except ValueError:
        return None
    details: Details = ()
    if isinstance(value, dict):
        details = (("members", shortened(_members(value))),)
    elif isinstance(value, list):
        details = (("elements", str(len(value))),)
    return Body(
        kind="json",
        confidence="certain",
        title="JSON",
        text=text,
        encoding=encoding,
        details=details,
        extension="json",
    )
