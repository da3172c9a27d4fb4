"""The table of messages: what its cells say."""

from __future__ import annotations

import json

import pytest

from msmq_wire.engines.codec import encode
from msmq_wire.engines.message_builder import build_message
from msmq_wire.report.message_table import message_section
from msmq_wire.report.row_maker import MessageRow
from msmq_wire.report.totals import Totals
from msmq_wire.sessions import StoryFollower
from msmq_wire.wire.headers.session_header import SessionHeader
from msmq_wire.wire.packets.session_ack import SessionAck
from msmq_wire.wire.types.guid import GUID
from tests.report.pages import START, Page, message_record, page_text
from tests.sessions.reports import SOURCE, TARGET, reports, traced


def _cells(via: str, delivery: str, size: int | None, frame: int | None) -> list[str]:
    totals = Totals()
    totals.rows.append(
        MessageRow(
            id=7,
            time=START,
            src="192.0.2.21:49731",
            dst="192.0.2.10:1801",
            queue="orders",
            label="order",
            delivery=delivery,
            size=size,
            message_class=0,
            frame=frame,
            message_id="",
            via=via,
        )
    )
    return Page(message_section(totals, StoryFollower().finish())).text_of("td")


def test_a_row_has_the_time_the_ends_the_queue_the_delivery_and_the_size_of_a_message() -> None:
    assert _cells("tcp", "express", 1234, 12) == [
        "2023-11-14 22:13:20.000",
        "192.0.2.21:49731",
        "192.0.2.10:1801",
        "orders",
        "order",
        "express",
        "1234",
        "12",
    ]


def test_a_size_and_a_frame_that_nobody_knows_are_left_empty() -> None:
    assert _cells("tcp", "express", None, None)[4:] == ["order", "express"]


def test_a_message_that_came_another_way_than_tcp_says_which() -> None:
    assert _cells("http", "recoverable", None, None)[-1] == "recoverable (http)"
    assert _cells("http", "", None, None)[-1] == "(http)"


def test_what_a_row_opens_to_is_what_its_headers_and_its_life_say() -> None:
    number, manager = 5, GUID(bytes(range(16)))
    sent = build_message(
        r"DIRECT=OS:msg01\private$\orders",
        b"<order/>",
        label="order",
        message_id=number,
        source_queue_manager=manager,
        response_queue=r"DIRECT=OS:ws17\private$\replies",
        admin_queue=r"DIRECT=OS:ws17\private$\acks",
        acknowledge=("pa", "nr"),
        priority=6,
        time_to_reach_queue=90,
    )
    ack = SessionAck(session_header=SessionHeader(ack_sequence_number=1))
    ends = {"src": "192.0.2.10:1801", "dst": "192.0.2.21:49731"}
    records = [message_record(encode(sent), 7), message_record(encode(ack), 8, **ends)]
    data = json.loads(Page(page_text(records)).text_of("script")[0])
    (row,) = data["rows"]
    assert data["words"][row[12]].split("\n") == [
        "Class: MQMSG_CLASS_NORMAL",
        "Priority: 6",
        "Body type: VT_EMPTY",
        r"Administration queue: DIRECT=OS:ws17\private$\acks",
        r"Response queue: DIRECT=OS:ws17\private$\replies",
        "Acknowledgments wanted: arrival, failed receipt",
        "Must reach its queue: within 1.5 min",
    ]
    assert row[13] == "<order/>"
    reason, steps = data["lives"][row[15]]
    assert data["words"][reason] == "a session ack says that the next host has it"
    assert (data["words"][steps[0]], steps[1:]) == ("session acknowledgment", [100_000, 8])
    assert row[16] == 0


def test_messages_with_one_identifier_have_each_their_own_outcome() -> None:
    sent = [
        encode(
            build_message(
                r"DIRECT=OS:h\q", b"", label=label, message_id=5, source_queue_manager=GUID(bytes(16))
            )
        )
        for label in ("first", "second", "second")
    ]
    ack = encode(SessionAck(session_header=SessionHeader(ack_sequence_number=1)))
    ends = {"src": "192.0.2.10:1801", "dst": "192.0.2.21:49731"}
    records = [message_record(sent[0], 7), message_record(ack, 8, **ends)]
    records += [message_record(data, number, stream=1) for number, data in enumerate(sent[1:], 9)]
    page = Page(page_text(records))
    data = json.loads(page.text_of("script")[0])
    words = [data["words"][row[8]] for row in data["rows"]]
    assert words == ["acknowledged", *["unknown, sent 2 times"] * 2]
    assert [row[15] for row in data["rows"]] == [0, 1, 1]


def test_a_redacted_body_is_of_no_kind_and_begins_with_nothing() -> None:
    totals = Totals(bodies=False)
    totals.feed(message_record(encode(build_message(r"DIRECT=OS:h\q", b"<a/>", body_type=8)), 1))
    assert (totals.rows[0].preview, "Body type" in totals.rows[0].facts) == ("", False)


@pytest.mark.check
def test_rows_full_of_everything_leave_a_page_below_twenty_megabytes() -> None:
    packets = [
        encode(
            build_message(
                "DIRECT=OS:" + "\U00010348" * 60 + f"\\q{number}",
                ("\u202e" * 90).encode("utf-16-le"),
                body_type=31,
                label="\U00010348" * 60,
                message_id=number,
                source_queue_manager=GUID(bytes(16)),
            )
        )
        for number in range(500)
    ]
    text = page_text(message_record(packets[number % 500], number) for number in range(1, 20_001))
    assert len(text) < 20_000_000
    assert "The table has the first" in text


def test_a_row_opens_to_what_queue_managers_tell_and_a_report_says_what_it_is_about() -> None:
    packets = [traced(), *reports(0, 3)]
    records = [message_record(encode(packet), number) for number, packet in enumerate(packets, 1)]
    data = json.loads(Page(page_text(records)).text_of("script")[0])
    words = data["words"]
    assert [words[row[8]] for row in data["rows"]] == [
        "acknowledged",
        *[f"is a report about {SOURCE}\\4162"] * 2,
    ]
    _, steps = data["lives"][data["rows"][0][15]]
    sent, received = words[steps[0]], words[steps[3]]
    told = "told by a queue manager: "
    assert sent.startswith(f"{told}sent by queue manager {SOURCE} to 192.0.2.11 at ")
    assert received.startswith(f"{told}received by queue manager {TARGET} at ")
    assert (sent[-6:], received[-6:]) == (", hop 0"[-6:], ", hop 1"[-6:])
