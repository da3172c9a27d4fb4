"""The JSON view of a digest and of an answer: what ``diagnose --format jsonl`` prints."""

from __future__ import annotations

from typing import Any

import msgspec

from msmq_wire.detection.diagnosis.answer import Answer, Statement
from msmq_wire.detection.diagnosis.digest_lines import Digest, DigestLine
from msmq_wire.detection.finding import SEVERITIES

_QUESTION = "What is wrong?"


def digest_view(digest: Digest) -> dict[str, Any]:
    """A digest as a row of the form of an answer, number 0, with the lines whole beside it."""
    lines = digest.lines
    reported = [Statement(text=one.said, frames=one.frames, records=one.records) for one in lines]
    answer = Answer(
        number=0,
        question=_QUESTION,
        posed=bool(digest.causes),
        attention=max((one.severity for one in lines), key=SEVERITIES.index, default=None),
        statements=(*reported, *(() if digest.causes else (Statement(text=digest.nothing),))),
    )
    return answer_view(answer) | {
        "digest": {
            "lines": [_line_view(one) for one in lines],
            "more": digest.more,
            "looked_at": digest.looked_at,
        }
    }


def _line_view(line: DigestLine) -> dict[str, Any]:
    """A line whole; its times are in ``where``, as words."""
    row: dict[str, Any] = msgspec.to_builtins(line)
    return {name: value for name, value in row.items() if name not in ("first", "last")}


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
