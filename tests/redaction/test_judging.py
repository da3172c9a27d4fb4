"""Redacted findings: the same findings, told without what is redacted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from msmq_wire.capture.reader import read_capture
from msmq_wire.findings import RULES, Evidence, Finding
from msmq_wire.findings.rule import Context, Over, Rule, Seen, evidence_of
from msmq_wire.records.record import Record
from msmq_wire.redaction.judging import NOT_TOLD, RedactingJudge
from msmq_wire.redaction.redactor import Redaction, Redactor
from msmq_wire.sessions import Story
from tests.cli.conftest import Outcome, pcap_bytes, tcp_frame

_CAPTURES = Path(__file__).resolve().parents[2] / "fixtures" / "captures"
_EVERYTHING = set(Redaction)
_LABEL = "message_properties_header.label"


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


def _quotes_a_label(record: Record, context: Context) -> Iterator[Seen]:
    for label in _labels(record):
        yield Seen(
            message=f"the label is {label}", evidence=(evidence_of(record, _LABEL, data=label.encode()),)
        )


def _weighs_a_label(record: Record, context: Context) -> Iterator[Seen]:
    for label in _labels(record):
        if set(label) != {"x"}:
            place = evidence_of(record, _LABEL, 56, 4, label.encode())
            yield Seen(message=f"the label is {label}", evidence=(place,), caveats=(f"not {label.upper()}",))


def test_without_redaction_nothing_changes() -> None:
    [first, *_] = _judged(_rule(_quotes_a_label), set())
    assert first.message != "the label is " + "x" * (len(first.message) - 13)
    assert "192.0.2." in str(first.evidence[0].src)


def test_a_message_is_told_from_what_is_redacted() -> None:
    plain = _judged(_rule(_quotes_a_label), set())
    told = _judged(_rule(_quotes_a_label), _EVERYTHING)
    assert len(told) == len(plain) > 0
    for one, hidden in zip(plain, told, strict=True):
        assert hidden.message == "the label is " + "x" * (len(one.message) - 13)
        assert set(hidden.evidence[0].data) == {ord("x")}
        assert str(hidden.evidence[0].src).startswith("host-")
        assert hidden.evidence[0].frames == one.evidence[0].frames
        assert hidden.evidence[0].capture == "demo.pcap"


def test_a_finding_that_depends_on_what_is_redacted_stays_and_says_its_title() -> None:
    plain = _judged(_rule(_weighs_a_label), set())
    told = _judged(_rule(_weighs_a_label), _EVERYTHING)
    assert len(told) == len(plain) > 0
    for one, hidden in zip(plain, told, strict=True):
        assert (hidden.message, hidden.caveats) == ("The title", (NOT_TOLD,))
        [place], [before] = hidden.evidence, one.evidence
        assert place.data == bytes(len(before.data))
        assert (place.path, place.offset, place.length) == (_LABEL, 56, 4)
        assert str(place.src).startswith("host-")
        assert place.capture == "demo.pcap"


def test_redacting_finds_neither_less_nor_more() -> None:
    rules = dict(RULES)
    for capture in ("demo.pcap", "published.pcap", "path_overlap_differing_bytes.pcap"):
        plain, told = _judged(rules, set(), capture), _judged(rules, _EVERYTHING, capture)
        assert [(one.id, one.severity) for one in told] == [(one.id, one.severity) for one in plain]


def test_findings_about_everything_are_told_from_redacted_records_too() -> None:
    def check(story: Story, context: Context) -> Iterator[Seen]:
        for session in story.sessions:
            yield Seen(
                message=f"{session.client} speaks",
                evidence=(Evidence(src=session.client, dst=session.server),),
            )

    plain, told = _judged(_rule(check, "story"), set()), _judged(_rule(check, "story"), _EVERYTHING)
    assert len(plain) == len(told) > 0
    assert "192.0.2." in plain[0].message
    assert told[0].message.startswith("host-")


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
