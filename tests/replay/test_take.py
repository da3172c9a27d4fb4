"""A replay that takes packets by column says what one says that is fed records, each at its record."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fixtures.build_replay_sessions import SCENES
from msmq_wire.capture.packet_batch import PacketBatch
from msmq_wire.records.run import in_order
from msmq_wire.replay import Replayer
from msmq_wire.replay.columns import shown_messages
from msmq_wire.replay.deviation import ReplayDeviation
from msmq_wire.replay.rules.contents import shown_by
from msmq_wire.sessions import StoryFollower
from tests.effort import examples, in_batches
from tests.runs import CAPTURES, FIXTURES, SESSION_SCENES, SHUFFLES, Shuffle, decoded_while, read

_SCENES = [FIXTURES / "findings" / f"{name}.pcap" for name in SCENES] + SESSION_SCENES

Told: TypeAlias = list[tuple[int, ReplayDeviation]]

pytestmark = pytest.mark.usefixtures("few_are_worth_columns")


def _taken(batches: Sequence[PacketBatch]) -> Told:
    replayer = Replayer()
    found = [reported for batch in batches for reported in replayer.take(batch)]
    return [*found, *((0, one) for one in replayer.finish())]


def _fed(batches: Sequence[PacketBatch]) -> Told:
    replayer = Replayer()
    records = (record for batch in batches for record in in_order(batch))
    found = [(record.id, one) for record in records for one in replayer.feed(record)]
    return [*found, *((0, one) for one in replayer.finish())]


@in_batches(CAPTURES)
def test_a_capture_that_is_taken_deviates_as_one_that_is_fed(path: Path) -> None:
    batches = read(path)
    assert _taken(batches) == _fed(batches)


@pytest.mark.slow
@in_batches(CAPTURES, every=27)
def test_tiny_batches_deviate_as_records_do(path: Path) -> None:
    batches = read(path, 300)
    assert _taken(batches) == _fed(batches)


@in_batches(SESSION_SCENES)
def test_a_replay_beside_a_follower_that_is_ahead_says_the_same(path: Path) -> None:
    batches = read(path)
    follower = StoryFollower()
    replayer = Replayer(follower)
    for batch in batches:
        follower.take(batch)
    found = [reported for batch in batches for reported in replayer.take(batch)]
    assert [*found, *((0, one) for one in replayer.finish())] == _fed(batches)


def test_whole_user_packets_are_not_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    decoded = {one.type for one in decoded_while(Replayer().take, monkeypatch)}
    assert decoded == {"establish_connection", "connection_parameters"}


@in_batches(CAPTURES)
def test_what_is_read_by_column_is_what_is_read_of_records(path: Path) -> None:
    for batch in read(path):
        for place, (shown, whole) in enumerate(zip(*shown_messages(batch), strict=True)):
            record = batch.record(place)
            assert not whole or record.error is None
            if whole or shown is not None:
                assert shown == (shown_by(record) if record.type == "user_message" else None)


@pytest.mark.slow
@settings(max_examples=examples(800), deadline=None)
@given(path=st.sampled_from(_SCENES), shuffle=SHUFFLES, size=st.integers(1, 40))
def test_packets_in_any_order_some_of_them_twice_deviate_as_records_do(
    path: Path, shuffle: Shuffle, size: int
) -> None:
    batches = shuffle.batches(path, size)
    assert _taken(batches) == _fed(batches)
