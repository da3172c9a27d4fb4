"""The frame around a mechanism's first token, [RFC 2743] 3.1, and the lengths of DER elements."""

from __future__ import annotations

import msgspec

# Encoded with tag and length, as they stand in a token.
SPNEGO_OID = bytes.fromhex("06062b0601050502")
KERBEROS_OID = bytes.fromhex("06092a864886f712010202")
# Windows 2000 lost a bit of the name, and every version since understands both, [MS-KILE] 3.1.5.1.
MICROSOFT_KERBEROS_OID = bytes.fromhex("06092a864882f712010202")

_FRAME = 0x60
_OBJECT_IDENTIFIER = 0x06
_LONG_FORM = 0x80
_LONGEST_LENGTH = 4


class FramedToken(msgspec.Struct, frozen=True, gc=False):
    """``mechanism`` is the encoded object identifier, ``inner`` what follows it in the frame."""

    mechanism: bytes
    inner: bytes


def first_element(data: bytes) -> bytes:
    """Return the DER element that ``data`` starts with, cut where the data end; zeros may follow a token."""
    if len(data) < 2:
        return data
    size, start = data[1], 2
    if size > _LONG_FORM:
        digits = size - _LONG_FORM
        if digits > _LONGEST_LENGTH:
            return data
        start += digits
        size = int.from_bytes(data[2:start], "big")
    return data[: start + size]


def unframe(token: bytes) -> FramedToken | None:
    """Remove the frame of a token; None without a frame.

    The length in the frame is not checked: in DCE style it covers only the header of the token.
    """
    if len(token) < 2 or token[0] != _FRAME:
        return None
    digits = token[1] - _LONG_FORM if token[1] > _LONG_FORM else 0
    start = 2 + digits
    identifier = token[start : start + 2]
    if digits > _LONGEST_LENGTH or len(identifier) < 2 or identifier[0] != _OBJECT_IDENTIFIER:
        return None
    end = start + 2 + identifier[1]
    return FramedToken(token[start:end], token[end:]) if end <= len(token) else None
