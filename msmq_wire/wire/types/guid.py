"""GUID, [MS-DTYP] 2.3.4 by way of [MS-MQMQ] 2.2.18.1.1."""

import uuid
from typing import ClassVar, Self

from msmq_wire.arguments import check_text, shown
from msmq_wire.buffers import as_bytes
from msmq_wire.spec import SpecRef
from msmq_wire.wire.fields import Bytes


class GUID(bytes):
    """Sixteen bytes: three little-endian numbers (32, 16, 16 bits), then eight bytes as they are.

    The value is the bytes of the wire; ``str`` gives the text, lower case, 8-4-4-4-12.
    """

    __slots__ = ()
    SPEC: ClassVar[SpecRef] = SpecRef("MS-MQMQ", "2.2.18.1.1")
    MADE_BY: ClassVar[str] = "GUID.parse(text)"

    def __new__(cls, data: bytes = b"") -> Self:
        """Take the bytes of a buffer; their number is judged where they are encoded."""
        return super().__new__(cls, as_bytes(data))

    @classmethod
    def stem(cls) -> str:
        """The one name of this type."""
        return "guid"

    @classmethod
    def schema(cls) -> Bytes:
        """The construct schema: sixteen bytes."""
        return Guid

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read the text form, with or without braces; ValueError when it is none."""
        check_text("a GUID", text)
        try:
            return cls(uuid.UUID(text).bytes_le)
        except ValueError:
            raise ValueError(f"{shown(text)} is no GUID, such as {uuid.UUID(int=0)}") from None

    def __str__(self) -> str:
        a = self.hex()
        return (
            f"{a[6:8]}{a[4:6]}{a[2:4]}{a[0:2]}-{a[10:12]}{a[8:10]}-{a[14:16]}{a[12:14]}-{a[16:20]}-{a[20:32]}"
        )

    def __repr__(self) -> str:
        return f"GUID.parse({str(self)!r})"


Guid = Bytes(16, GUID)
NULL_GUID = GUID(bytes(16))
