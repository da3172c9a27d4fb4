"""`Finding`: what a rule says of a capture, with its evidence.

The rule kept here: a finding is data. It says what was observed and where; intent is for the analyst.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from msmq_wire.wire.private import ENDPOINT, FILE, Private

__all__ = ["SEVERITIES", "Confidence", "Evidence", "Finding", "Severity"]

Severity = Literal["info", "low", "medium", "high"]
Confidence = Literal["published", "certain", "likely", "guess"]
"""``published``: matches a published condition; ``certain``: the bytes say so; else an inference."""

SEVERITIES: tuple[Severity, ...] = ("info", "low", "medium", "high")
"""From the least to the most."""


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """Where something was seen.

    ``record`` is the id of the record, ``frames`` are those that carry it; ``offset`` and ``length`` count
    bytes of the packet, ``path`` names the field, ``data`` are at most 64 of its bytes.
    """

    capture: Annotated[str, FILE] = ""
    record: int | None = None
    frames: tuple[int, ...] = ()
    time: int | None = None
    src: Annotated[str | None, ENDPOINT] = None
    dst: Annotated[str | None, ENDPOINT] = None
    path: Annotated[str, Private("secret", "path")] = ""
    offset: int = 0
    length: int = 0
    data: bytes = b""


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One observation of one rule.

    ``message`` says what was observed, ``caveats`` what is missing or might explain it harmlessly here;
    ``evidence`` has at least one place.
    """

    id: str
    title: str
    severity: Severity
    confidence: Confidence
    message: str
    evidence: tuple[Evidence, ...]
    caveats: tuple[str, ...] = ()
    cves: tuple[str, ...] = ()
    spec: str = ""

    @property
    def rank(self) -> int:
        """The place of its severity in `SEVERITIES`."""
        return SEVERITIES.index(self.severity)
