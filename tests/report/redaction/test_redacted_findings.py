"""Redacted findings: the same findings, told without what is redacted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from msmq_wire.capture.packet_batch import PacketBatch
from msmq_wire.capture.reader import CaptureReader, read_capture
from msmq_wire.detection import RULES, Evidence, Finding
from msmq_wire.detection.judge import MOST_OF_A_RULE
from msmq_wire.detection.rule import Context, Detection, Over, Rule, evidence_of
from msmq_wire.records.record import Record
from msmq_wire.records.run import in_order
from msmq_wire.report.redaction.redacted_findings import NOT_TOLD, RedactedFindings, RedactingJudge
from msmq_wire.report.redaction.redactor import Redaction, Redactor
from msmq_wire.sessions import Leaving, Story, budget, follow
from tests.cli.conftest import Outcome, pcap_bytes, tcp_frame
from tests.whole_repr import whole_repr

_CAPTURES = Path(__file__).resolve().parents[3] / "fixtures" / "captures"
_EVERYTHING = set(Redaction)
_LABEL = "message_properties_header.label"
_BODY = "message_properties_header.message_body"


def _rule(check: Any, over: Over = "record") -> dict[str, Rule]:
    rule = Rule(
        id="TST-RULE", title="The title", severity="low", meaning="-", action="-", over=over, check=check
    )
    return {rule.id: rule}


def _judged(rules: dict[str, Rule], what: set[Redaction], capture: str = "demo.pcap") -> list[Finding]:
    judge = RedactingJudge(rules, Redactor(what))
    found = []
    for record in read_capture(str(_CAPTURES / capture), streams=True):
        found += judge.feed(record)
    return found + judge.finish()


def _labels(record: Record) -> Iterator[str]:
    label = getattr(getattr(record.packet, "message_properties_header", None), "label", None)
    if label is not None and label.text:
        yield label.text


def _quotes_a_label(record: Record, context: Context) -> Iterator[Detection]:
    for label in _labels(record):
        yield Detection(
            message=f"the label is {label}", evidence=(evidence_of(record, _LABEL, data=label.encode()),)
        )


def _weighs_a_label(record: Record, context: Context) -> Iterator[Detection]:
    for label in _labels(record):
        if set(label) != {"x"}:
            place = evidence_of(record, _LABEL, 56, 4, label.encode())
            yield Detection(
                message=f"the label is {label}", evidence=(place,), caveats=(f"not {label.upper()}",)
            )


def test_without_redaction_nothing_changes() -> None:
    [first, *_] = _judged(_rule(_quotes_a_label), set())
    assert first.message != "the label is " + "x" * (len(first.message) - 13)
    assert "192.0.2." in str(first.evidence[0].src)


def test_a_message_is_told_from_what_is_redacted() -> None:
    plain = _judged(_rule(_quotes_a_label), set())
    reported = _judged(_rule(_quotes_a_label), _EVERYTHING)
    assert len(reported) == len(plain) > 0
    for one, hidden in zip(plain, reported, strict=True):
        assert hidden.message == "the label is " + "x" * (len(one.message) - 13)
        assert set(hidden.evidence[0].data) == {ord("x")}
        assert str(hidden.evidence[0].src).startswith("host-")
        assert hidden.evidence[0].frames == one.evidence[0].frames
        assert hidden.evidence[0].capture == "file 1"


def test_a_finding_that_depends_on_what_is_redacted_stays_and_says_its_title() -> None:
    plain = _judged(_rule(_weighs_a_label), set())
    reported = _judged(_rule(_weighs_a_label), _EVERYTHING)
    assert len(reported) == len(plain) > 0
    for one, hidden in zip(plain, reported, strict=True):
        assert (hidden.message, hidden.caveats) == ("The title", (NOT_TOLD,))
        [place], [before] = hidden.evidence, one.evidence
        assert place.data == bytes(len(before.data))
        assert (place.path, place.offset, place.length) == (_LABEL, 56, 4)
        assert str(place.src).startswith("host-")
        assert place.capture == "file 1"


def test_redacting_finds_neither_less_nor_more() -> None:
    rules = dict(RULES)
    for capture in ("demo.pcap", "published.pcap", "path_overlap_differing_bytes.pcap"):
        plain, reported = _judged(rules, set(), capture), _judged(rules, _EVERYTHING, capture)
        assert [(one.id, one.severity) for one in reported] == [(one.id, one.severity) for one in plain]


def test_findings_about_everything_are_told_from_redacted_records_too() -> None:
    def check(story: Story, context: Context) -> Iterator[Detection]:
        for session in story.sessions:
            yield Detection(
                message=f"{session.client} speaks",
                evidence=(Evidence(src=session.client, dst=session.server),),
            )

    plain, reported = _judged(_rule(check, "story"), set()), _judged(_rule(check, "story"), _EVERYTHING)
    assert len(plain) == len(reported) > 0
    assert "192.0.2." in plain[0].message
    assert reported[0].message.startswith("host-")


def _quotes_a_body(record: Record, context: Context) -> Iterator[Detection]:
    body = _body(record)
    if body:
        yield Detection(
            message=f"the body is {body.hex()}", evidence=(evidence_of(record, _BODY, data=body),)
        )


def _body(record: Record) -> bytes:
    holder = getattr(record.packet, "message_properties_header", None)
    return getattr(holder, "message_body", None) or b""


def _all_told(
    rules: dict[str, Rule], what: set[Redaction], capture: str = "demo.pcap"
) -> tuple[list[Record], list[Finding], Story]:
    """Everything that is shown of a capture."""
    telling = RedactedFindings(rules, Redactor(what))
    pairs = [telling.feed(record) for record in read_capture(str(_CAPTURES / capture), streams=True)]
    found, story = telling.finish()
    return [shown for shown, _ in pairs], [one for _, some in pairs for one in some] + found, story


def _same(one: Story, other: Story) -> bool:
    return (one.sessions, list(one.lives), one.streams) == (other.sessions, list(other.lives), other.streams)


def test_what_is_told_without_redaction_is_what_was_captured() -> None:
    records = list(read_capture(str(_CAPTURES / "demo.pcap"), streams=True))
    shown, found, story = _all_told(dict(RULES), set())
    assert shown == records
    assert found == _judged(dict(RULES), set()) != []
    assert _same(story, follow(records))


def test_no_record_or_finding_has_a_body_that_is_redacted_but_the_story_knows_what_it_acknowledges() -> None:
    records, quoting, whole = _all_told(_rule(_quotes_a_body), set(), "clean_all_deliveries.pcap")
    shown, found, story = _all_told(_rule(_quotes_a_body), {Redaction.BODIES}, "clean_all_deliveries.pcap")
    assert len(found) == len(quoting)
    bodies = [_body(one) for one in records if one.type == "user_message" and any(_body(one))]
    assert bodies != []
    texts = "".join(f"{one.message} {one.evidence[0].data.hex()}" for one in found)
    assert [body for body in bodies if body.hex() in texts] == []
    assert not any(any(_body(one)) for one in shown if one.type == "user_message")
    assert "acknowledged" in {life.outcome for life in story.lives}
    assert _same(story, whole)


def test_neither_records_nor_the_story_name_a_host_or_a_label_that_is_redacted() -> None:
    plain, _, story = _all_told({}, set())
    labels = {label for one in plain if one.type == "user_message" for label in _labels(one)}
    named = whole_repr(plain) + whole_repr(story.sessions) + whole_repr(list(story.lives))
    assert [word for word in ("192.0.2.", *labels) if word not in named] == []
    shown, _, story = _all_told({}, _EVERYTHING)
    named = whole_repr(shown) + whole_repr(story.sessions) + whole_repr(list(story.lives))
    assert [word for word in ("192.0.2.", *labels) if word in named] == []
    assert {one.client for one in story.sessions} <= {one.src for one in shown}


@pytest.mark.parametrize("what", [set(), _EVERYTHING], ids=len)
def test_what_is_followed_no_longer_is_told_as_the_story_is(
    what: set[Redaction], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(budget, "BUDGET", 1)
    left: list[Leaving] = []
    telling = RedactedFindings({}, Redactor(what), left.append)
    for record in read_capture(str(_CAPTURES / "demo.pcap"), streams=True):
        telling.feed(record)
    assert left != []
    assert ("192.0.2." in whole_repr(left)) is (not what)


@pytest.mark.parametrize("what", [set(), {Redaction.BODIES}, _EVERYTHING], ids=len)
def test_of_a_run_is_told_what_is_told_of_its_records(what: set[Redaction]) -> None:
    telling = RedactedFindings(RULES, Redactor(what))
    with CaptureReader(str(_CAPTURES / "demo.pcap"), streams=True, columns=True) as reader:
        pairs = list(telling.judged(reader.batched()))
    at_end, story = telling.finish()
    runs = [item for item, _ in pairs if isinstance(item, PacketBatch)]
    # Nothing of a run is redacted, so it may be shown as it is only where nothing has to be.
    assert bool(runs) is (not what)
    shown, found, expected = _all_told(dict(RULES), what)
    reported = [one for item, _ in pairs for one in (in_order(item) if item in runs else [item])]
    assert reported == shown
    assert [one for _, some in pairs for one in some] + at_end == found
    assert _same(story, expected)


@pytest.mark.parametrize("what", [set(), _EVERYTHING], ids=len)
def test_what_a_rule_finds_too_often_is_counted(what: set[Redaction]) -> None:
    def check(record: Record, context: Context) -> Iterator[Detection]:
        for label in _labels(record):
            yield from (
                Detection(message=label, evidence=(evidence_of(record),)) for _ in range(MOST_OF_A_RULE)
            )

    telling = RedactedFindings(_rule(check), Redactor(what))
    records = list(read_capture(str(_CAPTURES / "demo.pcap"), streams=True))
    found = [one for record in records for one in telling.feed(record)[1]] + telling.finish()[0]
    assert len(found) == MOST_OF_A_RULE
    labels = [label for record in records for label in _labels(record)]
    assert telling.more == {"TST-RULE": (len(labels) - 1) * MOST_OF_A_RULE}


@pytest.mark.parametrize("format_", ["table", "jsonl", "sarif"])
def test_no_format_names_a_host_or_the_folder_of_a_capture(
    run: Callable[..., Outcome], packet_bytes: Callable[[str], bytes], tmp_path: Path, format_: str
) -> None:
    packet = bytearray(packet_bytes("user_message/direct_destination"))
    packet[63] |= 0x02
    path = tmp_path / "secret" / "a.pcap"
    path.parent.mkdir()
    path.write_bytes(pcap_bytes([tcp_frame(bytes(packet), 1)]))
    outcome = run("findings", path, "--format", format_, "--redact", "hosts")
    assert "FLG-AH-WIRE" in outcome.out
    assert "host-1:1025" in outcome.out
    assert [word for word in ("192.0.2", "secret", str(tmp_path)) if word in outcome.out + outcome.err] == []
