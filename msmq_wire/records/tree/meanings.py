"""The bits of a word as lines: name, value and meaning, as their declaration has them."""

from __future__ import annotations

from collections.abc import Iterator

from msmq_wire.wire.fields import WireStruct
from msmq_wire.wire.musts import Bit


def bit_rows(cls: type[WireStruct], word: int) -> Iterator[tuple[str, str, str]]:
    """Name, value and meaning of the bits that are set in the word of a structure."""
    assert cls.BITS is not None
    for bit in cls.BITS.bits.values():
        number = (word & bit.mask) >> bit.shift
        if not number and not bit.at_zero:
            continue
        named = selected(bit, number)
        text = f"{number:#x}" if number > 9 else str(number)
        meaning = "reserved" if bit.reserved else bit.doc
        yield bit.name, text, f"{meaning}: {named}" if named else meaning


def selected(bit: Bit, number: int) -> str:
    """The name of what a group of bits selects, empty where its values have no names."""
    if bit.names is None:
        return ""
    try:
        return str(bit.names(number).name)
    except ValueError:
        return "unknown value"
