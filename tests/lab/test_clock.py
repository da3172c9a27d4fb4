"""The loop's time drives the timers of the model."""

from __future__ import annotations

import asyncio

from msmq_wire.lab.clock import LoopClock
from msmq_wire.lab.model.data.timers import INFINITE, Timers


def test_a_timer_goes_off_in_the_loop_and_not_before_its_time() -> None:
    async def wait() -> None:
        timers, rung = Timers(5000), asyncio.Event()
        clock = LoopClock(timers)
        with clock.event():
            begun = timers.now
            timers.start(30, rung.set)
            timers.start(INFINITE, lambda: None)
        await asyncio.wait_for(rung.wait(), 30)
        assert timers.now >= begun + 30
        assert begun >= 5000
        clock.stop()

    asyncio.run(wait())


def test_a_sooner_timer_does_not_wait_for_a_later_one() -> None:
    async def wait() -> None:
        timers, rung = Timers(), asyncio.Event()
        clock = LoopClock(timers)
        with clock.event():
            timers.start(3_600_000, lambda: None)
        with clock.event():
            timers.start(20, rung.set)
        await asyncio.wait_for(rung.wait(), 30)
        clock.stop()

    asyncio.run(wait())


def test_timers_that_start_timers_go_on() -> None:
    async def wait() -> None:
        timers, done, rounds = Timers(), asyncio.Event(), list[int]()
        clock = LoopClock(timers)

        def again() -> None:
            rounds.append(timers.now)
            if len(rounds) < 5:
                timers.start(5, again)
            else:
                done.set()

        with clock.event():
            timers.start(0, again)
        await asyncio.wait_for(done.wait(), 30)
        assert rounds == sorted(rounds)
        clock.stop()

    asyncio.run(wait())


def test_a_timer_that_fails_does_not_stop_the_clock() -> None:
    async def wait() -> None:
        complaints: list[str] = []
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, reported: complaints.append(str(reported["exception"])))
        timers, rung = Timers(), asyncio.Event()
        clock = LoopClock(timers)

        def fail() -> None:
            raise ValueError("a rule that errs")

        with clock.event():
            timers.start(5, fail)
            timers.start(20, rung.set)
        await asyncio.wait_for(rung.wait(), 30)
        assert complaints == ["a rule that errs"]
        clock.stop()

    asyncio.run(wait())


def test_nothing_goes_off_after_the_end() -> None:
    async def wait() -> None:
        timers, rung = Timers(), list[int]()
        clock = LoopClock(timers)
        with clock.event():
            timers.start(5, lambda: rung.append(1))
        clock.stop()
        with clock.event():
            timers.start(1, lambda: rung.append(2))
        await asyncio.sleep(0.03)
        assert rung == []

    asyncio.run(wait())
