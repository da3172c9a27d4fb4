"""The search for some bytes: the places of ``bytearray.find``, with the C library and without."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from msmq_wire.capture.carve.needle import _found_slowly, find

_FEW = st.lists(st.sampled_from(b"LIOR\0"), max_size=40).map(bytes)


@given(_FEW, st.integers(0, 50))
@example(b"", 0)
@example(b"LIO", 0)
@example(b"xLIOR", 2)
def test_the_places_are_those_of_bytearray(data: bytes, start: int) -> None:
    haystack = bytearray(data)
    assert find(haystack, b"LIOR", start) == haystack.find(b"LIOR", start)
    assert _found_slowly(haystack, b"LIOR", start) == haystack.find(b"LIOR", start)
    # Nothing holds the bytes any more.
    haystack.clear()
