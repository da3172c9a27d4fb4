"""Compressed bodies: gzip, zlib and bare deflate.

The rule kept here: at most 1 MiB is ever unpacked, to say what is inside; the bytes stay as they are.
"""

from __future__ import annotations

import zlib
from typing import Literal

import msgspec

from msmq_wire.records.bodies.body import BodyKinds

KINDS = (
    BodyKinds(
        ("gzip", "zlib", "deflate"), "their header, and that they unpack", "what is inside, up to 1 MiB"
    ),
)

LARGEST_INFLATED = 1 << 20
_SHORTEST_DEFLATE = 16
_BLOCK_TYPE = 6
"""Two bits of the first byte; there is no block of type 3."""

_FORMATS: dict[str, int] = {"gzip": 31, "zlib": 15, "deflate": -15}


class InflatedBody(msgspec.Struct, frozen=True):
    """What was unpacked, at most 1 MiB; ``whole`` when that is all and the check sum is right."""

    format: Literal["gzip", "zlib", "deflate"]
    data: bytes
    whole: bool


def inflate(data: bytes) -> InflatedBody | None:
    """Unpack the beginning of a compressed body; None when it is not one.

    Bare deflate has no mark of its own and is accepted only when all of the bytes are one stream.
    """
    if data[:3] == b"\x1f\x8b\x08":
        return _inflated("gzip", data)
    if data[:1] == b"\x78" and len(data) > 2 and int.from_bytes(data[:2], "big") % 31 == 0:
        return _inflated("zlib", data)
    if len(data) < _SHORTEST_DEFLATE or data[0] & _BLOCK_TYPE == _BLOCK_TYPE:
        return None
    found = _inflated("deflate", data)
    return found if found is not None and found.whole and found.data else None


def _inflated(name: Literal["gzip", "zlib", "deflate"], data: bytes) -> InflatedBody | None:
    stream = zlib.decompressobj(_FORMATS[name])
    try:
        inflated = stream.decompress(data, LARGEST_INFLATED)
    except zlib.error:
        return None
    return InflatedBody(name, inflated, stream.eof and not stream.unused_data)
