"""Text as JSON that controls nothing that shows it.

The rule kept here: what is not seen, or could move a cursor, end a line or turn the reading direction, stands
in a JSON text by its number. Plain ASCII costs no search for it.
"""

from __future__ import annotations

import json
import re
from json.encoder import encode_basestring
from typing import Any

from msmq_wire.invisible import UNSEEN

SCHEMA_VERSION = 1
"""Of documents and rows that are JSON, and of docs/schema: it grows when a key takes another meaning."""

_ON_ONE_LINE = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def _number(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x10000:
        return f"\\u{code:04x}"
    code -= 0x10000
    return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"


def json_string(text: str) -> str:
    """A text as a JSON string, as `json_line` writes it."""
    written = encode_basestring(text)
    return written if written.isascii() and "\x7f" not in written else UNSEEN.sub(_number, written)


def json_line(value: Any, *, indent: int | None = None) -> str:
    """A JSON text whose strings hold no unsafe character unescaped; on one line without ``indent``."""
    if indent is None:
        text = _ON_ONE_LINE(value)
    else:
        text = json.dumps(value, ensure_ascii=False, indent=indent, separators=(",", ": "))
    if text.isascii() and "\x7f" not in text:
        # JSON itself escapes the controls of ASCII, all but DEL.
        return text
    if indent is None:
        return UNSEEN.sub(_number, text)
    return "\n".join(UNSEEN.sub(_number, line) for line in text.split("\n"))
