from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from msmq_wire.rpc.verification_trailer import SIGNATURE, split_verification_trailer

# [MS-RPCE] 2.2.2.13: bitmask, presentation context, header copy (the last one, must be processed).
BITMASK = bytes.fromhex("0100 0400 01000000")
PCONTEXT = bytes.fromhex(
    "0200 2800 dd34911a397bba45ad8844d01ca47f28 0100 0000 045d888aeb1cc9119fe808002b104860 0200 0000"
)
HEADER2 = bytes.fromhex("03c0 1000 00 00 0000 10000000 09000000 0100 0700")
MAGIC = bytes.fromhex("8a e3 13 71 02 f4 36 71")
TRAILER = MAGIC + BITMASK + PCONTEXT + HEADER2


def test_the_signature_is_that_of_the_specification() -> None:
    assert SIGNATURE == MAGIC


def test_a_trailer_is_taken_off() -> None:
    assert split_verification_trailer(b"parameters\0\0" + TRAILER) == (b"parameters\0\0", TRAILER)


def test_a_stub_may_be_nothing_but_its_trailer() -> None:
    assert split_verification_trailer(TRAILER) == (b"", TRAILER)


@pytest.mark.parametrize(
    "stub",
    [
        b"",
        b"parameters",
        b"abc" + TRAILER,
        TRAILER + b"\0\0\0\0",
        TRAILER[:-1],
        MAGIC,
        MAGIC + BITMASK,
        MAGIC + bytes.fromhex("0140 0800 0100000000000000"),
        MAGIC + bytes.fromhex("0740 0200 0000"),
        MAGIC + BITMASK + bytes.fromhex("0140 0400 01000000"),
        MAGIC + bytes.fromhex("0740 ffff 00000000"),
    ],
)
def test_what_is_no_whole_trailer_stays_in_the_stub(stub: bytes) -> None:
    assert split_verification_trailer(stub) == (stub, b"")


def test_a_trailer_inside_the_message_does_not_hide_what_follows_it() -> None:
    stub = MAGIC + bytes.fromhex("0700") + (len(TRAILER) - 4).to_bytes(2, "little") + b"data" + TRAILER
    assert split_verification_trailer(stub) == (stub[: -len(TRAILER)], TRAILER)


@pytest.mark.slow
def test_a_stub_full_of_signatures_is_left_alone() -> None:
    stub = MAGIC * 200_000
    assert split_verification_trailer(stub) == (stub, b"")


@given(st.binary(max_size=64), st.lists(st.sampled_from([MAGIC, BITMASK, HEADER2, b"\7\0\0\0", b"x"])))
def test_nothing_is_lost_and_what_is_split_off_is_a_trailer_alone(front: bytes, parts: list[bytes]) -> None:
    data = front + b"".join(parts)
    stub, trailer = split_verification_trailer(data)
    assert stub + trailer == data
    if trailer:
        assert split_verification_trailer(trailer) == (b"", trailer)


def test_a_signature_in_the_last_command_of_a_bare_trailer_does_not_hide_it() -> None:
    # SEC_VT_COMMAND_END (0x4000) with a command of a type unknown, and twelve bytes of it.
    trailer = MAGIC + bytes.fromhex("0740 0c00") + MAGIC + b"data"
    assert split_verification_trailer(trailer) == (b"", trailer)
