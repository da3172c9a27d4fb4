"""What a rule sees in a cause that answers of a diagnosis name: the cause, and the places that show it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from msmq_wire.findings.finding import Confidence, Evidence, Severity
from msmq_wire.findings.rule import Context, Detection
from msmq_wire.sessions import Moment

_MOST = 16


class DiagnosedCause(Protocol):
    """What an answer calls wrong, as its `Cause` has it."""

    @property
    def text(self) -> str: ...
    @property
    def severity(self) -> Severity: ...
    @property
    def confidence(self) -> Confidence: ...
    @property
    def moments(self) -> tuple[Moment, ...]: ...
    @property
    def who(self) -> tuple[str, ...]: ...
    @property
    def rules(self) -> tuple[str, ...]: ...


def causal(cause: DiagnosedCause, context: Context | None = None) -> Iterator[Detection]:
    """The cause as a rule tells it, as grave and as sure as the digest calls it; who did it comes first."""
    src, dst = ((f"[{one}]" if ":" in one else one) or None for one in (*cause.who, "", "")[:2])
    evidence = tuple(
        Evidence(
            record=one.record,
            frames=() if one.frame is None else (one.frame,),
            time=one.time,
            src=src,
            dst=dst,
        )
        for one in cause.moments[:_MOST]
    )
    yield Detection(
        message=cause.text,
        evidence=evidence,
        severity=cause.severity,
        confidence=cause.confidence,
        answered=cause.rules,
    )
