"""Where a record was seen: its column, its cell in a table, and the first line of a tree."""

from __future__ import annotations

import json

import pytest

from msmq_wire.records.call import call_of
from msmq_wire.records.column import RecordRow
from msmq_wire.records.joined_capture import JoinedCapture, LocatedFile, Unseen, located
from msmq_wire.records.json_lines import record_line
from msmq_wire.records.message import message_of
from msmq_wire.records.record import Record
from msmq_wire.records.seen_at import point_names, seen_at, seen_cell
from msmq_wire.records.tree.heading import record_heading
from msmq_wire.records.view import record_view
from msmq_wire.report.redaction.redactor import Redaction, Redactor
from tests.sessions.points_tape import PointsTape
from tests.sessions.tape import Tape

SENDER, RECEIVER = "x/sender.pcap", "x/receiver.pcap"


def sent(point: int | None = None, reason: Unseen = "absent") -> Record:
    tape = PointsTape()
    if point is None:
        return tape.message(1)
    with tape.only(point, reason):
        return tape.message(1)


@pytest.mark.parametrize(
    ("point", "reason", "texts", "cell"),
    [
        (None, "absent", (f"{SENDER}: whole", f"{RECEIVER}: whole"), "both"),
        (0, "absent", (f"{SENDER}: whole", f"{RECEIVER}: absent"), "not in receiver.pcap (absent)"),
        (0, "lost", (f"{SENDER}: whole", f"{RECEIVER}: lost"), "not in receiver.pcap (lost)"),
        (0, "outside", (f"{SENDER}: whole", f"{RECEIVER}: outside"), "not in receiver.pcap (outside)"),
        (1, "unknown", (f"{SENDER}: unknown", f"{RECEIVER}: whole"), "not in sender.pcap (unknown)"),
    ],
)
def test_a_record_says_what_each_point_saw(
    point: int | None, reason: Unseen, texts: tuple[str, ...], cell: str
) -> None:
    record = sent(point, reason)
    message = message_of(record)
    assert message is not None
    assert seen_at(record) == message["seen_at"] == texts
    assert RecordRow(record).json("seen_at") == message.json("seen_at") == list(texts)
    assert seen_cell({"seen_at": texts}) == cell
    # Where it is told in which file its frame lies, that does not get lost.
    assert seen_at(located(located(record))) == texts


def test_a_record_that_a_point_saw_a_part_of_says_so() -> None:
    tape = PointsTape()
    whole = tape.message(1)
    with tape.only(0):
        rest = tape.message(2)
    record = Record(id=1, type="user_message", capture=tape.capture, frames=(*whole.frames, *rest.frames))
    assert seen_at(record) == (f"{SENDER}: whole", f"{RECEIVER}: part")
    assert seen_cell({"seen_at": seen_at(record)}) == "in part in receiver.pcap"


def test_three_points_that_saw_all_are_all_three() -> None:
    assert seen_cell({"seen_at": ["a: whole", "b: whole", "c: whole"]}) == "all 3"


@pytest.mark.parametrize("capture", ["one.pcap", JoinedCapture(("ring_1.pcap", "ring_2.pcap"))])
def test_without_points_there_is_nothing_to_say(capture: str) -> None:
    record = Record(id=1, type="user_message", capture=capture, frames=(1,))
    assert seen_at(record) is None
    assert point_names(capture) == ()
    assert seen_cell({"seen_at": None}) == ""
    assert "seen_at" not in record_view(record)
    assert RecordRow(record).json("seen_at") is None


def test_a_call_has_the_column_too() -> None:
    tape = PointsTape()
    call = call_of(tape.call("R_QMGetRemoteQueueName"))
    assert call is not None
    assert call["seen_at"] == (f"{SENDER}: whole", f"{RECEIVER}: whole")


def test_a_row_of_json_says_it_where_there_are_points() -> None:
    record = located(sent(0))
    line = json.loads(record_line(record))
    assert line == record_view(record)
    assert (line["capture"], line["seen_at"]) == (SENDER, [f"{SENDER}: whole", f"{RECEIVER}: absent"])
    assert "seen_at" not in record_view(Tape().message(1))


def test_the_first_line_of_a_tree_says_who_did_not_see_it() -> None:
    assert record_heading(located(sent(0)), "").words == "not in receiver.pcap (absent)"
    assert record_heading(located(sent()), "").words == ""


def test_redaction_names_no_file() -> None:
    redactor = Redactor({Redaction.HOSTS})
    shown = redactor.record(located(sent(0)))
    assert isinstance(shown.capture, LocatedFile)
    assert seen_at(shown) == ("file 1: whole", "file 2: absent")
    assert shown.capture == "file 1"
