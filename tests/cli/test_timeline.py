"""``msmq-wire timeline``: a message step by step, a session as a diagram."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fixtures.build_frames import pcap
from fixtures.build_scene import Scene, message
from tests.splitting import split

Run = Callable[..., Any]

_FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
_FIVE = _FIXTURES / "diagnose" / "q04_two_unacknowledged.pcap"
_VANISHED = _FIXTURES / "diagnose" / "q05_vanished.pcap"
_READ = _FIXTURES / "diagnose" / "q09_remote_read.pcap"
_GAP = _FIXTURES / "sessions" / "transactional_gap.pcap"
_TWO = _FIXTURES / "sessions" / "reset_and_resend.pcap"

_DIAGRAM = """\
session 0: 192.0.2.21:49731 to 192.0.2.10:1801, reset, 5 messages there, 0 back
begins 2026-11-20 09:14:07.512000Z; queue managers
a1d30c5b-247e-4f45-9a31-c5d20e6f7788, c277e190-3d6a-4c4b-8d05-f21b9ac83e44
  seconds   frame 192.0.2.21:49731                               192.0.2.10:1801
    0.000       1 |-- SYN ---------------------------------------------------->|
    0.001       2 |<------------------------------------------------ SYN-ACK --|
    0.004       4 |-- EstablishConnection  a1d30c5b… to any ------------------>|
    0.006       6 |<------------ EstablishConnection  a1d30c5b… to c277e190… --|
    0.009       8 |-- ConnectionParameters  window 64 ------------------------>|
    0.012      10 |<------------------------ ConnectionParameters  window 64 --|
    0.100      12 |-- message a1d30c5b…\\4161  "order 4161" 18 bytes ---------->|
    0.200      14 |-- message a1d30c5b…\\4162  "order 4162" 18 bytes ---------->|
    0.300      16 |-- message a1d30c5b…\\4163  "order 4163" 18 bytes ---------->|
    0.350      18 |<------------------ SessionAck  received 3, stored 1 to 2 --|
    0.400      20 |-- message a1d30c5b…\\4164  "order 4164" 18 bytes ---------->|
    0.500      22 |-- message a1d30c5b…\\4165  "order 4165" 18 bytes ---------->|
    0.600      24 |<---------------------------------------------------- RST --|
End: reset by the server; without acknowledgment: 2 there, 0 back.
"""


def test_a_session_is_a_diagram_of_80_columns(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    outcome = run("timeline", _FIVE, "--session", 0, "--quiet")
    assert outcome.out == _DIAGRAM
    assert (outcome.status, outcome.err) == (0, "")


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_diagrams_and_lists_fit_the_terminal(width: int, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    for arguments in (
        (_GAP, "--session", 0),
        (_FIXTURES / "sessions" / "lost_frames.pcap", "--session", 0),
        (_GAP, "--message", 44),
        (_VANISHED, "--session", 0),
        (_READ, "--message", 1),
        (_TWO,),
    ):
        outcome = run("timeline", *arguments, "--quiet")
        assert outcome.status == 0
        assert max(len(line) for line in outcome.out.splitlines()) <= width


def test_a_silence_stands_between_its_steps(run: Run) -> None:
    outcome = run("timeline", _GAP, "--session", 0, "--quiet")
    assert "... 29.5 s ..." in outcome.out
    assert "OrderAck  saved up to 2" in outcome.out


def test_a_message_is_told_from_its_session_to_its_outcome(run: Run) -> None:
    outcome = run("timeline", _GAP, "--message", "a1d30c5b…\\44", "--quiet")
    lines = [line.split("  ") for line in outcome.out.splitlines()]
    assert lines[0] == ['Message a1d30c5b-247e-4f45-9a31-c5d20e6f7788\\44 "order 44"']
    reported = [[part.strip() for part in line if part.strip()] for line in lines[2:-1]]
    assert [(line[1], line[2], line[3]) for line in reported] == [
        ("0.000", "10", "session open"),
        ("0.288", "16", "sent"),
        ("0.588", "18", "acknowledged"),
        ("30.298", "24", "sent again"),
        ("30.888", "28", "OrderAck"),
    ]
    assert reported[0][0] == "2026-11-20 09:14:07.523700Z"
    last = "Outcome: delivered, since an OrderAck covers it: the destination saved it."
    assert outcome.out.splitlines()[-1] == last


def test_a_refusal_says_why_and_in_which_frame(run: Run) -> None:
    outcome = run("timeline", _VANISHED, "--message", 4170, "--format", "jsonl", "--quiet")
    rows = [json.loads(line) for line in outcome.out.splitlines()]
    assert {
        "record": 10,
        "capture": str(_VANISHED),
        "frame": 15,
        "time": "2026-11-20T09:14:07.530200000Z",
        "src": "192.0.2.10:1801",
        "dst": "192.0.2.21:49731",
        "what": "administration ack",
        "detail": "the destination queue does not exist",
        "told_by": None,
    } in rows


def test_a_remote_read_is_part_of_the_life_of_a_message(run: Run) -> None:
    outcome = run("timeline", _READ, "--message", 1, "--format", "jsonl")
    steps = [(json.loads(line)["what"], json.loads(line)["frame"]) for line in outcome.out.splitlines()]
    assert steps == [
        ("peeked remotely", 9),
        ("seen in a call", 9),
        ("received remotely", 11),
        ("taken off the queue", 13),
    ]


def test_without_a_choice_the_sessions_are_listed(run: Run) -> None:
    outcome = run("timeline", _TWO, "--quiet")
    assert outcome.out.splitlines() == [
        "session 0: 192.0.2.21:49731 to 192.0.2.10:1801, reset, 4 messages there, 0 back",
        "session 1: 192.0.2.21:49732 to 192.0.2.10:1801, open, 3 messages there, 0 back",
    ]
    rows = [json.loads(line) for line in run("timeline", _TWO, "--format", "jsonl").out.splitlines()]
    assert [(row["session"], row["unacknowledged"]) for row in rows] == [(0, [2, 0]), (1, [0, 0])]


@pytest.mark.parametrize(
    ("name", "kinds", "line"),
    [
        (
            "NET-LOSS/hit_never_acknowledged",
            ["unanswered"],
            "Network: TCP of 192.0.2.10 acknowledged nothing more of what 192.0.2.21 sent, sent again 5 "
            "times in 9.31 s.",
        ),
        (
            "NET-WINDOW/hit_full",
            ["window"],
            "Network: the TCP receive window of 192.0.2.10 was 0 for 42.01 s.",
        ),
        ("NET-LOSS/miss_once", [], "End: still there when the capture ended."),
    ],
)
def test_a_session_says_what_tcp_shows_of_the_network(
    run: Run, name: str, kinds: list[str], line: str
) -> None:
    path = _FIXTURES / "findings" / f"{name}.pcap"
    assert run("timeline", path, "--session", 0, "--quiet").out.splitlines()[-1] == line
    (row,) = map(json.loads, run("timeline", path, "--format", "jsonl").out.splitlines())
    assert row["network"] == kinds


def test_redaction_hides_hosts_and_labels_and_keeps_the_steps(run: Run) -> None:
    for choice in (("--session", 0), ("--message", 44)):
        outcome = run("timeline", _GAP, *choice, "--redact", "hosts,labels,bodies")
        assert outcome.status == 0
        for secret in ("192.0.2.", "a1d30c5b", "order 44"):
            assert secret not in outcome.out
        assert "host-1:49731" in outcome.out
    assert "OrderAck" in outcome.out


@pytest.mark.parametrize(
    ("choice", "words"),
    [
        (("--message", "47110"), "no message is called 47110, by name"),
        (("--message", "x\x1b[2J"), "no message is called x\\x1b[2J, by name"),
        (("--session", "5"), "no session 5 in the capture: they are 0 to 0"),
    ],
)
def test_what_is_not_there_ends_with_1(choice: tuple[str, str], words: str, run: Run) -> None:
    outcome = run("timeline", _FIVE, *choice, "--quiet")
    assert (outcome.status, outcome.out) == (1, "")
    assert words in outcome.err


def test_a_number_that_several_messages_have_is_bad_usage(run: Run, tmp_path: Path) -> None:
    scene = Scene()
    connection = scene.connect()
    whole = message(7, "order", b"<order/>").data
    for packet in (whole, whole[:16] + bytes(range(16)) + whole[32:]):
        connection.send(0, packet)
    path = tmp_path / "two.pcap"
    path.write_bytes(pcap(scene.frames))
    outcome = run("timeline", path, "--message", 7, "--quiet")
    assert (outcome.status, outcome.out) == (2, "")
    assert 'several messages fit 7: a1d30c5b…\\7 "order", 03020100…\\7 "order"' in outcome.err
    assert run("timeline", path, "--message", "ORD", "--quiet").err == outcome.err.replace("7:", "ORD:")
    assert run("timeline", path, "--message", "0302\\7", "--quiet").status == 0


@pytest.mark.parametrize(
    "arguments", [("--message", "1", "--session", "0"), ("--session", "-1"), ("--session", "x")]
)
def test_bad_usage_ends_with_2(arguments: tuple[str, ...], run: Run) -> None:
    assert run("timeline", _FIVE, *arguments).status == 2


def test_standard_input_tells_a_message_but_no_session(run: Run) -> None:
    data = _FIVE.read_bytes()
    status, out, err = run("timeline", "-", "--session", 0, stdin=data)
    assert (status, out) == (2, "")
    assert err == (
        "msmq-wire: Invalid value for --session: a session needs two readings, and this capture can be read "
        "only once: save it to a file first (see msmq-wire timeline --help)\n"
    )
    outcome = run("timeline", "-", "--message", 4162, "--quiet", stdin=data)
    assert outcome.status == 0
    assert "Outcome: stored" in outcome.out


def test_a_hole_in_the_capture_stands_before_what_follows_it(run: Run) -> None:
    lost = _FIXTURES / "sessions" / "lost_frames.pcap"
    outcome = run("timeline", lost, "--session", 0, "--format", "jsonl", "--quiet")
    rows = [json.loads(line) for line in outcome.out.splitlines()]
    frames = [row["frame"] for row in rows]
    assert frames == sorted(frames)
    at = [row["what"] for row in rows].index("204 bytes missing")
    assert (rows[at]["frame"], rows[at + 1]["frame"]) == (15, 15)
    assert rows[at + 1]["what"] == "message a1d30c5b…\\3"


_IN_TWO = """\
in trace1:
session 0: 192.0.2.21:49731 to 192.0.2.10:1801, reset, 5 messages there, 0 back
  seconds   frame 192.0.2.21:49731                               192.0.2.10:1801
                  | in trace1                                                  |
    0.200      14 |-- message a1d30c5b…\\4162  "order 4162" 18 bytes ---------->|
    0.300      16 |-- message a1d30c5b…\\4163  "order 4163" 18 bytes ---------->|
                  | in trace2                                                  |
    0.350       2 |<------------------ SessionAck  received 3, stored 1 to 2 --|
"""


@pytest.fixture
def halves(tmp_path: Path) -> list[Path]:
    """A session in two files; the second one begins with its frame 17."""
    return split(_FIVE, tmp_path, ("trace1.pcap", "trace2.pcap"), (16,))


def test_a_session_goes_on_in_the_next_file(
    run: Run, halves: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    listed = run("timeline", *reversed(halves))
    shown = run("timeline", *reversed(halves), "--session", 0)
    assert listed.err == shown.err == "24 frames read; 2 files read as one capture, in order of time\n"
    lines = shown.out.splitlines()
    assert [*listed.out.splitlines(), *lines[3:5], *lines[12:16]] == _IN_TWO.splitlines()
    whole = run("timeline", _FIVE, "--session", 0, "--format", "jsonl").out
    parts = run("timeline", *halves, "--session", 0, "--format", "jsonl").out
    reported = [json.loads(line) for line in parts.splitlines()]
    assert [(row["what"], row["record"]) for row in reported] == [
        (row["what"], row["record"]) for row in map(json.loads, whole.splitlines())
    ]
    assert (reported[-1]["capture"], reported[-1]["frame"]) == (str(halves[1]), 8)


def test_sessions_are_numbered_through_all_captures(run: Run) -> None:
    listed = run("timeline", _TWO, _FIVE, "--format", "jsonl", "--quiet").out.splitlines()
    assert [(row["session"], row["first"]["capture"]) for row in map(json.loads, listed)] == [
        (0, str(_TWO)),
        (1, str(_TWO)),
        (2, str(_FIVE)),
    ]
    alone = run("timeline", _FIVE, "--session", 0, "--format", "jsonl").out.splitlines()
    among = run("timeline", _TWO, _FIVE, "--session", 2, "--format", "jsonl").out.splitlines()
    assert [json.loads(line)["frame"] for line in among] == [json.loads(line)["frame"] for line in alone]
    assert run("timeline", _TWO, _FIVE, "--session", 3).err.splitlines()[0] == (
        "msmq-wire: no session 3 in the capture: they are 0 to 2"
    )


def test_a_message_is_told_across_files(run: Run, halves: list[Path]) -> None:
    lines = run("timeline", *halves, "--message", 4162, "--quiet").out.splitlines()
    assert [line for line in lines if line.startswith("in ")] == ["in trace1:", "in trace2:"]
    assert lines[-1].startswith("Outcome: stored")


def test_a_session_has_the_zone_and_the_colours_that_are_asked_for(run: Run) -> None:
    demo = _FIXTURES / "captures" / "demo.pcap"
    shown = run("timeline", demo, "--session", 0, "--timezone", "Asia/Tokyo", "--quiet")
    assert "begins 2026-11-20 18:14:07.514600+09:00" in shown.out
    assert (shown.err, "\x1b[" in shown.out) == ("", False)
    assert "\x1b[" in run("timeline", demo, "--session", 0, "--color", "always").out
