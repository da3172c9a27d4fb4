"""Scenarios written from [MS-MQQB] and [MS-MQMQ] 2.2.20.4 alone, and what is said of their captures."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from fixtures.build_sessions import capture, load
from msmq_wire.capture.reader import read_capture
from msmq_wire.sessions import Session, SessionDirection, Story, follow

FOLDER = Path(__file__).parents[2] / "fixtures" / "sessions"
SCENARIOS = sorted(path.stem for path in FOLDER.glob("*.toml"))


def reported(name: str, folder: Path) -> tuple[dict[str, Any], Story]:
    """What a scenario expects, and what is told of its capture."""
    scenario = tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))
    path = FOLDER / f"{name}.pcap"
    if not scenario.get("stored", True):
        path = folder / f"{name}.pcap"
        path.write_bytes(capture(load(FOLDER / f"{name}.toml")))
    return scenario["expect"], follow(read_capture(path, streams=True))


def numbers(names: tuple[str, ...]) -> list[int]:
    return [int(name.rpartition("\\")[2]) for name in names]


def check_direction(direction: SessionDirection, other: SessionDirection, expected: dict[str, Any]) -> None:
    names = {
        "sent": direction.sequence_number,
        "recoverable_sent": direction.recoverable_sequence_number,
        "window": list(direction.announced),
        "never_acknowledged": numbers(direction.unacknowledged_ids),
        "never_stored": numbers(direction.unstored_ids),
        "lost": direction.gaps > 0,
        "acknowledged_count": direction.messages - direction.unacknowledged,
    }
    seen = {name: value for name, value in names.items() if name in expected}
    assert seen == {name: expected[name] for name in seen}
    if "messages" in expected:
        assert direction.messages == len(expected["messages"])
    if "acknowledged" in expected:
        assert direction.messages - direction.unacknowledged == len(expected["acknowledged"])
    if "stored" in expected:
        assert direction.stored == len(expected["stored"])
    if "internal" in expected:
        assert direction.acknowledgments == len(expected["internal"])
    if expected.get("certainly_stored"):
        assert not set(expected["certainly_stored"]) & set(numbers(direction.unstored_ids))


def check_session(session: Session, expected: dict[str, Any]) -> None:
    for name in ("client", "server", "reached", "state", "closed_by", "reason"):
        if name in expected:
            assert getattr(session, name) == expected[name], name
    for name in ("client_queue_manager", "server_queue_manager"):
        if name in expected:
            assert str(getattr(session, name)) == expected[name]
    assert session.closer == expected.get("closed_from", session.closer)
    for name in ("ack_timeout", "recoverable_ack_timeout"):
        if name in expected:
            assert {getattr(one, name) for one in session.parameters if one} == {expected[name]}
    here, there = session.directions
    check_direction(here, there, expected.get("from_client", {}))
    check_direction(there, here, expected.get("from_server", {}))


def sessions_are_as_the_text_demands(expected: dict[str, Any], story: Story) -> None:
    assert len(story.sessions) == len(expected["session"])
    for session, one in zip(story.sessions, expected["session"], strict=True):
        check_session(session, one)


def every_message_is_acknowledged_by_the_header_that_the_text_names(
    expected: dict[str, Any], story: Story
) -> None:
    seen: dict[str, set[int]] = {"acknowledges": set(), "stores": set()}
    wanted: dict[str, set[int]] = {"acknowledges": set(), "stores": set()}
    for session in expected["session"]:
        for side in ("from_client", "from_server"):
            direction = session.get(side, {})
            for header in direction.get("headers", ()):
                for what, numbers_ in wanted.items():
                    # An OrderAck or FinalAck packet has no life of its own.
                    numbers_ |= set(header[what]) - set(direction.get("internal", ()))
    start = story.first or 0
    for life in story.lives:
        number = int(life.message_id.rpartition("\\")[2])
        if life.acknowledged:
            seen["acknowledges"].add(number)
            assert at_header(expected, number, "acknowledges", life.acknowledged.time, start)
        if life.stored:
            seen["stores"].add(number)
            assert at_header(expected, number, "stores", life.stored.time, start)
    assert wanted["acknowledges"] <= seen["acknowledges"]
    assert wanted["stores"] <= seen["stores"]


def at_header(expected: dict[str, Any], number: int, what: str, time: int | None, start: int) -> bool:
    """Whether the headers that the scenario lists acknowledge a message at this time, if they list it."""
    listed = [
        header["at"]
        for session in expected["session"]
        for side in ("from_client", "from_server")
        for header in session.get(side, {}).get("headers", ())
        if number in header[what]
    ]
    return not listed or any(abs((time or 0) - start - at * 1e9) < 1e8 for at in listed)


def what_is_sent_again_is_told_apart_from_what_arrives_twice(expected: dict[str, Any], story: Story) -> None:
    for key, found in (
        ("resend", [(life.message_id, life.resends) for life in story.lives if life.resends]),
        ("duplicate", [(life.message_id, life.duplicates) for life in story.lives if life.duplicates]),
    ):
        names = [f"{one['source']}\\{one['message_id']}" for one in expected.get(key, ())]
        assert sorted(found) == sorted((name, names.count(name)) for name in set(names))
        for number, session in enumerate(story.sessions):
            count = sum(one["session"] == number for one in expected.get(key, ()))
            told_ = sum(one.resent if key == "resend" else one.duplicates for one in session.directions)
            assert told_ == count


def transactional_streams_have_the_gaps_and_acknowledgments_of_the_text(
    expected: dict[str, Any], story: Story
) -> None:
    if "stream" not in expected:
        transactional = [life for life in story.lives if life.delivery == "transactional"]
        assert bool(story.streams) == bool(transactional)
        return
    assert len(story.streams) == len(expected["stream"])
    for stream, one in zip(story.streams, expected["stream"], strict=True):
        assert str(stream.source_queue_manager) == one["source"]
        id_ = one["sequence_id"]
        assert stream.tx_sequence_id == id_["time_stamp"] << 32 | id_["ordinal"]
        assert stream.messages == len(one["numbers"])
        gaps = [(gap.number, gap.previous, gap.after, gap.filled is not None) for gap in stream.gaps]
        assert gaps == [(gap["number"], gap["previous"], gap["last"], gap["filled"]) for gap in one["gaps"]]
        bridges = [(bridge.number, bridge.previous) for bridge in stream.bridges]
        assert bridges == [(bridge["number"], bridge["previous"]) for bridge in one["bridged"]]
        assert stream.order_acks == len(one["order_acks"])
        assert stream.acknowledged == max(one["order_acks"], default=0)
        assert list(stream.awaiting_numbers) == one["pending"]
        if "final_acks" in one:
            assert sum(count for _, count in stream.final_acks) == len(one["final_acks"])


def pings_are_paired_with_their_answers(expected: dict[str, Any], story: Story) -> None:
    pings = expected.get("ping", [])
    assert len(story.pings) == len(pings)
    for ping, one in zip(story.pings, pings, strict=True):
        assert (ping.client, ping.server, ping.cookie) == (one["client"], one["server"], one["cookie"])
        assert str(ping.client_queue_manager) == one["client_queue_manager"]
        assert str(ping.server_queue_manager) == one["server_queue_manager"]
        assert (ping.response is not None, ping.refused) == (one["answered"], one["refused"])
        assert story.sessions[0].ping == ping


_CHECKS = (
    sessions_are_as_the_text_demands,
    every_message_is_acknowledged_by_the_header_that_the_text_names,
    what_is_sent_again_is_told_apart_from_what_arrives_twice,
    transactional_streams_have_the_gaps_and_acknowledgments_of_the_text,
    pings_are_paired_with_their_answers,
)
# It holds 65,536 messages.
_LONG = {"sequence_wrap_whole": pytest.mark.check}
# Its numbers come round, so that one names several messages.
_NOT_BY_NUMBER = ("sequence_wrap_whole", every_message_is_acknowledged_by_the_header_that_the_text_names)


@pytest.mark.parametrize("name", [pytest.param(name, marks=_LONG.get(name, ())) for name in SCENARIOS])
def test_a_capture_is_told_as_the_text_demands(name: str, tmp_path: Path) -> None:
    expected, story = reported(name, tmp_path)
    for check in _CHECKS:
        if (name, check) != _NOT_BY_NUMBER:
            check(expected, story)
