"""Cycles are looked for seldom while records are read, and as before afterwards."""

from __future__ import annotations

import gc

from msmq_wire.cycles import COLLECTED, seldom_collected


def test_cycles_are_looked_for_seldom_inside_and_as_before_outside() -> None:
    before = gc.get_threshold()
    with seldom_collected():
        assert gc.get_threshold()[0] == COLLECTED
    assert gc.get_threshold() == before
