"""Stubs in fragments: whatever the sizes, the parts are the stub, and no PDU is too large."""

from __future__ import annotations

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from msmq_wire.lab.rpc_fragments import MUST_RECEIVE, JoinedStub, agreed_fragment, fragments


@given(stub=st.binary(max_size=9000), size=st.integers(MUST_RECEIVE, 5840))
def test_fragments_join_to_the_stub(stub: bytes, size: int) -> None:
    parts = list(fragments(stub, size))
    joined = JoinedStub(len(stub))
    assert all(joined.add(part) for _, _, part in parts)
    assert joined.join() == stub
    flags = [flag for flag, _, _ in parts]
    assert flags == [3] if len(parts) == 1 else flags == [1, *[0] * (len(parts) - 2), 2]
    assert all(24 + len(part) <= size for _, _, part in parts)
    assert all(part and len(part) % 8 == 0 for _, _, part in parts[:-1])
    assert [hint for _, hint, _ in parts] == [
        sum(len(part) for _, _, part in parts[number:]) for number in range(len(parts))
    ]


def test_an_empty_stub_is_one_fragment() -> None:
    assert list(fragments(b"", 5840)) == [(3, 0, b"")]


def test_what_gets_too_large_is_not_held() -> None:
    joined = JoinedStub(10)
    assert joined.add(b"12345678")
    assert joined.size == 8
    assert not joined.add(b"123")
    assert joined.size == 0


def test_the_size_of_a_fragment_is_the_smaller_one_and_never_below_what_all_must_take() -> None:
    assert agreed_fragment(5840, 4280) == 4280
    assert agreed_fragment(4280, 5840) == 4280
    assert agreed_fragment(5840, 0) == 1432
    assert agreed_fragment(70_000, 0xFFFF) == 0xFFFF


@pytest.mark.slow
def test_many_small_fragments_cost_no_more_than_their_bytes() -> None:
    stub = JoinedStub(1 << 20)
    tracemalloc.start()
    try:
        for number in range(200_000):
            assert stub.add(number.to_bytes(4, "big"))
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held < 2 * stub.size
