"""Who pings many hosts, also where what followed is not kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from msmq_wire.capture.reader import read_capture
from msmq_wire.detection.sweeps import sweeps_of
from msmq_wire.sessions import StoryFollower

_CAPTURES = Path(__file__).resolve().parents[2] / "fixtures/findings/PNG-SCAN"


@pytest.mark.parametrize(("name", "number"), [("miss_connected", 0), ("hit_twelve", 1)])
@pytest.mark.parametrize("budget", [None, 1])
def test_who_connected_to_the_hosts_is_known_of_sessions_that_are_not_kept(
    name: str, number: int, budget: int | None
) -> None:
    follower = StoryFollower(budget=budget)
    for record in read_capture(_CAPTURES / f"{name}.pcap", streams=True):
        follower.feed(record)
    story = follower.finish()
    assert len(sweeps_of(story)) == number
    assert bool(story.sessions) is (name == "miss_connected" and budget is None)
