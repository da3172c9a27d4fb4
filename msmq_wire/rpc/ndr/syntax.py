"""The transfer syntaxes: `NDR` in both byte orders and `NDR64`.

[C706] 14.1, [MS-RPCE] 2.2.4.12 and 2.2.5.1.
"""

from __future__ import annotations

from functools import cache
from struct import Struct

import msgspec


class Syntax(msgspec.Struct, frozen=True, eq=False, gc=False):
    """The layout of scalars, pointers and counts in a stub.

    ``wide`` is NDR64: pointers, counts and offsets of 8 bytes, enumerations of 4, structures padded to their
    alignment and unions aligned to their largest arm.
    """

    name: str
    big_endian: bool = False
    wide: bool = False

    def __reduce__(self) -> str:
        # What was pickled is the same object again: plans and decoders are kept by syntax.
        return "NDR64" if self.wide else "NDR_BIG_ENDIAN" if self.big_endian else "NDR"

    @property
    def order(self) -> str:
        """The byte order as `struct` writes it."""
        return ">" if self.big_endian else "<"

    @property
    def count(self) -> str:
        """The `struct` letter of pointers, counts and offsets."""
        return "Q" if self.wide else "I"

    def layout(self, format: str) -> Struct:
        """A compiled `struct` format in this byte order."""
        return _layout(self.order + format)


_layout = cache(Struct)

NDR = Syntax("ndr")
NDR_BIG_ENDIAN = Syntax("ndr", big_endian=True)
NDR64 = Syntax("ndr64", wide=True)
