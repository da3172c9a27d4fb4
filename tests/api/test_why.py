"""What became of a message, as a Python object."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

import msmq_wire as mw
from msmq_wire.cli.app import main
from msmq_wire.invisible import UNSEEN
from tests.splitting import split

_FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
_DEMO = _FIXTURES / "captures" / "demo.pcap"


@pytest.mark.parametrize(
    "words",
    [
        "order 4711",
        "a1d30c5b-247e-4f45-9a31-c5d20e6f7788\\4162",
        "a1d30c5b\\4162",
        "4162",
        "id 10",
        "frame 11",
    ],
)
def test_a_message_is_found_by_what_it_may_be_called(words: str) -> None:
    found = mw.why(_DEMO, words)
    assert len(found) == 1
    assert found.message.message_id == "a1d30c5b-247e-4f45-9a31-c5d20e6f7788\\4162"
    assert (found.message.record, found.message.frame) == (10, 11)
    assert found.message.time == datetime(2026, 11, 20, 9, 14, 7, 525000, UTC)


def test_the_answer_has_the_outcome_the_steps_and_the_evidence() -> None:
    found = mw.why(_DEMO, "order 4711")
    assert found.outcome == "acknowledged"
    assert found.sentence == (
        'Message "order 4711" from 192.0.2.21 to DIRECT=OS:msg01\\private$\\orders came to the next host, '
        "and nothing shows that it reached its queue."
    )
    assert [(step.time, step.text) for step in found.steps] == [
        (datetime(2026, 11, 20, 9, 14, 7, 522400, UTC), "session open: session 0"),
        (
            datetime(2026, 11, 20, 9, 14, 7, 525000, UTC),
            'sent: DIRECT=OS:msg01\\private$\\orders, express, "order 4711", 276 bytes',
        ),
        (datetime(2026, 11, 20, 9, 14, 8, 725400, UTC), "acknowledged: by the next host"),
        (datetime(2026, 11, 20, 9, 14, 19, 30600, UTC), "session closed: session 0"),
    ]
    assert [(place.record, place.frames) for place in found.evidence][:2] == [(9, (9,)), (10, (11,))]
    assert found.action == "check whether 192.0.2.10 has the queue, or routes the message on"
    assert found.reason
    assert found.unknown


_TEXT = r"""
Message "invoice 4" from 192.0.2.21 to Q was refused.
Why: an administration acknowledgment says: the sender may not write to the queue.
To do: give the sender the right to write to the queue; look for it in the dead-letter queue of 192.0.2.21.
Message 0f9a63c8-2be1-4d57-a4c3-86d5e7120bf9\2004, id 33:
2026-11-20 09:14:10.523700Z      0.000       25  session open        session 1  S → C
2026-11-20 09:14:54.657500Z     44.134       59  sent                Q, recoverable, "invoice 4", 55 bytes  C → S
2026-11-20 09:14:54.960100Z     44.436       61  acknowledged        and stored  S → C
2026-11-20 09:14:54.962700Z     44.439       63  administration ack  the sender may not write to the queue  S → C
2026-11-20 09:16:37.630300Z    147.107      139  session closed      session 1  C → S
"""  # noqa: E501  (each is a line of the command)


def test_the_text_has_the_reason_what_to_do_and_the_steps() -> None:
    found = mw.why(_FIXTURES / "digest" / "refused_invoices.pcap", "invoice 4")
    text = str(found).replace("DIRECT=OS:msg01\\private$\\invoices", "Q")
    assert text.replace("192.0.2.21:49731", "C").replace("192.0.2.10:1801", "S") == _TEXT.strip()
    assert str(found) == str(found.message)


@pytest.mark.parametrize(
    ("capture", "words"),
    [
        ("digest/refused_invoices.pcap", "invoice 4"),
        ("diagnose/q19_lost.pcap", "order 3"),
        ("digest/payroll_purged.pcap", "private$\\payroll"),
    ],
)
def test_the_text_is_that_of_the_command(
    capture: str, words: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "500")
    main(["why", str(_FIXTURES / capture), words, "--quiet"])
    assert f"{mw.why(_FIXTURES / capture, words)}\n" == capsys.readouterr().out


def test_the_text_of_a_message_in_several_files_names_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "500")
    names = ("ring_00001_20261120091400.pcap", "ring_00002_20261120091454.pcap")
    ring = split(_FIXTURES / "digest" / "refused_invoices.pcap", tmp_path, names, (58,))
    main(["why", *map(str, ring), "invoice 4", "--quiet"])
    text = str(mw.why(ring, "invoice 4"))
    assert f"{text}\n" == capsys.readouterr().out
    assert [line for line in text.splitlines() if line.startswith("in ")] == [
        "in 00001_20261120091400:",
        "in 00002_20261120091454:",
    ]


def test_the_text_controls_no_screen() -> None:
    message = mw.why(_DEMO, "order 4711").message
    step = msgspec.structs.replace(message.steps[0], what="\x1b[2J", detail="a\nb\u202e")
    hostile = {"sentence": "\x1b[2J", "reason": "\u202e", "unknown": ("\x07",), "steps": (step,)}
    text = str(msgspec.structs.replace(message, **hostile))
    assert UNSEEN.search(text.replace("\n", "")) is None
    assert [line[:7] for line in text.splitlines()] == [
        r"\x1b[2J", r"Why: \u", "To do: ", "Message", "2026-11", "The cap", r"- \x07",
    ]  # fmt: skip


def test_several_messages_are_all_there_and_none_of_them_is_chosen() -> None:
    found = mw.why(_DEMO, "private$")
    assert [one.outcome for one in found] == ["acknowledged", "received", "acknowledged"]
    assert [one.label for one in found.messages] == ["order 4711", "payment 93", "catalogue 2026-11-20"]
    with pytest.raises(mw.NoSuchMessageError) as caught:
        assert found.outcome
    assert str(caught.value) == (
        "3 messages fit 'private$' (2 acknowledged, 1 received): take one of .messages, "
        "or name one, as a1d30c5b…\\4162"
    )


def test_no_message_raises_what_the_command_says() -> None:
    with pytest.raises(mw.NoSuchMessageError) as caught:
        mw.why(_DEMO, "order 9999")
    assert str(caught.value) == (
        "no message is called 'order 9999', by name, number, label, queue, frame or id"
    )
    assert isinstance(caught.value, LookupError)


def test_what_is_no_text_is_refused_by_the_name_of_the_argument() -> None:
    with pytest.raises(TypeError, match=r"^words must be text, not int$"):
        mw.why(_DEMO, 4711)  # type: ignore[arg-type]  # the mistake


_TRACED = _FIXTURES / "findings" / "TRC-FORGED" / "miss_path.pcap"
_A, _B, _C = (
    "a1d30c5b-247e-4f45-9a31-c5d20e6f7788",
    "b2e4716c-0f3d-4a52-8b1e-6d90a7c2e455",
    "c277e190-3d6a-4c4b-8d05-f21b9ac83e44",
)
_PATH = (
    "a1d30c5b… sent it to 192.0.2.11 (hop 0), b2e4716c… received it (hop 1), "
    "b2e4716c… sent it to 192.0.2.10 (hop 1), c277e190… received it (hop 1)"
)


def test_the_path_of_a_traced_message_is_what_queue_managers_tell() -> None:
    found = mw.why(_TRACED, "order 4162")
    assert found.outcome == "acknowledged"
    assert found.sentence == (
        f'Message "order 4162" from 192.0.2.21 to PRIVATE={_C}\\0000000f came to queue manager {_C}, as it '
        "says, and nothing shows that it reached its queue."
    )
    assert found.reason == f"queue manager {_C} says in a report message that it received it."
    assert found.message.path == _PATH
    assert f"Path, as queue managers tell it: {_PATH}." in str(found)
    assert found.action == f"check whether queue manager {_C} has the queue, or routes the message on"
    assert "no report message is signed: each is the word of its sender" in found.unknown


def test_a_step_that_a_queue_manager_tells_is_none_that_the_capture_shows() -> None:
    steps = [one for one in mw.why(_TRACED, "order 4162").steps if not one.what.startswith("session ")]
    told = "told by a queue manager: "
    assert [(step.frame, step.text, step.told_by) for step in steps] == [
        (8, f'sent: PRIVATE={_C}\\0000000f, express, "order 4162", 18 bytes', None),
        (20, f"{told}sent by queue manager {_A} to 192.0.2.11 at 09:14:08 UTC, hop 0", _A),
        (32, f"{told}received by queue manager {_B} at 09:14:09 UTC, hop 1", _B),
        (44, "sent on: hop 1", None),
        (56, f"{told}sent by queue manager {_B} to 192.0.2.10 at 09:14:09 UTC, hop 1", _B),
        (68, f"{told}received by queue manager {_C} at 09:14:09 UTC, hop 1", _C),
    ]  # fmt: skip


@pytest.mark.parametrize("words", ["4162", "a1d30c5b\\4162", f"{_A}\\4162", "frame 20", "frame 44"])
def test_a_message_that_only_reports_tell_of_is_found_by_them(words: str) -> None:
    found = mw.why(_TRACED.with_name("miss_monitor.pcap"), words)
    message = found.message
    assert (message.message_id, message.label, message.outcome) == (f"{_A}\\4162", None, "acknowledged")
    assert message.path == _PATH
    assert message.sentence.startswith(
        f'Message "a1d30c5b…\\4162" to PRIVATE={_C}\\0000000f came to queue manager'
    )
    assert message.unknown == (
        "its own packet was not captured: only report messages tell of it",
        "no report message is signed: each is the word of its sender",
    )
    assert {step.told_by for step in message.steps} == {_A, _B, _C}


def test_a_report_says_which_message_it_is_about() -> None:
    found = mw.why(_TRACED, f"{_A}\\9009")
    assert found.sentence.startswith("Report message (it is about a1d30c5b…\\4162)")


def test_what_no_report_tells_is_unknown() -> None:
    found = mw.why(_TRACED.with_name("hit_not_sent.pcap"), f"{_A}\\4162")
    assert found.outcome == "unknown"
    assert found.reason == (
        "its queue manager says in a report message that it sent it to 192.0.2.11, and nothing that was "
        "captured acknowledges it."
    )
    assert found.unknown[1] == (
        "no report that 192.0.2.11 received it was captured: a report may be lost, and its queue manager may "
        "send none"
    )


@pytest.mark.parametrize("name", ["lab_traced", "lab_traced_at_sender"])
def test_the_path_is_read_from_labels_that_name_who_reports(name: str) -> None:
    found = mw.why(_FIXTURES / "captures" / f"{name}.pcap", "traced order")
    assert found.message.path == (
        "b1c95d02… received it (hop 1), b1c95d02… sent it to 192.0.2.12 (hop 1), "
        "c277e190… received it (hop 1)"
    )
    assert {step.told_by for step in found.steps if step.told_by is not None} == {
        "b1c95d02-3d6a-4c4b-8d05-f21b9ac83e44",
        "c277e190-3d6a-4c4b-8d05-f21b9ac83e44",
    }
