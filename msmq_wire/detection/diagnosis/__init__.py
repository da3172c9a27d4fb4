"""Questions about a capture, and their answers from records and findings."""

from __future__ import annotations

from msmq_wire.detection.diagnosis.answer import Answer, Statement
from msmq_wire.detection.diagnosis.digest_lines import Digest, DigestLine
from msmq_wire.detection.diagnosis.peers import diagnosis_needs
from msmq_wire.detection.diagnosis.questions import JUDGED, QUESTIONS, Diagnosis, Question

__all__ = [
    "JUDGED",
    "QUESTIONS",
    "Answer",
    "Diagnosis",
    "Digest",
    "DigestLine",
    "Question",
    "Statement",
    "diagnosis_needs",
]
