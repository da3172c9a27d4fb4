"""What event logs add to the answers, and where they contradict the capture."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import msgspec

from msmq_wire.capture.reader import read_capture
from msmq_wire.detection.diagnosis import Answer, Diagnosis
from msmq_wire.detection.diagnosis.phrases import Phrases
from msmq_wire.detection.diagnosis.timeline import message_steps
from msmq_wire.detection.diagnosis.why import why
from msmq_wire.records.log_event import EventLogFile, LogEvent
from msmq_wire.records.record import Record
from msmq_wire.records.visibility import Visibility
from msmq_wire.sessions import Story, follow
from tests.capture.event_logs.logs import (
    BEGUN,
    DIRECT,
    LONG,
    MILLISECOND,
    RECEIVED,
    SECOND,
    SENDER,
    SENT,
    log_file,
)

_CAPTURE = Path(__file__).resolve().parents[3] / "fixtures" / "diagnose" / "q04_two_unacknowledged.pcap"
_FOURTH, _FIFTH = "a1d30c5b…\\4164", "a1d30c5b…\\4165"


@cache
def _records() -> tuple[Record, ...]:
    return tuple(read_capture(str(_CAPTURE), streams=True))


def _story(*files: EventLogFile, records: tuple[Record, ...] | None = None) -> Story:
    return follow(_records() if records is None else records).beside(files)


def _answers(story: Story) -> dict[int, Answer]:
    diagnosis = Diagnosis()
    for record in _records():
        diagnosis.feed(record)
    return {answer.number: answer for answer in diagnosis.answers(story)}


def _said(story: Story, number: int, words: str) -> list[str]:
    return [text for text in _answers(story)[number].sentences if words in text]


def test_without_logs_nothing_is_said_of_them() -> None:
    for number, answer in _answers(_story()).items():
        assert not any("event log" in text.lower() for text in answer.sentences), number
        assert "event_logs" not in answer.facts


def test_a_message_in_the_queue_of_its_receiver_that_nobody_acknowledged_is_told() -> None:
    story = _story(log_file({4163: RECEIVED[4163], 4164: RECEIVED[4164]}))
    (text,) = _said(story, 4, "put into a queue")
    assert text == (
        f'Message {_FOURTH} "order 4164" was put into a queue at 192.0.2.10 (msg01\\private$\\orders), as '
        "the event log of MSG01 says, but the capture has no acknowledgment of it. 192.0.2.21 sends again "
        "what is not acknowledged."
    )
    (cause,) = [one for one in _answers(story)[4].causes if one.kind == "put"]
    assert (cause.count, cause.about, cause.explains, cause.severity) == (1, "192.0.2.10", (), "low")


def test_where_all_messages_without_acknowledgment_arrived_that_explains_them() -> None:
    story = _story(log_file(RECEIVED))
    (cause,) = [one for one in _answers(story)[4].causes if one.kind == "put"]
    assert (cause.count, cause.explains) == (2, ("unanswered",))
    diagnosis = Diagnosis()
    for record in _records():
        diagnosis.feed(record)
    digest = diagnosis.digest(diagnosis.answers(story), story)
    assert len(digest.causes) == 1
    assert digest.causes[0].text.startswith(
        f'2 messages ({_FOURTH} "order 4164" and {_FIFTH} "order 4165") were put into a queue at 192.0.2.10'
    )


def test_nothing_is_claimed_of_a_missing_acknowledgment_where_the_capture_lost_frames() -> None:
    story = _story(log_file(RECEIVED))
    lossy = Visibility()
    lossy.dropped = 3
    answers = _answers(msgspec.structs.replace(story, visibility=lossy))
    assert not [one for one in answers[4].causes if one.kind == "put"]
    (text,) = [one for one in answers[4].sentences if "put into a queue" in one]
    assert text.endswith("no acknowledgment of them: it lost frames, or has them in part.")


def test_an_acknowledged_message_that_the_log_does_not_have_is_told_where_the_log_covers_its_time() -> None:
    times = {number: RECEIVED[number] for number in (4161, 4163, 4164, 4165)} | LONG
    story = _story(log_file(times, ahead=7 * SECOND))
    (text,) = _said(story, 4, "has no event of")
    assert text == (
        'Message a1d30c5b…\\4162 "order 4162" was acknowledged by 192.0.2.10, but the event log of MSG01 '
        "has no event of it. The log covers that time: no EventRecordID is missing, and 4 other messages of "
        "the capture are in it."
    )
    answer = _answers(story)[4]
    assert any("switched off" in text for text in answer.caveats)
    assert any("not in its event log" in note for note in answer.notes)


def test_silence_of_a_log_that_does_not_cover_the_time_proves_nothing() -> None:
    short = {number: RECEIVED[number] for number in (4163, 4164, 4165)} | {2: LONG[2]}
    gap = log_file(RECEIVED | LONG, left_out=(4162,))
    few = log_file({4163: RECEIVED[4163]} | LONG)
    for file in (log_file(short), gap, few):
        assert not _said(_story(file), 4, "has no event of")


def test_a_message_in_an_outgoing_queue_that_was_never_captured_is_told() -> None:
    later = {7: BEGUN + 90 * SECOND, 8: BEGUN + 95 * SECOND}
    story = _story(log_file(SENT | later, computer="WS17", queue=DIRECT))
    (text,) = _said(story, 5, "outgoing queue at WS17")
    assert text == (
        "2 messages were put into an outgoing queue at WS17 (DIRECT=OS:msg01\\private$\\orders), as its "
        "event log says, and are not in the capture: a1d30c5b…\\7 and a1d30c5b…\\8. The capture does not "
        "cover that time, so that nothing follows."
    )
    long = msgspec.structs.replace(_story(), last=BEGUN + 600 * SECOND).beside(
        (log_file(SENT | later, computer="WS17", queue=DIRECT),)
    )
    (text,) = _said(long, 5, "outgoing queue at WS17")
    assert text.endswith("The capture covers that time.")
    (cause,) = [one for one in _answers(long)[5].causes if "outgoing queue at WS17" in one.text]
    assert (cause.count, cause.who) == (2, ("192.0.2.21",))


def test_messages_that_were_dropped_to_save_memory_are_not_called_unseen() -> None:
    story = _story(log_file(SENT | {7: BEGUN}, computer="WS17", queue=DIRECT))
    dropped = msgspec.structs.replace(story, left_out=msgspec.structs.replace(story.left_out, lives=4))
    (text,) = _said(dropped, 5, "outgoing queue at WS17")
    assert text.endswith("They may be among the messages that were dropped to save memory.")


def test_question_19_says_whose_a_log_is_how_its_clock_stands_and_what_it_covers() -> None:
    other = LogEvent(computer="MSG01", event_id=7, record_id=15, time=BEGUN, data=("a", "b"))
    log = log_file(RECEIVED, ahead=2500 * MILLISECOND)
    file = msgspec.structs.replace(
        log, events=(*log.events, other), foreign=3, damage="it is cut off", file="log.evtx"
    )
    texts = _answers(_story(file))[19].sentences
    assert (
        "Event log log.evtx: 5 messages put into queues, by Microsoft-Windows-MSMQ/End2End; 4 other events, "
        "3 of other channels or providers." in texts
    )
    assert "Not all of log.evtx was read: it is cut off." in texts
    assert (
        "MSG01 is 192.0.2.10, a receiver. Its log says that 5 messages were put into queues, 5 of them in "
        "the capture. Its clock is 2.50 s ahead of that of the capture (between 2.46 s ahead and 2.50 s "
        "ahead; 5 of 5 messages agree). By its "
        "own clock it covers 2026-11-20 09:14:10Z to 2026-11-20 09:14:10Z." in texts
    )
    assert any(text.startswith("MSG01 also has event 7 (a; b), at 2026-11-20 09:14:07") for text in texts)


def test_two_messages_are_too_few_for_a_clock_and_a_host_that_is_not_clear_is_not_named() -> None:
    queue = "DIRECT=TCP:192.0.2.10\\private$\\orders"
    file = log_file({number: SENT[number] for number in (4161, 4162)}, computer="WS17", queue=queue)
    texts = " ".join(_answers(_story(file))[19].sentences)
    assert "Which host of the capture WS17 is, is not clear." in texts
    assert "Its clock cannot be compared with that of the capture" in texts


def test_the_steps_of_a_message_have_its_events_where_they_happened() -> None:
    story = _story(log_file(RECEIVED, ahead=SECOND), log_file(SENT, computer="WS17", queue=DIRECT))
    life = story.lives.by_id(f"{SENDER}\\4162")
    assert life is not None
    assert [(step.what, step.at.frame is None) for step in message_steps(life, story)] == [
        ("session open", False),
        ("put into a queue", True),
        ("sent", False),
        ("put into a queue", True),
        ("acknowledged", False),
        ("session reset", False),
    ]


def test_where_no_clock_is_known_an_event_says_its_own_time() -> None:
    one = {4164: RECEIVED[4164]}
    story = _story(log_file(one), log_file({4164: SENT[4164]}, computer="WS17", queue=DIRECT))
    life = story.lives.by_id(f"{SENDER}\\4164")
    assert life is not None
    steps = message_steps(life, story)
    assert [step.what for step in steps] == [
        "session open",
        "put into a queue",
        "sent",
        "put into a queue",
        "session reset",
    ]
    assert steps[1].detail == (
        "DIRECT=OS:msg01\\private$\\orders, says the event log of WS17, at 2026-11-20 09:14:07.912Z by "
        "its own clock"
    )
    assert [step.at.time for step in steps if step.put is not None] == [None, None]


def test_why_says_that_a_message_arrived_though_nobody_acknowledged_it() -> None:
    story = _story(log_file(RECEIVED))
    life = story.lives.by_id(f"{SENDER}\\4164")
    assert life is not None
    told = why(life, story, Phrases())
    assert told.outcome == "unknown"
    assert told.sentence == (
        'Message "order 4164" from 192.0.2.21 to DIRECT=OS:msg01\\private$\\orders was put into the queue '
        "msg01\\private$\\orders of MSG01, as the event log there says, and nothing shows that an "
        "application received it."
    )
    assert told.reason.endswith("But the event log of MSG01 says that it was put into the queue.")
    assert told.action.startswith("look into the queue at 192.0.2.10")


def test_events_of_one_log_without_a_clock_keep_their_order() -> None:
    later = {4164: RECEIVED[4164] + SECOND}
    copies = log_file(later, queue=f"MACHINE={SENDER};DEADLETTER", first=11)
    story = _story(log_file({4164: RECEIVED[4164]}), copies)
    life = story.lives.by_id(f"{SENDER}\\4164")
    assert life is not None
    queues = [step.detail.partition(",")[0] for step in message_steps(life, story) if step.put is not None]
    assert queues == ["msg01\\private$\\orders", f"MACHINE={SENDER};DEADLETTER"]
