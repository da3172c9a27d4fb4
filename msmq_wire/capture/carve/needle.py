"""Where some bytes occur in others: by the C library where it has a search, which lets other threads run.

The rule kept here: the places are those of ``bytearray.find``.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable

_SHORT = 4096
"""Bytes in which a search takes less time than a call of the library."""
Find = Callable[[bytearray, bytes, int], int]


def _found_slowly(data: bytearray, needle: bytes, start: int) -> int:
    return data.find(needle, start)


def _of_library() -> Find:
    try:
        memmem = ctypes.CDLL(None).memmem
    except (AttributeError, OSError, TypeError):
        # Windows has none.
        return _found_slowly
    memmem.restype = ctypes.c_void_p
    memmem.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t)

    def found(data: bytearray, needle: bytes, start: int) -> int:
        left = len(data) - start
        if left < _SHORT:
            return data.find(needle, start)
        # The bytes cannot move while this lives.
        held = (ctypes.c_char * left).from_buffer(data, start)
        address = ctypes.addressof(held)
        place = memmem(address, left, needle, len(needle))
        return -1 if place is None else int(place) - address + start

    return found


find: Find = _of_library()
"""The first place of a needle, its second argument, from an offset on, its third; -1 where there is none."""
