"""The table of messages: what its cells say."""

from __future__ import annotations

from msmq_wire.report import Totals
from msmq_wire.report.messages import message_section
from msmq_wire.report.rows import MessageRow
from msmq_wire.sessions import Follower
from tests.report.pages import START, Page


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
    return Page(message_section(totals, Follower().finish())).text_of("td")


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
