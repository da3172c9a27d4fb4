"""Judgements over records: rules, what they find, and the evidence for it."""

from __future__ import annotations

from msmq_wire.detection.finding import SEVERITIES, Confidence, Evidence, Finding, Layer, Severity
from msmq_wire.detection.judge import Judge, judge
from msmq_wire.detection.registry import RULES

__all__ = ["RULES", "SEVERITIES", "Confidence", "Evidence", "Finding", "Judge", "Layer", "Severity", "judge"]
