"""The columns of deviations, and their JSON view: what ``replay --format jsonl`` prints."""

from __future__ import annotations

from typing import Any

from msmq_wire.records.column import Column, placed
from msmq_wire.records.joined_capture import located
from msmq_wire.replay.deviation import ReplayDeviation

DEVIATION_COLUMNS: tuple[Column, ...] = (
    Column(
        "kind", "text", "In what it contradicts the rules.", lambda one: str(one.kind), optional=False
    ),
    Column(
        "certain", "flag", "false where something that was not captured may explain it, or where documents "
        "contradict each other.", optional=False,
    ),
    Column("server", "text", "Its address, without a port.", optional=False),
    Column("interface", "text", "Of the call; for a session what it is of.", optional=False),
    Column("method", "text", "Of the call; for a session what was answered.", optional=False),
    Column("queue", "text", "Format name."),
    Column("message", "text", "What is wrong.", optional=False),
    Column(
        "expected", "text", "What was due, empty where hosts are redacted or the message says it.",
        optional=False,
    ),
    Column("came", "text", "What was answered, empty as well.", optional=False),
    Column(
        "rule", "text", "Number of the processing rule, or the section alone.", lambda one: str(one.rule),
        optional=False, pattern=r"^M[A-Z]+-[0-9]+(\.[0-9]+)*(-[0-9]+)?$",
    ),
    Column("spec", "section", "Its section.", optional=False),
    placed("capture", Column),
    placed("id", Column, called="record", where="record"),
    placed("frames", Column),
    placed("time", Column),
    Column("src", "text", "The client, or empty.", optional=False),
    Column("dst", "text", "The server, or empty.", optional=False),
    Column("path", "text", "The member that contradicts, by its path below `packet`.", optional=False),
)  # fmt: skip
"""The columns in their order."""


def deviation_view(one: ReplayDeviation) -> dict[str, Any]:
    """A deviation as a row."""
    one = located(one)
    return {column.name: column.json(one) for column in DEVIATION_COLUMNS}
