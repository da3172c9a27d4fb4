"""Event logs beside a capture: whose they are, what they cover, how their clocks stand, what is in both."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import msgspec
import pytest

from msmq_wire.capture.reader import read_capture
from msmq_wire.records.log_event import EventLogFile, LogClearing, LogEvent
from msmq_wire.sessions import Story, follow
from msmq_wire.sessions.computer_logs import ComputerLogs
from tests.capture.event_logs.logs import (
    BEGUN,
    DIRECT,
    LONG,
    MILLISECOND,
    ORDERS,
    RECEIVED,
    SECOND,
    SENDER,
    SENT,
    log_file,
)

_CAPTURE = Path(__file__).resolve().parents[2] / "fixtures" / "diagnose" / "q04_two_unacknowledged.pcap"
_ADDRESS = "DIRECT=TCP:192.0.2.10\\private$\\orders"


@cache
def _story() -> Story:
    return follow(read_capture(str(_CAPTURE), streams=True))


def _logs(*files: EventLogFile) -> ComputerLogs:
    logs = _story().beside(files).logs
    assert logs is not None
    return logs


def _name(number: int) -> str:
    return f"{SENDER}\\{number}"


def test_a_story_without_files_is_the_same() -> None:
    assert _story().beside(()) is _story()


@pytest.mark.parametrize(
    ("computer", "queue", "host", "side"),
    [
        ("MSG01", ORDERS, "192.0.2.10", "receiver"),
        ("msg01.corp.example", DIRECT, "192.0.2.10", "receiver"),
        ("WS17", DIRECT, "192.0.2.21", "sender"),
        # An address names no computer: both hosts have all of these messages.
        ("WS17", _ADDRESS, "", None),
        ("", DIRECT, "", None),
    ],
)
def test_a_log_is_of_the_host_that_the_names_show_and_of_none_where_they_show_nothing(
    computer: str, queue: str, host: str, side: str | None
) -> None:
    logs = _logs(log_file(SENT, computer=computer, queue=queue))
    (log,) = logs.logs
    (put,) = logs.of(_name(4161))
    assert (log.host, put.side) == (host, side)


def test_of_two_logs_with_the_same_messages_the_other_host_has_the_other_one() -> None:
    logs = _logs(
        log_file(SENT, computer="WS17", queue=_ADDRESS), log_file(RECEIVED, computer="MSG01", queue=ORDERS)
    )
    assert [(log.computer, log.host) for log in logs.logs] == [
        ("WS17", "192.0.2.21"),
        ("MSG01", "192.0.2.10"),
    ]
    assert [put.side for put in logs.of(_name(4162))] == ["sender", "receiver"]


def test_names_that_contradict_each_other_name_no_host() -> None:
    events = (*log_file({4161: SENT[4161]}).events, *log_file({4162: SENT[4162]}, queue=DIRECT).events)
    foreign = [msgspec.structs.replace(one, local=True, queue_manager=SENDER) for one in events]
    logs = _logs(EventLogFile(file="a", events=tuple(foreign)))
    assert logs.logs[0].host == "192.0.2.10"
    sender = [msgspec.structs.replace(one, local=None) for one in events]
    assert _logs(EventLogFile(file="a", events=tuple(sender))).logs[0].host == ""


@pytest.mark.parametrize("ahead", [0, 2_500 * MILLISECOND, -3600 * SECOND])
def test_the_clock_of_a_receiver_is_known_between_a_message_and_its_acknowledgment(ahead: int) -> None:
    (log,) = _logs(log_file(RECEIVED, ahead=ahead)).logs
    (clock,) = log.clocks
    # 4163 came at 07.812, was put at 07.817, and acknowledged at 07.862.
    assert (clock.least, clock.most) == (ahead - 45 * MILLISECOND, ahead + 5 * MILLISECOND)
    assert (clock.offset, clock.width) == (ahead + 5 * MILLISECOND, 50 * MILLISECOND)


def test_the_clock_of_a_sender_is_that_of_the_messages_that_waited_least() -> None:
    waited = {4161: 90, 4162: 0, 4163: 40, 4164: 1, 4165: 3}
    times = {number: SENT[number] - waited[number] * MILLISECOND for number in SENT}
    (log,) = _logs(log_file(times, computer="WS17", queue=DIRECT, ahead=SECOND)).logs
    (clock,) = log.clocks
    assert (clock.offset, clock.width, clock.spread) == (SECOND, None, 3 * MILLISECOND)


def test_of_two_messages_no_clock_is_told() -> None:
    logs = _logs(log_file({number: RECEIVED[number] for number in (4161, 4162)}))
    assert logs.logs[0].clocks == ()
    assert [put.at for put in logs.of(_name(4161))] == [None]


def test_the_time_of_an_event_is_told_by_the_clock_of_the_capture() -> None:
    (put,) = _logs(log_file(RECEIVED, ahead=SECOND)).of(_name(4161))
    assert put.at == SENT[4161]


def test_two_files_of_one_computer_are_one_log_and_an_event_in_both_counts_once() -> None:
    first = log_file({number: RECEIVED[number] for number in (4161, 4162, 4163)}, file="a.evtx")
    both = log_file(RECEIVED, computer="msg01", file="b.xml")
    (log,) = _logs(first, both).logs
    assert (len(log.events), log.files, log.joined) == (5, ("a.evtx", "b.xml"), 5)


def test_a_log_covers_a_time_only_between_events_that_follow_each_other() -> None:
    whole = log_file(RECEIVED | LONG)
    (log,) = _logs(whole).logs
    assert log.covers(SENT[4161], SENT[4165])
    assert not log.covers(BEGUN - 700 * SECOND, SENT[4161])
    (log,) = _logs(log_file(RECEIVED | LONG, left_out=(4163,))).logs
    assert (len(log.stretches), log.missing) == (2, 1)
    assert not log.covers(SENT[4163], SENT[4163])
    assert log.covers(BEGUN - 60 * SECOND, BEGUN - 30 * SECOND)


def _without_record_ids(file: EventLogFile) -> EventLogFile:
    return msgspec.structs.replace(
        file, events=tuple(msgspec.structs.replace(one, record_id=None) for one in file.events)
    )


def _with_clearing(file: EventLogFile) -> EventLogFile:
    clearing = LogClearing(computer="msg01", event_id=104, time=BEGUN + 300 * SECOND)
    return msgspec.structs.replace(file, clearings=(clearing,))


def _set_back(file: EventLogFile) -> EventLogFile:
    """The clock goes back by an hour behind the messages of the capture."""
    events = [
        msgspec.structs.replace(one, time=one.time - 3600 * SECOND) if one.number == 2 and one.time else one
        for one in file.events
    ]
    return msgspec.structs.replace(file, events=tuple(events))


@pytest.mark.parametrize("damaged", [_without_record_ids, _with_clearing, _set_back])
def test_a_log_without_record_ids_or_that_was_cleared_or_set_covers_nothing_there(damaged: object) -> None:
    assert callable(damaged)
    (log,) = _logs(damaged(log_file(RECEIVED | LONG))).logs
    assert not log.covers(SENT[4161], SENT[4165])


def test_what_is_not_in_the_capture_is_told_with_whether_the_capture_goes_on_there() -> None:
    within, later = BEGUN + 700 * MILLISECOND, BEGUN + 90 * SECOND
    logs = _logs(
        log_file(
            SENT | {7: within, 8: later, 9: BEGUN - 400 * MILLISECOND},
            computer="WS17",
            queue=DIRECT,
            ahead=SECOND,
        )
    )
    found = {put.event.number: logs.is_captured(put) for put in logs.unseen()}
    # The capture has 0.6 s, and the clock of a sender is not known to the second.
    assert found == {7: None, 8: False, 9: None}


def test_events_without_a_computer_or_of_another_kind_are_kept() -> None:
    other = LogEvent(computer="MSG01", event_id=2, data=("a",))
    (log,) = _logs(EventLogFile(file="a", events=(other,))).logs
    assert (log.others, log.joined, log.host, log.clocks) == ((other,), 0, "", ())


@pytest.mark.parametrize("text", ["a1d30c5b\\7", f"{SENDER}\\7", "7", f"{SENDER}\\7".upper()])
def test_a_message_that_only_a_log_has_is_found_by_its_number(text: str) -> None:
    logs = _logs(log_file(SENT | {7: BEGUN}, computer="WS17", queue=DIRECT))
    put = logs.named(text)
    assert put is not None
    assert put.event.number == 7
    assert logs.named("order 7") is None
    assert logs.named("b1d30c5b\\7") is None


def test_copies_in_a_dead_letter_queue_are_no_arrival() -> None:
    copies = log_file(RECEIVED, queue=f"MACHINE={SENDER};DEADLETTER")
    logs = _logs(copies, log_file({4161: RECEIVED[4161]}, first=40))
    assert logs.arrival(_name(4162)) is None
    put = logs.arrival(_name(4161))
    assert put is not None
    assert put.event.queue == ORDERS
