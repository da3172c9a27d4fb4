"""Rows about records: anomalies, errors and what is told of a capture, from rows written by hand."""

from __future__ import annotations

from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]  # it has no stubs
import pytest

from msmq_wire.detection import Finding
from msmq_wire.detection.finding import Evidence
from msmq_wire.tables.call_columns import call_schema
from msmq_wire.tables.message_columns import message_schema
from msmq_wire.tables.story_columns import anomaly_rows, error_rows, story_rows
from msmq_wire.tables.table_schemas import table_schemas
from tests.sessions.tape import SENDER, Tape

PLACE = {"capture": "c", "type": "user_message", "id": 1, "offset": 7, "length": 3}
ODD = {"code": "a.b", "message": "no", "path": "x.y", "offset": 1, "length": 2, "spec": "[MS-MQMQ] 1"}
ERROR = {"code": "missing-bytes", "message": "no more", "path": "p", "offset": 5, "spec": None}


def messages(*rows: dict[str, Any]) -> Any:
    return pa.RecordBatch.from_pylist([PLACE | row for row in rows], schema=message_schema())


def calls(*rows: dict[str, Any]) -> Any:
    return pa.RecordBatch.from_pylist([PLACE | row for row in rows], schema=call_schema())


@pytest.mark.parametrize("made", [messages, calls])
def test_every_anomaly_is_a_row_with_the_record_that_it_is_in(made: Any) -> None:
    second = ODD | {"code": "c.d"}
    rows = made(
        {"id": 1, "anomalies": [ODD, second]},
        {"id": 2, "anomalies": []},
        {"id": 3},
        {"id": 4, "anomalies": [ODD]},
    )
    for part, expected in ((rows, [(1, "a.b"), (1, "c.d"), (4, "a.b")]), (rows.slice(2), [(4, "a.b")])):
        found = anomaly_rows(part)
        assert found.schema.equals(table_schemas()["anomalies"])
        assert [(row["record"], row["code"]) for row in found.to_pylist()] == expected
    (row, *_) = anomaly_rows(rows).to_pylist()
    assert (row["field"], row["offset"], row["length"], row["spec"]) == ("x.y", 1, 2, "[MS-MQMQ] 1")
    assert len(anomaly_rows(rows.slice(1, 2))) == len(anomaly_rows(made())) == 0


def reported(rows: Any) -> list[tuple[Any, ...]]:
    names = ("record", "code", "message", "field", "offset", "missing")
    found = error_rows(rows)
    assert found.schema.equals(table_schemas()["errors"])
    return [tuple(row[name] for name in names) for row in found.to_pylist()]


def test_cut_packets_gaps_and_damaged_files_are_errors_and_nothing_else_is() -> None:
    damage = {"code": "capture", "message": "the file is cut", "path": "", "offset": 99, "spec": None}
    rows = messages(
        {"id": 1},
        {"id": 2, "error": ERROR},
        {"id": 3, "type": "gap", "missing": 9, "reason": "loss"},
        {"id": 4, "type": "gap", "missing": None, "reason": "loss"},
        {"id": 5, "type": "error", "error": damage, "reason": "the file is cut", "offset": 99},
        {"id": 6, "missing": None},
    )
    expected = [
        (2, "missing-bytes", "no more", "p", 5, None),
        (3, "loss", None, None, 7, 9),
        (4, "loss", None, None, 7, None),
        (5, "capture", "the file is cut", "", 99, None),
    ]
    assert reported(rows) == expected
    assert reported(rows.slice(2)) == expected[1:]
    assert reported(rows.slice(0, 1)) == reported(messages()) == []


def test_calls_that_end_early_are_errors() -> None:
    rows = calls({"id": 1, "type": "rpc_call"}, {"id": 2, "type": "rpc_call", "error": ERROR})
    assert reported(rows) == [(2, "missing-bytes", "no more", "p", 5, None)]


def finding(rule: str, *evidence: Evidence) -> Finding:
    return Finding(
        id=rule,
        title="t",
        severity="low",
        confidence="guess",
        message=rule,
        evidence=evidence,
        caveats=("a", "b"),
        spec="[MS-MQMQ] 2.2.1, [MS-MQQB] 3.1",
    )


def test_a_finding_is_placed_where_its_first_evidence_is() -> None:
    first = Evidence(capture="c", record=1, frames=(3, 4), time=1_999, src="a", dst="b", data=b"\0")
    second = Evidence(record=2, time=5_000, src="x", dst="y")
    batch = story_rows("findings", [("c", finding("R-1", first, second)), ("d", finding("R-2"))])
    batch = batch.set_column(1, "time", batch.column("time").cast(pa.int64()))
    one, other = batch.to_pylist()
    assert (one["capture"], one["time"], one["src"], one["dst"]) == ("c", 1, "a", "b")
    assert [place["record"] for place in one["evidence"]] == [1, 2]
    assert (one["evidence"][0]["frames"], one["evidence"][0]["data"]) == ([3, 4], b"\0")
    assert (one["rule"], one["caveats"], one["cves"]) == ("R-1", ["a", "b"], [])
    assert one["spec"] == ["[MS-MQMQ] 2.2.1", "[MS-MQQB] 3.1"]
    assert (one["event"], one["group"], one["explained_by"]) == (None, "R-1 a", None)
    assert (other["capture"], other["time"], other["src"], other["evidence"]) == ("d", None, None, [])


def test_sessions_and_messages_begin_when_they_were_first_seen() -> None:
    tape = Tape()
    tape.open()
    sent = tape.message(1)
    story = tape.story()
    lives = story_rows("lives", [("c", one) for one in story.lives])
    sessions = story_rows("sessions", [("c", one) for one in story.sessions])
    (life,) = lives.to_pylist()
    assert life["message_id"] == f"{SENDER}\\1"
    assert life["first"] == {"record": sent.id, "frame": sent.frames[-1], "time": sent.time}
    assert sent.time is not None
    assert lives.column("time").cast(pa.int64()).to_pylist() == [sent.time // 1000]
    (session,) = sessions.to_pylist()
    assert (session["capture"], session["client_queue_manager"]) == ("c", str(SENDER))
    assert sessions.column("time").cast(pa.int64()).to_pylist() == [(tape.records[0].time or 0) // 1000]
