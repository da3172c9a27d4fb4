"""Any records give a story, and its values have a JSON view."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from msmq_wire.capture.reader import read_capture
from msmq_wire.engines.codec import inspect
from msmq_wire.records.record import Record
from msmq_wire.records.view import view
from msmq_wire.sessions import Story, StoryFollower, follow
from tests.sessions.tape import Tape

FIXTURES = Path(__file__).parents[2] / "fixtures"
CAPTURES = [
    FIXTURES / "captures" / "demo.pcap",
    FIXTURES / "captures" / "structures.pcapng",
    FIXTURES / "captures" / "path_srmp_receipts.pcap",
    FIXTURES / "rpc_captures" / "rpc_none_ndr.pcap",
    FIXTURES / "rpc_captures" / "rpc_qmcomm_qm2qm.pcap",
]


def values(story: Story) -> list[msgspec.Struct]:
    parts = (story.sessions, story.streams, story.reads, story.queues, story.lives, story.pings, story.strays)
    return [value for part in parts for value in part]


def whole() -> list[Record]:
    return [record for path in CAPTURES for record in read_capture(path, streams=True)]


RECORDS = whole()


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.stem)
def test_every_value_has_a_json_view(path: Path) -> None:
    found = values(follow(read_capture(path, streams=True)))
    assert found
    for value in found:
        assert set(json.loads(json.dumps(view(value)))) == set(value.__struct_fields__)


@given(st.integers(0, 1 << 32))
def test_records_in_any_order_and_number_give_a_story(seed: int) -> None:
    source = random.Random(seed)
    records = source.choices(RECORDS, k=source.randrange(1, 120))
    story = follow(records)
    assert all(life.outcome for life in story.lives)
    for session in story.sessions:
        for direction in session.directions:
            assert 0 <= direction.unacknowledged <= direction.messages
            assert 0 <= direction.stored <= direction.recoverable


@given(st.data())
def test_packets_cut_anywhere_give_a_story(data: st.DataObject) -> None:
    tape = Tape()
    tape.open()
    tape.message(1, tx=(1, 0), label="cut")
    tape.order_ack(1)
    tape.final_ack(1, 0x4000)
    tape.ack(1)
    follower = StoryFollower()
    for record in tape.records:
        if record.packet is not None:
            wire = type(record.packet).schema().build(record.packet)
            length = data.draw(st.integers(0, len(wire)))
            result = inspect(wire[:length])
            record = msgspec.structs.replace(record, packet=result.packet, error=result.error)
        follower.feed(record)
    assert len(follower.finish().sessions) == 1


@pytest.mark.parametrize("decision", [None, "", "maybe", "not positive"])
def test_a_receipt_that_does_not_decide_tells_of_no_end(decision: str | None) -> None:
    records = list(read_capture(FIXTURES / "captures" / "path_srmp_receipts.pcap", streams=True))
    receipts = [one for one in records if getattr(_header(one), "commitment_receipt", None) is not None]
    assert receipts
    changed = [_undecided(one, decision) if one in receipts else one for one in records]
    others = [one for one in records if one not in receipts]
    assert len(follow(records).strays) > len(follow(others).strays)
    assert follow(changed).strays == follow(others).strays


def _header(record: Record) -> Any:
    return getattr(getattr(record.packet, "envelope", None), "header", None)


def _undecided(record: Record, decision: str | None) -> Record:
    replace = msgspec.structs.replace
    header = _header(record)
    receipt = replace(header.commitment_receipt, decision=decision)
    header = replace(header, commitment_receipt=receipt)
    packet = replace(record.packet, envelope=replace(record.packet.envelope, header=header))
    return replace(record, packet=packet)


def test_a_story_without_records_is_empty() -> None:
    story = follow([])
    assert values(story) == []
    assert (story.first, story.last, story.session(0)) == (None, None, None)


def test_the_demo_is_one_session_and_three_messages() -> None:
    story = follow(read_capture(FIXTURES / "captures" / "demo.pcap", streams=True))
    (session,) = story.sessions
    assert (session.state, session.notes, session.certain) == ("closed", (), True)
    assert [life.outcome for life in story.lives] == ["acknowledged", "received", "acknowledged"]
    assert story.session(0) is session
    assert (story.first, story.last) == (
        session.ping and session.ping.request and session.ping.request.time,
        session.last.time,
    )


def test_without_the_steps_of_connections_sessions_are_told_from_their_packets() -> None:
    story = follow(read_capture(FIXTURES / "captures" / "demo.pcap"))
    (session,) = story.sessions
    assert (session.state, session.started, session.client) == ("open", False, "192.0.2.21:49731")
    assert session.directions[0].unacknowledged == 0
