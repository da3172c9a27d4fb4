"""Tables for a notebook: escaped, bounded, without a script."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import msmq_wire as mw
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


def test_an_explanation_is_a_table_of_facts_and_one_of_steps() -> None:
    text = mw.why(_DEMO, "payment 93")._repr_html_()
    assert f'outcome</th><td style="{_CELL}">received</td>' in text
    assert ">Steps</caption>" in text
    assert f'<td style="{_CELL}">OrderAck: the destination saved it</td>' in text
    assert text == mw.why(_DEMO, "payment 93").message._repr_html_()


def test_an_explanation_of_several_messages_is_a_table_of_them() -> None:
    text = mw.why(_DEMO, "private$")._repr_html_()
    assert f'<td style="{_CELL}">order 4711</td><td style="{_CELL}">acknowledged</td>' in text
    assert text.count("<tr>") == 1 + 3
