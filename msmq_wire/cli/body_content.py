"""What a message body looks like: text, XML, JSON, a number or just bytes.

The rule kept here: a guess never changes the bytes, it only chooses how they are shown and which file name
they get.
"""

from __future__ import annotations

import json
from typing import Literal

import msgspec

from msmq_wire.wire.types.enumerations import BodyType

__all__ = ["BodyContent", "classify_body"]

Kind = Literal["xml", "json", "text", "number", "binary"]

_WIDE_TYPES = (BodyType.VT_LPWSTR, BodyType.VT_BSTR)
_NUMBERS = {
    BodyType.VT_I1: (1, True),
    BodyType.VT_UI1: (1, False),
    BodyType.VT_I2: (2, True),
    BodyType.VT_UI2: (2, False),
    BodyType.VT_I4: (4, True),
    BodyType.VT_UI4: (4, False),
    BodyType.VT_I8: (8, True),
    BodyType.VT_UI8: (8, False),
}
_BOMS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))
_LARGEST_JSON = 1 << 20
_ALLOWED_CONTROLS = frozenset("\t\n\r\f")


class BodyContent(msgspec.Struct, frozen=True):
    """What a body holds: its kind, its text if it has one, and how the text was encoded."""

    kind: Kind
    text: str | None = None
    encoding: str = ""

    @property
    def extension(self) -> str:
        """The file name extension for the bytes."""
        return {"xml": "xml", "json": "json", "text": "txt", "number": "bin", "binary": "bin"}[self.kind]


def classify_body(body: bytes, body_type: int = 0) -> BodyContent:
    """Say what a body holds; ``body_type`` is that of MessagePropertiesHeader. A cut body may be given."""
    number = _NUMBERS.get(BodyType(body_type)) if body_type in _NUMBERS else None
    if number is not None and len(body) == number[0]:
        return BodyContent("number", str(int.from_bytes(body, "little", signed=number[1])))
    if not body:
        return BodyContent("binary")
    for bom, encoding in _BOMS:
        if body.startswith(bom):
            return _as_text(body[len(bom) :], encoding) or BodyContent("binary")
    if body_type in _WIDE_TYPES or _looks_wide(body):
        wide = _as_text(body, "utf-16-le")
        if wide is not None:
            return wide
    return _as_text(body, "utf-8") or BodyContent("binary")


def _looks_wide(body: bytes) -> bool:
    """Whether most code units of the beginning are Latin letters in UTF-16."""
    head = body[:512]
    return len(head) >= 4 and head[1::2].count(0) * 4 >= len(head[1::2]) * 3 and 0 not in head[0:4:2]


def _as_text(body: bytes, encoding: str) -> BodyContent | None:
    # A cut body may end inside a character, a whole one in a terminator.
    data = body[: len(body) & ~1] if encoding.startswith("utf-16") else body
    for cut in range(4):
        try:
            text = data[: len(data) - cut].decode(encoding)
            break
        except UnicodeDecodeError as error:
            if error.start < len(data) - 4:
                return None
    else:
        return None
    text = text.rstrip("\0")
    if not text or any(c < " " and c not in _ALLOWED_CONTROLS for c in set(text)) or "\x7f" in text:
        return None
    name = "UTF-8" if encoding == "utf-8" else "UTF-16"
    return BodyContent(_kind(text), text, name)


def _kind(text: str) -> Kind:
    start = text.lstrip()[:1]
    if start == "<":
        return "xml"
    if start in ("{", "[") and len(text) <= _LARGEST_JSON:
        try:
            json.loads(text)
        except (ValueError, RecursionError):
            return "text"
        return "json"
    return "text"
