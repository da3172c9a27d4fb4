"""The digest of a diagnosis: at most five lines that say what is wrong before any question is asked.

The rule kept here: the first line is the cause. No two lines tell of the same one, and where nothing is wrong
that is said, with what was looked at.
"""

from __future__ import annotations

import msgspec

from msmq_wire.findings.finding import Confidence, Severity

__all__ = ["MOST_LINES", "Digest", "DigestLine"]

MOST_LINES = 5
"""Lines of a digest, at most."""


class DigestLine(msgspec.Struct, frozen=True, kw_only=True):
    """One cause: what is wrong, who it is about, how sure it is, where it is seen, and what to do.

    ``who`` are hosts, the one that caused it first. ``frames`` (1-based) and ``records`` (ids) show it, at
    most 64 each; ``where`` names the frames in words, with their file where there are several. ``action`` is
    one short imperative. ``rule`` is the rule whose finding it is told from, ``question`` the answer that
    says more of it; one of them is there. ``count`` is how many findings or messages it explains.
    """

    severity: Severity
    confidence: Confidence
    text: str
    who: tuple[str, ...] = ()
    frames: tuple[int, ...] = ()
    records: tuple[int, ...] = ()
    where: str = ""
    action: str = ""
    rule: str | None = None
    question: int | None = None
    count: int = 1


class Digest(msgspec.Struct, frozen=True, kw_only=True):
    """``lines`` tell what is wrong, the cause first; none: nothing wrong was seen.

    ``looked_at`` says what was looked at and what could not be seen.
    """

    lines: tuple[DigestLine, ...] = ()
    looked_at: str = ""
