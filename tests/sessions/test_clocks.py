"""Clocks judged from SentTimes and capture times."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from msmq_wire.sessions import HostClock
from msmq_wire.sessions.clocks import Clocks, is_time, length_of_time, sender_of
from msmq_wire.wire.headers.base_header import SIGNATURE
from tests.effort import examples
from tests.sessions.tape import SECOND, SENDER, START, Tape

A = sender_of(SENDER, "192.0.2.21:49731")
DAY = 86400


def clock(*pairs: tuple[float, float]) -> HostClock:
    """The clock of these pairs: when they were captured, and how far SentTime is ahead, in seconds."""
    clocks = Clocks()
    for at, ahead in pairs:
        clocks.take(A, int(START / SECOND + at + ahead), START + round(at * SECOND))
    found = clocks.of(A)
    assert found is not None
    return found


def test_messages_that_agree_over_some_time_make_a_clock_sure() -> None:
    found = clock(*((10.0 * number, -5 * DAY) for number in range(6)))
    assert (found.offset, found.drift, found.pairs, found.agreeing, found.sure) == (-5 * DAY, 0.0, 6, 6, True)
    assert found.said == "the clock of 192.0.2.21 is 5 days behind that of the capture"
    assert found.astray


@pytest.mark.parametrize(
    "pairs",
    [
        [(0.0, -5 * DAY)],
        [(0.0, -5 * DAY), (60.0, -5 * DAY)],
        # A hundred messages that waited together are sent together.
        [(number / 100, -5 * DAY) for number in range(100)],
        # A queue that empties, and a SentTime that stands.
        [(float(number), -3600 + 60 * number) for number in range(16)],
        [(10.0 * number, -10.0 * number) for number in range(16)],
    ],
    ids=["one", "two", "a burst", "a queue that empties", "a time that stands"],
)
def test_what_a_queue_explains_as_well_makes_no_clock_sure(pairs: list[tuple[float, float]]) -> None:
    assert not clock(*pairs).sure


@pytest.mark.parametrize(("third", "early"), [(0, set()), (-59, set()), (59, {"192.0.2.21"})])
def test_a_message_that_was_captured_before_it_was_sent_is_early(third: float, early: set[str]) -> None:
    """It may have waited, and cannot have come before its time."""
    clocks = Clocks()
    for at in range(0, 300, 60):
        sent = START // SECOND - 5 * DAY + at + (third if at == 120 else 0)
        clocks.take(A, int(sent), START + at * SECOND)
    assert clocks.early() == early


def test_messages_that_waited_do_not_make_a_clock_slow() -> None:
    waited = [(1.0 + number / 10, -3600.0 - 97 * number) for number in range(40)]
    found = clock(*waited, *((60.0 * number, 0.0) for number in range(1, 9)))
    assert (found.offset, found.sure, found.agreeing) == (0, True, 8)
    assert found.pairs == 48


def test_a_time_that_is_made_up_does_not_make_a_clock_fast() -> None:
    pairs = [(30.0 * number, 0.0) for number in range(10)]
    found = clock(*pairs[:4], (100.0, 10 * DAY), *pairs[4:])
    assert (found.offset, found.sure) == (0, True)


@pytest.mark.parametrize("gains", [-2000.0, -40.0, 0.0, 40.0, 2000.0])
def test_a_clock_that_gains_or_loses_is_told_with_its_drift(gains: float) -> None:
    pairs = [(900.0 * number, 100 + gains * 900 * number / DAY) for number in range(96)]
    found = clock(*pairs)
    assert found.sure
    assert found.drift == pytest.approx(gains, abs=3)
    for at, ahead in (pairs[0], pairs[40], pairs[-1]):
        assert found.ahead(START + int(at) * SECOND) == pytest.approx(ahead, abs=3)


@settings(max_examples=examples(100))
@given(
    offset=st.integers(-10 * DAY, 10 * DAY),
    late=st.lists(st.floats(0, DAY), max_size=20),
    odd=st.integers(0, 5),
    seed=st.integers(0, 99),
)
def test_a_clock_is_found_among_messages_that_waited_and_times_that_are_made_up(
    offset: int, late: list[float], odd: int, seed: int
) -> None:
    chance = random.Random(seed)
    pairs = [(10.0 * number, offset - chance.random() / 2) for number in range(60)]
    pairs += [(chance.random() * 600, offset - wait) for wait in late]
    pairs += [(chance.random() * 600, chance.random() * 1e8) for _ in range(odd)]
    found = clock(*sorted(pairs))
    assert found.sure
    assert abs(found.offset - offset) <= 2


@settings(max_examples=examples(100))
@given(st.lists(st.tuples(st.integers(0, 2**63), st.integers(0, 2**32 - 1)), min_size=1, max_size=200))
def test_any_pairs_make_a_clock_of_sixteen_points(pairs: list[tuple[int, int]]) -> None:
    clocks = Clocks()
    for captured, sent in pairs:
        clocks.take(A, sent, captured)
    assert all(len(one.points) <= 16 for one in clocks._pairs.values())
    found = clocks.of(A)
    taken = sum(is_time(sent, captured) for captured, sent in pairs)
    assert (found is None, 0 if found is None else found.pairs) == (not taken, taken)


def test_the_letters_of_the_sample_frame_are_a_time_in_those_days_only() -> None:
    assert not is_time(SIGNATURE, START)
    assert not is_time(SIGNATURE, None)
    assert is_time(SIGNATURE, (SIGNATURE + 3) * SECOND)
    assert not is_time(0, START)
    assert not is_time(None, START)
    assert is_time(SIGNATURE + 1, START)


def test_a_borrowed_identifier_does_not_move_the_clock_of_its_owner() -> None:
    clocks, thief = Clocks(), sender_of(SENDER, "198.51.100.7:4000")
    for number in range(9):
        captured = START + 10 * number * SECOND
        clocks.take(A, captured // SECOND, captured)
        clocks.take(thief, captured // SECOND + DAY, captured)
    mine, other = clocks.of(A), clocks.of(thief)
    assert mine is not None
    assert other is not None
    assert (mine.offset, other.offset) == (0, DAY)
    elsewhere = clocks.of(sender_of(SENDER, "192.0.2.99:2103"))
    assert elsewhere == mine


def test_senders_without_end_are_bounded() -> None:
    clocks = Clocks()
    for number in range(5000):
        clocks.take(sender_of(number.to_bytes(16, "little"), "h:1"), START // SECOND, START)
    assert len(clocks) == 4096


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0 s"), (61, "1 min 1 s"), (5 * DAY, "5 days"), (DAY + 3700, "1 day 1 h")]
)
def test_lengths_of_time_have_their_two_largest_units(seconds: int, text: str) -> None:
    assert length_of_time(seconds) == text


def talk(tape: Tape, ahead: int, limit: int, acked: int = 0) -> None:
    """Six messages, 10 s apart, of a clock so far ahead; the first ones are acknowledged."""
    tape.open()
    for number in range(1, 7):
        sent = tape.time // SECOND + ahead
        tape.message(number, sent_time=sent, time_to_reach_queue=limit)
        if number <= acked:
            tape.ack(number)
        tape.wait(10)


def test_a_message_of_a_slow_clock_is_not_expired_when_it_is_sent(tape: Tape) -> None:
    talk(tape, -5 * DAY, 4 * DAY, acked=5)
    life = tape.life(1)
    assert (life.outcome, life.expired, life.clock_offset) == ("acknowledged", None, -5 * DAY)
    life = tape.life(6)
    assert (life.outcome, life.expired) == ("unknown", None)
    assert "the clock of 192.0.2.21 is 5 days behind that of the capture" in life.reason


def test_a_message_of_a_fast_clock_expires_when_its_clock_says_so(tape: Tape) -> None:
    talk(tape, 10 * DAY, 60, acked=5)
    assert tape.life(6).outcome == "unknown"
    tape.wait(61)
    tape.tcp("fin")
    assert (tape.life(6).outcome, tape.life(6).expired) == ("expired", "time_to_reach_queue")


def test_what_was_acknowledged_did_not_expire_where_no_clock_is_known(tape: Tape) -> None:
    tape.open()
    tape.message(1, sent_time=START // SECOND - 5 * DAY, time_to_reach_queue=4 * DAY)
    tape.ack(1)
    assert (tape.life().outcome, tape.life().expired) == ("acknowledged", None)
    tape.message(2, sent_time=START // SECOND - 5 * DAY, time_to_reach_queue=4 * DAY)
    assert tape.life(2).outcome == "expired"
    assert "or its sender's clock is slow" in tape.life(2).reason


def test_the_letters_of_the_sample_frame_expire_nothing(tape: Tape) -> None:
    tape.open()
    tape.message(1, sent_time=SIGNATURE, time_to_reach_queue=60)
    life = tape.life()
    assert (life.outcome, life.reach_by, life.expired) == ("unknown", None, None)
