"""What became of the messages, by queue and as a whole."""

from __future__ import annotations

from typing import Literal

from msmq_wire.engines.building import build_message
from msmq_wire.engines.codec import encode
from msmq_wire.records.record import Record
from msmq_wire.report.fates import Fates
from msmq_wire.sessions import follow
from msmq_wire.wire.types.guid import GUID
from tests.report.pages import message_record


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
    fates = Fates()
    fates.look_at(
        follow(
            (
                _message(1, "orders", "express"),
                _message(2, "orders", "recoverable"),
                _message(3, "orders", "recoverable"),
                _message(4, "bills", "express"),
            )
        ).lives
    )
    assert (fates.messages, fates.every, fates.queues_left_out) == (4, 1, 0)
    assert fates.outcomes == {"unknown": 4}
    lines = {name.rpartition("\\")[2]: line for name, line in fates.queues.items()}
    orders, bills = lines["orders"], lines["bills"]
    assert (orders.messages, orders.bytes, orders.recoverable, orders.transactional) == (3, 15, 2, 0)
    assert (bills.messages, bills.bytes, bills.recoverable, bills.transactional) == (1, 5, 0, 0)
    assert (orders.outcomes, bills.outcomes) == ({"unknown": 3}, {"unknown": 1})


def test_of_more_messages_than_wanted_every_second_is_looked_at() -> None:
    lives = follow(_message(number, "orders", "express") for number in range(1, 6)).lives
    fates = Fates()
    fates.look_at(lives, most=3)
    assert (fates.messages, fates.every) == (5, 2)
    assert fates.outcomes == {"unknown": 3}
    # With others that were counted before, shares of a part would say nothing.
    fates = Fates()
    fates.take(lives[0])
    fates.look_at(lives, most=3)
    assert (fates.messages, fates.every, fates.outcomes) == (6, 1, {"unknown": 6})
