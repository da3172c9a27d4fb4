"""What lies somewhere, by queue."""

from __future__ import annotations

from fixtures.build_at_rest import message
from msmq_wire.capture.carve.queue_totals import QUEUE_COLUMNS, QueueRow, Queues
from msmq_wire.capture.carve.reader import record_of
from msmq_wire.capture.carve.search import Carver
from msmq_wire.records.record import FileLocation, Record


def record(data: bytes, number: int, *captures: str) -> Record:
    carver = Carver()
    (find,) = carver.feed(data) + carver.finish()
    locations = [FileLocation(capture=one, offset=0) for one in captures]
    return record_of(find, number=number, capture=captures[0], locations=locations)


def test_messages_are_counted_once_and_their_places_by_kind() -> None:
    queues = Queues()
    queues.add(record(message(1, "a", "x"), 1, "P0000001.MQ", "J0000001.MQ", "memory.dmp"))
    queues.add(record(message(2, "b", "yy", flags=0), 2, "R0000001.MQ"))
    queues.add(record(message(3, "c", "z")[:-2], 3, "P0000001.MQ"))
    (totals,) = queues.rows()
    row = QueueRow(totals).row()
    assert row.keys() == {one.name for one in QUEUE_COLUMNS}
    assert (row["messages"], row["whole"], row["head"], row["damaged"]) == (3, 2, 1, 0)
    assert (row["express"], row["recoverable"], row["transactional"]) == (1, 2, 0)
    assert row["body_bytes"] == 2 + 4
    assert row["storage"] == ["2 recoverable", "1 journal", "1 express"]
    assert row["first"] == row["last"] == "2026-11-20T09:14:07.000000000Z"


def test_queues_come_by_how_many_messages_they_have() -> None:
    queues = Queues()
    for number, queue in enumerate(("OS:a\\q", "OS:b\\q", "OS:b\\q"), 1):
        queues.add(record(message(number, "x", "y", queue=queue), number, "P0000001.MQ"))
    assert [one.queue for one in queues.rows()] == ["DIRECT=OS:b\\q", "DIRECT=OS:a\\q"]
