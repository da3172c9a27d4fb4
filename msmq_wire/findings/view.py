"""The JSON view of a finding: what ``findings --format jsonl`` prints."""

from __future__ import annotations

import base64
from typing import Any

from msmq_wire.findings.finding import Evidence, Finding
from msmq_wire.records.joined_capture import located
from msmq_wire.records.view import time_text

Json = dict[str, Any]


def finding_view(finding: Finding) -> Json:
    """A finding as a row. ``spec`` lists the sections that its rule rests on."""
    return {
        "id": finding.id,
        "title": finding.title,
        "severity": finding.severity,
        "confidence": finding.confidence,
        "message": finding.message,
        "evidence": [evidence_view(one) for one in finding.evidence],
        "caveats": list(finding.caveats),
        "cves": list(finding.cves),
        "spec": finding.spec.split(", ") if finding.spec else [],
        "event": finding.event,
        "group": finding.group,
        "explained_by": finding.explained_by,
    }


def evidence_view(evidence: Evidence) -> Json:
    """A place: times as RFC 3339 in UTC, bytes as base64."""
    evidence = located(evidence)
    return {
        "capture": evidence.capture,
        "record": evidence.record,
        "frames": list(evidence.frames),
        "time": time_text(evidence.time),
        "src": evidence.src,
        "dst": evidence.dst,
        "path": evidence.path,
        "offset": evidence.offset,
        "length": evidence.length,
        "data": base64.b64encode(evidence.data).decode("ascii"),
    }
