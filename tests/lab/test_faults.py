"""Faults: what the text says is what happens, and the same seed brings the same."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from msmq_wire.errors import MsmqWireError
from msmq_wire.lab.faults import FaultPlan, FaultySender, parse_faults

KINDS = ("drop", "duplicate", "nack", "cut")


class Wire(asyncio.Transport):
    """Keeps what is written to it."""

    def __init__(self) -> None:
        super().__init__()
        self.written: list[bytes] = []
        self.closed = False

    def write(self, data: Any) -> None:
        assert not self.closed
        self.written.append(bytes(data))

    def is_closing(self) -> bool:
        return self.closed

    def close(self) -> None:
        self.closed = True


@pytest.mark.parametrize(
    ("text", "plan"),
    [
        ("", FaultPlan()),
        (" ", FaultPlan()),
        ("drop=0.01,delay=50ms,cut=0.001", FaultPlan(drop=0.01, delay=0.05, cut=0.001)),
        (" nack = 1 , duplicate=.5 ", FaultPlan(nack=1.0, duplicate=0.5)),
        ("delay=1.5s", FaultPlan(delay=1.5)),
        ("delay=60s", FaultPlan(delay=60.0)),
    ],
)
def test_a_plan_is_what_its_text_says(text: str, plan: FaultPlan) -> None:
    assert parse_faults(text) == plan


@pytest.mark.parametrize(
    ("text", "reported"),
    [
        ("dorp=0.1", "'dorp=0.1' is no fault"),
        ("drop", "'drop' is no fault"),
        ("drop=0.1,", "'' is no fault"),
        ("drop=0.1,drop=0.2", "drop is there twice"),
        ("drop=1.01", "drop=1.01: a probability"),
        ("cut=-1", "cut=-1: a probability"),
        ("cut=nan", "cut=nan: a probability"),
        ("cut=1e-3", "cut=1e-3: a probability"),
        ("nack=", "nack=: a probability"),
        ("delay=50", "delay=50: a time"),
        ("delay=61s", "delay=61s: a time"),
        ("delay=infs", "delay=infs: a time"),
    ],
)
def test_wrong_text_gives_one_message_that_names_the_part(text: str, reported: str) -> None:
    with pytest.raises(MsmqWireError) as caught:
        parse_faults(text)
    assert reported in str(caught.value)
    assert "\n" not in str(caught.value)


@given(st.text(alphabet="dropcutnackelaysm=.,0159 ٣", max_size=40))
def test_any_text_is_a_plan_or_a_message(text: str) -> None:
    try:
        plan = parse_faults(text)
    except MsmqWireError:
        return
    assert all(0 <= getattr(plan, kind) <= 1 for kind in KINDS)
    assert 0 <= plan.delay <= 60


@given(seed=st.integers(), number=st.integers(0, 9), sizes=st.lists(st.integers(0, 9000), max_size=20))
def test_the_same_seed_brings_the_same_faults(seed: int, number: int, sizes: list[int]) -> None:
    plan = FaultPlan(drop=0.3, cut=0.3, nack=0.5, duplicate=0.5)

    def drawn() -> list[object]:
        faults = plan.connection(seed, number)
        return [(faults.applied(size), faults.refused(), faults.duplicated()) for size in sizes]

    assert drawn() == drawn()


def test_one_more_kind_changes_nothing_for_the_others() -> None:
    few = FaultPlan(nack=0.5).connection(7)
    more = FaultPlan(nack=0.5, drop=0.5, duplicate=0.5, cut=0.5).connection(7)
    refused = []
    for _ in range(50):
        more.applied(100)
        more.duplicated()
        refused.append(few.refused())
        assert more.refused() == refused[-1]
    assert {True, False} == set(refused)


def test_connections_have_faults_of_their_own() -> None:
    plan = FaultPlan(drop=0.5)
    connections = [plan.connection(1, number) for number in range(5)]
    assert len({tuple(one.applied(100).keep for _ in range(30)) for one in connections}) == 5


def test_a_drop_keeps_any_number_of_bytes_and_a_cut_keeps_half() -> None:
    drops = FaultPlan(drop=1.0).connection(3)
    kept = {drops.applied(4).keep for _ in range(200)}
    assert kept == {0, 1, 2, 3, 4}
    assert FaultPlan(cut=1.0).connection(3).applied(9).keep == 4


def test_without_faults_all_units_are_sent_as_they_are() -> None:
    wire, reported = Wire(), list[bytes]()
    sender = FaultySender(wire, None, reported.append)
    sender.send(b"one")
    sender.send(b"two")
    assert wire.written == reported == [b"one", b"two"]
    sender.close()
    assert wire.closed


def test_a_cut_unit_is_the_last_one_and_closes_the_connection() -> None:
    wire, reported = Wire(), list[bytes]()
    sender = FaultySender(wire, FaultPlan(cut=1.0).connection(1), reported.append)
    sender.send(b"0123456789")
    sender.send(b"never")
    assert wire.written == reported == [b"01234"]
    assert wire.closed


def test_delayed_units_keep_their_order_and_are_dropped_at_the_end() -> None:
    async def talk() -> None:
        wire = Wire()
        sender = FaultySender(wire, FaultPlan(delay=0.01).connection(1))
        for number in range(3):
            sender.send(b"%d" % number)
        assert wire.written == []
        assert sender.pending == 3
        while sender.pending:
            await asyncio.sleep(0.005)
        assert wire.written == [b"0", b"1", b"2"]
        sender.send(b"late")
        sender.stop()
        await asyncio.sleep(0.03)
        assert wire.written == [b"0", b"1", b"2"]

    asyncio.run(talk())


def test_closing_sends_what_waits() -> None:
    async def talk() -> None:
        wire = Wire()
        sender = FaultySender(wire, FaultPlan(delay=30.0).connection(1))
        sender.send(b"answer")
        sender.close()
        assert wire.written == [b"answer"]
        assert wire.closed

    asyncio.run(talk())
