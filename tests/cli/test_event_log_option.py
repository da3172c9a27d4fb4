"""``--events``: event logs beside captures, at the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import msmq_wire as mw
from msmq_wire.capture.event_logs import evtx_file
from msmq_wire.errors import MissingExtraError
from tests.capture.event_logs.event_text import event_text
from tests.capture.event_logs.evtx_bytes import evtx_file as evtx_bytes
from tests.capture.event_logs.logs import BEGUN, MILLISECOND, ORDERS, RECEIVED, SENDER

Run = Callable[..., Any]

_FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
_CAPTURE = _FIXTURES / "diagnose" / "q04_two_unacknowledged.pcap"


def _texts(computer: str = "MSG01.corp.example") -> list[str]:
    return [
        event_text(
            number, time + 2500 * MILLISECOND, [f"{{{SENDER}}}", str(number), ORDERS], computer=computer
        )
        for number, time in RECEIVED.items()
    ]


@pytest.fixture
def xml(tmp_path: Path) -> str:
    path = tmp_path / "events.xml"
    path.write_text("\n".join(_texts()), encoding="utf-16")
    return str(path)


@pytest.fixture
def evtx(tmp_path: Path) -> str:
    path = tmp_path / "events.evtx"
    path.write_bytes(evtx_bytes([_texts()]))
    return str(path)


@pytest.mark.parametrize("command", ["why", "timeline"])
def test_an_event_is_a_step_of_its_message(run: Run, xml: str, evtx: str, command: str) -> None:
    arguments = ["why", _CAPTURE, "4164"] if command == "why" else ["timeline", _CAPTURE, "--message", "4164"]
    for log in (xml, evtx):
        result = run(*arguments, "--events", log)
        assert result.status == 0
        assert f"put into a queue  {ORDERS}, says the event log of MSG01.corp.example" in result.out
        assert f"{log}: 5 messages put into queues, by Microsoft-Windows-MSMQ/End2End" in result.err


def test_json_lines_name_the_log_and_no_frame(run: Run, xml: str) -> None:
    result = run("timeline", _CAPTURE, "--message", "4164", "--events", xml, "--format", "jsonl", "-q")
    (step,) = [one for one in map(json.loads, result.out.splitlines()) if "event_log" in one]
    assert (step["capture"], step["frame"], step["what"]) == ("", None, "put into a queue")
    assert step["event_log"] == {
        "computer": "MSG01.corp.example",
        "files": [xml],
        "event_record_id": 4164,
        "time": "2026-11-20T09:14:10.417000000Z",
        "side": "receiver",
    }
    assert result.err == ""


def test_diagnose_says_what_the_log_adds(run: Run, xml: str) -> None:
    result = run("diagnose", _CAPTURE, "--events", xml)
    assert result.status == 0
    assert "were put into a queue at 192.0.2.10" in result.out
    answer = json.loads(
        run("diagnose", _CAPTURE, "--events", xml, "--question", "19", "--format", "jsonl").out
    )
    (log,) = answer["facts"]["event_logs"]
    assert (log["host"], log["sides"], log["in_capture"]) == ("192.0.2.10", ["receiver"], 5)
    assert [clock["ahead"] for clock in log["clocks"]] == [2505 * MILLISECOND]


def test_hosts_are_redacted_in_logs_and_the_messages_are_joined_all_the_same(run: Run, evtx: str) -> None:
    arguments = ("--events", evtx, "--redact", "hosts,labels,bodies")
    for command in (
        ["why", _CAPTURE, "4164"],
        ["diagnose", _CAPTURE, "-v"],
        ["diagnose", _CAPTURE, "--format", "jsonl"],
        ["timeline", _CAPTURE, "--message", "4164", "--format", "jsonl"],
    ):
        result = run(*command, *arguments)
        assert result.status == 0
        assert "put into" in result.out
        for secret in ("msg01", "corp.example", str(SENDER), str(SENDER)[:8], "192.0.2", "events.evtx"):
            assert secret not in (result.out + result.err).lower(), (command, secret)


def test_a_log_that_cannot_be_read_is_one_error_line_and_the_rest_goes_on(
    run: Run, tmp_path: Path, xml: str
) -> None:
    wrong = tmp_path / "wrong.evtx"
    wrong.write_bytes(b"no event log")
    cut = tmp_path / "cut.xml"
    cut.write_text(f"<Events>{_texts()[3]}")
    result = run("why", _CAPTURE, "4164", "--events", wrong, "--events", tmp_path / "absent", "--events", cut)
    assert result.status == 1
    errors = [line for line in result.err.splitlines() if line.startswith("msmq-wire: ")]
    assert [line.partition(": ")[2] for line in errors] == [
        f"{wrong} is no event log, neither .evtx nor XML; export the log: "
        "wevtutil qe Microsoft-Windows-MSMQ/End2End /f:xml",
        f"cannot open {tmp_path / 'absent'}: No such file or directory",
        f"{cut}: the XML is not well-formed (line 1): mismatched tag",
    ]
    assert "put into a queue" in result.out


def test_without_the_package_one_line_says_how_to_get_it_and_how_to_do_without(
    run: Run, evtx: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evtx_file, "find_spec", lambda _: None)
    result = run("why", _CAPTURE, "4164", "--events", evtx, "-q")
    assert result.status == 1
    assert result.err == (
        "msmq-wire: an .evtx file needs evtx (or export it: wevtutil qe FILE /lf:true /f:xml): "
        'pip install "msmq-wire[evtx]"\n'
    )
    with pytest.raises(MissingExtraError):
        mw.why(_CAPTURE, "4164", events=evtx)


def test_a_message_that_only_a_log_has_is_named_where_it_is_asked_for(run: Run, tmp_path: Path) -> None:
    log = tmp_path / "log.xml"
    log.write_text(event_text(1, BEGUN, [str(SENDER), "4999", "DIRECT=OS:msg01\\orders"], computer="WS17"))
    result = run("why", _CAPTURE, "4999", "--events", log, "-q")
    assert result.status == 1
    assert result.err.rstrip().endswith(
        "a1d30c5b…\\4999 was put into DIRECT=OS:msg01\\orders, says the event log of WS17, "
        "at 2026-11-20 09:14:07.000Z by its own clock"
    )
    with pytest.raises(mw.NoSuchMessageError, match="says the event log of WS17"):
        mw.why(_CAPTURE, "4999", events=[log])


def test_events_without_a_message_are_refused_by_timeline(run: Run, xml: str) -> None:
    result = run("timeline", _CAPTURE, "--events", xml)
    assert result.status == 2
    assert "--message" in result.err


def test_what_a_log_that_is_cut_lacks_is_of_the_layer_capture(run: Run, tmp_path: Path) -> None:
    cut = tmp_path / "cut.evtx"
    cut.write_bytes((_FIXTURES / "events" / "clock_ahead" / "receiver.evtx").read_bytes()[:70_000])
    capture = _FIXTURES / "captures" / "clean_business_day.pcap"
    lines = run("diagnose", capture, "--events", cut, "-q").out.splitlines()
    (line,) = [one for one in lines if "Not all of" in one]
    assert "[low, a guess, capture] Not all of" in line
