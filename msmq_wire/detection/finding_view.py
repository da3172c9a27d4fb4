"""The JSON view of a finding: what ``findings --format jsonl`` prints."""

from __future__ import annotations

from typing import Any

from msmq_wire.detection.columns import EVIDENCE_COLUMNS, JSON_COLUMNS
from msmq_wire.detection.finding import Evidence, Finding
from msmq_wire.records.joined_capture import located

Json = dict[str, Any]


def finding_view(finding: Finding) -> Json:
    """A finding as a row."""
    return {one.name: one.json(finding) for one in JSON_COLUMNS}


def evidence_view(evidence: Evidence) -> Json:
    """Evidence as data: times as RFC 3339 in UTC, bytes as base64."""
    evidence = located(evidence)
    return {one.name: one.json(evidence) for one in EVIDENCE_COLUMNS}
