"""A parser of user messages as a reader of docs/fuzzing.md may have one, with faults that can be planted."""

from __future__ import annotations

import struct
from typing import Any, Literal, TypeAlias

Fault: TypeAlias = Literal["", "endianness", "padding", "length", "bit", "presence"]
FAULTS: tuple[Fault, ...] = ("endianness", "padding", "length", "bit", "presence")


class Parser:
    """``parse`` returns a dictionary, or raises ValueError for what it refuses."""

    def __init__(self, fault: Fault = "") -> None:
        self._fault = fault

    def parse(self, data: bytes) -> dict[str, Any]:
        """The fields of a user message."""
        if len(data) < 68:
            raise ValueError("no headers")
        flags, signature, size = struct.unpack_from("<HII", data, 2)
        if signature != 0x524F494C or not 68 <= size <= len(data):
            raise ValueError("no packet")
        data = data[:size]
        order = ">" if self._fault == "endianness" else "<"
        [message_id] = struct.unpack_from(f"{order}I", data, 56)
        [user] = struct.unpack_from("<I", data, 60)
        at = 64
        for shift in (10, 13, 16):
            at = self._queue(data, at, user >> shift & 7, shift)
        at += 16 * (user >> 22 & 1)
        found: dict[str, Any] = {
            "size": size,
            "priority": flags >> 1 & 7 if self._fault == "bit" else flags & 7,
            "message_id": message_id,
            "hops": user & 31,
            "sequence_number": None,
        }
        if user >> 20 & 1 or self._fault == "presence":
            transaction, found["sequence_number"] = self._unpack("<I8xI4x", data, at)
            at += 20 + 16 * (transaction & 1)
        if user >> 19 & 1:
            at += 16 + sum(self._security(data, at))
        label, body_type, body, extension = self._unpack("<xB22xI4xI16xI", data, at)
        at += 56
        if at + 2 * label + extension + body > size and self._fault != "length":
            raise ValueError("a length past the end")
        found["label"] = data[at : at + 2 * label]
        at += 2 * label + extension
        found["body_type"] = body_type
        # Where the length is trusted, this reads past the end.
        found["body"] = bytes(data[at + place] for place in range(min(body, 1 << 16)))
        return found

    def _unpack(self, layout: str, data: bytes, at: int) -> tuple[Any, ...]:
        if at + struct.calcsize(layout) > len(data):
            raise ValueError("cut")
        return struct.unpack_from(layout, data, at)

    def _security(self, data: bytes, at: int) -> tuple[int, int]:
        flags, sender, key, signature, certificate, provider = self._unpack("<HHHHII", data, at)
        sizes = (sender, key, signature, certificate, provider)
        del flags
        return sum(size + (-size & 3) for size in sizes), 0

    def _queue(self, data: bytes, at: int, kind: int, shift: int) -> int:
        sizes = {0: 0, 2: 4, 3: 4, 5: 16, 6: 20}
        if shift == 16:
            sizes |= {1: 0, 4: 4}
        if shift == 10:
            sizes = {0: 0, 3: 4, 5: 16}
        if kind == 7:
            [count] = self._unpack("<H", data, at)
            return at + 2 + int(count) + (0 if self._fault == "padding" else -(count + 2) & 3)
        if kind not in sizes:
            raise ValueError("no such queue")
        return at + sizes[kind]
