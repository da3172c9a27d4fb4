"""A judge that takes runs by column finds what one finds that is fed records, in the same order."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from msmq_wire.capture.packet_batch import PacketBatch
from msmq_wire.detection import RULES, Finding, Judge
from msmq_wire.detection.column_conditions import rule_masks
from msmq_wire.detection.packet_conditions import compile_conditions
from msmq_wire.detection.rule import Rule
from msmq_wire.records.record import Record, is_read
from msmq_wire.records.run import in_order
from msmq_wire.wire.fields import WireStruct
from tests.effort import in_batches
from tests.runs import CAPTURES, decoded_while, read, with_holes

pytestmark = pytest.mark.usefixtures("few_are_worth_columns")


def reported(judge: Judge, found: list[Finding]) -> tuple[Any, ...]:
    """What a judge says in all."""
    found += judge.finish()
    story = judge.story
    assert story is not None
    return found, judge.more, (*story.sessions, *story.lives, *story.streams, *story.pings), story.left_out


def taken(batches: Sequence[PacketBatch], **limits: Any) -> tuple[Any, ...]:
    judge = Judge(**limits)
    return reported(judge, [one for batch in batches for one in judge.take(batch)])


def fed(batches: Sequence[PacketBatch], **limits: Any) -> tuple[Any, ...]:
    judge = Judge(**limits)
    records = (record for batch in batches for record in in_order(batch))
    return reported(judge, [one for record in records for one in judge.feed(record)])


def rules_of(type_: str) -> list[Rule]:
    """The rules over records that a judge asks about whole packets of a type."""
    rules = (rule for rule in RULES.values() if rule.over == "record" and not rule.codes)
    return [rule for rule in rules if not rule.types or type_ in rule.types]


@cache
def _looking(type_: str, cls: type[WireStruct]) -> Callable[[Record], list[Rule]]:
    return compile_conditions(cls, rules_of(type_))


@pytest.mark.slow
@in_batches(CAPTURES)
def test_a_capture_that_is_taken_is_judged_as_one_that_is_fed(path: Path) -> None:
    batches = read(path)
    assert taken(batches) == fed(batches)


@pytest.mark.slow
@in_batches(CAPTURES, every=90)
def test_tiny_runs_under_tight_limits_are_judged_as_records_are(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    batches = read(path, 300)
    expected = fed(batches)
    assert taken(batches) == expected
    assert taken(batches, budget=4000, messages=3) == fed(batches, budget=4000, messages=3)
    monkeypatch.setattr(importlib.import_module("msmq_wire.detection.judge"), "_WORTH_ASKING", 1)
    assert fed(batches) == expected


@pytest.mark.slow
@in_batches(CAPTURES, every=27)
def test_ids_need_not_follow_each_other(path: Path) -> None:
    batches = [with_holes(batch) for batch in read(path)]
    assert taken(batches) == fed(batches)


@pytest.mark.slow
@in_batches(CAPTURES, every=90)
def test_runs_and_records_one_after_the_other_are_judged_as_records_are(path: Path) -> None:
    batches = read(path, 300)
    judge, found = Judge(), []
    for number, batch in enumerate(batches):
        found += (
            judge.take(batch) if number & 1 else [one for it in in_order(batch) for one in judge.feed(it)]
        )
    assert reported(judge, found) == fed(batches)


def check_guards(batch: PacketBatch) -> None:
    """A rule sees nothing where its condition does not hold, which a column says as a packet does."""
    judge = Judge()
    asked: dict[tuple[str, int], set[str]] = {}
    for record in in_order(batch):
        if record.error is not None or record.anomalies or not isinstance(record.packet, WireStruct):
            continue
        type_ = "message_packet" if is_read(record) else record.type
        rules = rules_of(type_)
        holds = {rule.id for rule in _looking(type_, type(record.packet))(record)}
        asked[type_, record.id] = holds
        for rule in rules:
            seen = list(rule.check(record, judge))
            assert rule.id in holds or not seen
            if rule.exact and rule.id in holds:
                (one,) = seen
                assert (one.timed is not None) == (rule.by_clock is not None)
    for found in batch.proven():
        reported: dict[int, set[str]] = {place: set() for place in found.places.tolist()}
        for rule, mask in rule_masks(batch, found, rules_of(found.cls.stem())):
            for place in found.places[mask].tolist():
                reported[place].add(rule.id)
        for place, holds in reported.items():
            assert holds == asked[found.cls.stem(), int(batch.id[place])]


@pytest.mark.slow
@in_batches(CAPTURES, every=36)
def test_a_rule_sees_nothing_where_it_does_not_look(path: Path) -> None:
    for batch in read(path):
        check_guards(batch)


def test_every_rule_that_may_be_asked_of_a_whole_packet_says_when() -> None:
    packets = {"user_message", "order_ack", "final_ack", "ping"}
    packets |= {"establish_connection", "connection_parameters", "session_ack"}
    assert [rule.id for type_ in packets for rule in rules_of(type_) if rule.when is None] == []


def test_only_what_a_rule_may_speak_of_is_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    judge = Judge({id_: rule for id_, rule in RULES.items() if rule.over == "record"})
    monkeypatch.setattr(judge.follower, "follow", lambda run: None)
    found: list[Finding] = []
    decoded = decoded_while(lambda batch: found.extend((*judge.take(batch), *judge.finish())), monkeypatch)
    ids = {one.id for one in decoded}
    assert ids == {place.record for one in found for place in one.evidence}
    assert 0 < len(ids) < 9
