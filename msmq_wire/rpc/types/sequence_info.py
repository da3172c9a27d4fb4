"""SEQUENCE_INFO: where a message stands in a sequence, [MS-MQMQ] 2.2.5.1."""

from __future__ import annotations

import struct
from typing import ClassVar, Self

import msgspec

from msmq_wire.spec import SpecRef

_LAYOUT = struct.Struct("<qII")


class SequenceInfo(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """SEQUENCE_INFO: a sequence, the number of a message in it, and that of the message before."""

    SPEC: ClassVar[SpecRef] = SpecRef("MS-MQMQ", "2.2.5.1")
    seq_id: int = 0
    seq_no: int = 0
    prev_no: int = 0

    @classmethod
    def parse(cls, data: bytes) -> Self | None:
        """What 16 bytes say; None for fewer or more."""
        if len(data) != _LAYOUT.size:
            return None
        seq_id, seq_no, prev_no = _LAYOUT.unpack(data)
        return cls(seq_id=seq_id, seq_no=seq_no, prev_no=prev_no)

    def to_bytes(self) -> bytes:
        """The 16 bytes."""
        return _LAYOUT.pack(self.seq_id, self.seq_no, self.prev_no)

    def __str__(self) -> str:
        return f"{self.seq_no} after {self.prev_no} in sequence {self.seq_id}"
