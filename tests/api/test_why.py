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
