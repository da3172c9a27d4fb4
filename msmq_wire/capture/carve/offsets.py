"""Lists of offsets that other programs print: those of Volatility's yarascan, of grep, or one a line.

The rule kept here: a line that has no offset says nothing; what is no list at all is refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

from msmq_wire.errors import MsmqWireError

_SEPARATOR = re.compile(r"[\s,;:|]+")
_NUMBER = re.compile(r"0[xX][0-9a-fA-F]{1,16}|[0-9]{1,20}")
_MOST = 1 << 20
_LINE = 1 << 16


def read_offsets(lines: Iterable[str]) -> list[int]:
    """The offsets in a list, in order and each once: of every line the column ``Offset``, or the first one.

    Lines may be JSON objects, CSV, tables with blanks or tabs, or ``1234:...``. Raises MsmqWireError where no
    line has an offset, or more than 1,048,576 have.
    """
    found: set[int] = set()
    column = 0
    for line in lines:
        text = line[:_LINE].strip()
        if text.startswith("{"):
            offset = _of_object(text.rstrip(","))
        else:
            words = [word.strip('"') for word in _SEPARATOR.split(text.strip("[]"))]
            if "Offset" in words:
                column = words.index("Offset")
                continue
            word = words[column] if column < len(words) else ""
            offset = int(word, 0 if word[:2].lower() == "0x" else 10) if _NUMBER.fullmatch(word) else None
        if offset is not None:
            found.add(offset)
        if len(found) > _MOST:
            raise MsmqWireError(f"more than {_MOST:,} offsets: search the file without a list")
    if not found:
        raise MsmqWireError("no line of it begins with an offset, or has a column Offset")
    return sorted(found)


def _of_object(text: str) -> int | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    offset = value.get("Offset") if isinstance(value, dict) else None
    return offset if isinstance(offset, int) and 0 <= offset < 1 << 64 else None
