"""One place of a packet: what its bytes are worth, whatever lies around it."""

from __future__ import annotations

import struct

import pytest

from fixtures.build_at_rest import message
from fixtures.build_content_packets import stored_message, trailers
from msmq_wire.capture.carve.packet_validation import PAGE, needed, walk
from tests.effort import cuts

_FIXED = 64
"""BaseHeader and the numbers of UserHeader."""


def test_a_packet_that_walks_to_its_end_is_intact_and_knows_its_body(order: bytes) -> None:
    walked = walk(order, 0, claimed=len(order))
    assert walked is not None
    assert (walked.part, walked.type, walked.length, walked.reason) == (
        "intact",
        "user_message",
        len(order),
        None,
    )
    assert order[slice(*walked.body)].decode("utf-16-le") == "<order id='4711'/>"


def test_a_packet_cut_anywhere_is_a_head_from_its_fixed_part_on(order: bytes) -> None:
    for size in cuts(len(order)):
        walked = walk(order[:size], 0, claimed=len(order))
        assert (walked is not None) == (size >= _FIXED), size
        if walked is not None:
            assert (walked.part, walked.length) == ("cut", size)
            assert walked.reason is not None
            assert str(len(order) - size) in walked.reason


@pytest.mark.parametrize(
    ("at", "value", "reported"),
    [
        (8, struct.pack("<I", 200), "message_properties_header.message_body"),
        (60, struct.pack("<I", 0x200000 | 6 << 10), "destination_queue"),
        (60, struct.pack("<I", 0x200000 | 7 << 10 | 0x40), "DM must be 0 or 1"),
        (2, b"\x08", "internal_header.reserved"),
    ],
)
def test_what_contradicts_itself_says_in_which_field(
    order: bytes, at: int, value: bytes, reported: str
) -> None:
    data = order[:at] + value + order[at + len(value) :]
    walked = walk(data, 0, claimed=len(data))
    assert walked is not None
    assert walked.part == "broken"
    assert reported in (walked.reason or "")


def test_a_packet_may_have_what_servers_add_to_stored_ones() -> None:
    data = stored_message(after=trailers())
    walked = walk(data, 0, claimed=len(data))
    assert walked is not None
    assert (walked.part, walked.type) == ("intact", "message_packet")


def test_a_packet_whose_last_pages_are_zeros_lacks_them() -> None:
    data = message(1, "long", "x" * 5000)
    page = PAGE - 500
    blank = data[: PAGE + page] + bytes(PAGE)
    walked = walk(blank, 500, claimed=len(data))
    assert walked is not None
    assert (walked.part, walked.length) == ("cut", PAGE + page)
    assert "zero" in (walked.reason or "")
    # What follows in the same page shows that it was there.
    walked = walk(blank[:-1] + b"\1", 500, claimed=len(data))
    assert walked is not None
    assert walked.part == "intact"


def test_a_packet_is_judged_by_its_bytes_up_to_the_border_of_a_page(order: bytes) -> None:
    assert needed(bytearray(order), 0, 0) == PAGE
    assert needed(bytearray(b"x" + order), 1, PAGE - len(order)) == len(order)
    assert needed(bytearray(order), 0, PAGE - 1) == PAGE + 1
