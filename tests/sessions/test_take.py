"""Packets taken by column tell the story of their records, fed one by one, and so does what leaves it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from msmq_wire.capture.packet_batch import PacketBatch
from msmq_wire.records.run import in_order
from msmq_wire.sessions import Leaving, StoryFollower, story
from msmq_wire.sessions.columns import sighted
from tests.effort import examples, in_batches
from tests.runs import CAPTURES, SESSION_SCENES, SHUFFLES, Shuffle, decoded_while, read, with_holes

pytestmark = pytest.mark.usefixtures("few_are_worth_columns")


class _Follower(StoryFollower):
    """One that remembers what left it, and at which record."""

    def __init__(self, budget: int | None, messages: int | None) -> None:
        self.left: list[tuple[int, Leaving]] = []
        super().__init__(budget=budget, messages=messages, leave=self._left)

    def _left(self, gone: Leaving) -> None:
        self.left.append((self.at, gone))

    def reported(self) -> dict[str, Any]:
        story = self.finish()
        parts = {name: getattr(story, name) for name in story.__struct_fields__}
        return {**parts, "lives": list(story.lives), "clocks": list(story.clocks)}


def _assert_alike(
    batches: Sequence[PacketBatch], budget: int | None = None, messages: int | None = None
) -> None:
    taken, fed = _Follower(budget, messages), _Follower(budget, messages)
    for batch in batches:
        taken.take(batch)
        for record in in_order(batch):
            fed.feed(record)
        assert taken.taken == fed.taken
        assert taken.left == fed.left
    assert taken.reported() == fed.reported()
    assert taken.left == fed.left


@in_batches(CAPTURES)
def test_a_capture_that_is_taken_tells_the_story_of_one_that_is_fed(path: Path) -> None:
    _assert_alike(read(path))


@pytest.mark.slow
@in_batches(CAPTURES, every=27)
def test_a_tiny_budget_and_tiny_batches_change_nothing(path: Path) -> None:
    _assert_alike(read(path, 300), budget=6000)
    _assert_alike(read(path, 4000), budget=20_000, messages=3)


@pytest.mark.slow
@in_batches(CAPTURES)
def test_messages_that_are_taken_together_tell_the_same(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(story, "_TOGETHER", 2)
    _assert_alike(read(path))
    _assert_alike(read(path), budget=40_000)


@pytest.mark.slow
@in_batches(CAPTURES, every=27)
def test_messages_whose_ids_do_not_follow_each_other_are_taken_together(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(story, "_TOGETHER", 2)
    batches = read(path)
    _assert_alike([with_holes(batch) for batch in batches])
    for batch in batches:
        assert sighted(with_holes(batch))[1].until == sighted(batch)[1].until


@pytest.mark.slow
@settings(max_examples=examples(800), deadline=None)
@given(
    path=st.sampled_from(SESSION_SCENES),
    shuffle=SHUFFLES,
    size=st.integers(1, 40),
    budget=st.sampled_from([None, 6000, 20_000, 60_000]),
    messages=st.sampled_from([None, 0, 3, 20]),
    together=st.sampled_from([2, 16]),
)
def test_packets_in_any_order_some_of_them_twice_tell_the_same(
    path: Path, shuffle: Shuffle, size: int, budget: int | None, messages: int | None, together: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(story, "_TOGETHER", together)
        _assert_alike(shuffle.batches(path, size), budget, messages)


def test_whole_packets_of_open_connections_are_not_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    decoded = {one.type for one in decoded_while(StoryFollower().take, monkeypatch)}
    assert decoded == {"establish_connection", "connection_parameters"}
