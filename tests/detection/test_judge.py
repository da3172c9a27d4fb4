"""The judge runs rules over what they judge, in order, and knows when to stop."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from msmq_wire import build_message, read_capture
from msmq_wire.detection import RULES, Finding, Judge, judge
from msmq_wire.detection.finding import SEVERITIES
from msmq_wire.detection.judge import beyond
from msmq_wire.detection.rule import Context, Detection, Rule, evidence_of
from msmq_wire.errors import DecodeError
from msmq_wire.records.record import Record
from msmq_wire.spec import SpecRef
from msmq_wire.wire.musts import Anomaly
from tests.sessions.tape import Tape, lone

_DEMO = Path(__file__).resolve().parents[2] / "fixtures" / "captures" / "demo.pcap"
_SPEC = SpecRef("MS-MQMQ", "2.2.19.1")
_ANOMALY = Anomaly(code="a.b", message="no", path="x", offset=1, length=2, spec=_SPEC)


def rule(check: Any, **values: Any) -> Rule:
    return Rule(
        id=values.pop("id", "TST-ONE"),
        title="A rule",
        severity=values.pop("severity", "low"),
        meaning="It is a test.",
        action="Nothing.",
        check=check,
        **values,
    )


def seen(record: Record, context: Context) -> Iterator[Detection]:
    yield Detection(message=record.type, evidence=(evidence_of(record),))


def record(number: int, type_: str = "unknown_packet", **values: Any) -> Record:
    return Record(id=number, type=type_, **values)


def judged(one: Rule, *records: Record) -> list[Finding]:
    return list(judge(records, {one.id: one}))


def test_a_rule_is_asked_about_its_types_only() -> None:
    records = [record(1), record(2, "note"), record(3, "gap", missing=0)]
    assert [found.message for found in judged(rule(seen, types=("note",)), *records)] == ["note"]
    assert len(judged(rule(seen), *records)) == 3


def test_a_rule_with_codes_is_asked_where_an_anomaly_or_an_error_has_one() -> None:
    odd = record(1, anomalies=(_ANOMALY, _ANOMALY))
    broken = record(2, error=DecodeError("past-packet-size", "no"))
    clean = record(3)
    assert len(judged(rule(seen, codes=("a.b",)), odd, broken, clean)) == 1
    assert len(judged(rule(seen, codes=("a.b", "past-packet-size")), odd, broken, clean)) == 2
    assert judged(rule(seen, codes=("a.b",), types=("ping",)), odd) == []


def test_what_a_check_says_outweighs_the_rule() -> None:
    def check(record: Record, context: Context) -> Iterator[Detection]:
        yield Detection(
            message="x",
            evidence=(evidence_of(record),),
            severity="high",
            confidence="guess",
            cves=("CVE-1-1",),
        )

    (found,) = judged(rule(check, spec=(_SPEC,)), record(1))
    assert (found.severity, found.confidence, found.cves) == ("high", "guess", ("CVE-1-1",))
    assert (found.rank, found.spec) == (SEVERITIES.index("high"), "[MS-MQMQ] 2.2.19.1")


def test_what_a_rule_needs_and_was_not_captured_makes_a_note_of_what_it_saw() -> None:
    def check(record: Record, context: Context) -> Iterator[Detection]:
        yield Detection(message=f"{context.started(record)}", evidence=(evidence_of(record),))

    ends = {"src": "192.0.2.1:50000", "dst": "192.0.2.2:1801"}
    records = [
        record(1, "tcp_stream", event="syn", stream=0, frames=(1,), **ends),
        record(2, stream=0, frames=(2,), **ends),
        record(3, "gap", stream=0, missing=5, frames=(2, 4), **ends),
        record(4, stream=1, frames=(5,), src="192.0.2.3:50000", dst="192.0.2.2:1801"),
    ]
    needing = rule(check, types=("unknown_packet",), severity="medium", needs=("around",))
    found = judged(needing, *records)
    assert [(one.message, one.severity, one.confidence) for one in found] == [
        ("True", "info", "guess"),
        ("False", "medium", "certain"),
    ]
    assert found[0].caveats == ("bytes of this connection are missing from the capture",)
    preferring = msgspec.structs.replace(needing, needs=(), prefers=("around",))
    assert [one.severity for one in judged(preferring, *records)] == ["low", "medium"]
    withholding = msgspec.structs.replace(needing, withheld=True)
    assert [one.message for one in judged(withholding, *records)] == ["False"]


@pytest.mark.parametrize(("severity", "asked"), [("info", 4), ("low", 6)])
def test_findings_of_one_rule_are_given_up_to_a_limit(
    monkeypatch: pytest.MonkeyPatch, severity: str, asked: int
) -> None:
    monkeypatch.setattr(importlib.import_module("msmq_wire.detection.judge"), "MOST_OF_A_RULE", 3)
    calls: list[int] = []

    def check(record: Record, context: Context) -> Iterator[Detection]:
        calls.append(record.id)
        yield from seen(record, context)

    judging = Judge({"TST-ONE": rule(check, severity=severity)})
    found = [one for number in range(1, 7) for one in judging.feed(record(number))] + judging.finish()
    assert len(found) == 3
    assert len(calls) == asked
    assert judging.more["TST-ONE"] == asked - 3


def test_what_was_sent_is_told_from_what_was_read() -> None:
    judging = Judge({})
    assert judging.on_wire(record(1))
    assert not judging.on_wire(record(2, parent=1))
    assert not judging.on_wire(record(3, "message_packet"))


def test_a_rule_about_what_is_sent_is_not_asked_about_a_message_that_was_read() -> None:
    packet = build_message("DIRECT=OS:h\\q")
    sent = record(1, "user_message", packet=packet)
    read = record(2, "user_message", packet=packet, parent=1)
    of_sent, of_read = rule(seen, types=("user_message",)), rule(seen, types=("message_packet",))
    assert [found.evidence[0].record for found in judged(of_sent, sent, read)] == [1]
    assert [found.evidence[0].record for found in judged(of_read, sent, read)] == [2]
    coded = rule(seen, codes=("a.b",), types=("user_message",))
    odd = record(3, "user_message", packet=packet, parent=1, anomalies=(_ANOMALY,))
    assert judged(coded, odd) == []


def test_sessions_messages_and_the_story_are_judged_at_the_end() -> None:
    def check(item: Any, context: Context) -> Iterator[Detection]:
        yield Detection(message=type(item).__name__, evidence=())

    for over, name, count in (("session", "Session", 1), ("life", "MessageLife", 3), ("story", "Story", 1)):
        judging = Judge({"TST-ONE": rule(check, over=over)})
        assert [found for one in read_capture(_DEMO, streams=True) for found in judging.feed(one)] == []
        assert [found.message for found in judging.finish()] == [name] * count
        assert judging.story is not None


@pytest.mark.parametrize("most", [1, 2, 7, 1000])
def test_messages_that_leave_are_judged_once_like_those_that_stay(most: int) -> None:
    def check(life: Any, context: Context) -> Iterator[Detection]:
        yield Detection(message=life.message_id, evidence=())

    records = list(read_capture(_DEMO.with_name("clean_business_day.pcap"), streams=True))
    left: list[Any] = []
    judging = Judge({"TST-ONE": rule(check, over="life")}, messages=most, leave=left.append)
    early = [one.message for number in records for one in judging.feed(number)]
    found = [*early, *(one.message for one in judging.finish())]
    assert judging.story is not None
    assert found == [life.message_id for life in (*left, *judging.story.lives)]
    assert len(early) == len(left)
    assert bool(left) == (most < 1000)
    whole = Judge({"TST-ONE": rule(check, over="life")})
    assert [one for number in records for one in whole.feed(number)] == []
    assert set(found) == {one.message for one in whole.finish()}


@pytest.mark.slow
@pytest.mark.parametrize("over", ["session", "life"])
@pytest.mark.parametrize("budget", [1, 20_000, 1 << 30])
def test_what_leaves_the_budget_is_judged_before_the_end_like_what_stays(over: str, budget: int) -> None:
    def check(item: Any, context: Context) -> Iterator[Detection]:
        yield Detection(message=item.src if over == "life" else item.client, evidence=())

    left: list[Any] = []
    judging = Judge({"TST-ONE": rule(check, over=over)}, budget=budget, leave=left.append)
    early = [one.message for number in range(1, 101) for one in judging.feed(lone(number))]
    found = [*early, *(one.message for one in judging.finish())]
    assert judging.story is not None
    assert judging.story.left_out.sessions + judging.story.left_out.lives == len(left)
    assert bool(early) == (budget < 1 << 30)
    assert sorted(found) == sorted(lone(number).src or "" for number in range(1, 101))


def test_a_gap_in_a_sequence_that_leaves_is_found() -> None:
    tape = Tape()
    tape.open()
    tape.message(1, tx=(1, 0))
    tape.message(2, tx=(5, 3))
    judging = Judge({"TXN-GAP": RULES["TXN-GAP"]}, budget=1)
    # The last record is judged when another one comes, or nothing does.
    assert [one.id for record in tape.records for one in judging.feed(record)] == []
    whole = Judge({"TXN-GAP": RULES["TXN-GAP"]})
    (gap,) = [one for record in tape.records for one in whole.feed(record)] + whole.finish()
    assert gap.id == "TXN-GAP"


def test_findings_about_messages_that_leave_are_bounded_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def check(life: Any, context: Context) -> Iterator[Detection]:
        yield Detection(message=life.message_id, evidence=())

    monkeypatch.setattr(importlib.import_module("msmq_wire.detection.judge"), "MOST_OF_A_RULE", 3)
    records = list(read_capture(_DEMO.with_name("clean_business_day.pcap"), streams=True))
    left: list[Any] = []
    judging = Judge({"TST-ONE": rule(check, over="life")}, messages=1, leave=left.append)
    found = [one for number in records for one in judging.feed(number)] + judging.finish()
    assert judging.story is not None
    assert len(found) == 3
    assert judging.more["TST-ONE"] == len(left) + len(judging.story.lives) - 3


def test_an_ordinary_capture_gives_nothing_that_calls_for_attention() -> None:
    found = list(judge(read_capture(_DEMO, streams=True)))
    assert {one.severity for one in found} <= {"info"}
    assert {one.id for one in found} <= set(RULES)


def test_a_gap_behind_a_call_tells_of_the_messages_that_it_carried() -> None:
    needy = rule(seen, types=("note",), needs=("record",), severity="medium")
    ends: dict[str, Any] = {"src": "192.0.2.10:2103", "dst": "192.0.2.21:49153", "stream": 0}
    call = record(1, "rpc_call", frames=(1, 2), **ends)
    carried = [record(number, "note", parent=1, frames=(2,), **ends) for number in (2, 3)]
    gap = record(4, "gap", missing=436, frames=(2, 4), **ends)
    assert [one.severity for one in judged(needy, call, *carried, gap)] == ["info", "info"]
    assert [one.severity for one in judged(needy, call, *carried, record(4, **ends))] == ["medium", "medium"]


def test_what_is_not_given_is_counted_unless_it_is_a_note() -> None:
    assert beyond({"FRM-SIG": 12_000, "CNT-CLEAR": 1, "LEN-ENV": 0}) == [
        "more of CNT-CLEAR, not counted",
        "12,000 more of FRM-SIG",
    ]
