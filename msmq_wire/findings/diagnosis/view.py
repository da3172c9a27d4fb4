"""The JSON view of an answer: what ``diagnose --format jsonl`` prints."""

from __future__ import annotations

from typing import Any

from msmq_wire.findings.diagnosis.answer import Answer

__all__ = ["answer_view"]


def answer_view(answer: Answer) -> dict[str, Any]:
    """An answer as a row; ``facts`` differ by question and are not part of a stable form."""
    return {
        "number": answer.number,
        "question": answer.question,
        "posed": answer.posed,
        "attention": answer.attention,
        "statements": [
            {"text": one.text, "frames": list(one.frames), "records": list(one.records)}
            for one in answer.statements
        ],
        "caveats": list(answer.caveats),
        "facts": answer.facts,
        "claims": [{"subject": one.subject, "fact": one.fact} for one in answer.claims],
    }
