"""Hosts that have several addresses, as vantage points see them."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from msmq_wire.detection.rules.id_clone import RULE as ID_CLONE
from msmq_wire.detection.translated_hosts import distinct_hosts, translated_hosts
from tests.detection.diagnosis.test_vantage_points import translated
from tests.sessions.tape import Tape

OUTSIDE, ONE, TWO = "192.0.2.21", "10.0.0.1", "10.0.0.2"


def test_what_another_point_calls_a_host_is_known() -> None:
    tape = translated()
    tape.open()
    assert translated_hosts(tape.story()) == {OUTSIDE: {ONE, TWO}}
    assert translated_hosts(Tape().story()) == {}


@pytest.mark.parametrize("names", [{OUTSIDE: {ONE, TWO}}, {ONE: {OUTSIDE}, TWO: {OUTSIDE}}])
@pytest.mark.parametrize(
    ("hosts", "left"),
    [
        ([ONE, OUTSIDE], [ONE]),
        ([OUTSIDE, ONE], [OUTSIDE]),
        ([ONE, OUTSIDE, TWO], [ONE, TWO]),
        ([ONE, TWO], [ONE, TWO]),
        ([ONE, "192.0.2.99"], [ONE, "192.0.2.99"]),
    ],
)
def test_an_address_that_stands_for_another_host_is_none_of_its_own(
    names: dict[str, set[str]], hosts: list[str], left: list[str]
) -> None:
    assert distinct_hosts(hosts, names) == left


@pytest.mark.parametrize(("other", "cloned"), [(ONE, False), ("192.0.2.99", True)])
def test_one_host_on_both_sides_of_a_translation_is_no_clone(other: str, cloned: bool) -> None:
    """A connection that only the inner point saw has the inner address."""
    tape = translated()
    tape.open()
    tape.open(1)
    for number, record in enumerate(tape.records):
        for end in ("src", "dst"):
            if getattr(record, end) == f"{OUTSIDE}:49732":
                changed = {end: f"{other}:5000"}
                tape.records[number] = record = replace(record, **changed)
    found = list(ID_CLONE.check(tape.story(), None))  # type: ignore[arg-type]  # it asks for no context
    assert bool(found) == cloned
