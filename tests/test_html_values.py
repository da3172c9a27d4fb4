"""Tables for a notebook: escaped, bounded, without a script."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import msmq_wire as mw
from msmq_wire.api.why import ExplainedMessage, ExplainedStep
from msmq_wire.detection.diagnosis import DigestLine
from msmq_wire.detection.finding import Evidence
from msmq_wire.html_values import facts_html, rows_html

_DEMO = str(Path(__file__).parent.parent / "fixtures" / "captures" / "demo.pcap")
_SCRIPT = "<script>alert(1)</script>\x1b\u202e"
_CELL = "text-align: left; vertical-align: top; padding: 2px 8px; white-space: pre-wrap"
_LABELLED = mw.Record(
    id=7,
    type="user_message",
    capture=_SCRIPT,
    src=_SCRIPT,
    packet=mw.build_message(r"DIRECT=OS:msg01\private$\orders", b"", label=_SCRIPT),
)
_FINDING = mw.Finding(
    id="FRM-SIG",
    title=_SCRIPT,
    severity="high",
    confidence="certain",
    message=_SCRIPT * 10_000,
    evidence=(Evidence(src=_SCRIPT, path=_SCRIPT, frames=tuple(range(100_000))),),
)


def test_facts_are_rows_of_a_name_and_a_value() -> None:
    assert facts_html("ping 1", (("from", "192.0.2.1:1"), ("to", None), ("note", ""))) == (
        '<table style="border-collapse: collapse">'
        f'<caption style="{_CELL}; font-weight: bold">ping 1</caption><tbody>'
        f'<tr><th scope="row" style="{_CELL}">from</th><td style="{_CELL}">192.0.2.1:1</td></tr>'
        "</tbody></table>"
    )


def test_what_is_beyond_fifty_rows_is_counted() -> None:
    text = rows_html("Messages", ("id", "label"), [(number, "a") for number in range(1051)])
    assert text.count("<tr>") == 1 + 50 + 1
    assert f'<td colspan="2" style="{_CELL}">1,001 more rows are not shown</td>' in text
    assert "more row" not in rows_html("Messages", ("id",), [(1,)] * 50)
    assert "1 more row is not shown" in rows_html("Messages", ("id",), [(1,)] * 51)


@pytest.mark.parametrize(
    "value", [_LABELLED, _FINDING, mw.Message(record=_LABELLED)], ids=lambda one: type(one).__name__
)
def test_markup_in_a_capture_is_text_in_a_notebook(value: Any) -> None:
    text = value._repr_html_()
    assert "<script" not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;\\x1b\\u202e" in text
    assert len(text) < 10_000


_CAUSE = DigestLine(severity="high", confidence="certain", layer="host", text=_SCRIPT, where=_SCRIPT * 10_000)
_STEPS = tuple(
    ExplainedStep(record=1, capture="", frame=None, time_ns=None, src=_SCRIPT, dst="", what="sent", detail="")
    for _ in range(1000)
)
_EXPLAINED = ExplainedMessage(
    message_id="0f9a63c8-0000-0000-0000-000000000000\\1",
    record=1,
    capture=_SCRIPT,
    frame=1,
    time_ns=None,
    label=_SCRIPT,
    queue=None,
    outcome="stored",
    sentence=_SCRIPT * 10_000,
    reason="",
    action="",
    unknown=(),
    steps=_STEPS,
)


@pytest.mark.parametrize(
    "value",
    [
        _CAUSE,
        mw.WhyAnswer(words="x", messages=(_EXPLAINED,)),
        mw.WhyAnswer(words=_SCRIPT, messages=(_EXPLAINED,) * 1000),
    ],
    ids=["cause", "one message", "messages"],
)
def test_what_is_told_of_a_capture_is_text_and_bounded(value: Any) -> None:
    text = value._repr_html_()
    assert "<script" not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    assert len(text) < 50_000
    assert "more rows are not shown" in text or value is _CAUSE


def test_a_record_says_what_it_is_about() -> None:
    message = next(one for one in mw.read_capture(_DEMO) if one.type == "user_message")
    text = message._repr_html_()
    for name, value in {
        "time": "2026-11-20 09:14:07.525Z",
        "from": "192.0.2.21:49731",
        "to": "192.0.2.10:1801",
        "label": "order 4711",
        "frames": "11",
    }.items():
        assert f'{name}</th><td style="{_CELL}">{value}</td>' in text


def test_a_diagnosis_is_a_table_of_its_causes() -> None:
    text = mw.diagnose(str(Path(_DEMO).parents[1] / "digest" / "fault_and_attack.pcap"))._repr_html_()
    assert ">What is wrong</caption>" in text
    assert f'<td style="{_CELL}">high</td>' in text


def test_a_cause_says_where_and_what_to_do() -> None:
    cause = mw.diagnose(str(Path(_DEMO).parents[1] / "digest" / "fault_and_attack.pcap")).causes[0]
    text = cause._repr_html_()
    assert ">high: SRMP envelope longer than its packet" in text
    assert f'command</th><td style="{_CELL}">findings --rule LEN-ENV</td>' in text


def test_a_call_says_who_asked_what() -> None:
    path = str(Path(_DEMO).parent / "lab_remote_read.pcap")
    text = next(mw.calls(path, filter="status != 0"))._repr_html_()
    for name, value in {
        "client": "192.0.2.21:49153",
        "method": "R_StartReceive",
        "status_name": "MQ_ERROR_IO_TIMEOUT",
        "latency": "0:00:01.000500",
    }.items():
        assert f'{name}</th><td style="{_CELL}">{value}</td>' in text


def test_an_answer_has_its_reason_and_its_steps() -> None:
    text = mw.why(_DEMO, "payment 93")._repr_html_()
    assert ">message a1d30c5b…\\4163: received</caption>" in text
    assert ">Steps</caption>" in text
    assert f'<td style="{_CELL}">OrderAck: the destination saved it</td>' in text
    assert text == mw.why(_DEMO, "payment 93").message._repr_html_()
    several = mw.why(_DEMO, "private$")._repr_html_()
    assert f'<td style="{_CELL}">payment 93</td><td style="{_CELL}">received</td>' in several


def test_a_table_shows_its_columns_and_reads_nothing() -> None:
    text = mw.table("nowhere.pcap", "messages", columns="time,label")._repr_html_()
    assert ">messages of nowhere.pcap</caption>" in text
    assert f'<td style="{_CELL}">time</td><td style="{_CELL}">timestamp[ns, tz=UTC]</td>' in text
