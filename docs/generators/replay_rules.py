"""How many rules of servers a replay tells the breach of, and why not the others: read from the rows."""

from __future__ import annotations

from collections import Counter

from docs.generators.markers import table
from msmq_wire.replay.rule_table import JUDGED, PARTS, REASONS, rows

__all__ = ["block"]

_TOLD = ""
"""Rows with a check have no reason."""


def block() -> str:
    """How many rules of each part are told, and how many are not, by reason."""
    counts = {part: Counter(row.reason for row in rows(part) if row.binds == "server") for part in JUDGED}
    titles = {_TOLD: "A breach is told; a test breaks each"} | {
        name: text[0].upper() + text[1:] for name, text in REASONS.items()
    }
    lines = [
        (title, *(str(counts[part][name]) for part in JUDGED))
        for name, title in titles.items()
        if any(counts[part][name] for part in JUDGED)
    ]
    lines.append(("All rules of the server", *(str(counts[part].total()) for part in JUDGED)))
    return table(("What becomes of a breach", *(PARTS[part].partition(",")[0] for part in JUDGED)), lines)
