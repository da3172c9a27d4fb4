"""`detect_cause`: turns a cause of a diagnosis into what a rule detects."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from msmq_wire.detection.finding import Confidence, Evidence, Layer, Severity
from msmq_wire.detection.rule import Context, Detection
from msmq_wire.sessions import Moment

_MOST_EVIDENCE = 16


class DiagnosedCause(Protocol):
    """The attributes of a `Cause` that a detection needs."""

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
    @property
    def layer(self) -> Layer | None: ...
    @property
    def segments(self) -> bool: ...


def detect_cause(cause: DiagnosedCause, context: Context | None = None) -> Iterator[Detection]:
    """Yield the cause as a detection, with its severity, confidence and layer.

    The first host of ``who`` is the source of its evidence, the second one the destination.
    """
    src, dst = ((f"[{one}]" if ":" in one else one) or None for one in (*cause.who, "", "")[:2])
    evidence = tuple(
        Evidence(
            record=one.record,
            frames=() if one.frame is None else (one.frame,),
            time=one.time,
            src=src,
            dst=dst,
        )
        for one in cause.moments[:_MOST_EVIDENCE]
    )
    yield Detection(
        message=cause.text,
        evidence=evidence,
        severity=cause.severity,
        confidence=cause.confidence,
        layer=cause.layer,
        answered=cause.rules,
        segments=cause.segments,
    )
