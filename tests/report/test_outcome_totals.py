"""What became of the messages, by queue and as a whole."""

from __future__ import annotations

from pathlib import Path
from typing import Literal
from xml.etree import ElementTree

from msmq_wire.capture.reader import read_capture
from msmq_wire.engines.codec import encode
from msmq_wire.engines.message_builder import build_message
from msmq_wire.records.record import Record
from msmq_wire.report.html_tables import queue_section
from msmq_wire.report.outcome_totals import OutcomeTotals
from msmq_wire.sessions import follow
from msmq_wire.wire.types.guid import GUID
from tests.report.pages import message_record
from tests.sessions.reports import captured, reports


def _message(number: int, queue: str, delivery: Literal["express", "recoverable"]) -> Record:
    message = build_message(
        rf"DIRECT=OS:msg01\private$\{queue}",
        b"12345",
        message_id=number,
        delivery=delivery,
        source_queue_manager=GUID(bytes(range(16))),
    )
    return message_record(encode(message), number)


def test_each_message_is_counted_once_under_its_queue_its_delivery_and_its_outcome() -> None:
    outcome_totals = OutcomeTotals()
    outcome_totals.look_at(
        follow(
            (
                _message(1, "orders", "express"),
                _message(2, "orders", "recoverable"),
                _message(3, "orders", "recoverable"),
                _message(4, "bills", "express"),
            )
        ).lives
    )
    assert (outcome_totals.messages, outcome_totals.every, outcome_totals.queues_left_out) == (4, 1, 0)
    assert outcome_totals.outcomes == {"unknown": 4}
    lines = {name.rpartition("\\")[2]: line for name, line in outcome_totals.queues.items()}
    orders, bills = lines["orders"], lines["bills"]
    assert (orders.messages, orders.bytes, orders.recoverable, orders.transactional) == (3, 15, 2, 0)
    assert (bills.messages, bills.bytes, bills.recoverable, bills.transactional) == (1, 5, 0, 0)
    assert (orders.outcomes, bills.outcomes) == ({"unknown": 3}, {"unknown": 1})


def test_of_more_messages_than_wanted_every_second_is_looked_at() -> None:
    lives = follow(_message(number, "orders", "express") for number in range(1, 6)).lives
    outcome_totals = OutcomeTotals()
    outcome_totals.look_at(lives, most=3)
    assert (outcome_totals.messages, outcome_totals.every) == (5, 2)
    assert outcome_totals.outcomes == {"unknown": 3}
    # With others that were counted before, shares of a part would say nothing.
    outcome_totals = OutcomeTotals()
    outcome_totals.take(lives[0])
    outcome_totals.look_at(lives, most=3)
    assert (outcome_totals.messages, outcome_totals.every, outcome_totals.outcomes) == (6, 1, {"unknown": 6})


def _rows(section: str) -> list[list[str]]:
    lines = ElementTree.fromstring(f"<div>{section}</div>").iter("tr")
    return [["".join(cell.itertext()) for cell in line] for line in lines]


def test_a_queue_is_shown_with_who_sent_to_it_and_who_read_it() -> None:
    capture = Path(__file__).parents[2] / "fixtures" / "digest" / "payroll_purged.pcap"
    story = follow(read_capture(capture, streams=True))
    outcome_totals = OutcomeTotals()
    outcome_totals.look_at(story.lives)
    rows = {row[0]: row for row in _rows(queue_section(outcome_totals, story))}
    assert rows["Queue"][1:4] == ["Senders", "Remote readers", "Messages"]
    payroll = dict(zip(rows["Queue"], rows[r"DIRECT=OS:msg01\private$\payroll"], strict=True))
    assert (payroll["Senders"], payroll["Remote readers"]) == ("192.0.2.30", "192.0.2.66")
    assert (payroll["Messages"], payroll["Received"], payroll["Purged"]) == ("6", "3", "3")
    orders = rows[r"DIRECT=OS:msg01\private$\orders"]
    assert orders[1:3] == ["192.0.2.21, 192.0.2.22", "-"]


def test_a_queue_that_was_only_read_is_shown() -> None:
    capture = Path(__file__).parents[2] / "fixtures" / "rpc_captures" / "rpc_none_ndr.pcap"
    story = follow(one for one in read_capture(capture, streams=True) if one.type == "rpc_call")
    rows = _rows(queue_section(OutcomeTotals(), story))
    assert [row[1:4] for row in rows[1:]] == [["-", "192.0.2.21", "0"]] * (len(rows) - 1)
    assert len(rows) > 1


def test_reports_and_what_only_they_tell_of_have_no_outcome_of_their_own() -> None:
    outcome_totals = OutcomeTotals()
    outcome_totals.look_at(follow(captured(*reports(0, 1, 2, 3))).lives)
    assert (outcome_totals.outcomes, outcome_totals.reports) == ({"acknowledged": 1}, 4)
    outcome_totals = OutcomeTotals()
    outcome_totals.look_at(follow(captured(*reports(1, 3), message=False)).lives)
    assert (outcome_totals.outcomes, outcome_totals.reports, outcome_totals.reported) == ({}, 2, 1)
