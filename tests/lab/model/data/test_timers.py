"""`Timers`: what happens, in which order, and that time never goes back."""

from __future__ import annotations

from functools import partial

from hypothesis import given
from hypothesis import strategies as st

from msmq_wire.lab.model.data.timers import INFINITE, Timers


def test_a_timer_goes_off_once_when_it_is_due() -> None:
    timers, seen = Timers(100), []
    timer = timers.start(50, lambda: seen.append(timers.now))
    timers.advance(149)
    assert (seen, timer.running, timers.next_due) == ([], True, 150)
    timers.advance(400)
    timers.advance(500)
    assert (seen, timer.running, timers.next_due, timers.now) == ([150], False, None, 500)


def test_a_cancelled_timer_does_not_go_off() -> None:
    timers, seen = Timers(), []
    timer = timers.start(1, lambda: seen.append(1))
    assert timers.running == 1
    timer.cancel()
    timers.advance(10)
    assert (seen, timers.running) == ([], 0)


def test_an_infinite_timer_never_goes_off_and_is_not_held() -> None:
    timers = Timers()
    timer = timers.start(INFINITE, lambda: None)
    timers.advance(1 << 60)
    assert (timer.running, timers.next_due, timers.running) == (True, None, 0)


def test_a_timer_that_a_timer_starts_goes_off_in_its_turn() -> None:
    timers, seen = Timers(), []

    def first() -> None:
        seen.append(("first", timers.now))
        timers.start(5, lambda: seen.append(("second", timers.now)))

    timers.start(10, first)
    timers.start(12, lambda: seen.append(("between", timers.now)))
    timers.advance(100)
    assert seen == [("first", 10), ("between", 12), ("second", 15)]


def test_time_does_not_go_back() -> None:
    timers = Timers(10)
    timers.advance(5)
    assert timers.now == 10


@given(st.lists(st.tuples(st.integers(0, 30), st.booleans()), max_size=40), st.integers(0, 40))
def test_timers_go_off_by_time_and_then_by_start(starts: list[tuple[int, bool]], until: int) -> None:
    timers = Timers()
    seen: list[int] = []
    for number, (duration, cancelled) in enumerate(starts):
        timer = timers.start(duration, partial(seen.append, number))
        if cancelled:
            timer.cancel()
    timers.advance(until)
    kept = [(duration, number) for number, (duration, gone) in enumerate(starts) if not gone]
    assert seen == [number for duration, number in sorted(kept) if duration <= until]


def test_timers_that_were_cancelled_are_not_held_for_long() -> None:
    timers, seen = Timers(), []
    kept = timers.start(90_000, lambda: seen.append(timers.now))
    for _ in range(1000):
        timers.start(80_000, lambda: None).cancel()
        timers.start(INFINITE, lambda: None).cancel()
    assert len(timers._heap) < 200
    assert (timers.running, timers.next_due) == (1, 90_000)
    timers.advance(100_000)
    assert (seen, kept.running) == ([90_000], False)
    kept.cancel()
    assert timers.next_due is None
