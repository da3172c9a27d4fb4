"""What stands for text and bytes that must not leave the house: as long as they were, and empty of them."""

from __future__ import annotations

import re
from typing import TypeVar

from msmq_wire.wire.types.wchar_text import FixedWcharText, WcharText

__all__ = ["blank", "blank_host", "blank_text"]

_B = TypeVar("_B", bound=bytes)

# Protocol and slashes, host, path; what is no known protocol is host.
_HOSTED = re.compile(
    r"((?:DIRECT=)?(?:(?:OS|TCP|SPX|IPX|(HTTPS?)):)?[/\\]*)([^/\\]*)([/\\].*)", re.IGNORECASE | re.DOTALL
)


def blank(value: _B) -> _B:
    """Letters for a text, zeros for bytes."""
    if not isinstance(value, WcharText):
        return type(value)(bytes(len(value)))
    end = len(value)
    if isinstance(value, FixedWcharText):
        end = value.used
    elif value.terminated:
        end -= 2
    return type(value)((b"x\0" * (end // 2)).ljust(len(value), b"\0"))


def blank_host(value: _B) -> _B:
    """A direct name or a path name with letters for its host; of bytes that are an address nothing stays.

    What is behind the end of the text goes too, and the query of a URL.
    """
    if not isinstance(value, WcharText) or len(value) % 2:
        return blank(value)
    text, nul, _ = bytes(value).decode("utf-16-le", "surrogatepass").partition("\0")
    found = _HOSTED.fullmatch(text)
    if found is None:
        return blank(value)
    before, url, host, path = found.groups()
    if url:
        asked = re.split("[?#]", path, maxsplit=1)[0]
        path = asked + blank_text(path[len(asked) :])
    shown = f"{before}{blank_text(host)}{path}{nul}"
    return type(value)(shown.encode("utf-16-le", "surrogatepass").ljust(len(value), b"\0"))


def blank_text(text: str) -> str:
    """As many letters as the text has code units."""
    return "x" * (len(text.encode("utf-16-le", "surrogatepass")) // 2)
