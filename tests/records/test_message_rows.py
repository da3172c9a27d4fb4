"""Messages as rows: the outcome beside what they say, and which columns need no records."""

from __future__ import annotations

import pytest

import msmq_wire as mw
from msmq_wire.records.message import message_of
from msmq_wire.records.message_rows import message_projection, message_row, names_outcome
from msmq_wire.records.outcome import Outcome
from msmq_wire.records.projection import rows_of_values


@pytest.mark.parametrize(
    ("columns", "named"),
    [(None, False), ("all", False), ("+outcome", True), ("id, outcome", True), ("-outcome", False)],
)
def test_the_outcome_is_wanted_where_it_is_named(columns: str | None, *, named: bool) -> None:
    assert names_outcome(columns) is named


def test_a_row_has_the_message_its_record_and_its_outcome() -> None:
    packet = mw.build_message(r"DIRECT=OS:msg01\private$\orders", b"", label="order 1")
    record = mw.Record(id=7, type="user_message", packet=packet)
    message = message_of(record)
    assert message is not None
    row = message_row(record, message, "stored", hidden={"queue"})
    names = ("id", "label", "outcome", "queue", "type")
    assert [row[name] for name in names] == [7, "order 1", "stored", None, "user_message"]
    assert row.get("outcome") == "stored"
    assert message_row(record, message)["outcome"] is None


def _outcomes(records: object, message_ids: object) -> list[Outcome | None]:
    assert (records, message_ids) == ([7, 9], ["a\\1", None])
    return ["stored", None]


def test_outcomes_stand_in_their_column() -> None:
    found = message_projection(("label", "outcome", "src"), rows_of_values, _outcomes, acknowledgments=True)
    assert found is not None
    assert [one.name for one in found.columns] == ["label", "src", "id", "message_id"]
    assert found.acknowledgments
    rows = found.make([["one", "two"], ["x", "y"], [7, 9], ["a\\1", None]])
    assert rows == [("one", "stored", "x"), ("two", None, "y")]


def test_a_path_of_a_packet_needs_records() -> None:
    make = rows_of_values
    assert message_projection(("label", "user_header.flags"), make, acknowledgments=False) is None
    assert message_projection(("label",), None, acknowledgments=False) is None
    found = message_projection(("label",), make, acknowledgments=False)
    assert found is not None
    assert found.make is make
