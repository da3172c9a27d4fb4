"""No two answers claim opposite facts of one message or session."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from msmq_wire.capture.reader import read_capture
from msmq_wire.detection import Finding, Judge
from msmq_wire.detection.diagnosis import Answer, Diagnosis
from msmq_wire.detection.diagnosis.claims import OPPOSITES, Claim, Fact
from msmq_wire.detection.registry import RULES
from msmq_wire.records.record import Record
from msmq_wire.sessions import Story
from msmq_wire.wire.headers.base_header import SIGNATURE
from msmq_wire.wire.headers.session_header import SessionHeader
from tests.effort import examples, in_batches
from tests.sessions.tape import SECOND, START, Tape

FIXTURES = Path(__file__).parents[3] / "fixtures"
CAPTURES = sorted(path for path in FIXTURES.rglob("*.pcap*") if path.suffix in (".pcap", ".pcapng"))
DAY = 86400
TIMES = {name: RULES[name] for name in ("TIM-EXPIRED", "TIM-SKEW")}


def contradictions(claims: Iterable[Claim]) -> Iterator[tuple[str, Fact, Fact]]:
    """Subjects of which both of two opposites are claimed."""
    facts: dict[str, set[Fact]] = {}
    for claim in claims:
        facts.setdefault(claim.subject, set()).add(claim.fact)
    for subject, reported in facts.items():
        for pair in OPPOSITES:
            if pair <= reported:
                one, other = sorted(pair)
                yield subject, one, other


def diagnosed(records: Iterable[Record]) -> tuple[dict[int, Answer], Story, list[Finding]]:
    diagnosis, judge = Diagnosis(), Judge(TIMES)
    found: list[Finding] = []
    for record in records:
        found += judge.feed(record)
        diagnosis.feed(record)
    found += judge.finish()
    story = judge.story
    assert story is not None
    answers = diagnosis.answers(story)
    # Messages are looked at once, and no answer may change what the next is given.
    assert diagnosis.answers(story) == answers
    return {one.number: one for one in answers}, story, found


def agree(records: Iterable[Record]) -> None:
    """Fail where two answers, or an answer and a finding, say opposite things."""
    answers, story, found = diagnosed(records)
    claims = [claim for answer in answers.values() for claim in answer.claims]
    assert list(contradictions(claims)) == []
    # A message that everything agrees came in time is in no finding that says it did not.
    expired = {place.record for one in found if one.id == "TIM-EXPIRED" for place in one.evidence}
    for claim in claims:
        if claim.fact == "in_time":
            life = story.lives.by_id(claim.subject)
            assert life is not None
            assert life.first.record not in expired


@in_batches(CAPTURES)
def test_the_answers_agree_on_every_capture(path: Path) -> None:
    agree(read_capture(path, streams=True))


def test_most_captures_with_messages_give_claims() -> None:
    answers, _, _ = diagnosed(read_capture(FIXTURES / "captures" / "demo.pcap", streams=True))
    assert {2, 4, 5, 13} <= {number for number, one in answers.items() if one.claims}
    assert all(len(one.claims) <= 1024 for one in answers.values())


STEPS = st.one_of(
    st.tuples(st.just("message"), st.integers(1, 6), st.sampled_from([60, 4 * DAY, 0xFFFFFFFF])),
    st.tuples(st.just("transactional"), st.integers(1, 6), st.integers(1, 6)),
    st.tuples(st.just("ack"), st.integers(0, 8), st.integers(0, 15)),
    st.tuples(st.just("order_ack"), st.integers(0, 6), st.just(0)),
    st.tuples(st.just("final_ack"), st.integers(1, 6), st.sampled_from([0x4000, 0xC001, 0x8002])),
    st.tuples(
        st.just("administration_ack"),
        st.integers(1, 6),
        st.sampled_from([2, 0x4000, 0x8000, 0x8002, 0x8003, 0xC000, 0xC002]),
    ),
    st.tuples(st.just("wait"), st.sampled_from([1, 10, 3600, 5 * DAY]), st.just(0)),
    st.tuples(st.just("gap"), st.integers(0, 1), st.just(0)),
    st.tuples(st.just("again"), st.just(0), st.just(0)),
)
ODD_TIMES = st.sampled_from([0, 0, 0, 0, -5 * DAY, 5 * DAY, SIGNATURE])


def conversation(steps: list[tuple[str, int, int]], odd: list[int], ahead: int, opened: bool) -> list[Record]:
    """A connection, and others where it is opened again, of a sender whose clock is so far ahead."""
    tape, on = Tape(), 0
    if opened:
        tape.open()
    own = 5001
    for (kind, one, other), off in zip(steps, odd, strict=True):
        sent = SIGNATURE if off == SIGNATURE else tape.time // SECOND + ahead + off
        if kind == "message":
            tape.message(one, on=on, sent_time=sent, time_to_reach_queue=other, delivery="recoverable")
        elif kind == "transactional":
            tape.message(one, on=on, sent_time=sent, tx=(other, other - 1))
        elif kind == "ack":
            stored = {"recoverable_msg_ack_seq_number": 1, "recoverable_msg_ack_flags": other}
            tape.ack(one, on=on, **stored)
        elif kind == "order_ack":
            tape.order_ack(one)
        elif kind == "final_ack":
            tape.final_ack(one, other)
        elif kind == "administration_ack":
            own += 1
            tape.administration_ack(one, other, own)
        elif kind == "wait":
            tape.wait(one)
        elif kind == "gap":
            tape.gap(one, on)
        else:
            tape.tcp("closed", on=on)
            on += 1
            tape.open(on)
    return tape.records


def test_a_message_that_comes_again_behind_its_acknowledgment_contradicts_nothing() -> None:
    again = [("message", 1, 60), ("ack", 0, 0), ("order_ack", 0, 0), ("ack", 1, 0), ("message", 1, 60)]
    agree(conversation(again, [0, 0, 0, 0, -5 * DAY], 0, opened=False))


@pytest.mark.slow
@settings(max_examples=examples(300))
@given(data=st.data(), ahead=st.sampled_from([0, 0, -5 * DAY, 5 * DAY, -90]), opened=st.booleans())
def test_the_answers_agree_on_any_conversation(data: st.DataObject, ahead: int, opened: bool) -> None:
    steps = data.draw(st.lists(STEPS, min_size=4, max_size=24))
    odd = data.draw(st.lists(ODD_TIMES, min_size=len(steps), max_size=len(steps)))
    agree(conversation(steps, odd, ahead, opened))


def slow(acked: int, messages: int = 5) -> Tape:
    """Messages with four days to reach their queue, of a clock that is five days slow."""
    tape = Tape()
    tape.open()
    for number in range(1, messages + 1):
        sent = tape.time // SECOND - 5 * DAY
        tape.message(number, sent_time=sent, time_to_reach_queue=4 * DAY)
        if number <= acked:
            tape.ack(number)
        tape.wait(30)
    return tape


@pytest.mark.parametrize("messages", [1, 5])
def test_a_message_that_was_acknowledged_is_not_told_to_have_expired(messages: int) -> None:
    answers, story, _ = diagnosed(slow(messages, messages).records)
    assert any("was acknowledged" in text for text in answers[4].sentences)
    assert not any("expired:" in text for text in answers[5].sentences)
    assert {life.outcome for life in story.lives} == {"acknowledged"}


def test_a_slow_clock_is_told_and_no_message_of_it_expires() -> None:
    answers, story, found = diagnosed(slow(4).records)
    said = "The clock of 192.0.2.21 is 5 days behind that of the capture: 5 of 5 messages over 2 min show it."
    assert said in answers[3].sentences
    assert any("by that clock they were in time" in text for text in answers[5].sentences)
    assert answers[3].facts["clocks"][0]["offset"] == -5 * DAY
    assert story.lives[4].outcome == "unknown"
    assert [(one.id, one.message) for one in found] == [
        (
            "TIM-SKEW",
            "the clock of 192.0.2.21 is 5 days behind that of the capture: 5 of 5 messages over 2 min "
            "show it",
        )
    ]


def test_one_message_leaves_open_whether_the_clock_is_slow() -> None:
    answers, _, found = diagnosed(slow(1, 1).records)
    assert any("The clock of 192.0.2.21 may be slow" in text for text in answers[5].sentences)
    assert {one.id for one in found} == {"TIM-SKEW", "TIM-EXPIRED"}


def test_the_letters_of_the_sample_frame_are_told_as_no_time() -> None:
    tape = Tape()
    tape.open()
    tape.message(1, sent_time=SIGNATURE, time_to_reach_queue=60)
    answers, story, _ = diagnosed(tape.records)
    assert "by the sender's clock" not in answers[3].sentences[0]
    assert story.lives[0].outcome == "unknown"


def test_a_message_that_a_sure_clock_calls_late_is_told_so_beside_its_acknowledgment() -> None:
    tape = Tape()
    tape.open()
    for number in range(1, 6):
        tape.message(number, sent_time=tape.time // SECOND, time_to_reach_queue=4 * DAY)
        tape.wait(30)
    tape.message(6, sent_time=START // SECOND - 9 * DAY, time_to_reach_queue=4 * DAY)
    tape.ack(6)
    answers, _, found = diagnosed(tape.records)
    assert any("a receiver ignores late messages" in text for text in answers[5].sentences)
    assert sorted(one.id for one in found) == ["TIM-EXPIRED", "TIM-SKEW"]
    (expired,) = (one for one in found if one.id == "TIM-EXPIRED")
    assert expired.caveats == ("by the clock of its sender, which 5 messages show",)


def test_a_copy_in_a_journal_is_not_its_receipt() -> None:
    answers, story, _ = diagnosed(
        read_capture(FIXTURES / "findings" / "RPC-READ" / "hit_journal.pcap", streams=True)
    )
    assert not any(life.outcome == "received" for life in story.lives if life.copies)
    assert not any(claim.fact == "received" for claim in answers[9].claims)


def test_opposites_are_found_and_a_fact_is_none_of_itself() -> None:
    claims = [Claim("a", "received"), Claim("b", "expired"), Claim("a", "not_received"), Claim("b", "late")]
    assert list(contradictions(claims)) == [("a", "not_received", "received")]
    assert all(len(pair) == 2 for pair in OPPOSITES)


@pytest.mark.check
def test_claims_are_bounded(tape: Tape) -> None:
    tape.open()
    for number in range(1, 2001):
        tape.message(number, header=SessionHeader())
    answers, _, _ = diagnosed(tape.records)
    assert len(answers[4].claims) == len(answers[5].claims) == 1024


@pytest.fixture
def tape() -> Tape:
    return Tape()
