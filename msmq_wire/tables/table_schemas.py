"""The tables that the job fills: their names, and the Arrow schema of each."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]  # it has no stubs

from msmq_wire.detection import Evidence
from msmq_wire.detection.columns import FINDING_COLUMNS, JSON_COLUMNS
from msmq_wire.records.column import Column, placed
from msmq_wire.records.join_keys import JoinKeys
from msmq_wire.sessions import MessageLife, Session
from msmq_wire.tables.call_columns import call_schema
from msmq_wire.tables.message_columns import message_schema
from msmq_wire.tables.packet_columns import PACKET_SCHEMA
from msmq_wire.tables.spark_types import TABLE_COLUMNS, TIME, field, record_fields, struct_type, table_field

TABLES = ("packets", "messages", "calls", "sessions", "lives", "findings", "anomalies", "errors")
"""All tables of rows, partitioned by `DAY`."""
BOOKS = ("captures", "sources", "runs")
"""The tables that say what was read: which captures are in the tables, which files these were, and when."""
STORIES = ("sessions", "lives", "findings")
"""The tables that are told of a whole capture, after its last record."""
DAY = "day"
"""The partition of a table: the day, in UTC, of the time of a row."""
BOUNDED = ("capture", "run", "time", "queue", "src", "dst")
"""The columns whose bounds in each file stand in the log, so that readers can leave files out."""
LAYOUT = "msmq-wire tables 2: a row counts if captures has its capture with its run"
"""The description of each table: what else it says is of another version of msmq-wire."""

SEEN = ("capture", "path", "frame_no", "id", "type", "time", "time_ns", "src", "dst", "stream")
"""What rows of anomalies and errors have of a record, whose id is called ``record`` there."""
_RECORD = placed("id", Column, called="record", optional=True)
_SEEN = [table_field(_RECORD if name == "id" else TABLE_COLUMNS[name]) for name in SEEN]
_SEEN_FIRST = [*record_fields("capture"), field("time", TIME, "When it was seen first, UTC.")]
_ANOMALIES = [
    *_SEEN,
    field("code", pa.string(), "Which rule is broken.", nullable=False),
    field("message", pa.string(), "What is wrong."),
    field("field", pa.string(), "The field of the packet."),
    field("offset", pa.int64(), "Bytes of the packet before it."),
    field("length", pa.int64(), "Bytes of the packet that show it."),
    field("spec", pa.string(), "The section of the document."),
]
_ERRORS = [
    *_SEEN,
    field("code", pa.string(), "What ended the decode; for a gap its reason, for a file `capture`."),
    field("message", pa.string(), "What is wrong, in words."),
    field("field", pa.string(), "The field of the packet."),
    field("offset", pa.int64(), "Bytes before it: of the packet, of the stream (gap), of the file (error)."),
    *record_fields("missing", "frames_missing"),
]
_TEXT, _NUMBER = pa.string(), pa.int64()
_COUNTS = pa.map_(_TEXT, _NUMBER)
_BY_RUN = field(
    "run", _TEXT, "The run that wrote the row, which counts if captures names it.", nullable=False
)
_RUN = [
    field("version", _TEXT, "The version of msmq-wire."),
    field("tables", pa.list_(_TEXT), "The tables that were filled."),
    field("rows", _COUNTS, "How many rows it gave, by table."),
    field("frames", _NUMBER, "Frames read."),
    field("understood", _NUMBER, "Frames that carried MSMQ traffic."),
    field("skipped", _COUNTS, "The other frames, by reason."),
    field("damage", pa.list_(_TEXT), "Which file is damaged, and why."),
]
_BOOKS = {
    "captures": [
        field(
            "capture",
            _TEXT,
            "Its name: the file, of a ring the first and the last, or the folder, as it was read first.",
            nullable=False,
        ),
        field("digest", _TEXT, "SHA-256 of its content, decompressed; null where it could not be read."),
        field("length", _NUMBER, "Bytes of its content."),
        field("files", _NUMBER, "How many files it is."),
        field("scope", _TEXT, "ring, places, file or group."),
        field("options", _TEXT, "Stands for the options that decide its rows."),
        field("run", _TEXT, "The run that decoded it: its rows have this run, too.", nullable=False),
        *_RUN,
        field("notices", _COUNTS, "What was noticed in reading, by kind."),
        field("more", _COUNTS, "Findings that were too many to be written, by rule."),
    ],
    "sources": [
        field("capture", _TEXT, "The capture that it is, or is a part of.", nullable=False),
        _BY_RUN,
        field("path", _TEXT, "A file that was seen.", nullable=False),
        field("size", _NUMBER, "Its bytes then."),
        field("mtime_ns", _NUMBER, "Its time of change then, ns since 1970."),
        field("key", _TEXT, "Stands for path, size and time of change."),
        field("head", _TEXT, "SHA-256 of the first 4 KiB of its content."),
        field("length", _NUMBER, "Bytes of its content, decompressed."),
        field("digest", _TEXT, "SHA-256 of its content, decompressed."),
    ],
    "runs": [
        field("name", _TEXT, "Its name, which begins with its time.", nullable=False),
        field("inputs", pa.list_(_TEXT), "What it was told to read."),
        field("options", pa.map_(_TEXT, _TEXT), "The options that were not those by default."),
        field("started", TIME, "When it began, UTC."),
        field("ended", TIME, "When it ended, UTC."),
        field("captures", _NUMBER, "Captures decoded."),
        field("unchanged", _NUMBER, "Captures that the tables held already, and copies of captures."),
        field("left_out", _NUMBER, "Files in the folders that do not look like captures."),
        *_RUN,
        field("warnings", pa.list_(_TEXT), "What the tables hold that may not be expected of them."),
    ],
}


def file_schema(table: str) -> Any:
    """The Arrow schema of the files of a table: the partition column is in their folders."""
    # Behind capture: readers keep the bounds of the first columns only.
    return pa.schema(_BOOKS[table]) if table in BOOKS else table_schemas()[table].insert(1, _BY_RUN)


@cache
def delta_schema(table: str) -> Any:
    """The Arrow schema of a table as a log has it: with the partition column, and comments."""
    columns = list(file_schema(table))
    if table not in BOOKS:
        columns.append(field(DAY, pa.date32(), "Day of the time, UTC."))
    return pa.schema([one.with_metadata({"comment": one.metadata[b"doc"].decode()}) for one in columns])


@cache
def table_schemas() -> Mapping[str, Any]:
    """The Arrow schema of the rows of each table, which come without their run and day."""
    return {
        "packets": PACKET_SCHEMA,
        "messages": message_schema(),
        "calls": call_schema(),
        "sessions": _reported(Session, "capture"),
        "lives": _reported(MessageLife),
        "findings": _findings(),
        "anomalies": pa.schema(_ANOMALIES),
        "errors": pa.schema(_ERRORS),
    }


def _reported(cls: Any, *leave_out: str) -> Any:
    """A table of values of a class, a column for each field."""
    about = f"Field of `{cls.__name__}`."
    columns = [field(one.name, one.type, about) for one in struct_type(cls, leave_out)]
    return pa.schema([*_SEEN_FIRST, *columns])


def _findings() -> Any:
    columns = {one.name: one for one in FINDING_COLUMNS}
    columns |= {one.name: one for one in JSON_COLUMNS}
    fields = {
        name: table_field(columns[name], nullable=name not in ("rule", "severity"))
        for name in (
            *("rule", "severity", "confidence", "title", "message", "src", "dst", "evidence"),
            *("caveats", "cves", "spec", "event", "group", "explained_by", "layer", *JoinKeys._fields),
        )
    }
    # In a list times are nanoseconds.
    fields["evidence"] = fields["evidence"].with_type(pa.list_(struct_type(Evidence)))
    return pa.schema([*_SEEN_FIRST, *fields.values()])
