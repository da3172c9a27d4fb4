"""The loop that skips what is only waited for: order, times, and what comes over sockets meanwhile."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine
from typing import Any, TypeVar

import pytest

from msmq_wire.lab.recorder import SkippingLoop, _Waiting

T = TypeVar("T")


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    with asyncio.Runner(loop_factory=SkippingLoop) as runner:
        return runner.run(coroutine)


def test_an_hour_is_over_at_once_and_counts_as_an_hour() -> None:
    async def waited() -> float:
        loop = asyncio.get_running_loop()
        begun = loop.time()
        await asyncio.sleep(3600)
        return loop.time() - begun

    begun = time.monotonic()
    assert run(waited()) == pytest.approx(3600, abs=1)
    assert time.monotonic() - begun < 60


def test_who_waits_less_goes_first_at_its_time() -> None:
    async def in_order() -> list[tuple[str, int]]:
        loop = asyncio.get_running_loop()
        zero, went = loop.time(), list[tuple[str, int]]()

        async def wait(seconds: int) -> None:
            await asyncio.sleep(seconds)
            went.append((f"after {seconds}", round(loop.time() - zero)))

        await asyncio.gather(*map(wait, (30, 10, 20)))
        return went

    assert run(in_order()) == [("after 10", 10), ("after 20", 20), ("after 30", 30)]


def test_time_stands_still_while_something_is_done() -> None:
    async def busy() -> float:
        begun = asyncio.get_running_loop().time()
        time.sleep(0.02)
        return asyncio.get_running_loop().time() - begun

    assert run(busy()) == 0


def test_nothing_is_skipped_after_the_machine_stood_still(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[float | None] = []

    class Stalled:
        def select(self, timeout: float | None) -> list[str]:
            asked.append(timeout)
            if len(asked) == 1:
                time.sleep(0.05)
                return []
            return ["what arrived late"]

    waiting: Any = _Waiting()
    monkeypatch.setattr(waiting, "_selector", Stalled())
    assert waiting.select(3600) == ["what arrived late"]
    assert len(asked) == 2
    assert waiting.now - time.monotonic() < 60


def test_what_comes_over_a_socket_comes_before_what_is_waited_for() -> None:
    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(await reader.readexactly(5))
        await writer.drain()
        writer.close()

    async def asked() -> tuple[bytes, bool]:
        loop = asyncio.get_running_loop()
        begun = loop.time()
        async with await asyncio.start_server(echo, "127.0.0.1", 0) as server:
            reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
            writer.write(b"hello")
            async with asyncio.timeout(3600):
                answer = await reader.read()
            writer.close()
            await writer.wait_closed()
        return answer, loop.time() - begun < 3600

    assert run(asked()) == (b"hello", True)
