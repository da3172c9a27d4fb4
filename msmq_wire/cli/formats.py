"""How several commands print what they found."""

from __future__ import annotations

from enum import StrEnum


class RowFormat(StrEnum):
    """Rows."""

    TABLE = "table"
    JSONL = "jsonl"
    CSV = "csv"


class TableFormat(StrEnum):
    """Rows whose parts no cell of CSV has."""

    TABLE = "table"
    JSONL = "jsonl"


class FileFormat(StrEnum):
    """Rows in a file that other programs read as a table."""

    PARQUET = "parquet"
    ARROW = "arrow"


class TimelineFormat(StrEnum):
    """Text for people, lines for programs, or a file for Timesketch."""

    TEXT = "text"
    JSONL = "jsonl"
    TIMESKETCH = "timesketch"
    TIMESKETCH_CSV = "timesketch-csv"


class LineFormat(StrEnum):
    """Text for people, or lines for programs."""

    TEXT = "text"
    JSONL = "jsonl"
