"""`SentCounts` and `ReceivedCounts`: what 16 bits and 32 flags stand for. [MS-MQQB] 3.1.1.4"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from msmq_wire.lab.model.binary.session_counts import ReceivedCounts, SentCounts
from msmq_wire.wire.headers.session_header import SessionHeader


def sent(recoverable: list[bool]) -> SentCounts[int]:
    """Packets by their numbers."""
    counts: SentCounts[int] = SentCounts()
    for number, one in enumerate(recoverable, 1):
        counts.add(number, recoverable=one)
    return counts


def receive(counts: ReceivedCounts, *, recoverable: bool) -> None:
    """A packet comes, and is stored if it is recoverable."""
    counts.add()
    if recoverable:
        counts.store()


@pytest.mark.rule("MQQB-3.1.5.5.2-1", "MQQB-3.1.7.1.3-7")
def test_an_acknowledgment_covers_all_up_to_its_number() -> None:
    counts = sent([False] * 5)
    assert counts.acknowledge(SessionHeader(ack_sequence_number=3)) == ([1, 2, 3], [])
    assert counts.acknowledge(SessionHeader(ack_sequence_number=2)) == ([], [])
    assert counts.acknowledge(SessionHeader(ack_sequence_number=6)) == ([], [])
    assert (counts.unacknowledged, counts.waiting) == (2, True)
    assert counts.acknowledge(SessionHeader(ack_sequence_number=5)) == ([4, 5], [])
    assert (counts.unacknowledged, counts.waiting) == (0, False)


@pytest.mark.rule("MQQB-3.1.5.5.3-1", "MQQB-3.1.5.5.3-2", "MQQB-3.1.7.1.3-8")
def test_flags_name_stored_packets_from_the_lowest_number_on() -> None:
    counts = sent([True, False, True, True, True])
    header = SessionHeader(recoverable_msg_ack_seq_number=2, recoverable_msg_ack_flags=0b101)
    # Recoverable packet 1 is below the lowest number; 2 and 4 have a bit, 3 has none.
    assert counts.acknowledge(header) == ([], [1, 3, 5])
    assert counts.acknowledge(header) == ([], [])
    header = SessionHeader(recoverable_msg_ack_seq_number=3, recoverable_msg_ack_flags=1)
    assert counts.acknowledge(header) == ([], [4])
    # The lowest number is that of a stored packet, whatever bit 0 says.
    assert sent([True, True]).acknowledge(SessionHeader(recoverable_msg_ack_seq_number=1)) == ([], [1])


def test_flags_of_what_was_not_sent_say_nothing() -> None:
    counts = sent([True, True])
    for low in (3, 9, 0xFFFF):
        header = SessionHeader(recoverable_msg_ack_seq_number=low, recoverable_msg_ack_flags=0xFFFFFFFF)
        assert counts.acknowledge(header) == ([], [])
    header = SessionHeader(recoverable_msg_ack_seq_number=1, recoverable_msg_ack_flags=0xFFFFFFFF)
    assert counts.acknowledge(header) == ([], [1, 2])


@pytest.mark.rule(
    "MQQB-3.1.5.8.7-5", "MQQB-3.1.5.8.7-7", "MQQB-3.1.6.4-4", "MQQB-3.1.6.4-5", "MQQB-3.1.6.4-8"
)
def test_a_header_names_the_lowest_recoverable_number_that_was_not_acknowledged() -> None:
    counts, nothing = ReceivedCounts(), sent([])
    for recoverable in (False, True, True):
        receive(counts, recoverable=recoverable)
    assert counts.header(nothing, 64) == SessionHeader(
        ack_sequence_number=3, recoverable_msg_ack_seq_number=1, recoverable_msg_ack_flags=0b11
    )
    receive(counts, recoverable=False)
    header = counts.header(sent([True, False]), 7)
    assert header == SessionHeader(
        ack_sequence_number=4, user_msg_sequence_number=2, recoverable_msg_seq_number=1, window_size=7
    )
    receive(counts, recoverable=True)
    assert counts.header(nothing, 64).recoverable_msg_ack_seq_number == 3


def test_counts_agree_modulo_sixteen_bits() -> None:
    counts = ReceivedCounts()
    nothing = sent([])
    for _ in range(0x10002):
        receive(counts, recoverable=True)
        if counts.full:
            counts.header(nothing, 64)
    assert counts.agrees(SessionHeader(user_msg_sequence_number=2, recoverable_msg_seq_number=2))
    assert not counts.agrees(SessionHeader(user_msg_sequence_number=2, recoverable_msg_seq_number=1))
    assert not counts.agrees(SessionHeader(user_msg_sequence_number=1, recoverable_msg_seq_number=2))


@given(st.lists(st.tuples(st.booleans(), st.booleans()), max_size=200), st.sampled_from([0, 0xFFE0, 0x1FFF0]))
def test_what_is_received_is_acknowledged_and_stored_once(
    steps: list[tuple[bool, bool]], before: int
) -> None:
    out: SentCounts[int] = SentCounts()
    back, nothing = ReceivedCounts(), sent([])
    out.messages = out.recoverable = back.messages = back.recoverable = before
    out._acknowledged = back._last_acknowledged = before
    received: list[int] = []
    stored: list[int] = []
    for number, (recoverable, acknowledges) in enumerate(steps):
        out.add(number, recoverable=recoverable)
        back.add()
        if back.full or acknowledges:
            some, kept = out.acknowledge(back.header(nothing, 64))
            received += some
            stored += kept
        if recoverable:
            back.store()
    some, kept = out.acknowledge(back.header(nothing, 64))
    assert received + some == list(range(len(steps)))
    assert stored + kept == [number for number, (recoverable, _) in enumerate(steps) if recoverable]
    assert not out.waiting
