"""The tables that the job fills: their names, and the Arrow schema of each."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]  # it has no stubs

from msmq_wire.findings import Evidence
from msmq_wire.sessions import MessageLife, Session
from msmq_wire.spark.arrow_types import TIME, field, struct_type
from msmq_wire.spark.call_columns import call_schema
from msmq_wire.spark.message_columns import message_schema
from msmq_wire.spark.packet_columns import PACKET_SCHEMA

__all__ = ["DAY", "STORIES", "TABLES", "table_schemas"]

TABLES = ("packets", "messages", "calls", "sessions", "lives", "findings", "anomalies", "errors")
"""All tables; each is a folder of Parquet files, partitioned by `DAY`."""
STORIES = ("sessions", "lives", "findings")
"""The tables that are told of a whole capture, after its last record."""
DAY = "day"
"""The partition of a table: the day, in UTC, of the time of a row."""

_SEEN = [
    field("capture", pa.string(), "The file; with scope group the folder.", nullable=False),
    field("path", pa.string(), "The file that it is in."),
    field("frame_no", pa.int64(), "The frame of that file that completes the record."),
    field("record", pa.int64(), "Number of the record in its capture."),
    field("type", pa.string(), "Type of the record.", nullable=False),
    field("time", TIME, "When that frame was captured, UTC."),
    field("time_ns", pa.int64(), "The same in nanoseconds since 1970."),
    field("src", pa.string(), "Address and port it came from."),
    field("dst", pa.string(), "Address and port it went to."),
    field("stream", pa.int64(), "Connection in its capture; null for UDP."),
]
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
    field("code", pa.string(), "What ended the decode; for a gap its reason, for a file null."),
    field("message", pa.string(), "What is wrong, in words."),
    field("field", pa.string(), "The field of the packet."),
    field("offset", pa.int64(), "Bytes before it: of the packet, of the stream (gap), of the file (error)."),
    field("missing", pa.int64(), "Bytes of a gap that were not captured."),
]


@cache
def table_schemas() -> Mapping[str, Any]:
    """The Arrow schema of each table, without the partition column."""
    return {
        "packets": PACKET_SCHEMA,
        "messages": message_schema(),
        "calls": call_schema(),
        "sessions": _told(Session, "capture"),
        "lives": _told(MessageLife),
        "findings": _findings(),
        "anomalies": pa.schema(_ANOMALIES),
        "errors": pa.schema(_ERRORS),
    }


def _told(cls: Any, *leave_out: str) -> Any:
    """A table of values of a class, a column for each field."""
    capture = field("capture", pa.string(), "The file; with scope group the folder.", nullable=False)
    time = field("time", TIME, "When it was seen first, UTC.")
    about = f"Field of `{cls.__name__}`."
    columns = [field(one.name, one.type, about) for one in struct_type(cls, leave_out)]
    return pa.schema([capture, time, *columns])


def _findings() -> Any:
    evidence = field("evidence", pa.list_(struct_type(Evidence)), "Where it was seen.")
    text = pa.string()
    return pa.schema(
        [
            field("capture", text, "The file; with scope group the folder.", nullable=False),
            field("time", TIME, "When its first evidence was captured, UTC."),
            field("rule", text, "Id of the rule, as FRM-SIG.", nullable=False),
            field("severity", text, "info, low, medium or high.", nullable=False),
            field("confidence", text, "published, certain, likely or guess."),
            field("title", text, "What the rule looks for."),
            field("message", text, "What was observed."),
            field("src", text, "Address and port that the first evidence came from."),
            field("dst", text, "Address and port that the first evidence went to."),
            evidence,
            field("caveats", pa.list_(text), "What might explain it harmlessly."),
            field("cves", pa.list_(text), "Published vulnerabilities that it fits."),
            field("spec", text, "Sections that the rule rests on."),
            field("event", text, "The Windows event that goes with it, as MSMQ 2027."),
            field("group", text, "The cause: what has the same text here is one finding for people."),
            field("explained_by", text, "Id of the rule that tells the cause, where another rule does."),
        ]
    )
