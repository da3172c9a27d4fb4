"""What became of a message, as a Python object."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

import msmq_wire as mw

_DEMO = Path(__file__).resolve().parents[2] / "fixtures" / "captures" / "demo.pcap"


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
    assert str(found) == found.sentence
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
